"""What sliders do to a world that runs.

The scene is described again, with the geometry of its start; where its numbers differ, the engine is given them: targets and
gains by their keys, settings and gravity by theirs, all else (masses, materials, limits, springs, dampers, softness) by an
edit of the scene. Whatever the panels offer is covered by that, because it is the description that is compared.
"""
from __future__ import annotations

import os

from . import describe

SELF_SET = {"settings", "gravity", "controllers"}
STRUCTURE = ("bodies", "joints", "loops")


def changes(simulation, scene) -> list:
    """Functions of the world, for its thread. What cannot be changed while it runs is told in simulation.ahead."""
    try:
        new = describe.describe(scene, frozen=simulation.description.geometry)
    except describe.ModelError as error:
        simulation.ahead = f"{error.problems[0]} (acts at the next start)"
        return []
    old, now = simulation.description.content, new.content
    if structure(old) != structure(now):
        simulation.ahead = "bodies or joints were added, deleted or joined otherwise: this acts at the next start"
        return []
    simulation.ahead = ""
    out = drive_changes(old.get("controllers", []), now.get("controllers", []))
    out += setting_changes(old, now)
    if {k: v for k, v in old.items() if k not in SELF_SET} != {k: v for k, v in now.items() if k not in SELF_SET}:
        out.append(edit(simulation, now))
    simulation.description.content = now
    return out


def structure(content: dict) -> list:
    """What is joined to what, and how."""
    out = []
    for section in STRUCTURE:
        for entry in content.get(section, []):
            joint = entry.get("joint") if section == "bodies" else entry
            kind = joint if isinstance(joint, str) else (joint or {}).get("kind", "revolute")
            out.append((section, entry.get("name"), entry.get("parent"), entry.get("child"), kind))
    return out


def edit(simulation, content: dict):
    scene = simulation.karakuri.Scene(**content)
    folder = os.path.join(simulation.folder)
    return lambda world: scene.apply(world, folder=folder)


def setting_changes(old: dict, now: dict) -> list:
    out = []
    before, after = old.get("settings", {}), now.get("settings", {})
    default = {"dt": 0.001, "substeps": 1, "solver": "default", "contact": "cone", "integrator": "semi-implicit"}
    for key in sorted({**before, **after}):
        a, b = before.get(key, default.get(key)), after.get(key, default.get(key))
        if a != b and b is not None:
            out.append(lambda world, key=key, b=b: world.__setitem__(f"settings.{key}", b))
    if old.get("gravity") != now.get("gravity"):
        out.append(lambda world: setattr(world, "gravity", now["gravity"]))
    return out


DRIVE = {"target": 0.0, "target_velocity": 0.0, "stiffness": 0.0, "damping": 0.0, "limit": ".inf"}


def drive_changes(old: list, now: list) -> list:
    out = []

    def by_dof(entries):
        return {(entry["joints"], int(entry.get("dof", 0))): entry for entry in entries if isinstance(entry.get("joints"), str)}

    before, after = by_dof(old), by_dof(now)
    for joint, dof in sorted({**before, **after}):
        a, b = before.get((joint, dof), {}), after.get((joint, dof), {})
        for name, nothing in DRIVE.items():
            value = b.get(name, nothing)
            if a.get(name, nothing) != value:
                key = f"joint.{joint}.{name}" + (f".{dof}" if dof else "")
                out.append(lambda world, key=key, value=float("inf") if value == ".inf" else value: world.__setitem__(key, value))
    return out
