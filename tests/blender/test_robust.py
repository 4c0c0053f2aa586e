"""What users do: undo, delete, rename, mirror, odd meshes, many objects, linked collections."""
import os
import shutil
import subprocess
import tempfile
import time
import unittest
import zipfile

import bpy
import karakuri_blender as kb
import numpy as np
from common import InBlender
from karakuri_blender import bake, describe, meshes, naming, rest, simulation, surroundings


class Undo(InBlender):
    def scene_of_two(self):
        self.box("A", (0, 0, 2))
        self.box("B", (1, 0, 2)).rotation_euler = (0.1, 0.2, 0.3)
        self.update()
        bpy.ops.ed.undo_push(message="made")

    def test_undo_while_it_runs_leaves_the_rest_poses(self):
        self.scene_of_two()
        before = self.channels()
        bpy.data.objects["A"].name = "C"
        bpy.ops.ed.undo_push(message="renamed")
        run = kb.start()
        run.advance(200)
        bpy.ops.ed.undo()
        self.assertIn("A", bpy.data.objects)
        run.advance(200)  # goes on
        self.assertAlmostEqual(run.world.time, 0.4, delta=1e-9)
        self.assertLess(bpy.data.objects["A"].location[2], 1.5)
        kb.stop(bpy.context.scene)
        self.scene = bpy.context.scene
        self.assertEqual(self.channels(), before)

    def test_undo_to_the_midst_of_a_run_that_has_ended(self):
        self.scene_of_two()
        before = self.channels()
        run = kb.start()
        run.advance(200)
        bpy.ops.ed.undo_push(message="in the midst")
        run.advance(200)
        kb.stop()
        bpy.ops.ed.undo_push(message="stopped")
        bpy.ops.ed.undo()
        self.scene = bpy.context.scene
        self.assertEqual(self.channels(), before)
        self.assertFalse(rest.moved(self.scene))

    def test_undo_brings_a_slider_back_to_the_engine(self):
        self.scene_of_two()
        a = bpy.data.objects["A"].karakuri
        a.mass_from, a.mass = "MASS", 1.0
        bpy.ops.ed.undo_push(message="one")
        a.mass = 5.0
        bpy.ops.ed.undo_push(message="five")
        run = kb.start()
        run.advance(10)
        self.assertAlmostEqual(run.world.link("A").mass, 5.0)
        bpy.ops.ed.undo()
        run.advance(10)
        self.assertAlmostEqual(run.world.link("A").mass, 1.0)

    def test_after_a_failure(self):
        """A rule that raises, then reset, then undo: everything where it was."""
        self.scene_of_two()
        before = self.channels()
        self.rule("def step(world, dt):\n    if world.time > 0.1:\n        raise RuntimeError('stop here')\n")
        bpy.ops.ed.undo_push(message="rule")
        run = kb.start()
        with self.assertRaisesRegex(RuntimeError, "line 3"):
            run.advance(500)
        self.assertGreater(run.world.time, 0.1)
        self.assertEqual(bpy.ops.karakuri.reset(), {"FINISHED"})
        self.assertEqual(self.channels(), before)
        bpy.ops.ed.undo()
        self.scene = bpy.context.scene
        self.assertEqual(self.channels(), before)

    def test_undo_of_a_bake(self):
        self.scene_of_two()
        before = self.channels()
        bake.all_at_once(self.scene, 1, 20)
        bpy.ops.ed.undo_push(message="bake")
        self.scene.frame_set(15)
        bpy.ops.ed.undo()
        self.scene = bpy.context.scene
        self.assertEqual(self.channels(), before)
        self.assertFalse(bake.baked(self.scene))


