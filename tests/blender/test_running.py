"""While it runs: sliders, rules, numbers, the cache; and all of it saved and opened again."""
import json
import os
import subprocess
import sys
import time
import unittest

import bpy
import karakuri_blender as kb
import numpy as np
from common import InBlender
from karakuri_blender import bake, cache, example, handlers, rules, simulation, toy


class Sliders(InBlender):
    def started(self):
        """A driven pendulum, held out against gravity: after a second it is at rest."""
        rod, hinge = self.pendulum()
        d = hinge.karakuri.joint.dofs[0]
        d.use_drive, d.target, d.drive_stiffness, d.drive_damping = True, 0.5, 200, 20
        run = kb.start()
        run.advance(3000)
        self.assertLess(abs(float(run.world.joint("Hinge").v[0])), 1e-6)
        return rod, hinge, run

    def rate_after(self, run, steps=1):
        run.advance(steps)
        return float(run.world.joint("Hinge").v[0])

    def test_target(self):
        """One implicit step from rest: v = h k (target - q) / (I + h d + h^2 k), where the drive balanced gravity before."""
        _, hinge, run = self.started()
        hinge.karakuri.joint.dofs[0].target = 0.6
        inertia = 0.5**2 / 3 + 0.02**2 / 12
        h, k, d = 0.001, 200, 20
        wanted = h * k * 0.1 / (inertia + h * d + h * h * k)
        # it fell asleep while it still crept: a torque of about 0.01 N m was left, which the step ends with
        self.assertAlmostEqual(self.rate_after(run), wanted, delta=1e-4)

    def test_mass(self):
        """Twice the mass, twice the torque of gravity on twice the inertia, the drive's torque as before."""
        rod, _, run = self.started()
        q = float(run.world.joint("Hinge").q[0])
        rod.karakuri.mass = 2.0
        h, k, d = 0.001, 200, 20
        inertia = 2 * (0.5**2 / 3 + 0.02**2 / 12)
        wanted = -h * 9.81 * 0.25 * np.sin(q) / (inertia + h * d + h * h * k)  # the added kilogram pulls it down
        self.assertAlmostEqual(self.rate_after(run), wanted, delta=1e-4)  # asleep, as above
        self.assertAlmostEqual(run.world.link("Rod").mass, 2.0, delta=1e-12)

    def test_spring_and_damper(self):
        rod, hinge, run = self.started()
        d = hinge.karakuri.joint.dofs[0]
        q = float(run.world.joint("Hinge").q[0])
        d.stiffness = 10.0
        rate = self.rate_after(run)
        inertia = 0.5**2 / 3 + 0.02**2 / 12
        h = 0.001
        # a spring of the model towards 0 is implicit as the drive is
        self.assertAlmostEqual(rate, -h * 10 * q / (inertia + h * 20 + h * h * (200 + 10)), delta=1e-2 * abs(rate))
        run.advance(3000)
        d.stiffness = 0.0
        d.damping = 1000.0
        slow = self.rate_after(run)
        self.assertLess(abs(slow), abs(rate) / 10)  # the same torque against fifty times the damping

    def test_gains_gravity_and_step(self):
        _, hinge, run = self.started()
        hinge.karakuri.joint.dofs[0].drive_stiffness = 500
        self.scene.gravity = (0, 0, 0)
        self.scene.karakuri.dt = 0.002
        run.advance(4000)
        self.assertAlmostEqual(float(run.world.joint("Hinge").q[0]), 0.5, delta=1e-6)
        self.assertEqual(run.world.dt, 0.002)
        self.assertAlmostEqual(run.world.time, 3 + 8, delta=1e-9)

    def test_friction_of_a_body_that_slides(self):
        box = self.box(at=(0, 0, 0.1), velocity=(1, 0, 0), friction=0.0, kinetic_friction=0.0)
        self.scene.karakuri.ground_friction = 1.0
        self.update()
        run = kb.start()
        run.advance(100)
        before = run.world.link("Box").velocity[0]
        box.karakuri.friction = box.karakuri.kinetic_friction = 0.25
        run.advance(100)
        # two materials meet with the geometric mean: sqrt(1 * 0.25) = 0.5
        self.assertAlmostEqual(before - run.world.link("Box").velocity[0], 0.5 * 9.81 * 0.1, delta=2e-3)
        self.assertAlmostEqual(before, 1.0, delta=1e-6)

    def test_what_cannot_change_while_it_runs_is_told(self):
        _, hinge, run = self.started()
        self.box("Late", (3, 0, 1))
        run.advance(1)
        self.assertIn("next start", run.ahead)
        kb.start().advance(1)
        self.assertEqual(len(kb.world().links), 3)

    def test_a_run_with_sliders_that_come_back_is_that_of_the_start(self):
        """Values that are set and set back leave the world's future as it was: what an edit does not touch keeps its bits."""
        rod, hinge, run = self.started()
        straight = kb.start()
        straight.advance(10)
        wanted = straight.world.hash()
        run = kb.start()
        rod.karakuri.mass = 3.0
        run.look()
        rod.karakuri.mass = 1.0
        run.look()
        run.advance(10)
        self.assertEqual(run.world.hash(), wanted)


