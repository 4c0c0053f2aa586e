"""Making things: bodies, joints, springs, rules, numbers; files in and out."""
from __future__ import annotations

import os

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, StringProperty
from bpy_extras.io_utils import ExportHelper, ImportHelper

from . import exporter, importer, kinds, naming, rules, simulation
from .operators import redraw, tell

NEW_RULE = '''"""Called before each step; docs/behaviours.md tells what a rule has."""
strength = 1.0
properties = {"strength": {"min": 0.0, "max": 10.0, "description": "What the panel shows"}}


def step(world, dt):
    pass


def draw(world, pen):
    pass
'''


class KARAKURI_OT_add_body(bpy.types.Operator):
    """Make the selected objects rigid bodies"""

    bl_idname = "karakuri.add_body"
    bl_label = "Add Body"
    bl_options = {"REGISTER", "UNDO"}

    motion: EnumProperty(name="Motion", items=[("DYNAMIC", "Dynamic", ""), ("FIXED", "Fixed", ""), ("KINEMATIC", "Kinematic", "")])
    shape: EnumProperty(name="Shape", items=kinds.items(kinds.SHAPES), default="HULL")

    def execute(self, context):
        chosen = list(context.selected_objects) or [context.object]
        for owner in chosen:
            k = owner.karakuri
            k.role, k.motion, k.shape = "BODY", self.motion, self.shape
        return {"FINISHED"}


class KARAKURI_OT_remove(bpy.types.Operator):
    """Take the selected objects out of the simulation; the objects stay"""

    bl_idname = "karakuri.remove"
    bl_label = "Remove"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context):
        for owner in list(context.selected_objects) or [context.object]:
            owner.karakuri.role = "NONE"
        return {"FINISHED"}


class KARAKURI_OT_add_joint(bpy.types.Operator):
    """A joint between two bodies, at the 3D cursor: the active one is its parent; with one body selected it hangs on the world"""

    bl_idname = "karakuri.add_joint"
    bl_label = "Add Joint"
    bl_options = {"REGISTER", "UNDO"}

    kind: EnumProperty(name="Kind", items=kinds.items(kinds.JOINTS), default="REVOLUTE")
    soft: BoolProperty(name="Spring", default=False)
    at: EnumProperty(name="At", items=[("CURSOR", "3D cursor", ""), ("CHILD", "Child's origin", ""), ("MIDDLE", "Half way", "")])

    @classmethod
    def poll(cls, context):
        return any(o.karakuri.role == "BODY" for o in context.selected_objects)

    def execute(self, context):
        bodies = [o for o in context.selected_objects if o.karakuri.role == "BODY"]
        active = context.object if context.object in bodies else None
        if len(bodies) > 2:
            self.report({"ERROR"}, f"a joint joins two bodies, and {len(bodies)} are selected")
            return {"CANCELLED"}
        child = next((b for b in bodies if b is not active), bodies[0])
        parent = active if len(bodies) == 2 else None
        self.make(context, parent, child)
        return {"FINISHED"}

    def make(self, context, parent, child):
        where = context.scene.cursor.location.copy()
        if self.at == "CHILD":
            where = child.matrix_world.translation.copy()
        elif self.at == "MIDDLE" and parent is not None:
            where = (child.matrix_world.translation + parent.matrix_world.translation) / 2
        owner = naming.new_object(f"{child.name} joint", None, context.collection)
        owner.empty_display_type = "SINGLE_ARROW"
        owner.empty_display_size = max(0.3 * max(child.dimensions), 0.1)
        owner.location = where
        if parent is not None:
            owner.parent = parent
            owner.matrix_parent_inverse = parent.matrix_world.inverted()
        owner.karakuri.role = "JOINT"
        j = owner.karakuri.joint
        j.kind, j.parent, j.child, j.is_soft = self.kind, parent, child, self.soft
        for other in context.selected_objects:
            other.select_set(False)
        owner.select_set(True)
        context.view_layer.objects.active = owner
        return owner


class KARAKURI_OT_add_rule(bpy.types.Operator):
    """A text block that runs before each step"""

    bl_idname = "karakuri.add_rule"
    bl_label = "Add Rule"
    bl_options = {"REGISTER", "UNDO"}

    on_scene: BoolProperty(default=False)
    new_text: BoolProperty(default=True)

    def execute(self, context):
        owner = context.scene if self.on_scene else context.object
        rule = owner.karakuri.rules.add()
        if self.new_text:
            rule.text = bpy.data.texts.new(f"{owner.name} rule.py")
            rule.text.write(NEW_RULE)
        rules.declare(owner)
        return {"FINISHED"}


class KARAKURI_OT_remove_rule(bpy.types.Operator):
    """Take the last rule away; its text stays"""

    bl_idname = "karakuri.remove_rule"
    bl_label = "Remove Rule"
    bl_options = {"REGISTER", "UNDO"}

    on_scene: BoolProperty(default=False)

    def execute(self, context):
        found = (context.scene if self.on_scene else context.object).karakuri.rules
        if len(found):
            found.remove(len(found) - 1)
        return {"FINISHED"}


