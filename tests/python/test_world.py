"""Loading, stepping, arrays, names, dynamics, snapshots, structure, callbacks, recordings: against closed forms."""
import copy
import gc
import math
import pathlib
import pickle
import sys
import tempfile
import threading
import unittest

import numpy as np

import karakuri
from common import G, arm, box_on_floor, four_bar, pendulum

SCENES = pathlib.Path(karakuri.__file__).parent / "share/karakuri/scenes"


class Loading(unittest.TestCase):
    def test_native_by_path_and_bundled_name(self):
        a = karakuri.World.load(SCENES / "sliding.scene.yaml")
        b = karakuri.World.load("sliding")
        self.assertEqual(a.hash(), b.hash())
        self.assertIn("sliding", karakuri.bundled_scenes())
        self.assertEqual(a.name, b.name)
        self.assertIn("3 links", repr(a))

    def test_other_formats_from_text(self):
        urdf = '<robot name="r"><link name="base"/></robot>'
        self.assertEqual(karakuri.World.from_text(urdf, "r.urdf").links[1].name, "base")
        mjcf = '<mujoco><worldbody><body name="b"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>'
        self.assertEqual(karakuri.World.from_text(mjcf, "m.xml").nv, 6)
        sdf = ('<sdf version="1.9"><model name="m"><link name="l"><inertial><mass>1</mass></inertial></link></model></sdf>')
        self.assertEqual(karakuri.World.from_text(sdf, "m.sdf").nv, 6)
        self.assertEqual(karakuri.World.from_text("ground: true", ".").nv, 0)

    def test_missing_file_names_the_bundled_ones(self):
        with self.assertRaisesRegex(FileNotFoundError, "bundled.*four-bar"):
            karakuri.World.load("no_such_scene")
        with self.assertRaises(IsADirectoryError):
            karakuri.World.load(SCENES)
        with self.assertRaises(TypeError):
            karakuri.World.load(3)

    def test_bad_scene_tells_line_and_near_key(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "bad.scene.yaml"
            path.write_text("bodies:\n  - name: a\n    masss: 1\n")
            with self.assertRaisesRegex(karakuri.SceneError, r"bad\.scene\.yaml:3.*'mass'") as caught:
                karakuri.World.load(path)
            self.assertIsInstance(caught.exception, ValueError)
        with self.assertRaisesRegex(ValueError, "'fixed'"):
            karakuri.World.load("arm", base="sideways")
        with self.assertRaises(karakuri.SceneError):
            karakuri.World.load("arm", keyframe="nope")

    def test_world_cannot_be_made_empty(self):
        with self.assertRaises(TypeError):
            karakuri.World()
        with self.assertRaises(TypeError):
            karakuri.World(3)
        # an object that no constructor saw would have nothing inside
        for cls in (karakuri.World, karakuri.Link, karakuri.Joint, karakuri.Sensor, karakuri.Actuator, karakuri.Event,
                    karakuri.ClosedLoop, karakuri.Recording, karakuri.Snapshot, karakuri.Batch):
            for make in (cls, lambda: cls.__new__(cls), lambda: object.__new__(cls), type("Sub", (cls,), {})):
                with self.assertRaises(TypeError):
                    make()
        with self.assertRaises(TypeError):
            karakuri.World.__base__()
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with self.assertRaises((TypeError, pickle.PicklingError)):
                pickle.dumps(arm().link("link0"), protocol)

    def test_save_scene_round_trip(self):
        world = arm()
        world.step(10)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "arm.scene.yaml"
            world.save_scene(path, keep_state=True)
            again = karakuri.World.load(path)
            np.testing.assert_array_equal(again.q, world.q)
            with self.assertRaises(ValueError):
                world.save_scene(path / "below-a-file.scene.yaml")
        self.assertEqual(again.notes, [])
        self.assertEqual(again.problems, [])

    def test_builder(self):
        scene = karakuri.Scene(name="all", gravity=np.array([0, 0, -1.6]))
        scene.settings(dt=0.002).ground(material="wood").material("wood", friction=0.4)
        scene.fixture({"box": (1, 1, 0.1), "at": (5, 0, 0)})
        scene.body("a", at=(0, 0, 2), shapes={"sphere": 0.1}).body("b", at=(0, 0, 3), mass=1, shapes={"sphere": 0.1}, joint="fixed")
        scene.body("c", shapes={"sphere": np.float64(0.1)})
        scene.joint("hinge", kind="revolute", parent="a", child="c", axis=(0, 1, 0))
        scene.loop("rod", kind="spherical", parent="c", child="b")
        scene.sensor("s", kind="joint-position", joint="hinge").actuator("m", joints=[{"joint": "hinge"}])
        scene.controller("hinge", stiffness=1, damping=1).event(1.0, set={"gravity": [0, 0, -9.81]})
        world = scene.world(seed=3)
        self.assertEqual(karakuri.World.from_text(scene.text(), seed=3).hash(), world.hash())
        self.assertEqual(world.dt, 0.002)
        np.testing.assert_array_equal(world.gravity, (0, 0, -1.6))
        self.assertEqual(world.joint("rod").kind, "spherical")
        world.run(1.01)
        np.testing.assert_array_equal(world.gravity, (0, 0, -9.81))
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "r.urdf").write_text('<robot name="r"><link name="base"/></robot>')
            self.assertEqual(karakuri.Scene().robot("r.urdf", prefix="x/").world(folder=folder).link("x/base").name, "x/base")
        with self.assertRaisesRegex(karakuri.SceneError, "'mass'"):
            karakuri.Scene().body("a", masss=1).world()
        with self.assertRaisesRegex(ValueError, "finite"):
            karakuri.Scene().body("a", mass=math.nan).world()
        with self.assertRaisesRegex(TypeError, "set"):
            karakuri.Scene().body("a", mass={1}).world()


