"""Inside Blender: runs one module of unittest, and ends Blender with its result."""
import os
import sys
import traceback
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(os.path.dirname(os.path.dirname(here)), "blender")]
name = sys.argv[sys.argv.index("--") + 1]


def leave(code):
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


try:
    if name in ("test_window", "test_pictures"):
        import importlib

        import bpy

        bpy.context.preferences.view.show_splash = False
        importlib.import_module(name).begin(leave)
    else:
        chosen = sys.argv[sys.argv.index("--") + 2:]
        loader = unittest.TestLoader()
        tests = loader.loadTestsFromNames([f"{name}.{c}" for c in chosen]) if chosen else loader.loadTestsFromName(name)
        result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(tests)
        leave(0 if result.wasSuccessful() else 1)
except Exception:
    traceback.print_exc()
    leave(2)
