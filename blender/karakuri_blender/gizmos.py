"""Gizmos of the selected joint: its limits are arrows that are dragged, for a hinge around its axis."""
from __future__ import annotations

import math

import bpy
from mathutils import Matrix, Vector

from . import kinds


class KARAKURI_GGT_limits(bpy.types.GizmoGroup):
    bl_idname = "KARAKURI_GGT_limits"
    bl_label = "Limits of a joint"
    bl_space_type = "VIEW_3D"
    bl_region_type = "WINDOW"
    bl_options = {"3D", "PERSISTENT"}

    @classmethod
    def poll(cls, context):
        owner = context.object
        if owner is None or owner.karakuri.role != "JOINT":
            return False
        j = owner.karakuri.joint
        return len(kinds.JOINTS[j.kind].dofs) == 1 and len(j.dofs) == 1 and j.dofs[0].use_limits

    def setup(self, context):
        self.ends = []
        for name, color in (("lower", (0.9, 0.5, 0.2)), ("upper", (0.3, 0.7, 1.0))):
            arrow = self.gizmos.new("GIZMO_GT_arrow_3d")
            arrow.color, arrow.alpha, arrow.color_highlight, arrow.alpha_highlight = color, 0.8, (1, 1, 1), 1.0
            arrow.target_set_handler("offset", get=lambda n=name: self.read(n), set=lambda x, n=name: self.write(n, x))
            self.ends.append(arrow)
        self.refresh(context)

    def dof(self):
        owner = bpy.context.object
        return owner.karakuri.joint.dofs[0] if owner is not None and len(owner.karakuri.joint.dofs) else None

    def read(self, name: str) -> float:
        """Along the arrow: for a slider the limit itself, for a hinge the arc from the reference line."""
        d = self.dof()
        return getattr(d, name) * self.radius() if d is not None else 0.0

    def write(self, name: str, value: float) -> None:
        d = self.dof()
        if d is None:
            return
        limit = value / self.radius()
        if kinds.JOINTS[bpy.context.object.karakuri.joint.kind].dofs[0] == "turn":
            limit = max(min(limit, 2 * math.pi), -2 * math.pi)
        setattr(d, name, min(limit, d.upper) if name == "lower" else max(limit, d.lower))

    @staticmethod
    def radius() -> float:
        owner = bpy.context.object
        turns = kinds.JOINTS[owner.karakuri.joint.kind].dofs[0] == "turn"
        return max(owner.empty_display_size, 0.02) if turns else 1.0

    def refresh(self, context):
        owner = context.object
        j = owner.karakuri.joint
        place, turn, _ = owner.matrix_world.decompose()
        axis = (turn @ Vector(j.axis)).normalized()
        for arrow in self.ends:
            arrow.matrix_basis = Matrix.Translation(place) @ axis.to_track_quat("Z", "Y").to_matrix().to_4x4()

    def draw_prepare(self, context):
        self.refresh(context)


CLASSES = [KARAKURI_GGT_limits]