PUSH = "strength = 2.0\nproperties = {'strength': {'min': 0, 'max': 10}}\n\ndef step(world, dt):\n    world['joint.Hinge.effort'] = strength\n"


class Rules(InBlender):
    def test_a_rule_acts_and_has_the_panels_numbers(self):
        rod, hinge = self.pendulum()
        self.scene.use_gravity = False
        self.rule(PUSH)
        self.assertEqual(self.scene["strength"], 2.0)
        run = kb.start()
        run.advance(1)
        inertia = 0.5**2 / 3 + 0.02**2 / 12
        self.assertAlmostEqual(float(run.world.joint("Hinge").v[0]), 0.001 * 2 / inertia, delta=1e-7)
        self.scene["strength"] = 4.0
        before = float(run.world.joint("Hinge").v[0])
        run.advance(1)
        self.assertAlmostEqual(float(run.world.joint("Hinge").v[0]) - before, 0.001 * 4 / inertia, delta=1e-6)

    def test_an_edited_rule_takes_effect_within_half_a_second(self):
        self.pendulum()
        block = self.rule("def step(world, dt):\n    world['joint.Hinge.effort'] = 1.0\n")
        run = kb.start()
        run.start()
        self.tick_until(run, lambda: run.world.time > 0.1)
        block.clear()
        block.write("def step(world, dt):\n    world['joint.Hinge.effort'] = -7.0\n")
        began = time.monotonic()
        self.tick_until(run, lambda: run.world["joint.Hinge.effort"] == -7.0)
        self.assertLess(time.monotonic() - began, 0.5)

    def tick_until(self, run, there, seconds=20):
        end = time.monotonic() + seconds
        while True:
            run.tick()
            run.wait(5)
            if there():
                return
            self.assertLess(time.monotonic(), end)
            time.sleep(0.005)

    def test_an_error_pauses_with_its_line_and_mending_goes_on(self):
        self.pendulum()
        block = self.rule("def step(world, dt):\n    if world.time > 0.05:\n        raise ValueError('no')\n")
        run = kb.start()
        run.start()
        self.tick_until(run, lambda: run.failed is not None or run.error is not None)
        run.tick()
        self.assertFalse(run.playing)
        self.assertIn("rule.py, line 3: ValueError: no", run.message)
        self.assertAlmostEqual(run.world.time, 0.051, delta=1e-9)  # the step itself was not made
        block.clear()
        block.write("def step(world, dt):\n    pass\n")
        self.tick_until(run, lambda: run.world.time > 0.1)
        self.assertTrue(run.playing)
        self.assertEqual(run.message, "")

    def test_errors_of_syntax_and_of_drawing_have_their_lines_too(self):
        self.pendulum()
        self.rule("def step(world, dt):\n    pass\n\nx = = 1\n")
        run = kb.start()
        with self.assertRaisesRegex(rules.RuleError, "rule.py, line 4: SyntaxError"):
            run.advance(1)
        block = bpy.data.texts["rule.py"]
        block.clear()
        block.write("def step(world, dt):\n    pass\n\ndef draw(world, pen):\n    pen.line(1, 2)\n")
        run.wants_overlays = True
        time.sleep(rules.SETTLE)
        run.look()
        time.sleep(rules.SETTLE + 0.05)
        with self.assertRaisesRegex(rules.RuleError, "line 5: TypeError"):
            run.advance(1)

    def test_state_outlives_an_edit(self):
        self.pendulum()
        block = self.rule("state = {'n': 0}\n\ndef step(world, dt):\n    state['n'] += 1\n")
        run = kb.start()
        run.advance(5)
        block.clear()
        block.write("state = {'n': 0}\n\ndef step(world, dt):\n    state['n'] += 10\n")
        run.look()
        time.sleep(rules.SETTLE + 0.05)
        run.advance(2)
        self.assertEqual(run.rules.order[0].namespace["state"]["n"], 25)

    def test_the_creature_looks_at_the_ball_within_its_view(self):
        example.build(self.scene)
        run = kb.start()
        run.wants_overlays = True
        head = bpy.data.objects["Head"]
        head["view_angle"] = 1.4
        errors = []
        for _ in range(40):
            run.advance(100)
            pose, ball = run.world.link("Head").pose, run.world.link("Ball").position
            to_ball = ball - pose[:3, 3]
            errors.append(np.arccos(np.dot(pose[:3, 0], to_ball) / np.linalg.norm(to_ball)))
        # the head follows at 6 1/s a ball that passes at about 1 rad/s: it lags by about 1/6 rad
        self.assertLess(np.mean(errors[20:]), 0.3)
        cone = next(shape for shape in run.shot.shapes if shape[0] == "cone")
        self.assertAlmostEqual(cone[3], 1.4, delta=1e-6)
        head["view_angle"] = 0.1
        run.advance(1)
        cone = next(shape for shape in run.shot.shapes if shape[0] == "cone")
        self.assertAlmostEqual(cone[3], 0.1, delta=1e-6)

    def test_the_toy_of_the_documentation_walks(self):
        toy.build(self.scene)
        run = kb.start()
        run.advance(4000)
        trunk = run.world.link("Trunk")
        # feet of 0.13 m at 4 rad/s: 0.52 m/s times the cosine of the stance, 0.9 in the mean, for 4 s
        self.assertGreater(trunk.position[0], 1.5)
        self.assertLess(trunk.position[0], 0.52 * 4 + 0.1)
        self.assertGreater(trunk.rotation[2, 2], 0.9)  # upright
        self.scene.objects["Trunk"]["pace"] = -4.0
        before = trunk.position[0]
        run.advance(2000)
        self.assertLess(trunk.position[0], before - 0.5)

    def test_the_console_reaches_the_world(self):
        self.assertIsNone(kb.world())
        self.pendulum()
        kb.advance(10)
        kb.world().joint("Hinge").q = 0.3
        kb.advance(1)
        self.assertAlmostEqual(float(kb.world().joint("Hinge").q[0]), 0.3, delta=1e-3)


