"""Joints, loops and drives as entries of a scene file."""
from __future__ import annotations


import numpy as np

from . import frames, kinds
from .source import Group, plain

SINGLE = {"REVOLUTE", "PRISMATIC", "SCREW"}  # whose position in the modelled pose may be given


def motion(j) -> np.ndarray:
    """M in F at the position that the joint has in the modelled pose. Of an imported joint of several degrees of
    freedom it is what the engine said at the import."""
    offset = j.id_data.get("karakuri_offset")
    if offset and abs(j.q - offset[0]) < 1e-12:
        return frames.rigid(offset[1:4], offset[4:8])
    if j.kind not in SINGLE or j.q == 0:
        return frames.IDENTITY
    axis, q = list(j.axis), frames.number(j.q)
    if j.kind == "PRISMATIC":
        return frames.slide(axis, q)
    turned = frames.turn(axis, q)
    return turned if j.kind == "REVOLUTE" else turned @ frames.slide(axis, frames.number(j.pitch) * q)


def in_child(j, X_joint, X_child) -> np.ndarray:
    """Frame M in the child, equation (1) of describe.py."""
    return frames.inverse(X_child) @ X_joint @ motion(j)


def zero_pose(j, X_parent, X_joint, X_child) -> np.ndarray:
    """The child in its parent where the joint is at zero."""
    return frames.inverse(X_parent) @ X_joint @ frames.inverse(in_child(j, X_joint, X_child))


def pose_entry(key: str, X) -> dict:
    keys = frames.pose_keys(X)
    return {key: keys} if keys else {}


def dof_keys(d) -> dict:
    keys = {}
    if d.use_limits:
        keys["limits"] = [frames.number(d.lower), frames.number(d.upper)]
        if d.limit_stiffness > 0:
            keys["limit_stiffness"] = frames.number(d.limit_stiffness)
            keys["limit_damping"] = frames.number(d.limit_damping)
    for key in ("damping", "stiffness", "rest", "dry_friction", "armature"):
        if getattr(d, key):
            keys[key] = frames.number(getattr(d, key))
    for key in ("effort_limit", "velocity_limit"):
        if getattr(d, key) > 0:
            keys[key] = frames.number(getattr(d, key))
    return keys


def all_dofs(j) -> dict:
    each = [dof_keys(d) for d in j.dofs]
    if not any(each):
        return {}
    return each[0] if len(each) == 1 else {"dofs": each}


def axis_keys(j) -> dict:
    keys = {}
    if list(j.axis) != [0, 0, 1]:
        keys["axis"] = frames.numbers(j.axis)
    if j.kind == "UNIVERSAL":
        keys["second_axis"] = frames.numbers(j.second_axis)
    if j.kind == "SCREW":
        keys["pitch"] = frames.number(j.pitch)
    return keys


def break_keys(j) -> dict:
    pairs = (("break_force", j.break_force), ("break_torque", j.break_torque))
    return {key: frames.number(x) for key, x in pairs if x > 0}


def groups(name: str, body_name: str, j) -> dict:
    """Of a joint of the tree, without its frame."""
    return {
        "name": Group({"name": name, "body": body_name}, {"name": name} if name != body_name else {}),
        "kind": plain({"kind": kinds.JOINTS[j.kind].word}),
        "axis": plain(axis_keys(j) if j.kind not in ("FIXED", "SPHERICAL", "FREE") else {}),
        "dofs": plain(all_dofs(j)),
        "break": plain(break_keys(j)),
        "q": plain({"q": frames.number(j.q)} if j.kind in SINGLE and j.q else {}),
    }


def closing_keys(j) -> dict:
    if not j.is_soft:
        return {}
    keys = {"closing_stiffness": frames.number(j.closing_stiffness), "closing_damping": frames.number(j.closing_damping)}
    if j.turn_stiffness > 0:
        keys["closing_turn_stiffness"] = frames.number(j.turn_stiffness)
        keys["closing_turn_damping"] = frames.number(j.turn_damping)
    return keys


def distance_keys(j) -> dict:
    if j.kind != "DISTANCE":
        return {}
    if j.use_range:
        return {"range": [frames.number(j.shortest) if j.shortest > 0 else "-.inf", frames.number(j.longest)]}
    return {"distance": frames.number(j.distance)} if j.distance > 0 else {}


