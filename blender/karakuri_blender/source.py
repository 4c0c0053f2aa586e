"""What a file said, kept in full precision beside what Blender makes of it.

Blender's numbers have single precision, and its meshes too. A robot that is imported and exported again shall be the same
to the last bit where nobody has changed it. So each imported object keeps the words of its file (`source`) and, for each
group of them, what Blender's own description of it was at that moment (`seen`). Where that is still the same, the file's
words stand; where it is not, Blender's take their place, group by group.
"""
from __future__ import annotations

import json
from typing import Any, NamedTuple

from . import frames

POSE = ("at", "quat", "rpy", "rpy_deg", "matrix")
GEOMETRY = ("box", "sphere", "capsule", "cylinder", "cone", "ellipsoid", "plane", "hull", "mesh", "heightfield", "compound")
DOF = ("limits", "limits_deg", "damping", "stiffness", "rest", "dry_friction", "armature", "effort_limit",
       "velocity_limit", "limit_stiffness", "limit_damping", "dofs")
KEYS = {  # of each group
    "name": ("name",), "parent": ("parent",), "child": ("child",), "pose": POSE, "inertia": ("mass", "density", "inertia"),
    "surface": ("material",), "velocity": ("velocity", "angular_velocity"), "color": ("color",), "group": ("group",),
    "density": ("density",), "geometry": POSE + GEOMETRY, "kind": ("kind",), "frame": ("in_parent", "in_child"),
    "axis": ("axis", "second_axis", "pitch"), "dofs": DOF, "break": ("break_force", "break_torque"), "q": ("q", "q_deg"),
    "closing": ("closing_stiffness", "closing_damping", "closing_turn_stiffness", "closing_turn_damping"),
    "distance": ("distance", "range"), "visible": ("visible",),
    "settings": ("dt", "substeps", "solver", "contact", "integrator"),
}


class Group(NamedTuple):
    """What Blender says: `mark` to be compared, `keys` for the scene file, or a function that gives them."""

    mark: Any
    keys: Any


def plain(keys: dict) -> Group:
    return Group(keys, keys)


def same(a, b) -> bool:
    """Equal, but for poses, which are [x, y, z, qw, qx, qy, qz] under the key "pose" and pass through matrices."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(
            frames.same_pose(a[k], b[k]) if k.startswith("pose") else same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return a == b


def marks(groups: dict) -> str:
    """What is kept as `seen`."""
    return json.dumps({name: group.mark for name, group in groups.items()})


def changed(seen: dict, groups: dict) -> set:
    return {name for name, group in groups.items() if name not in seen or not same(seen[name], group.mark)}


def merge(source: str, seen: str, groups: dict) -> dict:
    """An entry of a scene file."""
    entry = json.loads(source) if source else {}
    before = json.loads(seen) if source and seen else {}
    for name in (changed(before, groups) if source else list(groups)):
        for key in KEYS[name]:
            entry.pop(key, None)
    for name, group in groups.items():
        if not source or name in changed(before, {name: group}):
            entry.update(group.keys() if callable(group.keys) else group.keys)
    return entry