class Frames(InBlender):
    def falling(self):
        box = self.box("Box", (0, 0, 3))
        box.rotation_euler = (0.1, 0.2, 0.3)
        box.karakuri.angular_velocity = (3, 1, 2)
        self.box("Other", (0.05, 0, 0.5))
        self.update()

    def test_scrubbing_shows_the_frames_that_were_kept(self):
        self.falling()
        run = kb.start()
        run.advance(1000)
        self.assertEqual(sorted(run.cache), list(range(1, 26)))  # a second at 24 frames per second
        for frame in (13, 25, 2):
            self.scene.frame_set(frame)
            world = run.karakuri.World.from_text(run.description.text())
            world.step(int(round((frame - 1) / 24 / 0.001)))
            place = np.array(bpy.data.objects["Box"].matrix_world.translation)
            self.assertLess(np.abs(place - world.link("Box").position).max(), 1e-6)

    def test_going_on_from_a_frame_has_the_bits_of_the_first_time(self):
        self.falling()
        run = kb.start()
        run.advance(2000)
        wanted = run.world.hash()
        run.go_to(20)
        run.advance(2000 - int(round(run.world.time / 0.001)))
        self.assertEqual(run.world.hash(), wanted)

    def test_the_render_shows_the_cache(self):
        """What the depsgraph evaluates for a frame is what a render takes."""
        self.falling()
        kb.advance(1000)
        self.scene.frame_set(13)
        shown = bpy.data.objects["Box"].evaluated_get(bpy.context.evaluated_depsgraph_get())
        self.assertLess(abs(shown.matrix_world.translation[2] - (3 - 9.81 / 2 * 0.5**2)), 5e-3)  # half a second of free fall

    def test_an_animation_that_is_rendered(self):
        """By Cycles, in small: in each frame the box is where the cache has it."""
        self.falling()
        kb.advance(1000)
        camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
        self.scene.collection.objects.link(camera)
        self.scene.camera = camera
        render = self.scene.render
        render.engine, render.resolution_x, render.resolution_y = "CYCLES", 8, 8
        self.scene.cycles.samples, self.scene.cycles.use_denoising = 1, False
        render.filepath = self.path("frame")
        self.scene.frame_start, self.scene.frame_end = 4, 6
        places = {}
        seen = lambda scene, *_: places.__setitem__(scene.frame_current, bpy.data.objects["Box"].location[2])  # noqa: E731
        bpy.app.handlers.render_post.append(seen)
        self.addCleanup(bpy.app.handlers.render_post.remove, seen)
        bpy.ops.render.render(animation=True)
        self.assertEqual(sorted(places), [4, 5, 6])
        for frame, height in places.items():
            self.assertAlmostEqual(height, 3 - 9.81 / 2 * ((frame - 1) / 24)**2, delta=2e-3)

    def test_a_kinematic_body_follows_its_keyframes(self):
        """It is where its curves say at each frame, pushes what is in its way, and does so alike however the steps are cut."""
        pusher = self.box("Pusher", (-1, 0, 0.2), motion="KINEMATIC")
        box = self.box("Box", (0, 0, 0.1))
        for frame, x, turn in ((1, -1.0, 0.0), (13, -0.3, 0.5), (25, 0.5, 1.5)):
            pusher.location[0], pusher.rotation_euler[2] = x, turn
            pusher.keyframe_insert("location", frame=frame)
            pusher.keyframe_insert("rotation_euler", frame=frame)
        self.scene.frame_set(1)
        self.update()
        run = kb.start()
        curve = next(c for c in pusher.animation_data.action.fcurves if c.data_path == "location" and c.array_index == 0)
        turn = next(c for c in pusher.animation_data.action.fcurves if c.data_path == "rotation_euler" and c.array_index == 2)
        run.advance(1000)
        for frame in (7, 13, 25):
            pose = run.cache[frame].poses[0]
            # poses pass through single precision; sums of a thousand steps add 1e-12
            self.assertAlmostEqual(pose[0, 3], curve.evaluate(frame), delta=1e-6)
            self.assertAlmostEqual(np.arctan2(pose[1, 0], pose[0, 0]), turn.evaluate(frame), delta=1e-6)
        self.assertGreater(box.location[0], 0.3)
        wanted = run.world.hash()
        run = kb.start()
        for steps in (1, 6, 93, 400, 500):
            run.advance(steps)
        self.assertEqual(run.world.hash(), wanted)

    def test_bake_and_take_it_away(self):
        self.falling()
        box = bpy.data.objects["Box"]
        box.keyframe_insert("scale", frame=1)  # an action of the user's own
        action = box.animation_data.action
        before = self.channels()
        bake.all_at_once(self.scene, 1, 30)
        self.assertIsNone(simulation.of(self.scene))
        self.assertIsNot(box.animation_data.action, action)
        self.scene.frame_set(10)
        self.assertLess(abs(box.location[2] - (3 - 9.81 / 2 * 0.375**2)), 5e-3)
        bake.delete(self.scene)
        self.assertEqual(self.channels(), before)
        self.assertIs(box.animation_data.action, action)

    def test_a_bake_that_is_broken_off_leaves_nothing(self):
        self.falling()
        before, actions = self.channels(), len(bpy.data.actions)
        self.assertEqual(bake.all_at_once(self.scene, 1, 200, lambda share: share < 0.3), 0)
        self.assertEqual((self.channels(), len(bpy.data.actions)), (before, actions))
        self.rule("def step(world, dt):\n    1 / (world.time < 0.1)\n")
        with self.assertRaises(rules.RuleError):
            bake.all_at_once(self.scene, 1, 200)
        self.assertEqual((self.channels(), len(bpy.data.actions)), (before, actions))

    def test_angles_do_not_jump(self):
        """Keys of a body that turns over many times: from frame to frame no angle changes by more than the turn itself."""
        box = self.box("Spin", (0, 0, 50), size=(0.1, 0.2, 0.3))
        box.karakuri.angular_velocity = (0.5, 6, 4)
        self.scene.use_gravity = False
        self.update()
        bake.all_at_once(self.scene, 1, 100)
        curves = [c for c in box.animation_data.action.fcurves if c.data_path == "rotation_euler"]
        keys = np.array([[p.co[1] for p in c.keyframe_points] for c in curves])
        # near the poles of the angles x and z turn against each other by up to pi; jumps would be 2 pi
        self.assertLess(np.abs(np.diff(keys, axis=1)).max(), np.pi + 0.5)