class Stepping(unittest.TestCase):
    def test_free_fall(self):
        world = box_on_floor()
        ball = world.link("ball")
        world.run(0.2)
        self.assertAlmostEqual(world.time, 0.2, places=12)
        # velocity is exact; the position of a semi-implicit step is behind by g dt t / 2
        self.assertAlmostEqual(ball.velocity[2], -G * 0.2, places=10)
        self.assertAlmostEqual(ball.position[2], 1 - G * 0.2**2 / 2, delta=G * 1e-3 * 0.2)
        world.step()
        world.step(n=3)
        self.assertAlmostEqual(world.time, 0.204, places=12)

    def test_wrong_counts(self):
        world = pendulum()
        for wrong, kind in ((-1, ValueError), ("3", TypeError), (1.5, TypeError), (None, TypeError)):
            with self.assertRaises(kind):
                world.step(wrong)
        for wrong in (-1.0, math.nan, math.inf):
            with self.assertRaises(ValueError):
                world.run(wrong)

    def test_dt_gravity_time(self):
        world = pendulum()
        world.dt = 0.002
        world.time = 5
        world.step()
        self.assertEqual(world.time, 5.002)
        with self.assertRaises(ValueError):
            world.dt = -1
        with self.assertRaises(ValueError):
            world.time = math.nan
        with self.assertRaisesRegex(ValueError, r"gravity has shape \(2,\), expected \(3,\)"):
            world.gravity = (0, 0)
        world.gravity = (0, 0, 0)
        world.joint("hinge").v = 1.0
        world.step(100)
        self.assertAlmostEqual(world.v[0], 1.0, places=12)

    def test_reset_and_keyframes(self):
        world = pendulum(q=0.5)
        world.step(100)
        world.reset()
        self.assertEqual(world.q[0], 0.5)
        self.assertEqual(world.time, 0)
        self.assertEqual(world.keyframes, [])
        with self.assertRaisesRegex(karakuri.UnknownName, "no keyframe 'x'"):
            world.reset("x")


