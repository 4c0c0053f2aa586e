"""Frames that were simulated, to look at again: with Blender's own timeline, and when rendering.

In memory a frame has its snapshot, from which the run can go on. Beside the .blend, in NAME.karakuri, stand the poses
alone: enough to scrub and to render; going on from there simulates up to that frame first, with the same bits.
"""
from __future__ import annotations

import os

import bpy
import numpy as np

from . import poses, rest, simulation


class Shelf:
    """A cache that was read from a file."""

    def __init__(self, scene, data) -> None:
        self.key = str(data["key"])
        self.parts = [_Part(str(uid), str(name)) for uid, name in zip(data["uids"], data["objects"])]
        self.start = data["start"]
        self.cache = {int(frame): simulation.Kept(x) for frame, x in zip(data["frames"], data["poses"])}
        self.bind(scene)

    def bind(self, scene) -> None:
        found = poses.find(self.parts)
        rows = [i for i, owner in enumerate(found) if owner is not None]
        self.rows = rows
        with rest.Shown(scene):
            self.movers = poses.Movers([found[i] for i in rows], list(range(len(rows))), self.start[rows], [])


class _Part:
    def __init__(self, uid: str, object_name: str) -> None:
        self.uid, self.object_name = uid, object_name


shelves: dict = {}  # by name of scene


def holder_of(scene):
    """Whoever has frames of this scene: the simulation, or what was read from the file."""
    return simulation.of(scene) or shelves.get(scene.name)


def show_frame(scene, frame: int) -> bool:
    """Moves the objects to a frame that was kept. Whether there is one."""
    holder = holder_of(scene)
    if holder is None or not scene.karakuri.use_cache or getattr(holder, "playing", False) or not holder.cache:
        return False
    kept = holder.cache.get(frame)
    if kept is None:
        return False
    try:
        _write(holder, kept)
    except ReferenceError:
        holder.rebind() if isinstance(holder, simulation.Simulation) else holder.bind(scene)
        _write(holder, kept)
    return True


def _write(holder, kept) -> None:
    for owner in holder.movers.objects:
        rest.save(owner)
    rows = getattr(holder, "rows", None)
    holder.movers.write(kept.poses if rows is None else kept.poses[rows])


def clear(scene) -> None:
    shelf = shelves.pop(scene.name, None)
    run = simulation.of(scene)
    if run is not None:
        run.finish()
        run.cache = {}
    elif shelf is not None:
        for owner in shelf.movers.objects:
            rest.restore(owner)
    file = file_of(scene)
    if file and os.path.isfile(file):
        os.remove(file)


def file_of(scene) -> str:
    """Beside the .blend; nowhere while that has not been saved."""
    if not bpy.data.filepath:
        return ""
    clean = "".join(c if c.isalnum() or c in "-_ " else "_" for c in scene.name)
    return os.path.splitext(bpy.data.filepath)[0] + f".karakuri/{clean}.npz"


def save(scene) -> None:
    run, file = simulation.of(scene), file_of(scene)
    if run is None or not run.idle or len(run.cache) < 2 or not file:
        return
    kept = sorted(run.cache.items())
    os.makedirs(os.path.dirname(file), exist_ok=True)
    np.savez_compressed(
        file, key=run.key, uids=[p.uid for p in run.moved_parts], objects=[p.object_name for p in run.moved_parts],
        start=run.poses_start[run.movers.links], frames=[frame for frame, _ in kept], poses=np.array([k.poses for _, k in kept]))


def read(scene) -> bool:
    file = file_of(scene)
    if not file or not os.path.isfile(file):
        return False
    try:
        with np.load(file, allow_pickle=False) as data:
            shelves[scene.name] = Shelf(scene, {name: data[name] for name in data.files})
    except (OSError, ValueError, KeyError) as error:
        print(f"karakuri: the cache {file} cannot be read: {error}")
        return False
    return True


def poses_text(holder) -> str:
    """For the panel."""
    kept = sorted(holder.cache)
    return f"Frames {kept[0]} to {kept[-1]}" if kept else "No frames"