class Files(InBlender):
    def test_saved_closed_and_opened(self):
        """In another Blender: properties, rules and numbers are back, and the run has the same bits."""
        example.build(self.scene)
        bpy.data.objects["Head"]["gain"] = 3.5
        bpy.data.objects["Elbow"].karakuri.joint.dofs[0].drive_stiffness = 33.0
        bpy.data.objects["Ball"].karakuri.preset = "RUBBER"
        self.scene.karakuri.dt = 0.002
        run = kb.start()
        run.advance(500)
        wanted = run.world.hash()
        before = {o.name: list(o.karakuri.rest[0:3]) for o in self.scene.objects if o.karakuri.rest_saved}
        blend = self.path("saved.blend")
        bpy.ops.wm.save_as_mainfile(filepath=blend)
        self.assertIs(simulation.of(self.scene), run)  # goes on after saving
        script = self.path("look.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(OPENED)
        done = subprocess.run([bpy.app.binary_path, "-b", "-noaudio", "--factory-startup", "--python-exit-code", "3", "--python",
                               script, "--", os.path.dirname(os.path.dirname(kb.__file__)), blend], capture_output=True, text=True)
        self.assertIn("RESULT", done.stdout, done.stdout + done.stderr)
        result = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("RESULT"))[6:])
        self.assertEqual(result["hash"], wanted)
        self.assertIn("'look.py', 'wave.py'", result["refused"])  # a file that this Blender has not saved
        self.assertEqual(result["gain"], 3.5)
        self.assertEqual(result["stiffness"], 33.0)
        self.assertEqual(result["friction"], 1.0)
        self.assertEqual(result["dt"], round(0.002, 6))
        self.assertEqual(result["places"], before)
        self.assertEqual(result["rules"], ["wave.py", "look.py"])
        self.assertIn(10, result["frames"])

    def test_saving_in_the_midst_of_a_run_saves_the_rest(self):
        box = self.box("Box", (0, 0, 3))
        self.update()
        kb.advance(500)
        moved = tuple(box.location)
        self.assertNotEqual(moved, (0, 0, 3))
        bpy.ops.wm.save_as_mainfile(filepath=self.path("midst.blend"))
        self.assertEqual(tuple(box.location), moved)
        handlers.unregister()  # which would put right what is wrong in the file
        self.addCleanup(handlers.register)
        kb.stop()
        bpy.ops.wm.open_mainfile(filepath=self.path("midst.blend"))
        self.assertEqual(tuple(bpy.data.objects["Box"].location), (0, 0, 3))
        self.assertFalse(bpy.data.objects["Box"].karakuri.rest_saved)

    def test_the_cache_lies_beside_the_file(self):
        self.box("Box", (0, 0, 3))
        self.update()
        kb.advance(500)
        bpy.ops.wm.save_as_mainfile(filepath=self.path("cached.blend"))
        kb.stop()
        bpy.ops.wm.open_mainfile(filepath=self.path("cached.blend"))
        scene = bpy.context.scene
        self.assertIn(scene.name, cache.shelves)
        scene.frame_set(10)
        self.assertLess(abs(bpy.data.objects["Box"].location[2] - (3 - 9.81 / 2 * 0.375**2)), 5e-3)
        self.assertEqual(bpy.data.objects["Box"].karakuri.rest[2], 3)


OPENED = '''
import json
import sys

import bpy

addon, blend = sys.argv[sys.argv.index("--") + 1:]
sys.path.insert(0, addon)
import karakuri_blender as kb

kb.register()
bpy.ops.wm.open_mainfile(filepath=blend)
scene = bpy.context.scene
frames = sorted(kb.simulation.running.get(scene.name, __import__("karakuri_blender.cache").cache.shelves[scene.name]).cache)
places = {o.name: list(o.location) for o in scene.objects if o.karakuri.role == "BODY"}
try:
    kb.start()
    refused = ""
except ValueError as error:
    refused = str(error)
bpy.ops.karakuri.allow_rules()
run = kb.start()
run.advance(500)
print("RESULT" + json.dumps({
    "hash": run.world.hash(), "gain": bpy.data.objects["Head"]["gain"],
    "stiffness": bpy.data.objects["Elbow"].karakuri.joint.dofs[0].drive_stiffness,
    "friction": bpy.data.objects["Ball"].karakuri.friction, "dt": round(scene.karakuri.dt, 6), "places": places,
    "rules": [r.name for r in run.rules.order], "frames": frames, "refused": refused}))
'''

if __name__ == "__main__":
    unittest.main()
    sys.exit()