class Arrays(unittest.TestCase):
    def test_q_is_one_live_array(self):
        world = pendulum(q=0.5)
        q = world.q
        self.assertIs(world.q, q)
        before = q[0]
        world.step(10)
        self.assertNotEqual(q[0], before)
        self.assertEqual((world.nq, world.nv, world.nu), (1, 1, 0))

    def test_writing_moves_the_joint(self):
        world = pendulum()
        world.q[0] = math.pi / 2
        # at once, without a step: the rod of 0.5 m lies level
        np.testing.assert_allclose(world.center_of_mass, (-0.5, 0, 1), atol=1e-12)
        world.q = [0.0]
        world.v[:] = 2
        self.assertAlmostEqual(world.energy[0], 0.5 * (0.25 + 1e-6) * 4, places=12)
        world.q += 0.25
        self.assertEqual(world["joint.hinge.q"], 0.25)

    def test_effort_acts_until_it_is_changed(self):
        world = pendulum()
        world.gravity = (0, 0, 0)
        world.tau[0] = 1.0
        world.step(100)
        inertia = 0.25 + 1e-6
        self.assertAlmostEqual(world.v[0], 0.1 / inertia, places=9)
        self.assertAlmostEqual(world.joint("hinge").load["drive"][0], 1.0, places=12)
        world.tau = [0]
        world.step(100)
        self.assertAlmostEqual(world.v[0], 0.1 / inertia, places=9)

    def test_wrong_values_are_refused_and_nothing_changes(self):
        world = arm()
        q = world.q.copy()
        with self.assertRaisesRegex(ValueError, r"q has shape \(2,\), expected \(3,\)"):
            world.q = [1, 2]
        with self.assertRaisesRegex(ValueError, "finite"):
            world.q = [1, 2, math.nan]
        with self.assertRaisesRegex(TypeError, "numbers, not str"):
            world.v = "abc"
        with self.assertRaises(TypeError):
            world.tau = None
        world.q[1] = math.inf
        with self.assertRaisesRegex(ValueError, "joint1.*not finite"):
            world.step()
        np.testing.assert_array_equal(world.q, q)
        world.tau[1] = math.nan
        with self.assertRaisesRegex(ValueError, "tau of joint 'joint1'"):
            world.step()
        world.u[0] = math.nan
        with self.assertRaisesRegex(ValueError, "motor"):
            world.step()
        world.step()

    def test_arrays_outlive_the_world(self):
        world = arm()
        arrays = [world.q, world.v, world.tau, world.u, world.poses, world.joint("joint1").q]
        del world
        gc.collect()
        for array in arrays:
            self.assertTrue(np.all(np.isfinite(array)))
            if array.flags.writeable:
                array[...] = 1

    def test_poses_follow(self):
        world = arm()
        poses = world.poses
        self.assertEqual(poses.shape, (4, 4, 4))
        self.assertFalse(poses.flags.writeable)
        world.step(50)
        link = world.link("link2")
        np.testing.assert_array_equal(poses[link.index], link.pose)
        np.testing.assert_array_equal(link.pose[:3, :3], link.rotation)
        np.testing.assert_array_equal(link.pose[:3, 3], link.position)
        w, *xyz = link.quaternion
        # R's trace is 4 w^2 - 1
        self.assertAlmostEqual(np.trace(link.rotation), 4 * w * w - 1, places=12)
        self.assertEqual(len(xyz), 3)

    def test_reading_q_allocates_nothing(self):
        world = arm()
        world.q
        before = sys.getallocatedblocks()
        for _ in range(1000):
            world.q
        self.assertLess(sys.getallocatedblocks() - before, 10)


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


