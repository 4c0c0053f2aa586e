"""Native scenes out of Blender: the text that runs here, with the files that it names; rules become behaviours."""
from __future__ import annotations

import json
import os

from . import describe, rest, rules

ENDING = ".scene.yaml"


def stem_of(path: str) -> str:
    name = os.path.basename(path)
    for ending in (ENDING, ".yaml", ".yml"):
        if name.endswith(ending):
            return name[: -len(ending)]
    return name


def behaviours(scene, description, folder: str) -> list:
    """Of the scene's rules, whose texts become files."""
    names = {part.uid: part.name for part in description.bodies + description.joints}
    out = []
    for owner, rule in rules.Rules.of(scene):
        clean = "".join(c if c.isalnum() or c in "-_" else "_" for c in os.path.splitext(rule.text.name)[0])
        number, name = 2, clean
        while any(entry["name"] == name for entry in out):
            name, number = f"{clean}_{number}", number + 1
        file = f"{folder}/{name}.py"
        description.assets[file] = rule.text.as_string().encode()
        parameters = rules.values_of(scene, owner)
        parameters["owner"] = names.get(getattr(owner.karakuri, "uid", ""), "")
        out.append({"name": name, "file": file, "parameters": parameters})
    return out


def save(scene, path: str):
    """Writes PATH and the folder of its files beside it. Returns the description. Raises describe.ModelError."""
    if not path.endswith((".yaml", ".yml")):
        path += ENDING
    stem = stem_of(path)
    with rest.Shown(scene):
        description = describe.describe(scene, stem, visuals=True)
    found = behaviours(scene, description, stem + ".assets")
    if found:
        description.content["behaviours"] = found
    for file, content in description.assets.items():
        place = os.path.join(os.path.dirname(path), file)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as out:
            out.write(content)
    with open(path, "w", encoding="utf-8") as out:
        out.write(to_yaml(description.content))
    return description


def to_yaml(content: dict) -> str:
    """JSON is YAML; a line for each entry keeps it readable."""
    lines = []
    for key, value in content.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            lines.append(f"{key}:")
            lines += ["  - " + json.dumps(entry, ensure_ascii=False, allow_nan=False) for entry in value]
        else:
            lines.append(f"{key}: {json.dumps(value, ensure_ascii=False, allow_nan=False)}")
    return "\n".join(lines) + "\n"
