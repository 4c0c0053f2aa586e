"""Blender's scene as a scene file: what is said, and that it runs with the same bits elsewhere."""
import math
import unittest

import bpy
import karakuri_blender as kb
import numpy as np
from mathutils import Matrix
from common import InBlender, program_hash, program_stats
from karakuri_blender import describe, example, meshes, naming, rules, simulation


class Bodies(InBlender):
    def entry(self, owner):
        self.update()
        content = describe.describe(self.scene).content
        return next(b for b in content["bodies"] if b["name"] == owner.name)

    def test_numbers_are_what_the_user_typed(self):
        box = self.box(at=(0.1, -0.3, 0.7), mass_from="MASS", mass=0.1)
        entry = self.entry(box)
        self.assertEqual(entry["at"], [0.1, -0.3, 0.7])  # in single precision 0.1 is 0.10000000149
        self.assertEqual(entry["mass"], 0.1)
        self.assertEqual(entry["shapes"][0]["box"], [0.2, 0.2, 0.2])

    def test_modifiers_and_scale_count(self):
        box = self.box(size=(0.2, 0.2, 0.2))
        box.scale = (2, 1, 0.5)
        array = box.modifiers.new("Array", "ARRAY")
        array.count = 3
        shape = self.entry(box)["shapes"][0]
        self.assertEqual(shape["box"], [1.2, 0.2, 0.1])  # three of 0.4 m in a row
        self.assertEqual(shape["at"], [0.4, 0.0, 0.0])

    def test_each_kind_of_shape_has_the_mass_of_its_volume(self):
        """The engine's mass at 1000 kg/m^3 against closed forms; hulls of meshes against the volume of the polyhedron."""
        ring = meshes.RING
        polygon = ring / 2 * math.sin(2 * math.pi / ring)  # area of a ring's polygon of radius 1
        r, h = 0.1, 0.3
        cases = {
            "BOX": (meshes.box((0.1, 0.2, 0.3)), 0.006),
            "SPHERE": (meshes.ellipsoid(r, r, r), 4 / 3 * math.pi * r**3),
            "ELLIPSOID": (meshes.ellipsoid(0.1, 0.2, 0.3), 4 / 3 * math.pi * 0.006),
            "CAPSULE": (meshes.capsule(r, h), math.pi * r**2 * h + 4 / 3 * math.pi * r**3),
            "CYLINDER": (meshes.cylinder(r, h), math.pi * r**2 * h),
            "CONE": (meshes.cone(r, h), math.pi * r**2 * h / 3),
            "HULL": (meshes.cylinder(r, h), polygon * r**2 * h),
            "MESH": (meshes.cylinder(r, h), polygon * r**2 * h),
            "DECOMPOSITION": (meshes.cylinder(r, h), polygon * r**2 * h),
        }
        for i, (kind, (geometry, _)) in enumerate(cases.items()):
            self.body(kind, geometry, (i, 0, 1), kind)
        self.update()
        run = kb.start()
        for kind, (_, volume) in cases.items():
            with self.subTest(kind):
                # single precision of the vertices, 6e-8 of each size; a decomposition may leave slivers
                tolerance = 1e-3 if kind == "DECOMPOSITION" else 1e-6
                self.assertAlmostEqual(run.world.link(kind).mass / (1000 * volume), 1, delta=tolerance)

    def test_shapes_of_children_make_one_body(self):
        a = self.box("Dumbbell", size=(0.4, 0.05, 0.05))
        for x in (-0.2, 0.2):
            end = naming.new_object(f"end {x}", meshes.new("end", *meshes.ellipsoid(0.1, 0.1, 0.1)), self.scene.collection)
            end.parent, end.location = a, (x, 0, 0)
            end.karakuri.role, end.karakuri.shape = "SHAPE", "SPHERE"
        entry = self.entry(a)
        self.assertEqual([next(iter(s)) for s in entry["shapes"]], ["box", "sphere", "sphere"])
        self.assertEqual(entry["shapes"][1]["at"], [-0.2, 0.0, 0.0])

    def test_a_mirrored_body_is_the_mirrored_mesh(self):
        """A wedge under scale -1 in x: its centre of mass against that of the mirrored points."""
        points = [(0, 0, 0), (0.3, 0, 0), (0, 0.2, 0), (0, 0, 0.1)]
        faces = [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)]
        for i, kind in enumerate(("HULL", "MESH")):
            owner = self.body(f"Wedge {kind}", (points, faces), (i, 0, 1), kind)
            owner.scale = (-1, 1, 1)
            owner.rotation_euler = (0.3, 0.4, 0.5)
        self.update()
        run = kb.start()
        for kind in ("HULL", "MESH"):
            owner = bpy.data.objects[f"Wedge {kind}"]
            wanted = np.mean([np.array(owner.matrix_world @ v.co) for v in owner.data.vertices], axis=0)
            alone = [b for b in run.description.content["bodies"] if b["name"] == owner.name]
            center = run.karakuri.Scene(bodies=alone).world(folder=run.folder).center_of_mass
            self.assertLess(np.abs(center - wanted).max(), 1e-6)  # single precision of the vertices

    def test_a_mirrored_body_keeps_its_scale_while_it_turns(self):
        """Without gravity a spinning body goes by its angular velocity; the mesh is seen where that takes it."""
        owner = self.box("Spin")
        owner.scale, owner.rotation_euler = (-1, 2, 1), (0.3, 0.4, 0.5)
        owner.karakuri.angular_velocity = (0, 0, 1)
        self.scene.use_gravity = False
        self.update()
        before = np.array(owner.matrix_world)
        kb.advance(500)
        self.update()
        # a box whose axes are not those of the spin wobbles; compared with the engine's own pose
        link = simulation.of(self.scene).world.link("Spin")
        start = describe.frames.frame_of(Matrix(before.tolist()))
        wanted = np.array(link.pose) @ np.linalg.inv(start) @ before
        self.assertLess(np.abs(np.array(owner.matrix_world) - wanted).max(), 1e-6)
        self.assertEqual(tuple(owner.scale), (-1, 2, 1))
        self.assertGreater(np.abs(wanted - before).max(), 0.1)  # it did turn

    def test_hanging_on_another_body_is_being_fixed_to_it(self):
        a, b = self.box("A"), self.box("B", (0.5, 0, 0))
        b.parent = a
        entry = self.entry(b)
        self.assertEqual((entry["parent"], entry["joint"]), ("A", "fixed"))

    def test_a_flat_floor_is_given_a_thickness_below(self):
        floor = self.body("Floor", meshes.plane(2.0), (0, 0, 0.5), "BOX", "FIXED")
        entry = self.entry(floor)
        low = entry["shapes"][0]["at"][2] - entry["shapes"][0]["box"][2] / 2
        self.assertAlmostEqual(low + entry["shapes"][0]["box"][2], 0.0, delta=1e-7)

    def test_materials_of_the_same_numbers_are_one(self):
        a, b, c = self.box("A"), self.box("B"), self.box("C")
        a.karakuri.preset = b.karakuri.preset = "RUBBER"
        c.karakuri.friction = 0.9
        self.update()
        content = describe.describe(self.scene).content
        self.assertEqual(sorted(m["name"] for m in content["materials"]), ["rubber", "surface"])


