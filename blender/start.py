"""What ./karakuri blender runs inside Blender: switches the add-on on, installs it, or makes the example.

  blender --python start.py                              the add-on, for this session alone
  blender -b --python start.py -- install                into the user's add-ons
  blender -b --python start.py -- example FILE.blend
"""
import os
import shutil
import sys

import addon_utils
import bpy

here = os.path.dirname(os.path.abspath(__file__))
name = "karakuri_blender"
arguments = sys.argv[sys.argv.index("--") + 1:] if "--" in sys.argv else []


def switch_on():
    """From this folder, without a trace in the preferences."""
    if here not in sys.path:
        sys.path.insert(0, here)
    addon_utils.enable(name, default_set=False)


def install():
    """A copy in the user's add-ons, and beside it where the module is."""
    addons = bpy.utils.user_resource("SCRIPTS", path="addons", create=True)
    target = os.path.join(addons, name)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(os.path.join(here, name), target, ignore=shutil.ignore_patterns("__pycache__"))
    with open(os.path.join(target, "module_path.txt"), "w", encoding="utf-8") as note:
        note.write(os.environ.get("KARAKURI_PYTHON", "") + "\n")
    bpy.utils.refresh_script_paths()  # the folder may be new
    addon_utils.modules_refresh()
    if addon_utils.enable(name, default_set=True) is None:
        raise RuntimeError(f"Blender could not switch on the add-on in {target}; what it says stands above")
    bpy.ops.wm.save_userpref()
    print(f"karakuri: the add-on is in {target}, and switched on")


def example(path):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    switch_on()
    from karakuri_blender import example as scenes

    scenes.build(bpy.context.scene)
    bpy.ops.wm.save_as_mainfile(filepath=path)


if arguments[:1] == ["install"]:
    install()
elif arguments[:1] == ["example"]:
    example(arguments[1])
else:
    switch_on()
