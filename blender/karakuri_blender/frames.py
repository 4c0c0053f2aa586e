"""Rigid frames as 4 x 4 matrices and as poses (position, quaternion w x y z), and Blender's single precision as numbers.

Blender keeps numbers in single precision. What a user types as 0.1 is 0.10000000149 there; `number` gives 0.1 back: the
shortest decimal that is the same number in single precision. Poses come out of products of such matrices and are
rounded to 1e-7, their precision at 1 m.
"""
from __future__ import annotations

import math

import numpy as np

IDENTITY = np.eye(4)
ROUNDED_TO = 7  # decimals of a pose


def number(x) -> float:
    """The shortest decimal that is this number in single precision."""
    if math.isinf(x) or math.isnan(x):
        return float(x)
    return float(str(np.float32(x)))


def numbers(values) -> list:
    return [number(x) for x in values]


def matrix(m) -> np.ndarray:
    """Of a mathutils.Matrix, in double precision."""
    return np.array([list(row) for row in m], dtype=float)


def rotation(q) -> np.ndarray:
    """Of a quaternion w, x, y, z of any length."""
    w, x, y, z = np.asarray(q, dtype=float) / np.linalg.norm(q)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])


def quaternion(R) -> np.ndarray:
    """w, x, y, z with w >= 0, of the rotation next to R: the eigenvector of Bar-Itzhack (2000)."""
    R = np.asarray(R, dtype=float)
    K = np.array([
        [R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[2, 1] - R[1, 2]],
        [R[0, 1] + R[1, 0], R[1, 1] - R[0, 0] - R[2, 2], R[1, 2] + R[2, 1], R[0, 2] - R[2, 0]],
        [R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], R[2, 2] - R[0, 0] - R[1, 1], R[1, 0] - R[0, 1]],
        [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], R[0, 0] + R[1, 1] + R[2, 2]],
    ])
    _, vectors = np.linalg.eigh(K / 3)
    x, y, z, w = vectors[:, -1]
    return np.array([w, x, y, z]) if w >= 0 else -np.array([w, x, y, z])


def rigid(p=(0, 0, 0), q=(1, 0, 0, 0)) -> np.ndarray:
    X = np.eye(4)
    X[:3, :3] = rotation(q)
    X[:3, 3] = p
    return X


def inverse(X) -> np.ndarray:
    """Of a rigid matrix, or of a stack of them."""
    Y = np.zeros_like(X)
    R = np.swapaxes(X[..., :3, :3], -1, -2)
    Y[..., :3, :3] = R
    Y[..., :3, 3] = -np.einsum("...ij,...j->...i", R, X[..., :3, 3])
    Y[..., 3, 3] = 1
    return Y


def frame_of(matrix_world) -> np.ndarray:
    """The rigid part of an object's matrix: its origin, and its axes without scale. What is mirrored has the axes that
    Blender itself shows for it."""
    return rigid(list(matrix_world.translation), list(matrix_world.to_quaternion()))


def _rounded(values) -> list:
    return [float(round(x, ROUNDED_TO)) + 0.0 for x in values]


def pose_keys(X) -> dict:
    """The keys of a pose in a scene file; those that say nothing are left out."""
    keys = {}
    p, q = _rounded(X[:3, 3]), _rounded(quaternion(X[:3, :3]))
    if any(p):
        keys["at"] = p
    if any(q[1:]):
        keys["quat"] = q
    return keys


def pose_list(X) -> list:
    """Position and quaternion, for comparisons."""
    return [float(x) for x in X[:3, 3]] + [float(x) for x in quaternion(X[:3, :3])]


def same_pose(a, b) -> bool:
    """Whether two of pose_list() are the same but for single precision, which some products of matrices have passed."""
    if a is None or b is None:
        return a is b
    size = 1 + max(abs(x) for x in a[:3] + b[:3])
    near = all(abs(x - y) < 4e-6 * size for x, y in zip(a[:3], b[:3]))
    return near and abs(sum(x * y for x, y in zip(a[3:], b[3:]))) > 1 - 1e-10


