"""Names and order of what is simulated.

Names in scene files are those of the objects, or the title where that is given: a link and a joint of a robot may have
one name, two objects may not. The order is that in which things became parts, so that names may change freely.
"""
from __future__ import annotations

import uuid

import bpy


def give_order(owner) -> None:
    """A place after all others, and an identity. What was duplicated gets one of its own."""
    k = owner.karakuri
    taken = {o.karakuri.uid for o in bpy.data.objects if o is not owner and o.karakuri.uid}
    if not k.uid or k.uid in taken:
        k.uid = uuid.uuid4().hex[:12]
    if k.order == 0:
        k.order = 1 + max((o.karakuri.order for o in bpy.data.objects), default=0)


def parts(scene, role: str) -> list:
    """The scene's objects of a role, in their order."""
    return sorted((o for o in scene.objects if o.karakuri.role == role), key=lambda o: (o.karakuri.order, o.name_full))


def unique_names(objects, reserved=()) -> dict:
    """{object: name}. A title that another one has already falls back to the object's name, and that to a number."""
    taken, names = set(reserved), {}
    for owner in objects:
        wanted = owner.karakuri.title or owner.name
        if wanted in taken:
            wanted = owner.name
        name, i = wanted, 2
        while name in taken:
            name, i = f"{wanted}_{i}", i + 1
        taken.add(name)
        names[owner] = name
    return names


def new_object(name: str, data, collection):
    owner = bpy.data.objects.new(name, data)
    collection.objects.link(owner)
    return owner


def body_above(owner):
    """The body that an object hangs on by Blender's parents, or None."""
    above = owner.parent
    while above is not None and above.karakuri.role != "BODY":
        above = above.parent
    return above