class Joints(InBlender):
    def test_a_pendulum_swings_as_its_period_says(self):
        """Small swings of a rod about its end: T = 2 pi sqrt(I / (m g l)), I = m (L^2 / 3 + w^2 / 12)."""
        rod, hinge = self.pendulum()
        rod.rotation_euler[1] = 0.02
        rod.location = (-0.25 * math.sin(0.02), 0, 2 - 0.25 * math.cos(0.02))
        self.update()
        period = 2 * math.pi * math.sqrt((0.5**2 / 3 + 0.02**2 / 12) / (9.81 * 0.25))
        run = kb.start()
        while run.world.link("Rod").rotation[0, 2] > 0:  # until it hangs straight down
            run.world.step()
            self.assertLess(run.world.time, 1)
        # half a step of 1 ms, and the amplitude's 2.5e-5 of the period
        self.assertAlmostEqual(run.world.time, period / 4, delta=1e-3)

    def test_the_pose_that_is_modelled_is_at_the_position_that_is_given(self):
        rod, hinge = self.pendulum()
        hinge.karakuri.joint.q = 0.5
        run = kb.start()
        self.assertAlmostEqual(float(run.world.joint("Hinge").q[0]), 0.5, delta=1e-7)
        self.assertLess(np.abs(run.world.link("Rod").position - np.array(rod.location)).max(), 1e-6)

    def test_what_would_make_a_ring_closes_it(self):
        """A four-bar linkage: three hinges make the tree, the fourth a loop that stays closed."""
        crank = self.body("Crank", meshes.box((0.02, 0.02, 0.3)), (0, 0, 0.65))
        coupler = self.body("Coupler", meshes.box((0.8, 0.02, 0.02)), (0.4, 0, 0.8))
        rocker = self.body("Rocker", meshes.box((0.02, 0.02, 0.3)), (0.8, 0, 0.65))
        self.joint("a", "REVOLUTE", None, crank, (0, 0, 0.5))
        self.joint("b", "REVOLUTE", crank, coupler, (0, 0, 0.8))
        self.joint("c", "REVOLUTE", coupler, rocker, (0.8, 0, 0.8))
        self.joint("d", "REVOLUTE", None, rocker, (0.8, 0, 0.5))
        self.update()
        run = kb.start()
        self.assertEqual([loop["name"] for loop in run.description.content["loops"]], ["d"])
        run.world.joint("a").drive(damping=10, target_velocity=2)
        run.advance(2000)
        end = run.world.link("Rocker").pose @ np.array([0, 0, -0.15, 1])
        self.assertLess(np.abs(end[:3] - (0.8, 0, 0.5)).max(), 1e-6)  # loops are closed to round-off of the poses

    def test_every_kind_runs_with_the_same_bits_in_the_program(self):
        for kind in ("FIXED", "REVOLUTE", "PRISMATIC", "CYLINDRICAL", "SCREW", "UNIVERSAL", "PLANAR", "SPHERICAL", "FREE"):
            with self.subTest(kind):
                self.setUp()
                a = self.box("A", (0, 0, 2), motion="FIXED")
                b = self.box("B", (0.1, 0.2, 1.6))
                joint = self.joint("J", kind, a, b, (0.05, 0.1, 1.8), (0.3, 0.4, 0.5))
                joint.rotation_euler = (0.1, 0.2, 0.3)
                joint.karakuri.joint.pitch = 0.05
                for d in joint.karakuri.joint.dofs:
                    d.damping, d.stiffness = 0.3, 2.0
                self.same_bits()

    def same_bits(self, steps=1000):
        self.update()
        path = self.export()
        run = kb.start()
        run.advance(steps)
        self.assertEqual(run.world.hash(), program_hash(path, steps * run.world.dt))

    def test_springs_and_ropes(self):
        """A weight on a spring hangs m g / k lower; on a rope at its length."""
        weights = []
        for i, (x, soft) in enumerate(((0, True), (1, False))):
            weight = self.box(f"W{i}", (x, 0, 1), mass_from="MASS", mass=2.0)
            line = self.joint(f"L{i}", "DISTANCE", None, weight, (x, 0, 1.5))
            j = line.karakuri.joint
            j.is_soft, j.closing_stiffness, j.closing_damping, j.distance = soft, 400, 40, 0.5
            j.use_range, j.longest = not soft, 0.6
            weights.append(weight)
        self.update()
        run = kb.start()
        run.advance(4000)
        heights = [run.world.link(w.name).position[2] for w in weights]
        self.assertAlmostEqual(heights[0], 1.0 - 2 * 9.81 / 400, delta=1e-5)  # exp(-10 t) of the swing is left after 4 s
        self.assertAlmostEqual(heights[1], 1.5 - 0.6, delta=1e-5)

    def test_mistakes_are_told_all_at_once(self):
        box = self.box("A")
        other = bpy.data.objects.new("Lamp", None)
        self.scene.collection.objects.link(other)
        self.joint("no child", "REVOLUTE", None, None, (0, 0, 0))
        self.joint("itself", "REVOLUTE", box, box, (0, 0, 0))
        self.joint("no body", "REVOLUTE", other, box, (0, 0, 0))
        self.update()
        with self.assertRaises(describe.ModelError) as caught:
            describe.describe(self.scene)
        said = str(caught.exception)
        for part in ("'no child' carries no body", "joins 'A' to itself", "'Lamp' is no body"):
            self.assertIn(part, said)


