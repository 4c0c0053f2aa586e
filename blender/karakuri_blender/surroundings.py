"""The sections of a scene that have no objects in Blender: sensors, actuators, pairs of materials, couplings, keyframes...

They are kept as JSON in a text block, where the user may edit them, and follow when bodies and joints are renamed. What
names something that is gone is left out, with a note.
"""
from __future__ import annotations

import json
import os

import bpy

OWN = {"name", "gravity", "settings", "ground", "world", "bodies", "joints", "loops"}  # sections made from objects
LINK_KEYS = {"link", "from", "to", "parent", "child"}
JOINT_KEYS = {"joint", "follower", "leader"}


def read(scene) -> dict:
    """The content of the text block. Raises ValueError with its line where it is no JSON."""
    text = scene.karakuri.rest_of_scene
    if text is None or not text.as_string().strip():
        return {}
    try:
        content = json.loads(text.as_string())
    except json.JSONDecodeError as error:
        raise ValueError(f"text '{text.name}', line {error.lineno}: it is no JSON: {error.msg}") from error
    if not isinstance(content, dict):
        raise ValueError(f"text '{text.name}': sections are wanted, such as {{\"sensors\": [...]}}")
    return content


def write(scene, content: dict) -> None:
    k = scene.karakuri
    if not content and k.rest_of_scene is None:
        return
    if k.rest_of_scene is None:
        k.rest_of_scene = bpy.data.texts.new(f"{scene.name} karakuri.json")
    k.rest_of_scene.clear()
    k.rest_of_scene.write(json.dumps(content, indent=1) + "\n")


class Renaming:
    """Old names of links and joints to new ones; None where they are gone. Others stay as they are."""

    def __init__(self, links: dict, joints: dict) -> None:
        self.links, self.joints = links, joints
        self.gone = False

    def _name(self, table: dict, name):
        if not isinstance(name, str) or name not in table:
            return name
        self.gone = self.gone or table[name] is None
        return table[name]

    def entry(self, section: str, value, key: str = ""):
        if isinstance(value, dict):
            return {k: self.entry(section, v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [self.entry(section, v, key) for v in value]
        if key in LINK_KEYS or (section == "no_contact" and key == "between") or section == "kinematic":
            return self._name(self.links, value)
        if key in JOINT_KEYS or (section == "controllers" and key == "joints"):
            return self._name(self.joints, value)
        return value


def renamed(content: dict, links: dict, joints: dict, notes: list) -> dict:
    """The sections with other names, without the entries whose names are gone."""
    out = {}
    for section, entries in content.items():
        if not isinstance(entries, list):
            out[section] = Renaming(links, joints).entry(section, entries)
            continue
        kept = []
        for entry in entries:
            naming = Renaming(links, joints)
            new = naming.entry(section, entry)
            if naming.gone:
                notes.append(f"an entry of '{section}' is left out, because what it names is gone: {json.dumps(entry)[:80]}")
            else:
                kept.append(new)
        if kept:
            out[section] = kept
    return out


def keep_files(content: dict, folder: str) -> None:
    """Motions that a scene names become text blocks, so that they are saved with the .blend."""
    for entry in content.get("trajectories", []):
        name = os.path.basename(entry["file"])
        with open(os.path.join(folder, entry["file"]), encoding="utf-8") as file:
            text = bpy.data.texts.new(name)
            text.write(file.read())
        entry["file"] = text.name


def add_files(content: dict, folder: str, assets: dict) -> list:
    """The files of those text blocks. Returns what is wrong."""
    problems = []
    for entry in content.get("trajectories", []):
        text = bpy.data.texts.get(entry["file"])
        if text is None:
            problems.append(f"the trajectory '{entry.get('name')}' is in the text '{entry['file']}', which is gone")
            continue
        clean = "".join(c if c.isalnum() or c in "-_" else "_" for c in os.path.splitext(text.name)[0]) + ".csv"
        assets[clean] = text.as_string().encode()
        entry["file"] = f"{folder}/{clean}"
    return problems
