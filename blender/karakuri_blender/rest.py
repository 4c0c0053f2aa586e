"""Rest poses: where the user put an object, kept on the object itself while a run, a bake or the cache moves it.

They are part of the .blend, so that they come back also when Blender was closed, or undo was pressed, in the middle of a
run. Restoring writes the very numbers that were saved: location, rotation in all three forms, scale.
"""
from __future__ import annotations

import bpy


def save(owner) -> None:
    """Once; a second time changes nothing."""
    k = owner.karakuri
    if k.rest_saved:
        return
    k.rest = (*owner.location, *owner.scale, *owner.delta_location, 0.0)
    k.rest_rotation = (*owner.rotation_euler, *owner.rotation_quaternion, *owner.rotation_axis_angle)
    k.rest_saved = True


def show(owner) -> None:
    """Puts it where it was; it stays known as saved."""
    k = owner.karakuri
    owner.location, owner.scale = k.rest[0:3], k.rest[3:6]
    owner.rotation_euler, owner.rotation_quaternion = k.rest_rotation[0:3], k.rest_rotation[3:7]
    owner.rotation_axis_angle = k.rest_rotation[7:11]


def restore(owner) -> None:
    if owner.karakuri.rest_saved:
        show(owner)
        owner.karakuri.rest_saved = False


def moved(scene) -> list:
    return [o for o in scene.objects if o.karakuri.rest_saved]


class Shown:
    """with rest.Shown(scene): everything stands where the user put it, and afterwards where it was before."""

    def __init__(self, scene) -> None:
        self.scene = scene

    def __enter__(self) -> None:
        self.before = [(o, o.location.copy(), o.rotation_euler.copy(), o.rotation_quaternion.copy(), tuple(o.rotation_axis_angle),
                        o.scale.copy()) for o in moved(self.scene)]
        self.actions = [(o, o.animation_data.action) for o, *_ in self.before if o.karakuri.baked and o.animation_data]
        for owner, _ in self.actions:  # or its keyframes would move it again
            owner.animation_data.action = None
        for owner, *_ in self.before:
            show(owner)
        if self.before:
            bpy.context.view_layer.update()

    def __exit__(self, *_) -> None:
        for owner, location, euler, quaternion, axis_angle, scale in self.before:
            owner.location, owner.rotation_euler, owner.rotation_quaternion = location, euler, quaternion
            owner.rotation_axis_angle, owner.scale = axis_angle, scale
        for owner, action in self.actions:
            owner.animation_data.action = action
        if self.before:
            bpy.context.view_layer.update()


def heal(scene) -> int:
    """Restores what was left behind by a run that did not end as it should. Returns how many."""
    left = [o for o in moved(scene) if o.karakuri.baked is None]
    for owner in left:
        restore(owner)
    return len(left)
