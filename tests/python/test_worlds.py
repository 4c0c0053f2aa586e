"""Random passive worlds keep their energy, as NumPy adds it up: some of `./karakuri bench worlds` and `combined`."""
import pathlib
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[2] / "bench"))
import combined  # noqa: E402
import worlds  # noqa: E402


class PassiveWorlds(unittest.TestCase):
    def test_worlds_of_all_kinds_hold(self):
        for seed in range(40):
            with self.subTest(seed=seed):
                self.assertEqual(worlds.judge(worlds.RandomWorld(seed), seconds=1, most_steps=300), "")

    def test_those_hold_that_once_did_not(self):
        """Springs in place of contacts that gave more than they had taken, and explicit steps that gained."""
        for seed in (288, 439, 819, 837, 859, 878):
            with self.subTest(seed=seed):
                self.assertEqual(worlds.judge(worlds.RandomWorld(seed)), "")

    def test_features_that_seldom_meet_hold(self):
        """The last once wound springs by closing a loop, at the cost of the momentum of its fall."""
        for seed in (*range(30), 2000148, 2000208, 2000230):
            with self.subTest(seed=seed):
                self.assertEqual(combined.judge(combined.Combined(seed), seconds=1, most_steps=600), "")

    def test_the_judge_sees_what_is_pushed(self):
        """An effort that works is energy from nowhere to it."""
        random = worlds.RandomWorld(1)
        pushed = worlds.karakuri.World.from_text

        def push(text):
            world = pushed(text)

            @world.on_step
            def lift(world):
                for link in world.links[1:]:
                    link.add_force((0, 0, 20 * link.mass))

            return world

        worlds.karakuri.World.from_text = push
        try:
            self.assertIn("energy rose", worlds.judge(random, seconds=0.5))
        finally:
            worlds.karakuri.World.from_text = pushed


if __name__ == "__main__":
    unittest.main()
