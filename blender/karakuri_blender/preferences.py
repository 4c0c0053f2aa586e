"""Preferences of the add-on: where the Python module is."""
from __future__ import annotations

import bpy
from bpy.props import StringProperty

from . import module


class KarakuriPreferences(bpy.types.AddonPreferences):
    bl_idname = __package__

    module_folder: StringProperty(name="Module", subtype="DIR_PATH",
                                  description="The folder that holds the Python package karakuri: build/release/python")

    def draw(self, context):
        layout = self.layout
        layout.prop(self, "module_folder")
        found = module.load()
        if found is None:
            for sentence in module.why().split(". "):
                layout.label(text=sentence)
            layout.operator("karakuri.explain")
        else:
            layout.label(text=f"karakuri {found.__version__} from {found.__file__}", icon="CHECKMARK")


CLASSES = [KarakuriPreferences]
