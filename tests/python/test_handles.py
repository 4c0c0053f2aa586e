"""Names, links, joints, and the dynamics of the model."""
import gc
import math
import unittest

import numpy as np

import karakuri
from common import G, arm, box_on_floor, four_bar, pendulum


class Names(unittest.TestCase):
    def test_unknown_names_list_near_ones(self):
        world = arm()
        for find, wrong, near in ((world.link, "lnik1", "link1"), (world.joint, "join1", "joint1"),
                                  (world.sensor, "encodr", "encoder"), (world.actuator, "motr", "motor")):
            with self.assertRaisesRegex(KeyError, near) as caught:
                find(wrong)
            self.assertIsInstance(caught.exception, karakuri.UnknownName)
            self.assertNotIn('"', str(caught.exception))
        with self.assertRaisesRegex(KeyError, "joint1"):
            world["joint.joitn1.q"]
        with self.assertRaises(KeyError):
            world["settings.solvr"] = "newton"
        with self.assertRaises(TypeError):
            world.link(3)

    def test_lists(self):
        world = arm()
        self.assertEqual([link.name for link in world.links][1:], ["link0", "link1", "link2"])
        self.assertEqual([joint.name for joint in world.joints], ["joint0", "joint1", "joint2"])
        self.assertEqual([a.name for a in world.actuators], ["motor"])
        self.assertEqual([s.name for s in world.sensors], ["encoder"])
        self.assertEqual(world.links[1], world.link("link0"))
        self.assertEqual(len({world.joint("joint1"), world.joint("joint1")}), 1)
        self.assertNotEqual(world.link("link0"), world.link("link1"))
        self.assertNotEqual(world.link("link0"), "link0")
        for thing in [*world.links, *world.joints, *world.sensors, *world.actuators]:
            self.assertIn(thing.name, repr(thing))

    def test_signals_and_keys(self):
        world = arm()
        world["joint.joint1.q"] = 0.7
        self.assertEqual(world["joint.joint1.q"], 0.7)
        self.assertEqual(world.q[1], 0.7)
        world["gravity"] = (0, 0, -1)
        world["settings.solver"] = "newton"
        world["settings.sleep.enabled"] = False
        with self.assertRaises(ValueError):
            world["settings.dt"] = -3
        with self.assertRaises(ValueError):
            world["gravity"] = 3
        with self.assertRaises(TypeError):
            world["gravity"] = None

    def test_sensor_and_actuator(self):
        world = arm()
        encoder, motor = world.sensor("encoder"), world.actuator("motor")
        self.assertEqual(encoder.type, "joint-position")
        np.testing.assert_array_equal(encoder.read(), [world.joint("joint1").q[0]])
        self.assertEqual(motor.range, (-5, 5))
        self.assertEqual(motor.index, 0)
        motor.control = 1.5
        self.assertEqual(world.u[0], 1.5)
        world.u[0] = 2.0
        self.assertEqual(motor.control, 2.0)
        world.step()
        self.assertAlmostEqual(world.joint("joint1").load["drive"][0], 2.0 * 2.0, places=12)  # gain 2
        with self.assertRaises(ValueError):
            motor.control = math.inf