class KARAKURI_OT_add_value(bpy.types.Operator):
    """A number of your own: it is saved with the file, and the rules of its owner have it as a global"""

    bl_idname = "karakuri.add_value"
    bl_label = "Add Number"
    bl_options = {"REGISTER", "UNDO"}

    on_scene: BoolProperty(default=False, options={"HIDDEN"})
    name: StringProperty(name="Name", default="gain")
    value: FloatProperty(name="Value", default=1.0)
    low: FloatProperty(name="From", default=0.0)
    high: FloatProperty(name="To", default=10.0)

    def invoke(self, context, event):
        return context.window_manager.invoke_props_dialog(self)

    def execute(self, context):
        if not self.name.isidentifier():
            self.report({"ERROR"}, f"'{self.name}' cannot be a name in Python: letters, digits and _ can")
            return {"CANCELLED"}
        owner = context.scene if self.on_scene else context.object
        rules.add_value(owner, self.name, {"default": self.value, "min": self.low, "max": self.high})
        return {"FINISHED"}


class KARAKURI_OT_remove_value(bpy.types.Operator):
    """Take a number away"""

    bl_idname = "karakuri.remove_value"
    bl_label = "Remove Number"
    bl_options = {"REGISTER", "UNDO"}

    on_scene: BoolProperty(default=False, options={"HIDDEN"})
    name: StringProperty()

    def execute(self, context):
        owner = context.scene if self.on_scene else context.object
        index = owner.karakuri.values.find(self.name)
        if index >= 0:
            owner.karakuri.values.remove(index)
        if self.name in owner.keys():
            del owner[self.name]
        return {"FINISHED"}


class KARAKURI_OT_import(bpy.types.Operator, ImportHelper):
    """A robot or scene: URDF, MJCF, SDF, or a native one"""

    bl_idname = "karakuri.import_scene"
    bl_label = "Import Karakuri"
    bl_options = {"REGISTER", "UNDO"}

    filter_glob: StringProperty(default="*.urdf;*.xml;*.sdf;*.world;*.yaml;*.yml", options={"HIDDEN"})
    base: EnumProperty(name="Base", items=[("auto", "Auto", "As the file says"), ("fixed", "Fixed", "Bolted to the world"),
                                           ("free", "Free", "")], description="How the root of a URDF stands")
    keyframe: StringProperty(name="Keyframe", description="A state of the file to start from")

    def execute(self, context):
        simulation.end(context.scene)
        try:
            made = importer.load(context.scene, self.filepath, self.base, keyframe=self.keyframe)
        except Exception as error:
            return tell(self, error)
        self.report({"INFO"}, f"{len(made)} objects")
        return {"FINISHED"}


class KARAKURI_OT_export(bpy.types.Operator, ExportHelper):
    """A native scene, with its meshes in a folder beside it, that './karakuri run' runs with the same bits"""

    bl_idname = "karakuri.export_scene"
    bl_label = "Export Karakuri"

    filename_ext = ".scene.yaml"
    filter_glob: StringProperty(default="*.scene.yaml", options={"HIDDEN"})

    def execute(self, context):
        try:
            description = exporter.save(context.scene, self.filepath)
        except Exception as error:
            return tell(self, error)
        self.report({"INFO"}, f"{len(description.content.get('bodies', []))} bodies, {len(description.assets)} files beside it")
        return {"FINISHED"}


class KARAKURI_OT_check(bpy.types.Operator):
    """Tell all that is wrong with the model, and what is doubtful, without running it"""

    bl_idname = "karakuri.check"
    bl_label = "Check"

    def execute(self, context):
        try:
            run = simulation.Simulation(context.scene)
        except Exception as error:
            return tell(self, error)
        notes = list(run.notes)
        run.close(keep_moved=True)
        for note in notes[:20]:
            self.report({"WARNING"}, note)
        self.report({"INFO"}, "nothing is wrong" if not notes else f"{len(notes)} notes")
        return {"FINISHED"}


class KARAKURI_OT_example(bpy.types.Operator):
    """An arm, and a creature with a camera that looks at a ball"""

    bl_idname = "karakuri.example"
    bl_label = "Example Scene"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context):
        from . import example

        example.build(context.scene)
        redraw(context)
        return {"FINISHED"}


class KARAKURI_OT_explain(bpy.types.Operator):
    """What is missing, and how to get it"""

    bl_idname = "karakuri.explain"
    bl_label = "Install"

    def execute(self, context):
        from . import module

        if module.load() is not None:
            self.report({"INFO"}, f"karakuri is there: {os.path.dirname(module.load().__file__)}")
        else:
            self.report({"ERROR"}, module.why())
        return {"FINISHED"}


def menu_import(self, _context) -> None:
    self.layout.operator(KARAKURI_OT_import.bl_idname, text="Karakuri: URDF, MJCF, SDF, scene")


def menu_export(self, _context) -> None:
    self.layout.operator(KARAKURI_OT_export.bl_idname, text="Karakuri scene (.scene.yaml)")


CLASSES = [KARAKURI_OT_add_body, KARAKURI_OT_remove, KARAKURI_OT_add_joint, KARAKURI_OT_add_rule, KARAKURI_OT_remove_rule,
           KARAKURI_OT_add_value, KARAKURI_OT_remove_value, KARAKURI_OT_import, KARAKURI_OT_export, KARAKURI_OT_check,
           KARAKURI_OT_example, KARAKURI_OT_explain]
