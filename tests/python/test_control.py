"""Feed-forward and batches."""
import gc
import math
import unittest

import numpy as np

import karakuri
from common import arm, box_on_floor, four_bar, pendulum


def seven_joints() -> karakuri.World:
    scene = karakuri.Scene(name="seven")
    for i in range(7):
        parent = {"parent": f"link{i - 1}"} if i else {}
        scene.body(f"link{i}", at=(0, 0, 0.15 if i else 0.3), **parent,
                   joint={"name": f"j{i}", "axis": (0, 1, 0) if i % 2 else (0, 0, 1)},
                   shapes=[{"capsule": {"radius": 0.04, "length": 0.1}, "at": (0, 0, 0.07)}])
    return scene.world()


class Feedforward(unittest.TestCase):
    def test_tracks_a_sine_without_pd(self):
        world = seven_joints()
        names = [f"j{i}" for i in range(7)]
        amplitude, omega, dt = 0.3, 2 * math.pi, world.dt
        world.v = np.full(7, amplitude * omega)
        worst = 0.0
        for i in range(1, 1001):
            velocity = amplitude * (math.sin(omega * i * dt) - math.sin(omega * (i - 1) * dt)) / dt
            karakuri.feedforward(world, names, np.full(7, velocity), apply=True)
            world.step()
            worst = max(worst, np.abs(world.q - amplitude * math.sin(omega * i * dt)).max())
        self.assertLess(worst, 1e-3)

    def test_holds_a_humanoid_that_stands(self):
        world = karakuri.World.load("humanoid")
        # the rubber bushes of its feet have no motors
        joints = [j for j in world.joints if j.kind not in ("free", "fixed") and "bush" not in j.name]
        self.assertEqual(len(joints), 24)
        for joint in joints:
            joint.drive(stiffness=0, damping=0)  # of the scene's controllers
        start = np.array([joint.q for joint in joints])
        pelvis = world.link("pelvis")
        height = pelvis.position[2]
        for _ in range(400):
            karakuri.feedforward(world, joints, np.zeros(24), contact=True, apply=True)
            world.step()
        self.assertLess(np.abs(np.array([joint.q for joint in joints]) - start).max(), 1e-4)
        self.assertLess(abs(height - pelvis.position[2]), 0.03)  # the bushes give, and the feet start above the ground
        self.assertGreater(pelvis.rotation[2, 2], np.cos(0.03))
        # contacts tell the force on the second link, along the normal from the first: the ground carries the weight
        carried = np.abs(world.contacts["force"][:, 2]).sum()
        self.assertAlmostEqual(carried / (world.mass * 9.81), 1, delta=0.1)

    def test_agrees_with_inverse_dynamics(self):
        world = arm()
        joints = world.joints
        tau = karakuri.feedforward(world, joints, world.v + 1e-3 * np.array([1.0, -2.0, 3.0]))
        # an acceleration over one step, seen at its start: equal to first order in dt
        np.testing.assert_allclose(tau, world.inverse_dynamics([1.0, -2.0, 3.0]), atol=1e-2)
        np.testing.assert_array_equal(world.tau, 0)

    def test_closed_chain(self):
        world = four_bar()
        for key in ("stiffness", "damping"):
            world[f"joint.crank.{key}"] = 0
        for i in range(200):
            karakuri.feedforward(world, "crank", [3.0], apply=True)
            world.step()
        # the end of a step closes the loops again, which moves velocities by a share of dt
        self.assertAlmostEqual(world.joint("crank").v[0], 3.0, delta=3 * 3.0 * world.dt)

    def test_refusals(self):
        world = arm()
        with self.assertRaisesRegex(KeyError, "joint1"):
            karakuri.feedforward(world, ["joimt1"], [0])
        with self.assertRaises(ValueError):
            karakuri.feedforward(world, ["joint1"], [0, 1])
        with self.assertRaises(ValueError):
            karakuri.feedforward(world, ["joint1"], [math.nan])
        with self.assertRaises(ValueError):
            karakuri.feedforward(world, [], [])
        with self.assertRaises(TypeError):
            karakuri.feedforward(world, 3, [0])
        with self.assertRaises(ValueError):
            karakuri.feedforward(world, [arm().joint("joint1")], [0])


