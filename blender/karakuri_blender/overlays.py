"""What is drawn over the 3D view: contact forces, joint axes and limits, the centre of mass, and what rules ask for."""
from __future__ import annotations

import math

import bpy
import numpy as np

from . import compat, frames, kinds, naming, simulation

CONTACT = (1.0, 0.45, 0.1, 1.0)
AXIS = (0.35, 0.75, 1.0, 1.0)
LIMIT = (0.35, 0.75, 1.0, 0.22)
NOW = (1.0, 1.0, 1.0, 1.0)
CENTER = (1.0, 0.9, 0.2, 1.0)


class Sketch:
    """Lines and triangles by colour, until they are drawn at once."""

    def __init__(self) -> None:
        self.lines: dict = {}
        self.faces: dict = {}
        self.texts: list = []

    def line(self, a, b, color) -> None:
        self.lines.setdefault(color, []).extend((tuple(a), tuple(b)))

    def face(self, a, b, c, color) -> None:
        self.faces.setdefault(color, []).extend((tuple(a), tuple(b), tuple(c)))

    def arrow(self, at, along, color) -> None:
        at, along = np.array(at, dtype=float), np.array(along, dtype=float)
        length = np.linalg.norm(along)
        if length < 1e-9:
            return
        tip = at + along
        self.line(at, tip, color)
        u, v = across(along)
        for side in (u, v, -u, -v):
            self.line(tip, tip - 0.2 * along + 0.07 * length * side, color)

    def cone(self, at, along, angle, length, color, count: int = 32) -> None:
        at, along = np.array(at), np.array(along, dtype=float)
        along = along / max(np.linalg.norm(along), 1e-12)
        u, v = across(along)
        angle = min(max(angle, 0.0), math.pi - 1e-3)
        rim = [at + length * (math.cos(angle) * along + math.sin(angle) * (math.cos(t) * u + math.sin(t) * v))
               for t in np.linspace(0, 2 * math.pi, count + 1)]
        edge = (*color[:3], 0.9)
        for i in range(count):
            self.face(at, rim[i], rim[i + 1], color)
            self.line(rim[i], rim[i + 1], edge)
            if i % (count // 8) == 0:
                self.line(at, rim[i], edge)

    def sphere(self, at, radius, color, count: int = 24) -> None:
        at = np.array(at)
        for a, b in ((0, 1), (1, 2), (2, 0)):
            ring = []
            for t in np.linspace(0, 2 * math.pi, count + 1):
                p = at.copy()
                p[a] += radius * math.cos(t)
                p[b] += radius * math.sin(t)
                ring.append(p)
            for p, q in zip(ring, ring[1:]):
                self.line(p, q, color)

    def draw(self) -> None:
        import gpu
        from gpu_extras.batch import batch_for_shader

        shader = compat.flat_shader()
        gpu.state.blend_set("ALPHA")
        gpu.state.depth_test_set("NONE")
        gpu.state.line_width_set(2.0)
        for kind, groups in (("TRIS", self.faces), ("LINES", self.lines)):
            for color, points in groups.items():
                batch = batch_for_shader(shader, kind, {"pos": points})
                shader.bind()
                shader.uniform_float("color", color)
                batch.draw(shader)
        gpu.state.line_width_set(1.0)
        gpu.state.blend_set("NONE")


def across(along):
    """Two unit vectors across a direction."""
    along = np.array(along, dtype=float)
    along = along / max(np.linalg.norm(along), 1e-12)
    u = np.cross(along, (0, 0, 1) if abs(along[2]) < 0.9 else (1, 0, 0))
    u = u / np.linalg.norm(u)
    return u, np.cross(along, u)


def sketch(scene) -> Sketch:
    out = Sketch()
    k = scene.karakuri
    if not k.show_overlays:
        return out
    run = simulation.of(scene)
    if k.show_joints:
        for joint in naming.parts(scene, "JOINT"):
            draw_joint(out, scene, joint, run)
    if run is None:
        return out
    shot = run.shown
    if k.show_contacts and shot.contacts is not None:
        weight = 9.81 * max(run.mass, 1e-9)
        for point, force in zip(shot.contacts["point"], shot.contacts["force"]):
            out.arrow(point, np.array(force) * k.force_scale / weight, CONTACT)
    if k.show_com and shot.center is not None:
        size = 0.05 * run.extent
        for axis in np.eye(3):
            out.line(shot.center - size * axis, shot.center + size * axis, CENTER)
        out.sphere(shot.center, 0.5 * size, CENTER)
    if k.show_rules:
        for shape in shot.shapes:
            getattr(out, shape[0])(*shape[1:]) if shape[0] != "text" else out.texts.append(shape[1:])
    return out


def draw_joint(out: Sketch, scene, joint, run) -> None:
    """Its axis, the range of its limits, and where in that it is."""
    j = joint.karakuri.joint
    kind = kinds.JOINTS[j.kind]
    X = frames.frame_of(joint.matrix_world)
    if j.parent is not None and joint.parent is None and run is not None:
        X = moved(run, j.parent, X)
    at = X[:3, 3]
    size = max(joint.empty_display_size, 0.02) * 1.5
    if j.kind == "DISTANCE":
        end = (j.at_child or j.child)
        if end is not None:
            out.line(at, end.matrix_world.translation, AXIS)
        return
    if not kind.dofs or j.kind in ("FREE", "SPHERICAL"):
        out.sphere(at, 0.4 * size, AXIS)
        return
    axis = X[:3, :3] @ (np.array(j.axis) / max(np.linalg.norm(j.axis), 1e-12))
    out.line(at - size * axis, at + size * axis, AXIS)
    if len(j.dofs) != 1 or not j.dofs[0].use_limits:
        return
    if kind.dofs[0] == "slide":
        draw_way(out, j.dofs[0], at, axis, size)
    else:
        draw_angle(out, j.dofs[0], at, axis, size, position(run, joint))


def draw_way(out: Sketch, d, at, axis, size: float) -> None:
    """Of a slider: from one limit to the other."""
    out.line(at + d.lower * axis, at + d.upper * axis, LIMIT)
    u, _ = across(axis)
    for end in (d.lower, d.upper):
        out.line(at + end * axis - 0.3 * size * u, at + end * axis + 0.3 * size * u, AXIS)


def draw_angle(out: Sketch, d, at, axis, size: float, q: float) -> None:
    """Of a hinge: the sector between its limits, and where in that it is."""
    u, v = across(axis)
    low, high = max(d.lower, -2 * math.pi), min(d.upper, 2 * math.pi)
    rim = [at + size * (math.cos(t) * u + math.sin(t) * v) for t in np.linspace(low, high, 25)]
    for p, p2 in zip(rim, rim[1:]):
        out.face(at, p, p2, LIMIT)
    for end in (rim[0], rim[-1]):
        out.line(at, end, AXIS)
    out.line(at, at + 1.15 * size * (math.cos(q) * u + math.sin(q) * v), NOW)


def moved(run, body, X):
    """A frame on a body, where that is now."""
    for part, row in zip(run.moved_parts, run.movers.links):
        if part.uid == body.karakuri.uid:
            return run.shown.poses[row] @ frames.inverse(run.poses_start[row]) @ X
    return X


def position(run, joint):
    """Of a joint of one degree of freedom; that of the modelled pose where nothing runs."""
    if run is None:
        return joint.karakuri.joint.q
    return run.positions().get(joint.karakuri.uid, joint.karakuri.joint.q)


def draw_view() -> None:
    scene = bpy.context.scene
    if scene is not None and hasattr(scene, "karakuri"):
        try:
            sketch(scene).draw()
        except ReferenceError:
            pass  # between an undo and the next picture


def draw_words() -> None:
    import blf

    context = bpy.context
    scene = context.scene
    run = simulation.of(scene) if scene is not None else None
    if run is None or not scene.karakuri.show_overlays:
        return
    from bpy_extras.view3d_utils import location_3d_to_region_2d

    compat.text_size(0, 14)
    lines = [f"{run.shown.time:.2f} s   {'playing' if run.playing else 'paused'}   {run.factor:.2f} x real time"]
    if run.message:
        lines.append(run.message)
    for i, line in enumerate(lines):
        blf.color(0, 1, 1, 1, 1) if i == 0 else blf.color(0, 1, 0.4, 0.3, 1)
        blf.position(0, 70, 30 + 20 * (len(lines) - 1 - i), 0)
        blf.draw(0, line)
    if scene.karakuri.show_rules:
        for shape in run.shown.shapes:
            if shape[0] == "text":
                place = location_3d_to_region_2d(context.region, context.region_data, shape[1])
                if place is not None:
                    blf.color(0, *shape[3])
                    blf.position(0, place[0], place[1], 0)
                    blf.draw(0, shape[2])


_handles: list = []


def register() -> None:
    if bpy.app.background:
        return
    view = bpy.types.SpaceView3D
    _handles.append(view.draw_handler_add(draw_view, (), "WINDOW", "POST_VIEW"))
    _handles.append(view.draw_handler_add(draw_words, (), "WINDOW", "POST_PIXEL"))


def unregister() -> None:
    while _handles:
        bpy.types.SpaceView3D.draw_handler_remove(_handles.pop(), "WINDOW")
