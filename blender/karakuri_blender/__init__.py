"""karakuri in Blender: model, press play, tune while it runs, bake.

From the console and from scripts:

  import karakuri_blender
  karakuri_blender.world()                 # the live karakuri.World of the scene; None where nothing runs
  run = karakuri_blender.start()           # builds it, without a window, too
  karakuri_blender.advance(1000)           # steps, and moves the objects
  karakuri_blender.stop()                  # everything stands where it was modelled
"""

bl_info = {
    "name": "Karakuri",
    "author": "the karakuri project",
    "version": (0, 1, 0),
    "blender": (3, 4, 0),
    "location": "3D view > Sidebar > Karakuri; Properties > Physics",
    "description": "Physics of articulated bodies: joints, loops, exact friction; runs while you tune it",
    "category": "Physics",
}

import sys  # noqa: E402  bl_info is read without running the file

import bpy  # noqa: E402

from . import (bake, exporter, gizmos, handlers, importer, modelling, module, operators, overlays, panels,  # noqa: E402
               preferences, properties, simulation)

CLASSES = preferences.CLASSES + operators.CLASSES + modelling.CLASSES + panels.CLASSES + gizmos.CLASSES


def world(scene=None):
    """The world of a scene that runs, to look at and to act on; None where nothing runs."""
    run = simulation.of(scene or bpy.context.scene)
    if run is None:
        return None
    run.wait()  # the engine belongs to one thread at a time
    return run.world


def start(scene=None):
    """A new run of a scene, at its start."""
    return simulation.begin(scene or bpy.context.scene)


def advance(steps: int, scene=None):
    """So many steps, at once; the objects follow."""
    scene = scene or bpy.context.scene
    run = simulation.of(scene) or start(scene)
    run.advance(steps)
    return run


def stop(scene=None) -> None:
    """Ends the run; everything stands where it was modelled."""
    simulation.end(scene or bpy.context.scene)


def register() -> None:
    sys.modules.setdefault("karakuri_blender", sys.modules[__package__])  # as an extension it is called otherwise
    properties.register()
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.TOPBAR_MT_file_import.append(modelling.menu_import)
    bpy.types.TOPBAR_MT_file_export.append(modelling.menu_export)
    handlers.register()
    overlays.register()


def unregister() -> None:
    simulation.end_all()
    overlays.unregister()
    handlers.unregister()
    bpy.types.TOPBAR_MT_file_import.remove(modelling.menu_import)
    bpy.types.TOPBAR_MT_file_export.remove(modelling.menu_export)
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
    properties.unregister()


__all__ = ["advance", "bake", "exporter", "importer", "module", "register", "start", "stop", "unregister", "world"]