class Batches(unittest.TestCase):
    def test_copies_have_the_bits_of_the_single_world(self):
        world = arm()
        batch = karakuri.Batch(world, 5, threads=2)
        self.assertEqual((len(batch), batch.q.shape, batch.v.shape), (5, (5, 3), (5, 3)))
        self.assertGreaterEqual(batch.threads, 1)
        for i in range(5):
            batch.tau[i] = 0.1 * i
        batch.step(50)
        for i in range(5):
            single = arm()
            single.tau = np.full(3, 0.1 * i)
            single.step(50)
            np.testing.assert_array_equal(batch.q[i], single.q)
            np.testing.assert_array_equal(batch.poses("link2")[i], single.link("link2").pose)
        self.assertIn("5 copies", repr(batch))

    def test_copies_run_what_the_scene_asks_for(self):
        for name, steps in (("grip", 800), ("breaking-chain", 1200), ("arm", 300)):
            single = karakuri.World.load(name)
            batch = karakuri.Batch(single, 2)
            link = single.links[-1].name
            for _ in range(4):
                batch.step(steps // 4)
                single.step(steps // 4)
                for i in range(2):
                    np.testing.assert_array_equal(batch.poses(link)[i], single.link(link).pose, err_msg=name)

    def test_controls(self):
        world = karakuri.World.load("humanoid", behaviours=False)
        batch = karakuri.Batch(world, 2)
        self.assertEqual(batch.u.shape, (2, len(world.u)))

    def test_what_cannot_be_copied_is_refused(self):
        world = pendulum()
        world.on_step(lambda w: None)
        with self.assertRaisesRegex(RuntimeError, "callbacks"):
            karakuri.Batch(world, 2)
        karakuri.Batch(world.copy(), 2)
        with self.assertRaisesRegex(Exception, "behaviours"):
            karakuri.Batch(karakuri.World.load("cart-pole", behaviours=True), 2)
        karakuri.Batch(karakuri.World.load("cart-pole", behaviours=False), 2)

    def test_targets_of_drives(self):
        world = pendulum()
        world.joint("hinge").drive(stiffness=1000, damping=100)
        batch = karakuri.Batch(world, 3)
        batch.q_target = [[0.1], [0.2], [0.3]]
        batch.v_target = 0
        batch.step(3000)
        # the spring holds the weight at an angle a little off: m g l sin(q) / K
        for i, target in enumerate((0.1, 0.2, 0.3)):
            self.assertAlmostEqual(batch.q[i, 0], target - 9.81 * 0.5 * math.sin(target) / 1000, delta=1e-4)

    def test_reset_restore_set_state(self):
        world = arm()
        snapshot = world.save()
        batch = karakuri.Batch(world, 2)
        start = batch.q.copy()
        batch.step(20)
        batch.reset(1)
        np.testing.assert_array_equal(batch.q[1], start[1])
        self.assertFalse(np.array_equal(batch.q[0], start[0]))
        batch.reset()
        np.testing.assert_array_equal(batch.q, start)
        batch.set_state(0, [0.1, 0.2, 0.3], [0, 0, 0])
        np.testing.assert_array_equal(batch.q[0], [0.1, 0.2, 0.3])
        batch.restore(0, snapshot)
        np.testing.assert_array_equal(batch.q[0], start[0])
        for call in (lambda: batch.reset(2), lambda: batch.set_state(-1, start[0], start[0]), lambda: batch.restore(9, snapshot)):
            with self.assertRaises(IndexError):
                call()
        with self.assertRaises(ValueError):
            batch.set_state(0, [1], [0, 0, 0])
        with self.assertRaises(ValueError):
            batch.restore(0, pendulum().save())

    def test_refusals_and_lifetime(self):
        with self.assertRaises(ValueError):
            karakuri.Batch(arm(), 0)
        with self.assertRaises(TypeError):
            karakuri.Batch("arm", 3)
        batch = karakuri.Batch(box_on_floor(), 2)
        with self.assertRaisesRegex(KeyError, "ball"):
            batch.poses("bal")
        with self.assertRaises(ValueError):
            batch.tau = np.zeros((3, 3))
        batch.tau[0, 0] = math.nan
        with self.assertRaises(ValueError):
            batch.step()
        with self.assertRaises(ValueError):
            batch.step(-1)
        q, tau = batch.q, batch.tau
        with self.assertRaises(ValueError):
            q[0, 0] = 1
        del batch
        gc.collect()
        tau[...] = 0
        self.assertTrue(np.isfinite(q).all())


if __name__ == "__main__":
    unittest.main()
