"""The example: an arm of two hinges that is driven, a ball on a swinging thread, and a creature with a camera for a head that
turns towards the ball where its view reaches; the view is a cone, its angle a number in the panel.
"""
from __future__ import annotations

import math

import bpy

from . import compat, meshes, naming, rules

LOOK = '''"""Turns the head towards the ball while it is within the view."""
import numpy as np

view_angle = 0.6  # half of the opening of the view [rad]
view_length = 2.0
gain = 6.0
properties = {
    "view_angle": {"min": 0.1, "max": 1.5, "unit": "ANGLE", "description": "Half of the opening of the view"},
    "view_length": {"min": 0.2, "max": 5.0, "description": "How far it sees [m]"},
    "gain": {"min": 0.0, "max": 20.0, "description": "How fast the head follows [1/s]"},
}


def view(world):
    """Where the eye is, where it looks, and where the ball is from there."""
    head = world.link("Head").pose
    eye = head[:3, 3]
    return eye, head[:3, 0], world.link("Ball").position - eye


def step(world, dt):
    eye, ahead, to_ball = view(world)
    distance = np.linalg.norm(to_ball)
    seen = distance < view_length and np.dot(ahead, to_ball) > np.cos(view_angle) * distance
    left, up = np.cross((0, 0, 1), ahead), np.cross(ahead, np.cross((0, 0, 1), ahead))
    pan, tilt = (np.dot(to_ball, left) / distance, np.dot(to_ball, up) / distance) if seen else (0.0, 0.0)
    world["joint.Pan.target_velocity"] = gain * pan
    world["joint.Tilt.target_velocity"] = -gain * tilt
    state["seen"] = bool(seen)


state = {"seen": False}


def draw(world, pen):
    eye, ahead, to_ball = view(world)
    pen.cone(eye, ahead, view_angle, view_length, (0.2, 1.0, 0.3, 0.18) if state["seen"] else (1.0, 0.4, 0.2, 0.18))
    if state["seen"]:
        pen.line(eye, eye + to_ball, (0.2, 1.0, 0.3, 1.0))
'''

WAVE = '''"""The arm goes to and fro."""
import math

speed = 1.0
properties = {"speed": {"min": 0.0, "max": 5.0, "description": "Of the arm [rad/s]"}}


def step(world, dt):
    world["joint.Shoulder.target"] = 0.5 * math.sin(speed * world.time)
    world["joint.Elbow.target"] = 0.8 + 0.5 * math.cos(speed * world.time)
'''

COLORS = {"arm": (0.85, 0.33, 0.24, 1), "creature": (0.27, 0.52, 0.66, 1), "ball": (0.93, 0.72, 0.29, 1), "base": (0.4, 0.42, 0.45, 1)}


class Builder:
    def __init__(self, scene) -> None:
        self.scene = scene
        self.collection = bpy.data.collections.new("Karakuri example")
        scene.collection.children.link(self.collection)
        self.materials: dict = {}

    def body(self, name, geometry, at, shape, color, motion="DYNAMIC", density=500.0):
        owner = naming.new_object(name, meshes.new(name, *geometry), self.collection)
        owner.location = at
        k = owner.karakuri
        k.role, k.shape, k.motion, k.density = "BODY", shape, motion, density
        if color not in self.materials:
            self.materials[color] = bpy.data.materials.new(f"example {color}")
            compat.base_color(self.materials[color], COLORS[color])
        owner.data.materials.append(self.materials[color])
        compat.smooth(owner.data, shape in ("SPHERE", "CAPSULE"))
        return owner

    def joint(self, name, kind, parent, child, at, axis=(0, 0, 1), limits=None, drive=None):
        owner = naming.new_object(name, None, self.collection)
        owner.empty_display_type, owner.empty_display_size = "SINGLE_ARROW", 0.15
        owner.location = at
        if parent is not None:
            bpy.context.view_layer.update()
            owner.parent = parent
            owner.matrix_parent_inverse = parent.matrix_world.inverted()
        owner.karakuri.role = "JOINT"
        j = owner.karakuri.joint
        j.kind, j.parent, j.child, j.axis = kind, parent, child, axis
        d = j.dofs[0] if len(j.dofs) else None
        if limits is not None:
            d.use_limits, d.lower, d.upper = True, *limits
        if drive is not None:
            d.use_drive, d.drive_stiffness, d.drive_damping = True, *drive
        return owner


def text_of(name: str, content: str):
    text = bpy.data.texts.new(name)
    text.write(content)
    return text


def add_rule(owner, text) -> None:
    owner.karakuri.rules.add().text = text
    rules.declare(owner)


def build(scene) -> None:
    b = Builder(scene)
    base = b.body("Base", meshes.box((0.3, 0.3, 0.1)), (0, 0, 0.05), "BOX", "base", "FIXED")
    upper = b.body("Upper arm", meshes.capsule(0.05, 0.4), (0, 0, 0.35), "CAPSULE", "arm")
    lower = b.body("Lower arm", meshes.capsule(0.04, 0.35), (0, 0, 0.79), "CAPSULE", "arm")
    b.joint("Shoulder", "REVOLUTE", base, upper, (0, 0, 0.12), (0, 1, 0), (-1.2, 1.2), (60, 6))
    elbow = b.joint("Elbow", "REVOLUTE", upper, lower, (0, 0, 0.58), (0, 1, 0), (-2.0, 2.0), (20, 2))
    elbow.karakuri.joint.dofs[0].damping = 0.05
    add_rule(base, text_of("wave.py", WAVE))

    trunk = b.body("Creature", meshes.box((0.2, 0.24, 0.3)), (-1.4, 0, 0.15), "BOX", "creature", "FIXED")
    neck = b.body("Neck", meshes.cylinder(0.05, 0.1), (-1.4, 0, 0.36), "CYLINDER", "creature")
    head = b.body("Head", meshes.box((0.2, 0.16, 0.14)), (-1.4, 0, 0.5), "BOX", "creature")
    b.joint("Pan", "REVOLUTE", trunk, neck, (-1.4, 0, 0.31), (0, 0, 1), (-2.2, 2.2), (0, 2))
    b.joint("Tilt", "REVOLUTE", neck, head, (-1.4, 0, 0.43), (0, 1, 0), (-0.9, 0.9), (0, 2))
    add_rule(head, text_of("look.py", LOOK))

    ball = b.body("Ball", meshes.ellipsoid(0.08, 0.08, 0.08), (-0.35, 0.5, 0.45), "SPHERE", "ball", density=300)
    ball.karakuri.restitution = 0.5
    thread = b.joint("Thread", "DISTANCE", None, ball, (-0.35, 0, 1.4))
    thread.karakuri.joint.use_range, thread.karakuri.joint.longest = True, math.hypot(0.95, 0.5)
    bpy.context.view_layer.update()
