"""A toy that walks on six legs: bars that turn about their middles, three and three a quarter of a turn apart, so that one
tripod stands while the other swings. docs/blender.md makes it by hand; here it is made in the same steps.
"""
from __future__ import annotations

import math

import bpy

from . import compat, example, meshes, naming

WALK = '''"""Turns the legs; all go by one phase, so that the tripods stay a quarter of a turn apart."""
pace = 4.0  # rad/s
properties = {"pace": {"min": -8.0, "max": 8.0, "description": "How fast the legs turn [rad/s]"}}
state = {"phase": 0.0}


def step(world, dt):
    state["phase"] += pace * dt
    for joint in world.joints:
        if joint.name.startswith("Hip"):
            world[f"joint.{joint.name}.target"] = state["phase"]
'''

BODY, LEG = (0.5, 0.22, 0.06), (0.03, 0.03, 0.26)
HIPS = [(0.2, 0.14), (0.0, -0.14), (-0.2, 0.14), (0.2, -0.18), (0.0, 0.18), (-0.2, -0.18)]  # one tripod, then the other, further out
HEIGHT = 0.14


class Toy:
    def __init__(self, scene) -> None:
        self.scene = scene
        self.collection = bpy.data.collections.new("Toy")
        scene.collection.children.link(self.collection)
        self.legs: list = []
        self.hips: list = []

    def paint(self, owner, color) -> None:
        material = bpy.data.materials.get(f"toy {color}") or bpy.data.materials.new(f"toy {color}")
        compat.base_color(material, example.COLORS[color])
        owner.data.materials.append(material)

    def body(self):
        self.trunk = naming.new_object("Trunk", meshes.new("Trunk", *meshes.box(BODY)), self.collection)
        self.trunk.location = (0, 0, HEIGHT)
        self.paint(self.trunk, "creature")
        return self.trunk

    def make_body(self, owner, density=400.0) -> None:
        k = owner.karakuri
        k.role, k.shape, k.density = "BODY", "BOX", density
        k.preset = "RUBBER"
        k.density = density

    def leg(self, i: int):
        x, y = HIPS[i]
        owner = naming.new_object(f"Leg{i + 1}", meshes.new(f"Leg{i + 1}", *meshes.box(LEG)), self.collection)
        owner.location = (x, y, HEIGHT)
        owner.rotation_euler[1] = 0 if i < 3 else math.pi / 2
        self.paint(owner, "ball" if i < 3 else "arm")
        self.legs.append(owner)
        return owner

    def hip(self, i: int):
        x, y = HIPS[i]
        owner = naming.new_object(f"Hip{i + 1}", None, self.collection)
        owner.empty_display_type, owner.empty_display_size = "SINGLE_ARROW", 0.08
        bpy.context.view_layer.update()
        owner.parent = self.trunk
        owner.matrix_parent_inverse = self.trunk.matrix_world.inverted()
        owner.location = (x, y, HEIGHT)
        owner.karakuri.role = "JOINT"
        j = owner.karakuri.joint
        j.kind, j.parent, j.child, j.axis = "REVOLUTE", self.trunk, self.legs[i], (0, 1, 0)
        self.hips.append(owner)
        return owner

    def drive(self, hip) -> None:
        d = hip.karakuri.joint.dofs[0]
        d.use_drive, d.drive_stiffness, d.drive_damping = True, 20.0, 1.0

    def rule(self) -> None:
        example.add_rule(self.trunk, example.text_of("walk.py", WALK))


def build(scene) -> Toy:
    toy = Toy(scene)
    toy.make_body(toy.body())
    for i in range(len(HIPS)):
        toy.make_body(toy.leg(i))
        toy.drive(toy.hip(i))
    toy.rule()
    bpy.context.view_layer.update()
    return toy
