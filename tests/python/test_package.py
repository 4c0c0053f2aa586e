"""pip install: what it installs works from anywhere, with correct metadata; the stubs describe the module."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Pip(unittest.TestCase):
    @unittest.skipUnless("KARAKURI_BUILD" in os.environ, "KARAKURI_BUILD names no build to install from")
    def test_install(self):
        with tempfile.TemporaryDirectory() as folder:
            pip = [sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--no-index", "--quiet",
                   "--disable-pip-version-check", "--target", folder, str(ROOT)]
            done = subprocess.run(pip, capture_output=True, text=True, cwd=folder)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            environment = {k: v for k, v in os.environ.items() if k != "KARAKURI_BUILD"} | {"PYTHONPATH": folder}
            code = ("import karakuri, importlib.metadata as m, pathlib\n"
                    f"assert pathlib.Path(karakuri.__file__).is_relative_to({folder!r}), karakuri.__file__\n"
                    "world = karakuri.World.load('four-bar'); world.step(10)\n"
                    "data = m.metadata('karakuri')\n"
                    "print(data['Name'], data['Version'], data['License'], [r.translate(str.maketrans('', '', ' ()')) for r in m.requires('karakuri')], m.version('karakuri') == karakuri.__version__)\n")
            done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=folder, capture_output=True, text=True)
            self.assertEqual(done.stdout, "karakuri 0.1.0 MIT ['numpy>=1.24'] True\n", done.stderr)
            done = subprocess.run([sys.executable, "-m", "karakuri", "list"], env=environment, cwd=folder, capture_output=True, text=True)
            self.assertIn("four-bar", done.stdout, done.stderr)
            self.assertTrue((pathlib.Path(folder) / "karakuri/py.typed").exists())


class Stubs(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
    def test_mypy_accepts_the_package(self):
        package = pathlib.Path(importlib.util.find_spec("karakuri").origin).parent
        with tempfile.TemporaryDirectory() as cache:
            done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", cache, "--ignore-missing-imports", "-p", "karakuri"],
                                  cwd=package.parent, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
