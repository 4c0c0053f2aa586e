"""Behaviours of a scene, in a world that a script steps."""
import gc
import pathlib
import tempfile
import time
import unittest
import unittest.mock
import weakref

import numpy as np

import karakuri

SCENE = """
name: cart
settings: {dt: 0.01}
bodies:
  - {name: cart, joint: {name: slide, kind: prismatic, axis: [1, 0, 0]}, shapes: {box: [0.2, 0.2, 0.2]}, mass: 2}
behaviours:
  - {file: push.py, name: push, parameters: {force: 4}}
"""
PUSH = """
force = 0.0
state = {"setups": 0, "steps": 0}

def setup(world):
    state["setups"] += 1

def step(world, dt):
    state["steps"] += 1
    world["joint.slide.effort"] = force
"""


class Behaviours(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.scene = pathlib.Path(folder.name) / "cart.scene.yaml"
        self.file = pathlib.Path(folder.name) / "push.py"
        self.scene.write_text(SCENE)
        self.file.write_text(PUSH)

    def load(self, **options):
        return karakuri.World.load(self.scene, **{"behaviours": True, **options})

    def test_they_run_with_their_parameters(self):
        world = self.load()
        world.step(10)
        # semi-implicit: v = n h F / m, exactly
        self.assertAlmostEqual(world.v[0], 10 * 0.01 * 4 / 2, delta=1e-12)
        world["behaviour.push.force"] = 0
        world.step(10)
        self.assertAlmostEqual(world.v[0], 0.2, delta=1e-12)

    def test_they_can_be_left_alone(self):
        world = self.load(behaviours=False)
        self.file.unlink()
        world.step(10)
        self.assertEqual(world.v[0], 0)

    def test_code_from_elsewhere_does_not_run_unasked(self):
        mark = self.file.with_name("ran")
        self.file.write_text(f"open({str(mark)!r}, 'w').close()\n" + PUSH)
        with unittest.mock.patch.dict("os.environ", XDG_CONFIG_HOME=str(self.file.parent / "config")):
            with self.assertRaises(karakuri.UntrustedCode) as caught:
                karakuri.World.load(self.scene).step()
            self.assertIn(str(self.file), str(caught.exception))
            self.assertIn("behaviours=True", str(caught.exception))
            self.assertIsInstance(caught.exception, PermissionError)
            karakuri.World.load(self.scene, behaviours=False).step()
            self.assertFalse(mark.exists())
            (self.file.parent / "config" / "karakuri").mkdir(parents=True)
            trusted = self.file.parent / "config" / "karakuri" / "trusted-folders"
            trusted.write_text(f"{self.file.parent}\n")
            trusted.chmod(0o600)
            karakuri.World.load(self.scene).step()
            self.assertTrue(mark.exists())
        karakuri.World.load("cart-pole").step()  # bundled
        plain = self.scene.with_name("plain.scene.yaml")
        plain.write_text(SCENE.partition("behaviours:")[0])
        karakuri.World.load(plain).step()  # nothing to trust

    def test_failure_is_raised_until_the_file_is_mended(self):
        world = self.load()
        world.step(5)
        v = world.v[0]
        self.file.write_text(PUSH.replace('state["steps"] += 1', "missing += 1"))
        with self.assertRaises(karakuri.BehaviourError) as caught:
            time.sleep(0.15)  # files are looked at ten times a second
            world.step()
        self.assertIn("push.py", str(caught.exception))
        self.assertIn("UnboundLocalError", str(caught.exception))
        self.assertIsInstance(caught.exception.__cause__, UnboundLocalError)
        before = world.time
        for _ in range(3):
            with self.assertRaisesRegex(karakuri.BehaviourError, "UnboundLocalError"):
                world.step()
        self.assertEqual(world.time, before)  # no step was made
        self.file.write_text(PUSH)
        world.step(5)
        self.assertAlmostEqual(world.time, before + 0.05)
        self.assertGreater(world.v[0], v)

    def test_syntax_error_and_exit_are_failures_too(self):
        for text in ("def step(:", "import sys\ndef step(world, dt): sys.exit(3)\n", "x = 1"):
            self.file.write_text(text)
            with self.subTest(text), self.assertRaises(karakuri.BehaviourError):
                self.load().step()

    def test_missing_file_is_told(self):
        world = self.load()
        self.file.unlink()
        with self.assertRaisesRegex(karakuri.BehaviourError, "push.py"):
            world.step()

    def test_numbers_that_are_not_finite_are_told(self):
        self.file.write_text("def step(world, dt): world.q[0] = float('nan')")
        world = self.load()
        with self.assertRaisesRegex(karakuri.BehaviourError, "not finite"):
            world.step()
        self.assertTrue(np.isfinite(world.q).all())

    def test_setup_runs_again_after_reset_and_restore(self):
        self.file.write_text(PUSH.replace('state["setups"] += 1', 'world["joint.slide.v"] = 3'))
        again = self.load()
        again.step()
        self.assertAlmostEqual(again.v[0], 3.02)
        again.reset()
        again.step()
        self.assertAlmostEqual(again.v[0], 3.02)
        snapshot = again.save()
        again.step()
        again.restore(snapshot)
        again.step()
        self.assertAlmostEqual(again.v[0], 3.02)

    def test_the_world_goes_with_its_behaviours(self):
        world = self.load()
        world.step()
        there = weakref.ref(world)
        del world
        gc.collect()
        self.assertIsNone(there())

    def test_the_bundled_pole_is_balanced(self):
        world = karakuri.World.load("cart-pole")
        world.run(8.0)
        angle = (world.joint("hinge").q + np.pi) % (2 * np.pi) - np.pi
        self.assertLess(abs(angle), 0.1)


if __name__ == "__main__":
    unittest.main()
