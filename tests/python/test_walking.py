"""Inverse kinematics and walkers from Python."""
import pathlib
import unittest

import numpy as np

import karakuri

SCENES = pathlib.Path(__file__).resolve().parents[2] / "scenes"


def walker():
    return karakuri.World.load(SCENES / "walk-push.scene.yaml")


class InverseKinematics(unittest.TestCase):
    def test_frames_come_where_they_are_wanted(self):
        world = walker()
        goals = [{"link": name, "position": world.link(name).position, "rotation": world.link(name).rotation}
                 for name in ("left_foot", "right_foot")]
        hand = world.link("left_hand").position + [0.1, 0.02, 0.15]
        center = [world.link("pelvis").position[0], 0.01, 0.76]
        q, report = karakuri.inverse_kinematics(world, [*goals, {"link": "left_hand", "position": hand, "priority": 2}],
                                                center=center, posture=world.q)
        self.assertTrue(report["converged"])
        world.q[:] = q
        world.run(0)
        for goal in goals:
            np.testing.assert_allclose(world.link(goal["link"]).position, goal["position"], atol=1e-8)
        np.testing.assert_allclose(world.link("left_hand").position, hand, atol=1e-8)

    def test_tells_what_is_wrong(self):
        world = walker()
        with self.assertRaisesRegex(ValueError, "has no 'place'"):
            karakuri.inverse_kinematics(world, [{"link": "pelvis", "place": [0, 0, 0]}])
        with self.assertRaisesRegex(ValueError, "not a rotation matrix"):
            karakuri.inverse_kinematics(world, [{"link": "pelvis", "rotation": np.ones((3, 3))}])
        with self.assertRaises(karakuri.UnknownName):
            karakuri.inverse_kinematics(world, [{"link": "tail", "position": [0, 0, 0]}])
        with self.assertRaises(ValueError):
            karakuri.inverse_kinematics(world, [], posture=[1, 2])


class Walking(unittest.TestCase):
    def test_steps_are_told_and_counted(self):
        world = walker()
        world["walker.walk.forward"] = 0.1
        world["walker.walk.steps"] = 2
        world.run(3.2)
        steps = karakuri.footsteps(world, "walk")
        self.assertEqual(steps[0]["side"], "left")
        self.assertAlmostEqual(steps[0]["position"][0], 0.1, places=9)
        self.assertGreater(steps[0]["land"], steps[0]["lift"])
        world.run(4.5)
        self.assertEqual(world["walker.walk.steps"], 3)  # two, and one that closes
        self.assertEqual(world["walker.walk.fallen"], 0)

    def test_the_support_holds_the_zmp(self):
        world = walker()
        world.run(0.5)
        corners = karakuri.support_polygon(world, "walk")
        self.assertEqual(corners.shape[1], 3)
        low, high = corners.min(axis=0), corners.max(axis=0)
        for k, axis in enumerate("xy"):
            self.assertTrue(low[k] < world[f"walker.walk.zmp_{axis}"] < high[k])
        with self.assertRaisesRegex(ValueError, "there are: walk"):
            karakuri.support_polygon(world, "run")


if __name__ == "__main__":
    unittest.main()