class Snapshots(unittest.TestCase):
    def test_restore_repeats_the_bits(self):
        world = karakuri.World.load("pyramid")
        world.step(20)
        snapshot = world.save()
        world.step(20)
        end = world.hash()
        world.restore(snapshot)
        world.step(20)
        self.assertEqual(world.hash(), end)

    def test_pickle_and_copies(self):
        for world in (arm(), karakuri.World.load("hand"), karakuri.World.load("grip")):
            world.step(30)
            snapshot = pickle.loads(pickle.dumps(world.save()))
            self.assertEqual(snapshot, world.save())
            copies = [copy.copy(world), copy.deepcopy(world), world.copy(), pickle.loads(pickle.dumps(world))]
            world.step(30)
            for other in copies:
                other.step(30)
                self.assertEqual(other.hash(), world.hash())
                np.testing.assert_array_equal(other.q, world.q)
            world.restore(snapshot)
            self.assertEqual(world.save(), snapshot)
            self.assertIn("bytes", repr(snapshot))

    def test_foreign_and_damaged(self):
        snapshot = arm().save()
        with self.assertRaises(ValueError):
            pendulum().restore(snapshot)
        with self.assertRaises(TypeError):
            arm().restore("x")
        make, (data,) = snapshot.__reduce__()
        self.assertEqual(make(data), snapshot)
        for wrong in (data[:-3], b"", data + b"x", data[:40]):
            with self.assertRaises(ValueError):
                make(wrong)
        make, (state,) = arm().__reduce__()
        for wrong in ((), (state[0], [("../evil", b"")], state[2]), (b"bodies: 3", [], state[2])):
            with self.assertRaises(ValueError):
                make(wrong)


class Structure(unittest.TestCase):
    def test_attach_carries_and_detach_lets_go(self):
        world = box_on_floor()
        world.link("ball").teleport((0, 0, 0.3))
        grip = world.attach(world.link("ball"), "box", name="grip")
        self.assertEqual((grip.name, grip.kind), ("grip", "fixed"))
        self.assertEqual(world.joint("grip"), grip)
        world.link("ball").set_kinematic()
        world.link("ball").set_velocity((0, 0, 1))
        z = world.link("box").position[2]
        world.run(0.5)
        # held at 1e-9, while it is carried up by 0.5 m
        self.assertAlmostEqual(world.link("box").position[2], z + 0.5, delta=1e-6)
        world.detach("grip")
        with self.assertRaisesRegex(ReferenceError, "grip.*no longer"):
            grip.kind
        with self.assertRaises(KeyError):
            world.joint("grip")
        world.run(0.1)
        self.assertLess(world.link("box").velocity[2], 1)

    def test_kinds_and_refusals(self):
        world = box_on_floor()
        hinge = world.attach("world", "ball", kind="revolute", at=(1, 0, 1.5), axis=(0, 1, 0))
        world.step(200)
        np.testing.assert_allclose(np.linalg.norm(world.link("ball").position - (1, 0, 1.5)), 0.5, atol=1e-9)
        self.assertEqual(hinge.load["drive"].shape, (0,))
        with self.assertRaisesRegex(KeyError, "revolute"):
            world.attach("world", "ball", kind="revolut")
        with self.assertRaises(ValueError):
            world.attach("ball", "ball")
        with self.assertRaises(TypeError):
            world.attach("ball", 3)
        with self.assertRaisesRegex(ValueError, "another world"):
            world.attach("ball", box_on_floor().link("box"))
        with self.assertRaises(TypeError):
            world.detach(7)
        with self.assertRaises(ValueError):
            world.detach(box_on_floor().joint("box"))

    def test_cutting_a_tree_gives_new_arrays(self):
        world = arm()
        q, joint, view = world.q, world.joint("joint2"), world.joint("joint2").q
        world.tau[0] = 1.0
        world.detach(joint)
        self.assertEqual(world.q.shape, (2 + 7,))
        self.assertEqual(q.shape, (3,))
        self.assertFalse(q.flags.writeable)
        view[0] = 5
        self.assertEqual(world.tau[world.joint("joint0").v_index], 1.0)
        with self.assertRaises(ReferenceError):
            joint.q
        with self.assertRaises(ReferenceError):
            world.detach(joint)
        self.assertEqual(world.joint("joint2").kind, "free")
        self.assertEqual(world.poses.shape[0], len(world.links))
        world.step(10)

    def test_breaking_tells(self):
        world = box_on_floor()
        rope = world.attach("world", "ball", kind="fixed", name="rope")
        rope.set_breaking(force=5.0)
        told = []
        world.on_event(lambda w, e: told.append(e), kind="break")
        world.step(10)
        self.assertEqual([(e.kind, e.joint) for e in told], [("break", "rope")])
        self.assertIn("ball", told[0].links)
        with self.assertRaises(ReferenceError):
            rope.load
        with self.assertRaises(ValueError):
            world.joint("ball").set_breaking(-1)


