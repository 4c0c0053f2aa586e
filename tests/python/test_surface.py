"""The public names: each is documented, stands in the stubs, and is used in a test."""
import ast
import inspect
import pathlib
import re
import unittest

import karakuri
from karakuri import _karakuri

PACKAGE = pathlib.Path(karakuri.__file__).parent
TESTS = pathlib.Path(__file__).parent


def public_names(thing):
    return [name for name in vars(thing) if not name.startswith("_")]


def classes():
    return [getattr(karakuri, name) for name in karakuri.__all__ if inspect.isclass(getattr(karakuri, name))]


class Surface(unittest.TestCase):
    def test_all_is_complete(self):
        exported = {n for n, x in vars(karakuri).items()
                    if not n.startswith("_") and not inspect.ismodule(x) and getattr(x, "__module__", "").startswith("karakuri")}
        self.assertEqual(exported - {"load"}, set(karakuri.__all__))

    def test_every_name_is_documented(self):
        for name in karakuri.__all__:
            self.assertTrue(getattr(karakuri, name).__doc__, name)
        for cls in classes():
            for name in public_names(cls):
                member = vars(cls)[name]
                if callable(member) or isinstance(member, (property, staticmethod)):
                    self.assertTrue(getattr(member, "__doc__", None), f"{cls.__name__}.{name}")

    def test_every_name_is_used_in_a_test(self):
        text = "".join(path.read_text() for path in TESTS.glob("test_*.py") if path.name != "test_surface.py")
        for name in karakuri.__all__:
            self.assertTrue(re.search(rf"karakuri\.{name}\b", text), f"{name} is in no test")
        for cls in classes():
            for name in public_names(cls):
                self.assertTrue(re.search(rf"[.\"]{re.escape(name)}\b", text), f"{cls.__name__}.{name} is in no test")

    def test_stubs_have_exactly_the_names_of_the_module(self):
        stub = ast.parse((PACKAGE / "_karakuri.pyi").read_text())
        told = {}
        for node in stub.body:
            if isinstance(node, ast.ClassDef):
                told[node.name] = {n.name for n in node.body if isinstance(n, ast.FunctionDef)} | {
                    n.target.id for n in node.body if isinstance(n, ast.AnnAssign)}
        there = {n: set(public_names(x)) for n, x in vars(_karakuri).items() if inspect.isclass(x)}
        self.assertEqual(set(told), set(there))
        for name in there:
            self.assertEqual({n for n in told[name] if not n.startswith("_")}, there[name], name)


if __name__ == "__main__":
    unittest.main()
