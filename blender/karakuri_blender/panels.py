"""Panels: Physics (of an object), Scene (the world), and Karakuri in the sidebar of the 3D view (running)."""
from __future__ import annotations

import bpy

from . import bake, cache, kinds, module, naming, rules, simulation
from .rules import RuleError


def numbers_panel(layout, owner, on_scene: bool) -> None:
    """Rules and numbers of an owner."""
    k = owner.karakuri
    row = layout.row(align=True)
    row.label(text="Rules")
    add = row.operator("karakuri.add_rule", text="New", icon="ADD")
    add.on_scene, add.new_text = on_scene, True
    add = row.operator("karakuri.add_rule", text="Choose", icon="TEXT")
    add.on_scene, add.new_text = on_scene, False
    row.operator("karakuri.remove_rule", text="", icon="REMOVE").on_scene = on_scene
    run = simulation.of(bpy.context.scene)
    for rule in k.rules:
        row = layout.row(align=True)
        row.prop(rule, "enabled", text="")
        row.prop(rule, "text", text="")
        failed = run.failed if run is not None else None
        if isinstance(failed, RuleError) and rule.text is not None and failed.rule == rule.text.name:
            box = layout.box()
            box.alert = True
            box.label(text=f"Line {failed.line}: {failed.what}"[:120], icon="ERROR")
            box.label(text="Paused until the text is changed")
    row = layout.row(align=True)
    row.label(text="Numbers")
    row.operator("karakuri.add_value", text="Add", icon="ADD").on_scene = on_scene
    for value in k.values:
        if value.name not in owner.keys():
            continue
        row = layout.row(align=True)
        row.prop(owner, f'["{bpy.utils.escape_identifier(value.name)}"]', text=value.name, slider=True)
        remove = row.operator("karakuri.remove_value", text="", icon="X", emboss=False)
        remove.on_scene, remove.name = on_scene, value.name


class ObjectPanel:
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "physics"


class PHYSICS_PT_karakuri(ObjectPanel, bpy.types.Panel):
    bl_label = "Karakuri"

    @classmethod
    def poll(cls, context):
        return context.object is not None

    def draw(self, context):
        layout = self.layout
        layout.use_property_split = True
        k = context.object.karakuri
        layout.prop(k, "role")
        if k.role == "BODY":
            layout.prop(k, "motion")
            if k.motion != "FIXED":
                layout.prop(k, "mass_from")
                layout.prop(k, "density" if k.mass_from == "DENSITY" else "mass")
        elif k.role == "JOINT":
            draw_joint(layout, k.joint)
        elif k.role == "SHAPE":
            above = naming.body_above(context.object)
            layout.label(text=f"Of '{above.name}'" if above is not None else "Of the world")


def draw_joint(layout, j) -> None:
    layout.prop(j, "kind")
    layout.prop(j, "parent")
    layout.prop(j, "child")
    if j.kind not in ("FIXED", "SPHERICAL", "FREE", "DISTANCE"):
        layout.prop(j, "axis")
    if j.kind == "UNIVERSAL":
        layout.prop(j, "second_axis")
    if j.kind == "SCREW":
        layout.prop(j, "pitch")
    if j.kind in ("REVOLUTE", "SCREW", "PRISMATIC"):
        layout.prop(j, "q" if j.kind == "PRISMATIC" else "q_angle")
    if not kinds.JOINTS[j.kind].closes_only:
        layout.prop(j, "closes_loop")


class RoleSubPanel(ObjectPanel):
    bl_parent_id = "PHYSICS_PT_karakuri"
    roles: tuple = ()

    @classmethod
    def poll(cls, context):
        return context.object is not None and context.object.karakuri.role in cls.roles


class PHYSICS_PT_karakuri_shape(RoleSubPanel, bpy.types.Panel):
    bl_label = "Collision Shape"
    roles = ("BODY", "SHAPE")

    def draw(self, context):
        layout = self.layout
        layout.use_property_split = True
        k = context.object.karakuri
        layout.prop(k, "shape")
        if k.shape in ("CAPSULE", "CYLINDER", "CONE"):
            layout.prop(k, "shape_axis", expand=True)
        layout.prop(k, "group")
        if k.role == "SHAPE":
            row = layout.row(heading="Own density")
            row.prop(k, "own_density", text="")
            sub = row.row()
            sub.active = k.own_density
            sub.prop(k, "shape_density", text="")


class PHYSICS_PT_karakuri_surface(RoleSubPanel, bpy.types.Panel):
    bl_label = "Surface"
    roles = ("BODY", "SHAPE")

    def draw(self, context):
        layout = self.layout
        layout.use_property_split = True
        k = context.object.karakuri
        if k.role == "SHAPE":
            layout.prop(k, "own_material")
            if not k.own_material and naming.body_above(context.object) is not None:
                return
        layout.prop(k, "preset")
        column = layout.column(align=True)
        column.prop(k, "friction")
        column.prop(k, "kinetic_friction")
        layout.prop(k, "restitution", slider=True)
        column = layout.column(align=True)
        column.prop(k, "rolling_friction")
        column.prop(k, "torsional_friction")
        layout.prop(k, "material")