class Events(unittest.TestCase):
    def test_contacts(self):
        world = box_on_floor()
        world.step(20)
        contacts = world.contacts
        box = world.link("box").index
        of_box = contacts[(contacts["link_a"] == box) | (contacts["link_b"] == box)]
        self.assertEqual(len(of_box), 4)
        sign = np.where(of_box["link_b"] == box, 1, -1)[:, None]
        np.testing.assert_allclose((sign * of_box["force"]).sum(axis=0), (0, 0, 2 * G), atol=1e-6)
        self.assertTrue(np.all(of_box["state"] == karakuri.ContactState.STICK))
        self.assertLess(np.abs(of_box["slip"]).max(), 1e-9)
        self.assertEqual(set(contacts.dtype.names), {"link_a", "link_b", "point", "normal", "force", "moment", "slip", "separation", "state"})
        self.assertEqual(len(pendulum().contacts), 0)
        world.link("box").set_velocity((1, 0, 0))
        world.step()
        self.assertTrue(np.all(world.contacts["state"] == karakuri.ContactState.SLIDE))
        self.assertEqual(karakuri.ContactState.OPEN, 0)

    def test_events_of_a_fall(self):
        world = box_on_floor()
        world.run(0.6)  # 0.9 m take 0.43 s
        begins = [e for e in world.events if e.kind == "contact_begin" and "ball" in e.links]
        self.assertEqual(len(begins), 1)
        self.assertAlmostEqual(begins[0].time, math.sqrt(2 * 0.9 / G), delta=2e-3)
        self.assertEqual(begins[0].joint, "")
        self.assertIn("contact_begin", repr(begins[0]))
        world.step()
        self.assertEqual(world.events, [])

    def test_report(self):
        world = box_on_floor()
        world.step(5)
        report = world.report
        self.assertEqual(report["status"], "converged")
        self.assertLess(report["residual"], 1e-8)
        self.assertGreater(report["seconds"], 0)

    def test_callback_controls(self):
        world = pendulum()
        times = []

        @world.on_step
        def hold(w):
            self.assertIs(w, world)
            times.append(w.time)
            w.tau[:] = w.inverse_dynamics([0.0])

        world.q[0] = 1.0
        world.step(100)
        self.assertEqual(len(times), 100)
        self.assertAlmostEqual(world.q[0], 1.0, places=9)
        world.remove_callback(hold)
        world.step()
        self.assertEqual(len(times), 100)
        with self.assertRaises(ValueError):
            world.remove_callback(hold)
        with self.assertRaises(TypeError):
            world.on_step(3)
        with self.assertRaises(TypeError):
            world.on_event(None)
        with self.assertRaisesRegex(KeyError, "wake"):
            world.on_event(print, kind="wak")

    def test_exception_in_callback_ends_before_the_step(self):
        world = pendulum()

        @world.on_step
        def fail(w):
            if w.time > 0.0095:
                raise ZeroDivisionError("mine")

        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            world.step(100)
        self.assertAlmostEqual(world.time, 0.010, places=12)
        world.remove_callback(fail)
        world.step()

    def test_callback_may_change_everything(self):
        world = arm()
        done = []

        @world.on_step
        def change(w):
            n = len(done)
            done.append(n)
            if n == 1:
                w.detach("joint2")
            elif n == 2:
                w.attach("link1", "link2", name="again")
            elif n == 3:
                done.append(w.save())
            elif n == 6:
                w.restore(done[4])
            elif n == 7:
                w.reset()
            elif n == 8:
                w.on_step(lambda w: done.append("another"))
            elif n == 9:
                w.remove_callback(change)

        world.step(12)
        self.assertIn("another", done)

    def test_step_in_callback_is_refused(self):
        world = pendulum()
        world.on_step(lambda w: w.step())
        with self.assertRaisesRegex(RuntimeError, "callback"):
            world.step()

    def test_recording(self):
        world = pendulum(q=0.3)
        with world.record("time", "joint.hinge.q", "energy.total") as recording:
            sparse = world.record("time", every=10)
            world.step(100)
        world.step(10)
        self.assertEqual(recording.data.shape, (100, 3))
        self.assertEqual(len(sparse), 11)
        np.testing.assert_allclose(recording["time"], np.arange(1, 101) * 1e-3, atol=1e-12)
        # the energy of a semi-implicit pendulum swings within a share of dt
        self.assertLess(np.ptp(recording["energy.total"]), 0.01)
        self.assertEqual(recording.signals, ["time", "joint.hinge.q", "energy.total"])
        self.assertIn("100 rows", repr(recording))
        sparse.clear()
        self.assertEqual(len(sparse), 0)
        sparse.stop()
        with self.assertRaisesRegex(KeyError, "joint.hinge.q"):
            recording["joint.hing.q"]
        with self.assertRaises(KeyError):
            world.record("joint.nope.q")
        with self.assertRaises(ValueError):
            world.record()
        with self.assertRaises(ValueError):
            world.record("time", every=0)
        with self.assertRaises(TypeError):
            world.record(3)


