"""Where the Python module karakuri is, and what to tell the user when it is not there."""
from __future__ import annotations

import importlib
import os
import sys

_failure = ""


def _folders(preferred: str) -> list:
    """Where to look, best first: the preferences, the environment, beside the add-on (a link of ./karakuri blender)."""
    found = [preferred] if preferred else []
    found += [p for p in os.environ.get("KARAKURI_PYTHON", "").split(os.pathsep) if p]
    note = os.path.join(os.path.dirname(os.path.realpath(__file__)), "module_path.txt")
    if os.path.isfile(note):
        with open(note, encoding="utf-8") as file:
            found.append(file.read().strip())
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    found.append(os.path.join(here, "build", "release", "python"))
    return [folder for folder in found if os.path.isdir(os.path.join(folder, "karakuri"))]


def _preferred() -> str:
    import bpy

    addon = bpy.context.preferences.addons.get(__package__)
    return bpy.path.abspath(addon.preferences.module_folder) if addon and addon.preferences else ""


def load():
    """The module, or None; `why()` then tells what is missing."""
    global _failure
    if "karakuri" in sys.modules:
        return sys.modules["karakuri"]
    for folder in _folders(_preferred()):
        if folder not in sys.path:
            sys.path.append(folder)
    try:
        karakuri = importlib.import_module("karakuri")
        _failure = ""
        return karakuri
    except Exception as error:  # also a module for another Python
        _failure = f"{type(error).__name__}: {error}"
        sys.modules.pop("karakuri", None)
        return None


def why() -> str:
    """What is missing, and what to do about it."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return (
        f"The Python module karakuri cannot be imported ({_failure or 'it was not looked for'}). Build it with "
        f"'./karakuri python -c \"import karakuri\"' in the project's folder, which makes build/release/python, and name that "
        f"folder in the preferences of the add-on; or start Blender by './karakuri blender'. The module is made for Debian's "
        f"Python 3.11; this Blender has Python {version}."
    )


def need():
    """The module. Raises RuntimeError with what to do."""
    karakuri = load()
    if karakuri is None:
        raise RuntimeError(why())
    return karakuri
