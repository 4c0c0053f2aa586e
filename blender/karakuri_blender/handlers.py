"""What happens around the simulation in Blender: undo, saving, opening, going to another frame."""
from __future__ import annotations

import bpy
from bpy.app.handlers import persistent

from . import cache, rest, rules, simulation


@persistent
def after_load(*_) -> None:
    """Another file: nothing of the old one runs; what a run had left behind there is put right."""
    simulation.end_all()
    cache.shelves.clear()
    for scene in bpy.data.scenes:
        count = rest.heal(scene)
        if count:
            print(f"karakuri: {count} objects of '{scene.name}' were put back where they stood before a run")
        cache.read(scene)


@persistent
def before_save(*_) -> None:
    """The file shall hold the scene as it was modelled, not as it just moves."""
    _saved.clear()
    for scene in bpy.data.scenes:
        shown = rest.Shown(scene)
        shown.__enter__()
        _saved.append((shown, [o for o in rest.moved(scene) if o.karakuri.baked is None]))
        for owner in _saved[-1][1]:
            owner.karakuri.rest_saved = False


@persistent
def after_save(*_) -> None:
    for shown, owners in _saved:
        for owner in owners:
            owner.karakuri.rest_saved = True
        shown.__exit__()
    _saved.clear()
    rules.allow()  # what the user has just saved
    for scene in bpy.data.scenes:  # now the file has its name
        cache.save(scene)


_saved: list = []


@persistent
def after_undo(*_) -> None:
    """All objects may be new ones, and may stand where a run had them when the step was recorded."""
    for scene in bpy.data.scenes:
        run = simulation.of(scene)
        if run is None:
            if scene.name not in cache.shelves:
                rest.heal(scene)
            else:
                cache.shelves[scene.name].bind(scene)
            continue
        run.wait(5.0)
        run.rebind()
        from . import properties

        properties.touched.add(scene.name)  # sliders may have gone back, too


@persistent
def before_frame(scene, *_) -> None:
    cache.show_frame(scene, scene.frame_current)


HANDLERS = [("load_post", after_load), ("save_pre", before_save), ("save_post", after_save), ("undo_post", after_undo),
            ("redo_post", after_undo), ("frame_change_pre", before_frame)]


def register() -> None:
    for name, function in HANDLERS:
        getattr(bpy.app.handlers, name).append(function)


def unregister() -> None:
    for name, function in HANDLERS:
        functions = getattr(bpy.app.handlers, name)
        if function in functions:
            functions.remove(function)
