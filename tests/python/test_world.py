"""Loading, stepping, arrays, snapshots."""
import copy
import gc
import math
import pathlib
import pickle
import sys
import tempfile
import unittest

import numpy as np

import karakuri
from common import G, arm, box_on_floor, pendulum

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

    def test_doubts_are_notes(self):
        ball = "{name: %s, at: [0, 0, %g], shapes: {sphere: 0.1}}"
        apart = karakuri.World.from_text("bodies: [%s, %s]" % (ball % ("a", 0), ball % ("b", 1)))
        self.assertEqual(apart.notes, [])
        within = karakuri.World.from_text("bodies: [%s, %s]" % (ball % ("a", 0), ball % ("b", 0.05)))
        self.assertEqual(len(within.notes), 1)
        self.assertIn("link 'a': it overlaps 'b' by 0.15 m at the start", within.notes[0])
        within.step()
        self.assertEqual(len(within.notes), 1)

    def test_overlapping_links_of_a_robot(self):
        link = "<link name='%s'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>" \
               "<collision><geometry><sphere radius='.3'/></geometry></collision></link>"
        joint = "<joint name='%s%s' type='continuous'><parent link='%s'/><child link='%s'/></joint>"
        text = "<robot name='r'>%s%s</robot>" % ("".join(link % n for n in "abc"),
                                                 "".join(joint % (p, c, p, c) for p, c in ("ab", "bc")))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "r.urdf"
            path.write_text(text)
            self.assertIn("1 pair of links of 'r' overlaps", karakuri.World.load(path).notes[0])
            self.assertIn("it overlaps 'c'", karakuri.World.load(path, overlapping_touch=True).notes[0])

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

    def test_a_damaged_snapshot_is_refused_wherever_the_damage_is(self):
        make, arguments = pickle.loads(pickle.dumps(arm())).save().__reduce__()
        data = arguments[0]
        make(data)
        for i in range(0, len(data), 5):
            damaged = bytearray(data)
            damaged[i] ^= 0x10
            with self.assertRaises(ValueError):
                make(bytes(damaged))
        with self.assertRaises(ValueError):
            make(data[:-1])

    def test_every_contact_model_can_be_pickled(self):
        for model in ("cone", "pyramid", "penalty", "none"):
            world = arm()
            world["settings.contact"] = model
            world.gravity = (0, 0, -3)
            snapshot = pickle.loads(pickle.dumps(world.save()))
            self.assertEqual(snapshot, world.save(), model)
            other = arm()
            other.restore(snapshot)
            self.assertEqual(other.gravity[2], -3)

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


if __name__ == "__main__":
    unittest.main()