class SameBits(InBlender):
    def test_the_example_after_1000_steps(self):
        example.build(self.scene)
        path = self.export()
        run = kb.start()
        run.advance(1000)
        # --trust: the rules are behaviours there
        stats = program_stats(path, 1.0, "--trust")
        self.assertEqual(run.world.hash(), int(stats["state_hash"], 16))
        moved = np.linalg.norm(run.world.link("Lower arm").position - np.array(bpy.data.objects["Lower arm"].karakuri.rest[0:3]))
        self.assertGreater(moved, 0.1)  # it did run

    def test_random_scenes(self):
        """Chains, piles and loops of random shapes, frames and materials, by seed."""
        for seed in range(6):
            with self.subTest(seed=seed):
                self.setUp()
                self.random_scene(np.random.default_rng(seed))
                path = self.export()
                run = kb.start()
                run.advance(1000)
                self.assertEqual(run.world.hash(), program_hash(path, 1000 * run.world.dt))

    def random_scene(self, random):
        kinds = ["BOX", "SPHERE", "CAPSULE", "CYLINDER", "CONE", "ELLIPSOID", "HULL", "MESH"]
        last = None
        for i in range(12):
            size = random.uniform(0.05, 0.3, 3)
            geometry = meshes.ellipsoid(*size) if i % 2 else meshes.box(size)
            at = (random.uniform(-1, 1), random.uniform(-1, 1), 0.4 + 0.5 * i)
            body = self.body(f"B{i}", geometry, at, kinds[int(random.integers(len(kinds)))])
            body.rotation_mode = ["XYZ", "QUATERNION", "ZXY", "AXIS_ANGLE"][i % 4]
            body.rotation_euler = random.uniform(-3, 3, 3)
            body.rotation_quaternion = random.normal(size=4)
            body.scale = random.uniform(0.5, 1.5, 3) * random.choice([-1, 1], 3)
            body.karakuri.friction = body.karakuri.kinetic_friction = float(random.uniform(0.1, 1))
            body.karakuri.restitution = float(random.uniform(0, 0.8))
            if last is not None and random.random() < 0.5:
                kind = ["REVOLUTE", "SPHERICAL", "PRISMATIC"][int(random.integers(3))]
                joint = self.joint(f"J{i}", kind, last, body, tuple(random.uniform(-1, 1, 3)), tuple(random.normal(size=3)))
                joint.rotation_euler = random.uniform(-3, 3, 3)
            last = body
        self.scene.karakuri.dt = float(random.choice([0.001, 0.002, 0.004]))
        self.update()


class Values(InBlender):
    def test_a_rule_declares_numbers_without_being_run(self):
        found = rules.declared('reach = 2.5\nproperties = {"reach": {"min": 0, "max": 4}, "deg": {"unit": "ANGLE", "default": 1}}\n1/0\n')
        self.assertEqual(found["reach"], {"min": 0, "max": 4, "default": 2.5})
        self.assertEqual(found["deg"]["default"], 1.0)
        self.assertEqual(rules.declared("def step(:"), {})

    def test_one_simulation_for_a_scene(self):
        self.box()
        self.update()
        first = kb.start()
        second = kb.start()
        self.assertIs(simulation.of(self.scene), second)
        self.assertFalse(first._thread.is_alive())


if __name__ == "__main__":
    unittest.main()
