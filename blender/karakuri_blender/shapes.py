"""Collision shapes from Blender's meshes: as they are seen, with modifiers and scale, in the frame of their body."""
from __future__ import annotations

import hashlib
import zlib

import numpy as np

from . import compat, frames, kinds, meshes

KEPT_FILE = "karakuri:"  # custom properties of a mesh: the bytes of the files that it was made from
INLINE_POINTS = 24
THICKNESS = 0.01  # of what is flat and needs a thickness, as a share of its largest extent


class ShapeError(ValueError):
    """What is wrong with the mesh of an object, and what to do."""


def evaluated(owner, depsgraph):
    """Vertices (n, 3) and triangles (m, 3) of an object in its own space, modifiers applied; None where it has no mesh."""
    if owner.type not in compat.evaluated_mesh_types():
        return _instances(owner, depsgraph)
    shown = owner.evaluated_get(depsgraph)
    try:
        mesh = shown.to_mesh()
    except RuntimeError:
        return None
    if mesh is None:
        return None
    try:
        return meshes.arrays(mesh)
    finally:
        shown.to_mesh_clear()


def _instances(owner, depsgraph):
    """Of an empty that shows a collection, which may be linked from another file: all that it shows."""
    if owner.instance_type != "COLLECTION" or owner.instance_collection is None:
        return None
    points, triangles, count = [], [], 0
    back = np.linalg.inv(frames.matrix(owner.matrix_world))
    for instance in depsgraph.object_instances:
        if not instance.is_instance or instance.parent is None or instance.parent.original != owner:
            continue
        part = instance.object
        if part.type not in compat.evaluated_mesh_types():
            continue
        p, t = meshes.arrays(part.to_mesh())
        part.to_mesh_clear()
        M = back @ frames.matrix(instance.matrix_world)
        points.append(p @ M[:3, :3].T + M[:3, 3])
        triangles.append((t if np.linalg.det(M[:3, :3]) > 0 else t[:, ::-1]) + count)
        count += len(p)
    return (np.concatenate(points), np.concatenate(triangles)) if points else None


def fingerprint(points, triangles) -> str:
    """Of what was imported, to see whether it has been changed."""
    rounded = np.ascontiguousarray(points, dtype=np.float32)
    return hashlib.md5(rounded.tobytes() + np.ascontiguousarray(triangles, dtype=np.int32).tobytes()).hexdigest()


def in_frame(points, triangles, M_world, X_body):
    """The same in a body's frame. Where the object is mirrored the triangles are turned, so that outside stays outside."""
    M = frames.inverse(X_body) @ M_world
    moved = points @ M[:3, :3].T + M[:3, 3]
    return moved, triangles if np.linalg.det(M[:3, :3]) > 0 else triangles[:, ::-1]


def _extent(points, what):
    low, high = points.min(axis=0), points.max(axis=0)
    return (low + high) / 2, high - low


def _with_thickness(center, size, may_thicken, what, notes):
    """A flat mesh is given a thickness below its surface, where it does not move: a floor."""
    flat = size <= 1e-7 * max(size.max(), 1e-30)
    if not flat.any():
        return center, size
    if size.max() == 0:
        raise ShapeError(f"'{what}' has no extent: all its vertices are in one place")
    if not may_thicken or flat.sum() > 1:
        raise ShapeError(f"'{what}' is flat, and a body that moves needs a thickness: add a Solidify modifier, or make it fixed")
    thickness = THICKNESS * size.max()
    notes.append(f"'{what}' is flat: it was given a thickness of {thickness:.3g} m below its surface")
    size = np.where(flat, thickness, size)
    return center - np.where(flat, thickness / 2, 0), size


HALF = 0.7071067811865476
TURNED = {"X": (HALF, 0, HALF, 0), "Y": (HALF, -HALF, 0, 0), "Z": (1, 0, 0, 0)}  # takes z to that axis