class Links(unittest.TestCase):
    def test_force_on_a_free_body(self):
        world = box_on_floor()
        ball = world.link("ball")
        world.gravity = (0, 0, 0)
        ball.add_force((2, 0, 0))
        ball.add_force(force=(1, 0, 0), point=(0, 0, 0), moment=(0, 0, 0))
        world.step()
        self.assertAlmostEqual(ball.velocity[0], 3e-3, places=14)
        self.assertAlmostEqual(ball.acceleration[0], 3, places=9)
        world.step()
        self.assertAlmostEqual(ball.velocity[0], 3e-3, places=14)
        self.assertEqual(ball.mass, 1.0)
        with self.assertRaises(ValueError):
            ball.add_force((1, 2))
        with self.assertRaises(ValueError):
            ball.add_force((1, 2, math.nan))

    def test_teleport_and_velocity(self):
        world = box_on_floor()
        ball = world.link("ball")
        ball.teleport((1, 2, 3))
        np.testing.assert_allclose(ball.position, (1, 2, 3))
        half = math.sqrt(0.5)
        ball.teleport((0, 0, 5, half, 0, 0, half))
        np.testing.assert_allclose(ball.rotation @ (1, 0, 0), (0, 1, 0), atol=1e-12)
        ball.teleport(np.eye(4))
        np.testing.assert_allclose(ball.pose, np.eye(4), atol=1e-12)
        ball.set_velocity((1, 0, 0), (0, 0, 2))
        np.testing.assert_allclose(ball.velocity, (1, 0, 0), atol=1e-12)
        np.testing.assert_allclose(ball.angular_velocity, (0, 0, 2), atol=1e-12)
        for wrong in ((1, 2), np.zeros((4, 4)), np.ones(7) * 0, 2 * np.eye(4)):
            with self.assertRaises(ValueError):
                ball.teleport(wrong)
        with self.assertRaisesRegex(ValueError, "set its joints"):
            arm().link("link1").teleport((0, 0, 0))
        with self.assertRaises(ValueError):
            arm().link("link1").set_velocity((0, 0, 0))

    def test_contact_force_carries_the_weight(self):
        world = box_on_floor()
        world.step(50)
        np.testing.assert_allclose(world.link("box").contact_force, (0, 0, 2 * G), atol=1e-6)

    def test_kinematic_and_sleep(self):
        world = box_on_floor()
        box = world.link("box")
        world.run(1.0)
        self.assertFalse(box.awake)
        box.wake()
        self.assertTrue(box.awake)
        self.assertFalse(box.quarantined)
        ball = world.link("ball")
        ball.set_kinematic()
        ball.set_velocity((0, 0, 1))
        z = ball.position[2]
        world.run(0.1)
        self.assertAlmostEqual(ball.position[2], z + 0.1, places=9)
        with self.assertRaises(ValueError):
            world.links[0].set_kinematic(True)

    def test_ray(self):
        world = box_on_floor()
        hit = world.ray_cast((0, 0, 2), (0, 0, -2))
        self.assertEqual(hit["link"], world.link("box"))
        self.assertAlmostEqual(hit["distance"], 1.9, places=9)
        np.testing.assert_allclose(hit["normal"], (0, 0, 1))
        np.testing.assert_allclose(hit["point"], (0, 0, 0.1), atol=1e-12)
        self.assertIsNone(world.ray_cast((0, 0, 2), (0, 0, 1)))
        self.assertAlmostEqual(world.ray_cast((0, 0, 2), (0, 0, -1), limit=5, ignore="box")["distance"], 2.0, places=9)
        with self.assertRaises(ValueError):
            world.ray_cast((0, 0, 2), (0, 0, 0))


class Joints(unittest.TestCase):
    def test_views(self):
        world = box_on_floor()
        free = world.joint("ball")
        self.assertEqual(free.kind, "free")
        self.assertEqual((free.q.shape, free.v.shape, free.tau.shape), ((7,), (6,), (6,)))
        free.q[:3] = (3, 0, 2)  # from where the scene has put it: (1, 0, 1)
        np.testing.assert_allclose(world.link("ball").position, (4, 0, 3))
        free.v = (0, 0, 1, 0, 0, 0)
        world.step()
        self.assertAlmostEqual(free.v[2], 1 - G * 1e-3, places=12)
        self.assertEqual(world.q[free.q_index], free.q[0])
        self.assertEqual(world.v[free.v_index], free.v[0])
        free.q[3:] = (2, 0, 0, 0)
        world.step(0)
        np.testing.assert_array_equal(free.q[3:], (1, 0, 0, 0))
        with self.assertRaises(ValueError):
            free.q = 3
        with self.assertRaises(ValueError):
            free.tau = (1, 2)

    def test_implicit_pd(self):
        # spec: pendulum of 0.5 m, 1 kg, h = 0.1 s from 90 degrees with K = 20, D = 10
        world = pendulum(q=math.pi / 2)
        world.dt, world.gravity = 0.1, (0, 0, -9.8)
        hinge = world.joint("hinge")
        hinge.drive(stiffness=20, damping=10, target=0)
        angles = []
        for _ in range(20):
            world.step()
            angles.append(hinge.q[0])
        # 2e-3: the bob's own inertia, and three digits of the reference
        for i, expected in ((0, 1.320), (4, 0.519), (9, 0.151), (19, 0.0125)):
            self.assertAlmostEqual(angles[i], expected, delta=2e-3)

    def test_drive_properties(self):
        world = arm()
        joint = world.joint("joint0")
        for name, value in (("target", 0.4), ("target_velocity", 0.1), ("stiffness", 50.0), ("damping", 5.0), ("limit", 9.0)):
            setattr(joint, name, value)
            self.assertEqual(getattr(joint, name), value)
        joint.drive(target=0.5)
        self.assertEqual((joint.target, joint.stiffness), (0.5, 50.0))
        with self.assertRaises(ValueError):
            joint.drive(stiffness=-1)
        with self.assertRaises(IndexError):
            joint.drive(stiffness=1, dof=1)
        with self.assertRaises(TypeError):
            joint.drive(stiffness="a")

    def test_limits_and_load(self):
        world = pendulum(limits=(-1, 2))
        np.testing.assert_array_equal(world.joint("hinge").limits, [[-1, 2]])
        world.step()
        load = world.joint("hinge").load
        np.testing.assert_allclose(load["force"], (0, 0, G), atol=1e-9)
        self.assertEqual(load["limit"][0], 0)
        self.assertEqual(load["friction"].shape, (1,))
        self.assertEqual(load["moment"].shape, (3,))

    def test_loop_opens_and_closes(self):
        world = four_bar()
        top = world.joint("top")
        self.assertTrue(top.closed)
        with self.assertRaisesRegex(ValueError, "no coordinates"):
            top.q
        top.closed = False
        self.assertFalse(top.closed)
        top.closed = True
        with self.assertRaises(ValueError):
            world.joint("crank").closed = False


