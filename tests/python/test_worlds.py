"""Random passive worlds keep their energy, as NumPy adds it up: some of those of `./karakuri bench worlds`."""
import pathlib
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[2] / "bench"))
import worlds  # noqa: E402


class PassiveWorlds(unittest.TestCase):
    def test_worlds_of_all_kinds_hold(self):
        for seed in range(40):
            with self.subTest(seed=seed):
                self.assertEqual(worlds.judge(worlds.RandomWorld(seed), seconds=1, most_steps=300), "")

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