class Changes(InBlender):
    def test_deleting_a_body_while_it_runs(self):
        self.box("A", (0, 0, 2))
        b = self.box("B", (1, 0, 2))
        self.update()
        before = self.channels()
        run = kb.start()
        run.advance(100)
        bpy.data.objects.remove(b)
        run.advance(100)
        self.assertIn("'B' deleted", run.ahead)
        self.assertAlmostEqual(bpy.data.objects["A"].location[2], 2 - 9.81 / 2 * 0.2**2, delta=2e-3)
        kb.stop()
        del before["B"]
        self.assertEqual(self.channels(), before)

    def test_deleting_everything_while_it_runs(self):
        self.pendulum()
        run = kb.start()
        run.advance(10)
        for owner in list(self.scene.objects):
            bpy.data.objects.remove(owner)
        run.advance(10)
        kb.stop()

    def test_renaming_while_it_runs(self):
        a = self.box("A", (0, 0, 2))
        self.update()
        run = kb.start()
        run.advance(10)
        a.name = "Other"
        a.karakuri.mass_from, a.karakuri.mass = "MASS", 3.0
        run.advance(10)
        self.assertEqual(run.ahead, "")
        self.assertAlmostEqual(run.world.link("A").mass, 3.0)  # the world knows it by its old name until the next start
        self.assertLess(a.location[2], 2)
        self.assertEqual(kb.start().description.bodies[0].name, "Other")

    def test_removing_the_scene_and_another_file(self):
        self.box("A", (0, 0, 2))
        self.update()
        run = kb.start()
        run.advance(10)
        bpy.ops.wm.read_factory_settings(use_empty=True)
        self.assertFalse(simulation.running)
        self.assertFalse(run._thread.is_alive())

    def test_two_scenes_run_side_by_side(self):
        self.box("A", (0, 0, 2))
        self.update()
        first = kb.start()
        other = bpy.data.scenes.new("Other")
        bpy.context.window.scene = other if bpy.context.window else None
        with bpy.context.temp_override(scene=other, view_layer=other.view_layers[0]):
            owner = naming.new_object("Z", meshes.new("Z", *meshes.box((0.1, 0.1, 0.1))), other.collection)
            owner.location, owner.karakuri.role, owner.karakuri.shape = (0, 0, 5), "BODY", "BOX"
            other.view_layers[0].update()
            second = kb.start(other)
            second.advance(100)
        first.advance(50)
        self.assertAlmostEqual(first.world.time, 0.05)
        self.assertAlmostEqual(second.world.time, 0.1)
        kb.stop(other)

    def test_duplicates_are_bodies_of_their_own(self):
        a = self.box("A", (0, 0, 2))
        a.karakuri.title = "named"
        copy = a.copy()
        copy.location = (1, 0, 2)
        self.scene.collection.objects.link(copy)
        self.update()
        run = kb.start()
        run.advance(100)
        self.assertEqual([p.name for p in run.description.bodies], ["named", "A.001"])
        self.assertNotEqual(a.location[0], copy.location[0])
        self.assertAlmostEqual(copy.location[2], a.location[2], delta=1e-6)
        kb.stop()
        self.assertEqual(tuple(copy.location), (1, 0, 2))