def primitive(kind: str, axis: str, points, what: str, fixed: bool, notes: list) -> dict:
    """A primitive within the box around the points."""
    center, size = _extent(points, what)
    if kind == "BOX":
        center, size = _with_thickness(center, size, fixed, what, notes)
        return _at({"box": _sizes(size)}, center)
    if size.min() <= 1e-7 * max(size.max(), 1e-30):
        raise ShapeError(f"'{what}' is flat or a line: a {kinds.SHAPES[kind].label.lower()} needs an extent in each direction")
    if kind == "SPHERE":
        return _at({"sphere": _size(size.max() / 2)}, center)
    if kind == "ELLIPSOID":
        return _at({"ellipsoid": _sizes(size / 2)}, center)
    along = "XYZ".index(axis)
    across = max(size[i] for i in range(3) if i != along) / 2
    turned = TURNED[axis]
    if kind == "CYLINDER":
        return _at({"cylinder": {"radius": _size(across), "length": _size(size[along])}}, center, turned)
    if kind == "CONE":
        return _at({"cone": {"radius": _size(across), "height": _size(size[along])}}, center, turned)
    return _at({"capsule": {"radius": _size(across), "length": _size(max(size[along] - 2 * across, 0.0))}}, center, turned)


def _size(x) -> float:
    """A length out of differences of single-precision numbers: seven digits."""
    return float(f"{x:.6g}")


def _sizes(values) -> list:
    return [_size(x) for x in values]


def _at(keys: dict, center, q=(1, 0, 0, 0)) -> dict:
    return {**keys, **frames.pose_keys(frames.rigid(center, q))}


def solid(kind: str, points, triangles, name: str, assets: dict) -> dict:
    """A hull or mesh, written in full where it is small and as an OBJ where it is not."""
    if kind == "HULL" and len(points) <= INLINE_POINTS:
        return {"hull": {"points": [[float(x) for x in p] for p in np.round(points, 9)]}}
    file = assets_name(assets, name)
    assets[file] = meshes.to_obj(points, triangles).encode()
    if kind == "HULL":
        return {"hull": {"file": file}}
    return {"mesh": {"file": file, "use": kinds.MESH_USE[kind]}}


def assets_name(assets: dict, name: str) -> str:
    clean = "".join(c if c.isalnum() or c in "-_" else "_" for c in name) or "mesh"
    file, i = f"{clean}.obj", 2
    while file in assets:
        file, i = f"{clean}_{i}.obj", i + 1
    return file


def check(points, triangles, what: str, kind: str) -> None:
    if len(points) == 0:
        raise ShapeError(f"'{what}' has no vertices: give it a mesh, or choose the shape 'None'")
    if not np.isfinite(points).all():
        raise ShapeError(f"'{what}' has vertices that are not finite")
    if kind in kinds.MESH_USE and len(triangles) == 0:
        raise ShapeError(f"'{what}' has vertices but no faces: choose 'Convex hull', or add faces")
    if kind in ("MESH", "DECOMPOSITION"):
        open_edges = meshes.open_edges(triangles)
        if open_edges:
            raise ShapeError(f"'{what}' is not closed ({open_edges} edges have not two faces): a {kinds.SHAPES[kind].label.lower()} "
                             "needs a closed mesh; choose 'Convex hull' or 'Mesh (surface)', or mend it (Select > Non Manifold)")
    if kind == "HULL" and _is_flat(points):
        raise ShapeError(f"'{what}' is flat: its convex hull has no inside; add a Solidify modifier, or choose 'Box' or 'Mesh (surface)'")


def _is_flat(points) -> bool:
    if len(points) < 4:
        return True
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return spread[-1] <= 1e-7 * spread[0]


def keep_file(mesh, name: str, content: bytes) -> None:
    """A file that a mesh was imported from stays with it, to the last bit."""
    mesh[KEPT_FILE + name] = zlib.compress(content)


def kept_files(mesh) -> dict:
    """{name: content}"""
    if mesh is None:
        return {}
    keys = [key for key in mesh.keys() if key.startswith(KEPT_FILE)]
    return {key[len(KEPT_FILE):]: zlib.decompress(mesh[key]) for key in keys}
