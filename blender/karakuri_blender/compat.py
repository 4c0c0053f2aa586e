"""Everything in which Blender 3.4, 4.x and 5.x differ, so that nothing else has to ask for the version.

The tests run in 3.4.1. The branches for later versions follow their release notes.
"""
from __future__ import annotations

import bpy

VERSION = bpy.app.version


def flat_shader():
    """One colour for all of a batch. 4.0 dropped the names that tell two and three dimensions apart."""
    import gpu

    return gpu.shader.from_builtin("UNIFORM_COLOR" if VERSION >= (4, 0, 0) else "3D_UNIFORM_COLOR")


def text_size(font: int, size: float) -> None:
    """The number of dots per inch went in 4.0."""
    import blf

    if VERSION >= (4, 0, 0):
        blf.size(font, size)
    else:
        blf.size(font, int(size), 72)


def curves_of(target, action, make: bool = True):
    """The f-curves by which an action moves an object. Since 4.4 they lie in a bag for each slot; 5.0 has only these."""
    if VERSION < (4, 4, 0):
        return action.fcurves
    slot = next((s for s in action.slots if s.target_id_type == "OBJECT"), None)
    if slot is None:
        if not make:
            return []
        slot = action.slots.new(id_type="OBJECT", name=target.name)
    if target.animation_data and target.animation_data.action == action:
        target.animation_data.action_slot = slot
    layer = action.layers[0] if action.layers else action.layers.new("Layer")
    strip = layer.strips[0] if layer.strips else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(slot, ensure=True).fcurves


def new_curve(curves, path: str, index: int, group: str):
    try:
        return curves.new(path, index=index, action_group=group)
    except TypeError:  # 5.0 calls it otherwise
        return curves.new(path, index=index, group_name=group)


def smooth(mesh, on: bool = True) -> None:
    if mesh.polygons:
        mesh.polygons.foreach_set("use_smooth", [on] * len(mesh.polygons))


def base_color(material, color) -> None:
    """Of the viewport and of the surface. The input has kept its name; materials have nodes by themselves in 5.0."""
    material.diffuse_color = color
    if VERSION < (5, 0, 0):
        material.use_nodes = True
    shader = material.node_tree.nodes.get("Principled BSDF") if material.node_tree else None
    if shader is not None:
        shader.inputs["Base Color"].default_value = color


def is_animation_playing(context) -> bool:
    return bool(context.screen and context.screen.is_animation_playing)


def evaluated_mesh_types() -> set:
    types = {"MESH", "CURVE", "SURFACE", "META", "FONT"}
    if VERSION >= (3, 5, 0):
        types.add("CURVES")
    return types