class Meshes(InBlender):
    def problem(self, owner):
        self.update()
        with self.assertRaises(describe.ModelError) as caught:
            kb.start()
        self.assertIn(owner.name, str(caught.exception))
        self.assertIsNone(simulation.of(self.scene))
        self.assertFalse(rest.moved(self.scene))
        return str(caught.exception)

    def test_empty_mesh(self):
        for shape in ("BOX", "HULL", "MESH", "SPHERE"):
            self.setUp()
            self.assertIn("no vertices", self.problem(self.body("Nothing", ([], []), (0, 0, 1), shape)))

    def test_one_vertex(self):
        self.assertIn("no extent", self.problem(self.body("Dot", ([(0, 0, 0)], []), (0, 0, 1), "BOX")))

    def test_non_manifold(self):
        points, faces = meshes.box((0.2, 0.2, 0.2))
        said = self.problem(self.body("Open", (points, faces[1:]), (0, 0, 1), "MESH"))
        self.assertIn("4 edges", said)
        self.assertIn("Convex hull", said)
        bpy.data.objects["Open"].karakuri.shape = "HULL"  # as it says
        kb.advance(10)

    def test_vertices_that_are_not_finite(self):
        owner = self.body("Bad", meshes.box((0.2, 0.2, 0.2)), (0, 0, 1), "HULL")
        owner.data.vertices[0].co[0] = float("nan")
        self.assertIn("not finite", self.problem(owner))

    def test_flat_things_that_move(self):
        for shape, said in (("BOX", "needs a thickness"), ("HULL", "flat"), ("CYLINDER", "flat")):
            self.setUp()
            self.assertIn(said, self.problem(self.body("Sheet", meshes.plane(1), (0, 0, 1), shape)))

    def test_scale_of_zero(self):
        owner = self.box("Zero", (0, 0, 1))
        owner.scale = (0, 1, 1)
        self.problem(owner)

    def test_no_mesh_at_all(self):
        lamp = bpy.data.objects.new("Lamp", bpy.data.lights.new("Lamp", "POINT"))
        self.scene.collection.objects.link(lamp)
        lamp.karakuri.role = "BODY"
        self.update()
        try:
            kb.start()
        except Exception as error:
            self.assertIn("Lamp", str(error))  # a free body without mass
        else:
            self.fail("a body without mass cannot move")

    def test_text_block_that_is_no_json(self):
        self.box("A", (0, 0, 1))
        surroundings.write(self.scene, {"sensors": []})
        self.scene.karakuri.rest_of_scene.write("{")
        self.update()
        with self.assertRaisesRegex(describe.ModelError, "line 4: it is no JSON"):
            kb.start()

    def test_curves_and_text_have_shapes_too(self):
        curve = bpy.data.curves.new("Ring", "CURVE")
        curve.dimensions, curve.bevel_depth = "3D", 0.05
        spline = curve.splines.new("POLY")
        spline.points.add(3)
        for point, co in zip(spline.points, ((0, 0, 0, 1), (1, 0, 0, 1), (1, 1, 0, 1), (0, 1, 0, 1))):
            point.co = co
        owner = bpy.data.objects.new("Ring", curve)
        self.scene.collection.objects.link(owner)
        owner.location[2] = 1
        owner.karakuri.role = "BODY"
        self.update()
        kb.advance(100)
        self.assertLess(owner.location[2], 1)


