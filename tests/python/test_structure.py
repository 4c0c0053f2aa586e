"""Attaching and detaching, events and callbacks, what outlives what, threads."""
import gc
import math
import pathlib
import re
import tempfile
import threading
import unittest

import numpy as np

import karakuri
from common import G, arm, box_on_floor, pendulum


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

    def test_attach_as_a_tree(self):
        world = box_on_floor()
        n = world.v.shape[0]
        world.link("ball").teleport((0, 0, 1))
        hinge = world.attach("box", "ball", kind="revolute", at=(0, 0, 0.8), axis=(0, 1, 0), name="hinge", tree=True)
        self.assertEqual((hinge.kind, world.v.shape), ("revolute", (n - 6 + 1,)))
        world.run(0.1)
        self.assertEqual(world.joint("hinge").q.shape, (1,))
        with self.assertRaisesRegex(ValueError, "one tree"):
            world.attach("box", "ball", name="again", tree=True)
        world.detach(hinge)
        self.assertEqual(world.v.shape, (n,))

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
        self.assertLess(report["energy_made"], 1e-6)
        self.assertLess(report["motion_lost"], 1e-6)
        self.assertIsInstance(report["energy_exchanged"], float)
        self.assertIsInstance(report["energy_link"], str)
        self.assertIsInstance(report["motion_link"], str)

    def test_what_is_frozen_is_a_problem(self):
        world = karakuri.World.from_text("bodies: [{name: wild, joint: {name: j, axis: [0, 1, 0]}, shapes: {sphere: 0.1}}]")
        world.joint("j").v = 1e200
        world.step()
        self.assertEqual(len(world.problems), 1)
        self.assertIn("'wild' became non-finite; it is frozen", world.problems[0])

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


class ReadAndApply(unittest.TestCase):
    """Scene.read and Scene.apply: files as values, and values of a world that runs."""

    def test_read_is_what_another_reader_says(self):
        import yaml

        def plain(value):
            """PyYAML knows infinities; a scene in Python has them as words."""
            if isinstance(value, dict):
                return {str(k): plain(v) for k, v in value.items()}
            if isinstance(value, list):
                return [plain(v) for v in value]
            if isinstance(value, float) and math.isinf(value):
                return ".inf" if value > 0 else "-.inf"
            if isinstance(value, str) and re.fullmatch(r"-?[0-9]+e[0-9]+", value):
                return float(value)  # YAML 1.1, which PyYAML reads, wants a point in such numbers
            return value

        folder = pathlib.Path(karakuri.__file__).parent / "share/karakuri/scenes"
        for name in karakuri.bundled_scenes():
            with self.subTest(name):
                file = folder / f"{name}.scene.yaml"
                scene = karakuri.Scene.read(file)
                self.assertEqual(scene.content, plain(yaml.safe_load(file.read_text())))
                self.assertEqual(scene.world(folder=folder).hash(), karakuri.World.load(name, behaviours=False).hash())

    def test_read_tells_what_is_no_scene(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "bad.scene.yaml"
            for text, said in (("bodies: [", "no YAML"), ("- 1\n- 2\n", "a map of keys"), ("", "nothing in it")):
                path.write_text(text)
                with self.assertRaisesRegex(karakuri.SceneError, said):
                    karakuri.Scene.read(path)
            path.write_text('name: "a\\tb \\u00e9"\ngravity: [0, 0, -.inf]\nground: true\nplots:\n')
            self.assertEqual(karakuri.Scene.read(path).content,
                             {"name": "a\tb \u00e9", "gravity": [0, 0, "-.inf"], "ground": True, "plots": None})

    def pendulum(self, mass=1.0, damping=0.0, **more):
        scene = karakuri.Scene()
        return scene.body("rod", at=(0, 0, 2), mass=mass, joint={"axis": (0, 1, 0), "q": 1.0, "damping": damping},
                          shapes={"box": (0.02, 0.02, 0.5), "at": (0, 0, -0.25)}, **more)

    def test_apply_goes_on_as_the_other_scene_would(self):
        """A world that is given other values is one that was made with them, at the same state."""
        world, other = self.pendulum().world(), self.pendulum(3.0, 0.2).world()
        world.step(200)
        self.pendulum(3.0, 0.2).apply(world)
        other.q[:], other.v[:], other.time = world.q, world.v, world.time
        self.assertEqual(world.link("rod").mass, 3.0)
        for _ in range(5):
            world.step(100)
            other.step(100)
            # warm starts may differ in what has no rows here: none do
            self.assertEqual((world.q[0], world.v[0]), (other.q[0], other.v[0]))

    def test_apply_keeps_what_does_not_change_to_the_bit(self):
        world, straight = self.pendulum().world(), self.pendulum().world()
        for _ in range(10):
            world.step(20)
            straight.step(20)
            self.pendulum().apply(world)
        self.assertEqual(world.hash(), straight.hash())

    def test_apply_refuses_another_structure_and_what_is_wrong(self):
        world = self.pendulum().world()
        before = world.hash()
        for scene, said in ((self.pendulum().body("b", joint="fixed"), "other numbers"), (karakuri.Scene().body("rad", shapes={"sphere": 1}), "'rad'")):
            with self.assertRaisesRegex(ValueError, said):
                scene.apply(world)
        kind = self.pendulum()
        kind.content["bodies"][0]["joint"]["kind"] = "prismatic"
        with self.assertRaisesRegex(ValueError, "another kind"):
            kind.apply(world)
        with self.assertRaisesRegex(karakuri.SceneError, "mass"):
            self.pendulum(mass=-1).apply(world)
        self.assertEqual(world.hash(), before)


if __name__ == "__main__":
    unittest.main()