def from_keys(keys) -> np.ndarray:
    """A pose from the keys of a scene file."""
    X = np.eye(4)
    X[:3, 3] = keys.get("at", (0, 0, 0))
    if "quat" in keys:
        X[:3, :3] = rotation(keys["quat"])
    elif "matrix" in keys:
        X[:3, :3] = np.reshape(keys["matrix"], (3, 3))
    elif "rpy" in keys or "rpy_deg" in keys:
        a, b, c = keys["rpy"] if "rpy" in keys else np.radians(keys["rpy_deg"])
        Rx = rotation((math.cos(a / 2), math.sin(a / 2), 0, 0))
        Ry = rotation((math.cos(b / 2), 0, math.sin(b / 2), 0))
        Rz = rotation((math.cos(c / 2), 0, 0, math.sin(c / 2)))
        X[:3, :3] = Rz @ Ry @ Rx
    return X


def turn(axis, angle) -> np.ndarray:
    axis = np.asarray(axis, dtype=float)
    axis = axis / np.linalg.norm(axis)
    return rigid(q=(math.cos(angle / 2), *(math.sin(angle / 2) * axis)))


def slide(axis, distance) -> np.ndarray:
    axis = np.asarray(axis, dtype=float)
    return rigid(distance * axis / np.linalg.norm(axis))


# ---- many at once: arrays of quaternions (n, 4)


def quaternions(R) -> np.ndarray:
    """Of rotations (n, 3, 3), by Shepperd's choice of the largest component."""
    xx, yy, zz = R[:, 0, 0], R[:, 1, 1], R[:, 2, 2]
    choice = np.argmax(np.stack([xx + yy + zz, xx, yy, zz]), axis=0)
    out = np.empty((len(R), 4))
    for c in np.unique(choice):
        rows = np.nonzero(choice == c)[0]
        r = R[rows]
        if c == 0:
            q = np.stack([1 + r[:, 0, 0] + r[:, 1, 1] + r[:, 2, 2], r[:, 2, 1] - r[:, 1, 2], r[:, 0, 2] - r[:, 2, 0],
                          r[:, 1, 0] - r[:, 0, 1]], axis=1)
        else:
            i, j, k = c - 1, c % 3, (c + 1) % 3
            q = np.empty((len(rows), 4))
            q[:, 0] = r[:, k, j] - r[:, j, k]
            q[:, 1 + i] = 1 + r[:, i, i] - r[:, j, j] - r[:, k, k]
            q[:, 1 + j] = r[:, j, i] + r[:, i, j]
            q[:, 1 + k] = r[:, k, i] + r[:, i, k]
        out[rows] = q
    return out / np.sqrt((out * out).sum(axis=1, keepdims=True))


def products(a, b) -> np.ndarray:
    """Of quaternions, row by row."""
    w, x, y, z = (a[..., i] for i in range(4))
    p, q, r, s = (b[..., i] for i in range(4))
    return np.stack([
        w * p - x * q - y * r - z * s,
        w * q + x * p + y * s - z * r,
        w * r - x * s + y * p + z * q,
        w * s + x * r - y * q + z * p,
    ], axis=-1)


def euler_xyz(q) -> np.ndarray:
    """Blender's XYZ angles (about the fixed axes x, then y, then z) of unit quaternions (..., 4). Where y is a right angle only
    the sum or difference of x and z counts, and z is 0."""
    w, x, y, z = (q[..., i] for i in range(4))
    r00, r10, r20 = 1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)
    cosine = np.hypot(r00, r10)
    pole = cosine < 1e-6  # there the angles of x and z are noise, of 1e-16 / cosine
    r21, r22 = 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)
    r11, r12 = 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
    return np.stack([
        np.where(pole, np.arctan2(-r12, r11), np.arctan2(r21, r22)),
        np.arctan2(-r20, cosine),
        np.where(pole, 0.0, np.arctan2(r10, r00)),
    ], axis=-1)