class PHYSICS_PT_karakuri_dynamics(RoleSubPanel, bpy.types.Panel):
    bl_label = "Dynamics"
    bl_options = {"DEFAULT_CLOSED"}
    roles = ("BODY",)

    def draw(self, context):
        layout = self.layout
        layout.use_property_split = True
        k = context.object.karakuri
        layout.prop(k, "velocity")
        layout.prop(k, "angular_velocity")
        if k.mass_from == "INERTIA":
            layout.prop(k, "com")
            layout.prop(k, "moments")
            layout.prop(k, "products")
        layout.prop(k, "title")


class PHYSICS_PT_karakuri_dofs(RoleSubPanel, bpy.types.Panel):
    bl_label = "Limits, Spring and Drive"
    roles = ("JOINT",)

    def draw(self, context):
        j = context.object.karakuri.joint
        kind = kinds.JOINTS[j.kind]
        if not kind.dofs:
            self.layout.label(text="No degree of freedom")
        for i, d in enumerate(j.dofs):
            box = self.layout.box() if len(j.dofs) > 1 else self.layout
            if len(j.dofs) > 1:
                box.label(text=f"{'Turn' if kind.dofs[i] == 'turn' else 'Slide'} {i + 1}")
            draw_dof(box, d, kind.dofs[i] == "turn", j.kind)


def draw_dof(layout, d, turns: bool, kind: str) -> None:
    layout.use_property_split = True

    def either(name: str) -> str:
        return name + "_angle" if turns else name

    layout.prop(d, "use_limits")
    if d.use_limits:
        column = layout.column(align=True)
        if kind != "SPHERICAL":
            column.prop(d, either("lower"))
        column.prop(d, either("upper"))
        column.prop(d, "limit_stiffness")
        if d.limit_stiffness > 0:
            column.prop(d, "limit_damping")
    column = layout.column(align=True)
    column.prop(d, "stiffness")
    column.prop(d, "damping")
    if d.stiffness > 0:
        column.prop(d, either("rest"))
    layout.prop(d, "use_drive")
    if d.use_drive:
        column = layout.column(align=True)
        column.prop(d, either("target"))
        column.prop(d, "target_velocity")
        column.prop(d, "drive_stiffness")
        column.prop(d, "drive_damping")
        column.prop(d, "drive_limit")
    column = layout.column(align=True)
    column.prop(d, "dry_friction")
    column.prop(d, "armature")
    column.prop(d, "effort_limit")
    column.prop(d, "velocity_limit")


class PHYSICS_PT_karakuri_loop(RoleSubPanel, bpy.types.Panel):
    bl_label = "Loop, Spring, Rope"
    bl_options = {"DEFAULT_CLOSED"}
    roles = ("JOINT",)

    def draw(self, context):
        layout = self.layout
        layout.use_property_split = True
        j = context.object.karakuri.joint
        if j.kind == "DISTANCE":
            layout.prop(j, "at_child")
            layout.prop(j, "use_range")
            if j.use_range:
                column = layout.column(align=True)
                column.prop(j, "shortest")
                column.prop(j, "longest")
            else:
                layout.prop(j, "distance")
        layout.prop(j, "is_soft")
        if j.is_soft:
            column = layout.column(align=True)
            column.prop(j, "closing_stiffness")
            column.prop(j, "closing_damping")
            if j.kind != "DISTANCE":
                column.prop(j, "turn_stiffness")
                column.prop(j, "turn_damping")
        column = layout.column(align=True)
        column.prop(j, "break_force", text="Breaks at force")
        column.prop(j, "break_torque", text="Torque")


class PHYSICS_PT_karakuri_rules(RoleSubPanel, bpy.types.Panel):
    bl_label = "Rules and Numbers"
    roles = ("BODY", "JOINT")

    def draw(self, context):
        numbers_panel(self.layout, context.object, False)


class SCENE_PT_karakuri(bpy.types.Panel):
    bl_label = "Karakuri World"
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "scene"

    def draw(self, context):
        layout = self.layout
        layout.use_property_split = True
        k = context.scene.karakuri
        layout.prop(k, "dt")
        layout.prop(k, "substeps")
        layout.prop(k, "solver")
        layout.prop(k, "contact")
        layout.prop(k, "integrator")
        layout.prop(context.scene, "use_gravity", text="Gravity")
        layout.prop(context.scene, "gravity", text="")
        layout.prop(k, "use_ground")
        if k.use_ground:
            column = layout.column(align=True)
            column.prop(k, "ground_height")
            column.prop(k, "ground_friction")
            column.prop(k, "ground_restitution")
        layout.prop(k, "rest_of_scene")


class View:
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Karakuri"


