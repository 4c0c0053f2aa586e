"""The environment and its spaces."""
import unittest

import numpy as np

import karakuri
from common import arm, pendulum


class Spaces(unittest.TestCase):
    def test_box(self):
        box = karakuri.Box([-1, -np.inf], [1, np.inf], seed=1)
        self.assertEqual((box.shape, box.dtype), ((2,), np.float64))
        first = box.sample()
        self.assertTrue(all(box.contains(box.sample()) for _ in range(100)))
        self.assertFalse(box.contains([2, 0]) or box.contains([0]))
        box.seed(1)
        np.testing.assert_array_equal(box.sample(), first)
        self.assertIn("Box", repr(box))
        np.testing.assert_array_equal(box.low, [-1, -np.inf])
        np.testing.assert_array_equal(box.high, [1, np.inf])
        with self.assertRaises(ValueError):
            karakuri.Box([1], [0])


class Balance(karakuri.Env):
    def begin(self):
        self.world.q[0] = self.random.uniform(-1, 1)

    def reward(self, action):
        return -float(self.world.q[0] ** 2)

    def terminated(self):
        return abs(self.world.q[0]) > 3

    def observe(self):
        return np.concatenate([self.world.q, self.world.v])


class Environment(unittest.TestCase):
    def test_episode(self):
        env = Balance(pendulum(), frame_skip=5, max_steps=20)
        self.assertEqual(env.action_space.shape, (1,))
        self.assertEqual(env.observation_space.shape, (2,))
        observation, info = env.reset(seed=4)
        self.assertEqual(info, {})
        for i in range(20):
            observation, reward, terminated, truncated, info = env.step([0.1])
            self.assertEqual(truncated, i == 19)
            self.assertLessEqual(reward, 0)
        self.assertAlmostEqual(info["time"], 0.1, places=12)
        again, _ = env.reset(seed=4, options={})
        first = again.copy()
        np.testing.assert_array_equal(env.reset(seed=4)[0], first)
        self.assertEqual(env.world.time, 0)
        env.close()

    def test_actions_are_controls_where_there_are_actuators(self):
        env = karakuri.Env(arm())
        self.assertEqual((env.action_space.low[0], env.action_space.high[0]), (-5, 5))
        env.reset()
        env.step([2.5])
        self.assertEqual(env.world.u[0], 2.5)
        self.assertEqual(env.reward(np.zeros(1)), 0)
        self.assertFalse(env.terminated())
        env.begin()
        np.testing.assert_array_equal(env.observe(), np.concatenate([env.world.q, env.world.v]))
        with self.assertRaisesRegex(ValueError, r"expected \(1,\)"):
            env.step([1, 2])
        with self.assertRaises(ValueError):
            karakuri.Env(arm(), frame_skip=0)


if __name__ == "__main__":
    unittest.main()
