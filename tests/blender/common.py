"""What the tests in Blender share."""
import json
import os
import subprocess
import tempfile
import unittest

import bpy
import karakuri_blender as kb
from karakuri_blender import exporter, meshes, naming, simulation

CORPUS = os.environ["KARAKURI_CORPUS_DIR"]
ROBOTS = {
    "jvrc1": "humanoids/jvrc1-urdf/urdf/jvrc1.urdf",
    "cassie": "menagerie/agility_cassie/cassie.xml",
    "2f85": "menagerie/robotiq_2f85/2f85.xml",
}

if not hasattr(bpy.types.Scene, "karakuri"):
    kb.register()


def program_stats(path, time, *options):
    """What the program says of a run."""
    done = subprocess.run([os.environ["KARAKURI_PROGRAM"], "run", path, "--headless", "--stats", "--time", repr(time), *options],
                          capture_output=True, text=True)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def program_hash(path, time, *options):
    return int(program_stats(path, time, *options)["state_hash"], 16)


class InBlender(unittest.TestCase):
    """Each test begins with an empty scene."""

    def setUp(self):
        simulation.end_all()
        bpy.ops.wm.read_factory_settings(use_empty=True)
        self.scene = bpy.context.scene
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(simulation.end_all)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def update(self):
        bpy.context.view_layer.update()

    def body(self, name, geometry, at=(0, 0, 0), shape="BOX", motion="DYNAMIC", **more):
        owner = naming.new_object(name, meshes.new(name, *geometry), self.scene.collection)
        owner.location = at
        k = owner.karakuri
        k.role, k.shape, k.motion = "BODY", shape, motion
        for key, value in more.items():
            setattr(k, key, value)
        return owner

    def box(self, name="Box", at=(0, 0, 1), size=(0.2, 0.2, 0.2), **more):
        return self.body(name, meshes.box(size), at, **more)

    def joint(self, name, kind, parent, child, at, axis=(0, 1, 0)):
        owner = naming.new_object(name, None, self.scene.collection)
        owner.location = at
        owner.karakuri.role = "JOINT"
        j = owner.karakuri.joint
        j.kind, j.parent, j.child, j.axis = kind, parent, child, axis
        return owner

    def pendulum(self):
        """A rod of 0.5 m and 1 kg on a hinge at 2 m height."""
        rod = self.body("Rod", meshes.box((0.02, 0.02, 0.5)), (0, 0, 1.75), mass_from="MASS", mass=1.0)
        hinge = self.joint("Hinge", "REVOLUTE", None, rod, (0, 0, 2))
        self.update()
        return rod, hinge

    def rule(self, text, owner=None, name="rule.py"):
        from karakuri_blender import rules

        block = bpy.data.texts.new(name)
        block.write(text)
        holder = owner or self.scene
        holder.karakuri.rules.add().text = block
        rules.declare(holder)
        return block

    def export(self, name="out.scene.yaml"):
        path = self.path(name)
        exporter.save(self.scene, path)
        return path

    def channels(self):
        """All that the user has set of where objects are."""
        return {o.name: (tuple(o.location), tuple(o.rotation_euler), tuple(o.rotation_quaternion), tuple(o.scale),
                         tuple(o.rotation_axis_angle), o.rotation_mode) for o in self.scene.objects}
