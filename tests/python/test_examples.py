"""The examples and the snippets of the documentation run as they are written."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "MPLBACKEND": "Agg", "KARAKURI_EXAMPLE_QUICK": "1"}


def run(arguments, folder):
    return subprocess.run([sys.executable, *map(str, arguments)], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True,
                          timeout=550)


class Examples(unittest.TestCase):
    def test_each_runs(self):
        examples = sorted((ROOT / "examples/python").glob("[0-9]*.py"))
        self.assertGreater(len(examples), 6)
        for example in examples:
            with self.subTest(example.name), tempfile.TemporaryDirectory() as folder:
                done = run([example], folder)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertTrue(done.stdout)


class Documentation(unittest.TestCase):
    def test_snippets_run(self):
        """All ```python blocks of a page, one after the other in one process: later ones may use what earlier ones made."""
        for page in ("docs/python.md", "README.md"):
            blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.S | re.M)
            self.assertTrue(blocks or page != "docs/python.md")
            with self.subTest(page), tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "snippets.py"
                path.write_text("\n".join(blocks))
                done = run([path], folder)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
