"""Triangles: from Blender's meshes and into them, and the OBJ files of scenes."""
from __future__ import annotations

import math

import bpy
import numpy as np


def arrays(mesh):
    """Vertices (n, 3) and triangles (m, 3)."""
    points = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", points)
    mesh.calc_loop_triangles()
    triangles = np.empty(3 * len(mesh.loop_triangles), dtype=np.int32)
    mesh.loop_triangles.foreach_get("vertices", triangles)
    return points.reshape(-1, 3).astype(float), triangles.reshape(-1, 3)


def open_edges(triangles) -> int:
    """How many edges have not exactly two faces."""
    edges = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    _, counts = np.unique(edges, axis=0, return_counts=True)
    return int((counts != 2).sum())


def to_obj(points, triangles) -> str:
    lines = ["v %r %r %r" % tuple(p) for p in np.asarray(points, dtype=float).tolist()]
    lines += ["f %d %d %d" % tuple(t) for t in (np.asarray(triangles) + 1).tolist()]
    return "\n".join(lines) + "\n"


def from_obj(text: str):
    """(points, faces, materials of the faces) of an OBJ; faces may have any number of corners."""
    points, faces, names, current = [], [], [], ""
    for line in text.splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "v":
            points.append(tuple(map(float, words[1:4])))
        elif words[0] == "f":
            corners = [int(word.split("/", 1)[0]) for word in words[1:]]
            faces.append([c - 1 if c > 0 else len(points) + c for c in corners])
            names.append(current)
        elif words[0] == "usemtl":
            current = " ".join(words[1:])
    return points, faces, names


def colors_of(text: str) -> dict:
    """{material: (r, g, b, alpha)} of an MTL."""
    colors, name = {}, ""
    for line in text.splitlines():
        words = line.split()
        if len(words) < 2:
            continue
        if words[0] == "newmtl":
            name = " ".join(words[1:])
            colors[name] = [0.8, 0.8, 0.8, 1.0]
        elif words[0] == "Kd" and name:
            colors[name][:3] = map(float, words[1:4])
        elif words[0] == "d" and name:
            colors[name][3] = float(words[1])
    return colors


def new(name: str, points, faces):
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata([tuple(p) for p in points], [], [tuple(f) for f in faces])
    mesh.update()
    return mesh


# ---- primitives, with their sizes in the mesh itself

RING = 24


def box(size):
    x, y, z = (s / 2 for s in size)
    points = [(i, j, k) for i in (-x, x) for j in (-y, y) for k in (-z, z)]
    return points, [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


def revolved(profile):
    """The surface of revolution about z of points (radius, z) from below upwards; the first and last lie on the axis."""
    points = [(0.0, 0.0, profile[0][1])]
    for r, z in profile[1:-1]:
        points += [(r * math.cos(2 * math.pi * i / RING), r * math.sin(2 * math.pi * i / RING), z) for i in range(RING)]
    points.append((0.0, 0.0, profile[-1][1]))
    faces, rings = [], len(profile) - 2
    for i in range(RING):
        j = (i + 1) % RING
        faces.append((0, 1 + j, 1 + i))
        for k in range(rings - 1):
            a, b = 1 + k * RING, 1 + (k + 1) * RING
            faces.append((a + i, a + j, b + j, b + i))
        faces.append((len(points) - 1, 1 + (rings - 1) * RING + i, 1 + (rings - 1) * RING + j))
    return points, faces


def ellipsoid(a, b, c, rows=12):
    profile = [(math.sin(math.pi * i / rows), -math.cos(math.pi * i / rows)) for i in range(rows + 1)]
    points, faces = revolved(profile)
    return [(a * x, b * y, c * z) for x, y, z in points], faces


def capsule(radius, length, rows=6):
    low = [(radius * math.sin(math.pi / 2 * i / rows), -length / 2 - radius * math.cos(math.pi / 2 * i / rows))
           for i in range(rows + 1)]
    return revolved(low + [(r, -z) for r, z in reversed(low)])


def cylinder(radius, length):
    h = length / 2
    return revolved([(0, -h), (radius, -h), (radius, h), (0, h)])


def cone(radius, height):
    h = height / 2
    return revolved([(0, -h), (radius, -h), (0, h)])


def plane(half=10.0):
    return [(-half, -half, 0), (half, -half, 0), (half, half, 0), (-half, half, 0)], [(0, 1, 2, 3)]


def heightfield(keys, heights):
    (sx, sy), columns, rows = keys["size"], int(keys["columns"]), int(keys["rows"])
    xs, ys = np.linspace(-sx / 2, sx / 2, columns), np.linspace(-sy / 2, sy / 2, rows)
    points = [(float(x), float(y), float(heights[j * columns + i])) for j, y in enumerate(ys) for i, x in enumerate(xs)]
    faces = [(j * columns + i, j * columns + i + 1, (j + 1) * columns + i + 1, (j + 1) * columns + i)
             for j in range(rows - 1) for i in range(columns - 1)]
    return points, faces


def joined(parts):
    """Several as one."""
    points, faces = [], []
    for p, f in parts:
        n = len(points)
        points += list(p)
        faces += [tuple(n + i for i in face) for face in f]
    return points, faces
