"""From poses of bodies to locations and rotations of objects.

An object's matrix is M = P L, with L from its own location, rotation and scale, and P from what it hangs on. A body that
has moved from its modelled pose by the rigid D takes its object to D M; where the object hangs on another moving body A,
P has become D_A P. So

    L' = K L,   K = P^-1 D_A^-1 D P                                                                              (1)

K is rigid where P has no uneven scale, and scale, also mirrored, never has to be taken apart. Only location and rotation
are written, in the object's own rotation mode.
"""
from __future__ import annotations

import bpy
import numpy as np
from mathutils import Euler, Quaternion

from . import frames, naming


class Movers:
    """The objects that follow a world's links. Made in the modelled pose."""

    def __init__(self, objects: list, links: list, poses: np.ndarray, notes: list) -> None:
        """objects[i] follows poses[links[i]]."""
        self.objects = objects
        self.links = np.array(links, dtype=int)
        n = len(objects)
        self.start_inverse = frames.inverse(poses[self.links]) if n else np.zeros((0, 4, 4))
        place = {owner: i for i, owner in enumerate(objects)}
        self.above = np.array([place.get(naming.body_above(o), -1) for o in objects], dtype=int)
        P = [self._holder(o, notes) for o in objects]
        self.P = np.array(P).reshape(n, 4, 4)
        self.P_inverse = np.linalg.inv(self.P) if n else self.P
        self.turn_P = frames.quaternions(np.array([_rotation_of(p) for p in P]).reshape(n, 3, 3)) if n else np.zeros((0, 4))
        self.modes = [o.rotation_mode for o in objects]
        self.location = np.array([list(o.location + o.delta_location) for o in objects]).reshape(n, 3)
        self.delta = np.array([list(o.delta_location) for o in objects]).reshape(n, 3)
        self.turned = np.array([list(_delta_turn(o) @ _own_turn(o)) for o in objects]).reshape(n, 4)
        self.delta_back = np.array([list(_delta_turn(o).conjugated()) for o in objects]).reshape(n, 4)
        # P = 1 and no deltas, as with most objects: K = D, by the same equations with fewer products
        self.is_plain = bool((self.P == np.eye(4)).all() and not self.delta.any() and (self.delta_back == (1, 0, 0, 0)).all())
        self.all_xyz = all(mode == "XYZ" for mode in self.modes)

    @staticmethod
    def _holder(owner, notes: list) -> np.ndarray:
        basis = frames.matrix(owner.matrix_basis)
        world = frames.matrix(owner.matrix_world)
        if abs(np.linalg.det(basis[:3, :3])) < 1e-30:
            notes.append(f"'{owner.name}' has a scale of zero: it is simulated, but not moved")
            return frames.IDENTITY
        if owner.parent is None and not owner.constraints:
            return frames.IDENTITY
        P = world @ np.linalg.inv(basis)
        size = np.linalg.norm(P[:3, :3], axis=0)
        if size.max() > size.min() * (1 + 1e-4):
            notes.append(f"'{owner.name}' hangs on an object with uneven scale: it will look sheared where it turns")
        return P

    def channels(self, poses: np.ndarray):
        """Locations (n, 3) and rotations (n, 4) of the objects for the poses (n, 4, 4) of their links."""
        D = poses @ self.start_inverse
        hung = self.above >= 0
        if hung.any():
            D[hung] = frames.inverse(D[self.above[hung]]) @ D[hung]  # the right side is made of the old rows throughout
        if self.is_plain:
            locations = (D[:, :3, :3] @ self.location[:, :, None])[:, :, 0] + D[:, :3, 3]
            return locations, frames.products(frames.quaternions(D[:, :3, :3]), self.turned)
        K = self.P_inverse @ D @ self.P
        locations = np.einsum("nij,nj->ni", K[:, :3, :3], self.location) + K[:, :3, 3] - self.delta
        turn = frames.quaternions(D[:, :3, :3])
        back = self.turn_P * np.array([1, -1, -1, -1])
        turn = frames.products(frames.products(back, turn), self.turn_P)
        return locations, frames.products(self.delta_back, frames.products(turn, self.turned))

    def write(self, poses: np.ndarray) -> None:
        """Moves the objects, for the poses of their links. Raises ReferenceError where one is gone."""
        if not self.objects:
            return
        locations, turns = self.channels(poses)
        angles = frames.euler_xyz(turns).tolist()
        locations = locations.tolist()
        if self.all_xyz:
            for owner, location, angle in zip(self.objects, locations, angles):
                owner.location, owner.rotation_euler = location, angle
            return
        turns = turns.tolist()
        for i, owner in enumerate(self.objects):
            owner.location = locations[i]
            mode = self.modes[i]
            if mode == "XYZ":
                owner.rotation_euler = angles[i]
            elif mode == "QUATERNION":
                owner.rotation_quaternion = turns[i]
            elif mode == "AXIS_ANGLE":
                axis, angle = Quaternion(turns[i]).to_axis_angle()
                owner.rotation_axis_angle = (angle, *axis)
            else:
                owner.rotation_euler = Quaternion(turns[i]).to_euler(mode)


def _rotation_of(P: np.ndarray) -> np.ndarray:
    """The rotation next to the linear part of a matrix."""
    U, _, V = np.linalg.svd(P[:3, :3])
    R = U @ V
    return R if np.linalg.det(R) > 0 else -R


def _own_turn(owner) -> Quaternion:
    if owner.rotation_mode == "QUATERNION":
        return owner.rotation_quaternion.normalized()
    if owner.rotation_mode == "AXIS_ANGLE":
        angle, *axis = owner.rotation_axis_angle
        return Quaternion(axis, angle)
    return Euler(owner.rotation_euler, owner.rotation_mode).to_quaternion()


def _delta_turn(owner) -> Quaternion:
    if owner.rotation_mode == "QUATERNION":
        return owner.delta_rotation_quaternion.normalized()
    if owner.rotation_mode == "AXIS_ANGLE":
        return Quaternion()
    return Euler(owner.delta_rotation_euler, owner.rotation_mode).to_quaternion()


def find(parts: list) -> list:
    """The objects of Parts, also where they have been renamed; None for those that are gone."""
    found = []
    by_uid = None
    for part in parts:
        owner = bpy.data.objects.get(part.object_name)
        if owner is None or owner.karakuri.uid != part.uid:
            if by_uid is None:
                by_uid = {o.karakuri.uid: o for o in bpy.data.objects if o.karakuri.uid}
            owner = by_uid.get(part.uid)
            if owner is not None:
                part.object_name = owner.name
        found.append(owner)
    return found
