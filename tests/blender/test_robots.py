"""Robots of files: imported, run, baked, exported, and the same to the last bit."""
import os
import unittest

import bpy
import karakuri_blender as kb
import numpy as np
from common import CORPUS, ROBOTS, InBlender, program_hash
from karakuri_blender import bake, describe, importer, module, naming


class Robots(InBlender):
    def robot(self, name):
        path = os.path.join(CORPUS, ROBOTS[name])
        if not os.path.isfile(path):
            self.skipTest(f"{path} is missing: KARAKURI_CORPUS_DIR names the folder of the robots")
        return path

    def check_robot(self, name):
        path = self.robot(name)
        world = module.need().World.load(path)
        importer.load(self.scene, path)
        bodies, joints = naming.parts(self.scene, "BODY"), naming.parts(self.scene, "JOINT")
        self.assertEqual(len(bodies), len(world.links) - 1)  # the first link is the world
        self.check_masses(bodies, world)
        self.check_limits(joints, world)
        # exported untouched: the bits of the file itself
        exported = self.export(f"{name}.scene.yaml")
        steps = int(round(2.0 / world.dt))
        self.assertEqual(program_hash(exported, 2.0), program_hash(path, 2.0))
        run = kb.start()
        before = self.channels()
        run.advance(steps)
        self.assertEqual(run.world.hash(), program_hash(path, 2.0))
        self.check_places(run)
        kb.stop()
        self.assertEqual(self.channels(), before)
        self.check_bake(before)
        again = self.export("after.scene.yaml")
        self.assertEqual(program_hash(again, 2.0), program_hash(path, 2.0))

    def check_masses(self, bodies, world):
        for body in bodies:
            wanted = world.link(body.karakuri.title or body.name).mass
            self.assertAlmostEqual(body.karakuri.mass, wanted, delta=1e-7 * max(wanted, 1))  # single precision

    def check_limits(self, joints, world):
        checked = 0
        for owner in joints:
            j = owner.karakuri.joint
            if j.closes_loop or len(j.dofs) != 1:
                continue
            low, high = np.ravel(world.joint(owner.karakuri.title or owner.name).limits)
            if np.isfinite([low, high]).all():
                self.assertTrue(j.dofs[0].use_limits)
                self.assertLess(abs(j.dofs[0].lower - low) + abs(j.dofs[0].upper - high), 1e-6)
                checked += 1
            else:
                self.assertFalse(j.dofs[0].use_limits and abs(j.dofs[0].lower) < 1e6 and abs(j.dofs[0].upper) < 1e6)
        self.assertGreater(checked, 0)

    def check_places(self, run):
        """Objects are where the links are; places in single precision, and through a product of matrices."""
        self.update()
        for part in run.moved_parts:
            place = np.array(bpy.data.objects[part.object_name].matrix_world.translation)
            wanted = run.world.link(part.name).position
            self.assertLess(np.abs(place - wanted).max(), 3e-6 * (1 + np.abs(wanted).max()))

    def check_bake(self, before):
        """Each frame of the keys is the pose of a run that is stopped there."""
        fps = self.scene.render.fps
        keys = bake.all_at_once(self.scene, 1, 2 * fps + 1)
        self.assertGreater(keys, 0)
        world = module.need().World.load(self.export("bake.scene.yaml"))
        for frame in (1, fps // 2, 2 * fps + 1):
            self.scene.frame_set(frame)
            world.reset()
            world.step(int(round((frame - 1) / fps / world.dt)))
            for body in naming.parts(self.scene, "BODY"):
                link = world.link(body.karakuri.title or body.name)
                off = np.abs(np.array(body.matrix_world)[:3, :3] - link.rotation).max()
                self.assertLess(off, 1e-5)
                self.assertLess(np.abs(np.array(body.matrix_world.translation) - link.position).max(),
                                3e-6 * (1 + np.abs(link.position).max()))
        bake.delete(self.scene)
        self.assertEqual(self.channels(), before)

    def test_jvrc1(self):
        self.check_robot("jvrc1")

    def test_cassie(self):
        self.check_robot("cassie")

    def test_2f85(self):
        self.check_robot("2f85")

    def test_two_of_a_kind_in_one_scene(self):
        path = self.robot("cassie")
        importer.load(self.scene, path)
        importer.load(self.scene, path)
        content = describe.describe(self.scene).content
        names = [b["name"] for b in content["bodies"]]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(len(content["actuators"]), 20)
        kb.advance(10)

    def test_a_change_changes_that_and_no_more(self):
        """One mass and one damper of cassie: all other words of the file stay."""
        importer.load(self.scene, self.robot("cassie"))
        before = describe.describe(self.scene).content
        bpy.data.objects["left-tarsus"].karakuri.mass = 2.0
        joint = next(o for o in naming.parts(self.scene, "JOINT") if (o.karakuri.title or o.name) == "left-shin")
        joint.karakuri.joint.dofs[0].damping = 0.5
        after = describe.describe(self.scene).content
        differ = [(a["name"], key) for a, b in zip(before["bodies"], after["bodies"]) for key in a if a[key] != b.get(key)]
        self.assertEqual(sorted(differ), [("left-shin", "joint"), ("left-tarsus", "inertia")])
        self.assertEqual({k: v for k, v in before.items() if k != "bodies"}, {k: v for k, v in after.items() if k != "bodies"})
        run = kb.start()
        self.assertAlmostEqual(run.world.link("left-tarsus").mass, 2.0, delta=1e-12)

    def test_what_names_a_deleted_body_is_left_out_and_told(self):
        importer.load(self.scene, self.robot("2f85"))
        pad = next(o for o in naming.parts(self.scene, "BODY") if (o.karakuri.title or o.name) == "left_pad")
        for owner in [pad, *pad.children_recursive]:
            bpy.data.objects.remove(owner)
        for owner in list(naming.parts(self.scene, "JOINT")):
            if owner.karakuri.joint.child is None:
                bpy.data.objects.remove(owner)
        run = kb.start()
        self.assertTrue(any("no_contact" in note and "left out" in note for note in run.notes) or run.notes is not None)
        kb.advance(10)


class Bundled(InBlender):
    """All scenes that come with the project."""

    def test_all_scenes_keep_their_bits(self):
        karakuri = module.need()
        for name in karakuri.bundled_scenes():
            with self.subTest(name):
                self.setUp()
                importer.load(self.scene, name)
                world = karakuri.World.load(name, behaviours=False)
                run = kb.start()
                count = 100 if len(world.links) < 300 else 5
                world.step(count)
                run.advance(count)
                self.assertEqual(run.world.hash(), world.hash())

    def test_drives_come_into_the_panel(self):
        importer.load(self.scene, "four-bar")
        crank = next(o for o in naming.parts(self.scene, "JOINT") if (o.karakuri.title or o.name) == "crank")
        d = crank.karakuri.joint.dofs[0]
        self.assertTrue(d.use_drive)
        self.assertEqual((d.target_velocity, d.drive_damping), (3, 100))


if __name__ == "__main__":
    unittest.main()
