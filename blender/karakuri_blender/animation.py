"""Kinematic bodies that have keyframes: between two frames they move with the constant velocity that takes them there.

  v = (p1 - p0) / T,   w = log(R1 R0^-1) / T                                                                        (1)

with T the time until the next frame. A scene file has no such motion: what is exported moves as its velocity says.
"""
from __future__ import annotations

import math

import numpy as np
from mathutils import Euler, Matrix, Quaternion

from . import compat, frames

CHANNELS = {"location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle"}


class Motion:
    """Of one object, along its f-curves."""

    def __init__(self, owner, link: str, curves: list) -> None:
        self.link = link
        self.mode = owner.rotation_mode
        self.curves = curves
        self.rest = {"location": list(owner.location), "rotation_euler": list(owner.rotation_euler),
                     "rotation_quaternion": list(owner.rotation_quaternion),
                     "rotation_axis_angle": list(owner.rotation_axis_angle)}
        self.sign = np.sign(np.linalg.det(np.array(owner.matrix_world)[:3, :3]))

    def tabulate(self, start: int, end: int) -> None:
        """Reads the curves, which belong to the main thread."""
        self.first = start
        self.poses = [self.pose(frame) for frame in range(start, end + 1)]

    def pose(self, frame: float) -> np.ndarray:
        values = {key: list(value) for key, value in self.rest.items()}
        for curve in self.curves:
            values[curve.data_path][curve.array_index] = curve.evaluate(frame)
        if self.mode == "QUATERNION":
            turn = Quaternion(values["rotation_quaternion"])
        elif self.mode == "AXIS_ANGLE":
            turn = Quaternion(values["rotation_axis_angle"][1:], values["rotation_axis_angle"][0])
        else:
            turn = Euler(values["rotation_euler"], self.mode).to_quaternion()
        return frames.frame_of(Matrix.LocRotScale(values["location"], turn, (self.sign, 1, 1)))

    def at(self, frame: int) -> np.ndarray:
        return self.poses[min(max(frame - self.first, 0), len(self.poses) - 1)]

    def steer(self, world, frame: int, duration: float) -> None:
        """Gives the link the velocity (1) that takes it to its pose at a frame."""
        link = world.link(self.link)
        X, target = link.pose, self.at(frame)
        q = frames.quaternion(target[:3, :3] @ X[:3, :3].T)
        size = np.linalg.norm(q[1:])
        angle = 2 * math.atan2(size, q[0])
        spin = q[1:] / size * angle if size > 0 else np.zeros(3)
        link.set_velocity((target[:3, 3] - X[:3, 3]) / duration, spin / duration)


def motions(scene, objects: list, names: list, notes: list) -> list:
    """Of the kinematic bodies with keyframes on their place."""
    out = []
    for owner, name in zip(objects, names):
        data = owner.animation_data
        if owner.karakuri.motion != "KINEMATIC" or data is None or data.action is None:
            continue
        curves = [c for c in compat.curves_of(owner, data.action, make=False) if c.data_path in CHANNELS]
        if owner.parent is not None or owner.constraints:
            notes.append(f"'{owner.name}' is kinematic and hangs on something: its keyframes are not followed")
        elif curves:
            motion = Motion(owner, name, curves)
            motion.tabulate(min(scene.frame_start, scene.karakuri.bake_start), max(scene.frame_end, scene.karakuri.bake_end))
            out.append(motion)
    return out