class Dynamics(unittest.TestCase):
    def setUp(self):
        self.world = arm()
        self.world.v = (0.3, -0.4, 0.5)
        self.a = np.array([0.1, 0.2, -0.3])

    def test_inverse_and_forward_dynamics(self):
        tau = self.world.inverse_dynamics(self.a)
        np.testing.assert_allclose(self.world.forward_dynamics(tau), self.a, atol=1e-9)
        bias = self.world.inverse_dynamics(np.zeros(3))
        np.testing.assert_allclose(tau, self.world.mass_matrix() @ self.a + bias, atol=1e-12)
        other = self.world.q + 0.1
        at_other = self.world.inverse_dynamics(self.a, q=other, v=np.zeros(3))
        self.world.q, self.world.v = other, np.zeros(3)
        np.testing.assert_array_equal(self.world.inverse_dynamics(self.a), at_other)
        for call in (self.world.inverse_dynamics, self.world.forward_dynamics):
            with self.assertRaisesRegex(ValueError, r"expected \(3,\)"):
                call([1, 2])

    def test_jacobian_by_differences(self):
        point, h = (0.1, 0.2, 0.3), 1e-6
        J = self.world.jacobian("link2", point)
        np.testing.assert_array_equal(J, self.world.jacobian(self.world.link("link2"), point, q=self.world.q))
        q = self.world.q.copy()

        def place(q):
            self.world.q = q
            return self.world.link("link2").pose @ (*point, 1)

        for i in range(3):
            step = np.zeros(3)
            step[i] = h
            slope = (place(q + step) - place(q - step))[:3] / (2 * h)
            np.testing.assert_allclose(J[3:, i], slope, atol=1e-8)

    def test_momentum_of_flight(self):
        world = box_on_floor()
        world.gravity = (0, 0, 0)
        world.link("ball").set_velocity((1, 2, 3), (0.1, 0, 0))
        linear, angular = world.momentum
        np.testing.assert_allclose(linear, (1, 2, 3), atol=1e-12)
        # about the origin: r x p + I w, with I = 2/5 m r^2
        np.testing.assert_allclose(angular, np.cross((1, 0, 1), (1, 2, 3)) + (0.4 * 0.01 * 0.1, 0, 0), atol=1e-12)
        self.assertAlmostEqual(world.mass, 3.0, places=12)

    def test_configuration(self):
        world = box_on_floor()
        q = world.q.copy()
        v = np.linspace(-1, 1, world.nv)
        there = world.integrate(q, v, 0.3)
        np.testing.assert_allclose(world.difference(q, there), 0.3 * v, atol=1e-12)

    def test_closed_loop(self):
        world = four_bar()
        loop = world.closed_loop()
        self.assertEqual(loop.mobility, 1)
        self.assertEqual(loop.rows - loop.rank, loop.redundant)
        self.assertEqual(len(loop.generalized) + len(loop.dependent), world.nv)
        self.assertLess(np.abs(loop.J @ loop.W).max(), 1e-9)
        self.assertLess(np.abs(loop.error).max(), 1e-9)
        effort, missing = loop.inverse_dynamics([1.0], actuated=[0])
        self.assertLess(missing, 1e-9)
        tau = np.zeros(world.nv)
        tau[0] = effort[0]
        self.assertAlmostEqual(loop.forward_dynamics(tau)[loop.generalized[0]], 1.0, places=8)
        self.assertIn("mobility 1", repr(loop))
        with self.assertRaises(IndexError):
            loop.inverse_dynamics([1.0], actuated=[99])
        with self.assertRaises(ValueError):
            loop.inverse_dynamics([1.0, 2.0], actuated=[0])
        del world
        gc.collect()
        self.assertEqual(loop.mobility, 1)


if __name__ == "__main__":
    unittest.main()