class Lifetimes(unittest.TestCase):
    def test_handles_keep_their_world(self):
        world = arm()
        link, joint, sensor, actuator = world.link("link1"), world.joint("joint1"), world.sensor("encoder"), world.actuator("motor")
        recording = world.record("time")
        del world
        gc.collect()
        self.assertTrue(np.isfinite(link.position).all())
        joint.q = 0.2
        self.assertEqual(sensor.read()[0], 0.2)
        actuator.control = 1
        self.assertEqual(len(recording), 0)

    def test_cycles_are_collected(self):
        world = arm()
        joint = world.joint("joint1")
        closed = []

        class Witness:
            def __del__(self):
                closed.append(True)

        witness = Witness()
        world.on_step(lambda w, j=joint, x=witness: None)
        world.on_event(lambda w, e, j=joint, x=witness: None)
        del world, joint, witness
        gc.collect()
        self.assertEqual(closed, [True])

    def test_misspelt_attributes_are_refused(self):
        with self.assertRaises(AttributeError):
            pendulum().graviti = (0, 0, 0)
        with self.assertRaisesRegex(ValueError, "read-only"):
            pendulum().gravity[2] = 0  # a copy: this would do nothing


class Threads(unittest.TestCase):
    def test_stepping_lets_others_run(self):
        world = karakuri.World.load("pyramid")
        thread = threading.Thread(target=world.step, args=(100,))
        count = 0
        thread.start()
        while thread.is_alive():
            count += 1
        thread.join()
        self.assertGreater(count, 100)

    def test_many_threads_on_one_world(self):
        world = arm()
        world.on_step(lambda w: w.q)
        problems = []

        def work(kind):
            try:
                for _ in range(200):
                    if kind == 0:
                        world.step(2)
                    elif kind == 1:
                        world.link("link2").position, world.poses, world.contacts, world.mass_matrix()
                    elif kind == 2:
                        world.restore(world.save())
                    else:
                        world.joint("joint0").q[0] = 0.1
                        world.step()
            except Exception as problem:
                problems.append(problem)

        threads = [threading.Thread(target=work, args=(i % 4,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])


if __name__ == "__main__":
    unittest.main()