class Many(InBlender):
    def test_500_objects(self):
        random = np.random.default_rng(1)
        for i in range(500):
            size = random.uniform(0.05, 0.15, 3)
            self.box(f"B{i}", (0.4 * (i % 25), 0.4 * (i // 25), 0.5 + 0.3 * random.random()), size)
        self.update()
        before = self.channels()
        began = time.perf_counter()
        run = kb.start()
        built = time.perf_counter() - began
        began = time.perf_counter()
        run.advance(40)
        print(f"\n500 bodies: start {built:.2f} s, 40 steps and the picture {time.perf_counter() - began:.2f} s")
        self.assertLess(built, 20)
        kb.stop()
        self.assertEqual(self.channels(), before)


class Linked(InBlender):
    def library(self):
        """A file with a collection of a body and a ball beside it."""
        inner = bpy.data.collections.new("Parts")
        self.scene.collection.children.link(inner)
        for i, x in enumerate((0.0, 0.5)):
            owner = naming.new_object(f"Part{i}", meshes.new(f"Part{i}", *meshes.box((0.2, 0.2, 0.2))), inner)
            owner.location[0] = x
            owner.karakuri.role, owner.karakuri.shape = "BODY", "BOX"
        path = self.path("library.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        bpy.ops.wm.read_factory_settings(use_empty=True)
        self.scene = bpy.context.scene
        with bpy.data.libraries.load(path, link=True) as (there, here):
            here.collections = ["Parts"]
        return bpy.data.collections["Parts"]

    def test_a_linked_collection_in_the_scene(self):
        """Its objects are bodies as others are."""
        parts = self.library()
        self.scene.collection.children.link(parts)
        self.update()
        run = kb.start()
        run.advance(100)
        self.assertEqual(len(run.description.bodies), 2)
        kb.stop()
        for i, x in enumerate((0.0, 0.5)):
            self.assertEqual(tuple(bpy.data.objects[f"Part{i}"].location), (x, 0, 0))

    def test_an_instance_of_a_linked_collection_is_one_body(self):
        parts = self.library()
        instance = bpy.data.objects.new("Instance", None)
        instance.instance_type, instance.instance_collection = "COLLECTION", parts
        self.scene.collection.objects.link(instance)
        instance.location = (0, 0, 2)
        instance.karakuri.role, instance.karakuri.shape = "BODY", "BOX"
        self.update()
        run = kb.start()
        self.assertEqual(run.description.content["bodies"][0]["shapes"][0]["box"], [0.7, 0.2, 0.2])
        run.advance(100)
        self.assertLess(instance.location[2], 2)
        kb.stop()
        self.assertEqual(tuple(instance.location), (0, 0, 2))


class Installing(unittest.TestCase):
    """In a Blender of its own, with a folder for its preferences that did not exist."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.addon = os.path.dirname(os.path.abspath(kb.__file__))
        self.environment = {**os.environ, "BLENDER_USER_RESOURCES": os.path.join(self.folder, "user")}

    def blender(self, *arguments, **environment):
        command = [bpy.app.binary_path, "-b", "-noaudio", "--python-exit-code", "3", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env={**self.environment, **environment})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    USE = ("import bpy, karakuri_blender as kb; bpy.ops.karakuri.example(); run = kb.start(); run.advance(10); "
           "print('RAN', run.world.time, kb.__file__)")

    def test_by_the_launchers_script(self):
        self.blender("--python", os.path.join(os.path.dirname(self.addon), "start.py"), "--", "install")
        # later, without the project's environment: the note beside the add-on tells where the module is
        said = self.blender("--python-expr", self.USE, KARAKURI_PYTHON="")
        self.assertIn("RAN 0.01", said)
        self.assertIn(self.folder, said)

    def test_from_a_zip(self):
        path = os.path.join(self.folder, "karakuri_blender.zip")
        with zipfile.ZipFile(path, "w") as out:
            for name in sorted(os.listdir(self.addon)):
                if name.endswith((".py", ".toml")):
                    out.write(os.path.join(self.addon, name), f"karakuri_blender/{name}")
        said = self.blender("--python-expr", f"import bpy; bpy.ops.preferences.addon_install(filepath={path!r}); "
                            "bpy.ops.preferences.addon_enable(module='karakuri_blender'); " + self.USE)
        self.assertIn("RAN 0.01", said)

    def test_without_the_module_it_says_what_to_do(self):
        copy = os.path.join(self.folder, "karakuri_blender")
        shutil.copytree(self.addon, copy)
        said = self.blender("--python-expr", f"import sys; sys.path.insert(0, {self.folder!r}); import karakuri_blender as kb; "
                            "kb.register(); print(kb.module.load(), kb.module.why())", KARAKURI_PYTHON="")
        self.assertIn("None The Python module karakuri cannot be imported", said)
        self.assertIn("./karakuri python", said)

    def test_both_manifests_say_the_same(self):
        import tomllib

        with open(os.path.join(self.addon, "blender_manifest.toml"), "rb") as file:
            manifest = tomllib.load(file)
        self.assertEqual(manifest["version"], ".".join(map(str, kb.bl_info["version"])))
        self.assertEqual(manifest["name"], kb.bl_info["name"])
        self.assertEqual(manifest["id"], "karakuri_blender")


if __name__ == "__main__":
    unittest.main()