class VIEW3D_PT_karakuri_run(View, bpy.types.Panel):
    bl_label = "Run"

    def draw(self, context):
        layout = self.layout
        if module.load() is None:
            box = layout.box()
            box.alert = True
            box.label(text="The module karakuri is missing", icon="ERROR")
            box.operator("karakuri.explain", text="What to do")
            return
        scene = context.scene
        k = scene.karakuri
        run = simulation.of(scene)
        if not rules.may_run() and rules.Rules.of(scene):
            box = layout.box()
            box.label(text="The rules of this file wait for your word", icon="ERROR")
            box.operator("karakuri.allow_rules")
        row = layout.row(align=True)
        row.scale_y = 1.4
        playing = run is not None and run.playing
        row.operator("karakuri.play", text="Pause" if playing else "Play", icon="PAUSE" if playing else "PLAY")
        row.operator("karakuri.step", text="", icon="FRAME_NEXT")
        row.operator("karakuri.reset", text="", icon="LOOP_BACK")
        row.operator("karakuri.check", text="", icon="CHECKMARK")
        row = layout.row(align=True)
        row.prop(k, "speed")
        row.prop(k, "steps_at_once")
        layout.prop(k, "drag_bodies")
        if run is not None:
            self.draw_state(layout, run)

    @staticmethod
    def draw_state(layout, run) -> None:
        column = layout.column(align=True)
        column.label(text=f"Time {run.shown.time:.3f} s", icon="TIME")
        if run.playing:
            column.label(text=f"{run.factor:.2f} times real time")
        for text in (run.message, run.ahead):
            if text:
                box = layout.box()
                box.alert = text == run.message
                for line in text.split("\n")[:4]:
                    box.label(text=line[:100], icon="ERROR" if text == run.message else "INFO")


class VIEW3D_PT_karakuri_model(View, bpy.types.Panel):
    bl_label = "Model"

    def draw(self, context):
        layout = self.layout
        row = layout.row(align=True)
        row.operator("karakuri.add_body", text="Body").motion = "DYNAMIC"
        row.operator("karakuri.add_body", text="Fixed").motion = "FIXED"
        row.operator("karakuri.remove", text="", icon="X")
        row = layout.row(align=True)
        row.operator("karakuri.add_joint", text="Hinge").kind = "REVOLUTE"
        row.operator("karakuri.add_joint", text="Ball").kind = "SPHERICAL"
        row.operator("karakuri.add_joint", text="Slider").kind = "PRISMATIC"
        row = layout.row(align=True)
        spring = row.operator("karakuri.add_joint", text="Spring")
        spring.kind, spring.soft, spring.at = "DISTANCE", True, "CHILD"
        row.operator_menu_enum("karakuri.add_joint", "kind", text="Others")
        row = layout.row(align=True)
        row.operator("karakuri.import_scene", text="Import", icon="IMPORT")
        row.operator("karakuri.export_scene", text="Export", icon="EXPORT")
        layout.operator("karakuri.example", text="Example")


class VIEW3D_PT_karakuri_rules(View, bpy.types.Panel):
    bl_label = "Rules of the Scene"

    def draw(self, context):
        numbers_panel(self.layout, context.scene, True)


class VIEW3D_PT_karakuri_numbers(View, bpy.types.Panel):
    bl_label = "Rules of the Object"

    @classmethod
    def poll(cls, context):
        return context.object is not None and context.object.karakuri.role in ("BODY", "JOINT")

    def draw(self, context):
        numbers_panel(self.layout, context.object, False)


class VIEW3D_PT_karakuri_bake(View, bpy.types.Panel):
    bl_label = "Bake and Cache"

    def draw(self, context):
        layout = self.layout
        scene = context.scene
        k = scene.karakuri
        row = layout.row(align=True)
        row.prop(k, "bake_start")
        row.prop(k, "bake_end")
        row = layout.row(align=True)
        row.operator("karakuri.bake", icon="KEYFRAME_HLT")
        if bake.baked(scene):
            row.operator("karakuri.delete_bake", text="", icon="TRASH")
        holder = cache.holder_of(scene)
        layout.prop(k, "use_cache")
        if holder is not None and holder.cache:
            layout.label(text=cache.poses_text(holder))
            layout.operator("karakuri.continue_from_frame")
            layout.operator("karakuri.clear_cache")


class VIEW3D_PT_karakuri_overlays(View, bpy.types.Panel):
    bl_label = "Overlays"
    bl_options = {"DEFAULT_CLOSED"}

    def draw_header(self, context):
        self.layout.prop(context.scene.karakuri, "show_overlays", text="")

    def draw(self, context):
        layout = self.layout
        k = context.scene.karakuri
        layout.active = k.show_overlays
        for name in ("show_contacts", "show_joints", "show_com", "show_rules"):
            layout.prop(k, name)
        layout.prop(k, "force_scale")


CLASSES = [PHYSICS_PT_karakuri, PHYSICS_PT_karakuri_shape, PHYSICS_PT_karakuri_surface, PHYSICS_PT_karakuri_dynamics,
           PHYSICS_PT_karakuri_dofs, PHYSICS_PT_karakuri_loop, PHYSICS_PT_karakuri_rules, SCENE_PT_karakuri,
           VIEW3D_PT_karakuri_run, VIEW3D_PT_karakuri_model, VIEW3D_PT_karakuri_numbers, VIEW3D_PT_karakuri_rules,
           VIEW3D_PT_karakuri_bake, VIEW3D_PT_karakuri_overlays]