def loop_groups(name: str, j) -> dict:
    out = groups(name, "", j)
    del out["q"]
    out["closing"] = plain(closing_keys(j))
    out["distance"] = plain(distance_keys(j))
    return out


IN_PANEL = "in_panel"  # marks a controller of a file whose numbers the panel of its joint shows


def drives(name: str, j) -> dict:
    """{dof: controller} of the joint's degrees of freedom."""
    out = {}
    for i, d in enumerate(j.dofs):
        if d.use_drive:
            out[i] = drive_entry(name, i, d.target, d.drive_stiffness, d.drive_damping, d.target_velocity, d.drive_limit)
    return out


def drive_entry(name: str, dof: int, target, stiffness, damping, velocity, limit) -> dict:
    entry = {"joints": name, "target": frames.number(target), "stiffness": frames.number(stiffness),
             "damping": frames.number(damping)}
    if dof:
        entry["dof"] = dof
    if velocity:
        entry["target_velocity"] = frames.number(velocity)
    if limit > 0:
        entry["limit"] = frames.number(limit)
    return entry


def in_single_precision(entry: dict) -> dict:
    """What drive_entry() makes of a controller of a file after its numbers have passed through Blender."""
    limit = entry.get("limit", 0)
    return drive_entry(entry["joints"], int(entry.get("dof", 0)), entry.get("target", 0), entry.get("stiffness", 0),
                       entry.get("damping", 0), entry.get("target_velocity", 0), 0 if isinstance(limit, str) else limit)


def controllers(listed: list, joints: list) -> list:
    """The controllers of a scene: those of its file in their order, with the panels' numbers where they were changed, then
    the new ones. joints: [(name, properties)]"""
    now = {name: drives(name, j) for name, j in joints}
    out = []
    for entry in listed:
        if not entry.get(IN_PANEL):
            out.append(entry)
            continue
        mine = now.get(entry["joints"], {}).pop(int(entry.get("dof", 0)), None)
        if mine is not None:
            kept = {key: value for key, value in entry.items() if key != IN_PANEL}
            out.append(kept if mine == in_single_precision(entry) else mine)
    return out + [entry for of_joint in now.values() for entry in of_joint.values()]


def read_dof(d, keys: dict) -> None:
    """Into Blender's properties, from an entry of a file."""
    limits = keys.get("limits")
    if limits is not None:
        d.use_limits = True
        d.lower, d.upper = (_finite(x) for x in limits)
    d.limit_stiffness = _finite(keys.get("limit_stiffness", 0), 0)
    for key in ("limit_damping", "damping", "stiffness", "rest", "dry_friction", "armature"):
        setattr(d, key, _finite(keys.get(key, 0)))
    d.effort_limit = _finite(keys.get("effort_limit", 0), 0)
    d.velocity_limit = _finite(keys.get("velocity_limit", 0), 0)


def _finite(x, instead: float = 1e9) -> float:
    """Files have infinities as words."""
    if isinstance(x, str):
        return -instead if x.startswith("-") else instead
    return x


def read(j, entry: dict, kind: str) -> None:
    j.kind = kind
    j.axis = entry.get("axis", (0, 0, 1))
    j.second_axis = entry.get("second_axis", (1, 0, 0))
    j.pitch = entry.get("pitch", 0)
    each = entry.get("dofs")
    for i, d in enumerate(j.dofs):
        read_dof(d, {**entry, **(each[i] if each and i < len(each) else {})})
    j.break_force, j.break_torque = (_finite(entry.get(key, 0), 0) for key in ("break_force", "break_torque"))
    j.distance = entry.get("distance", 0)
    if "range" in entry:
        j.use_range = True
        j.shortest, j.longest = (max(_finite(x), 0) for x in entry["range"])
    soft = [key for key in entry if key.startswith("closing_")]
    j.is_soft = bool(soft)
    j.closing_stiffness = _finite(entry.get("closing_stiffness", 0), 0)
    j.closing_damping = entry.get("closing_damping", 0)
    j.turn_stiffness = _finite(entry.get("closing_turn_stiffness", 0), 0)
    j.turn_damping = entry.get("closing_turn_damping", 0)


def offset_of(X_motion, q: float) -> list:
    """As motion() reads it."""
    return [q, *X_motion[:3, 3].tolist(), *frames.quaternion(X_motion[:3, :3]).tolist()]


