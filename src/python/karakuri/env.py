"""A Gymnasium-style environment, without Gymnasium."""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._karakuri import World

Floats = npt.NDArray[np.float64]


class Box:
    """A box of numbers, lowest and highest of each: as gymnasium.spaces.Box."""

    def __init__(self, low: npt.ArrayLike, high: npt.ArrayLike, seed: int | None = None) -> None:
        self.low: Floats = np.array(low, dtype=float)
        self.high: Floats = np.array(high, dtype=float)
        if self.low.shape != self.high.shape or not np.all(self.low <= self.high):
            raise ValueError("low and high must have one shape, and low must not be above high")
        self.shape = self.low.shape
        self.dtype = self.low.dtype
        self._random = np.random.default_rng(seed)

    def seed(self, seed: int | None) -> None:
        """Starts sample() anew."""
        self._random = np.random.default_rng(seed)

    def sample(self) -> Floats:
        """Uniform between bounds; normal where there is none."""
        bounded = np.isfinite(self.low) & np.isfinite(self.high)
        low, high = np.where(bounded, self.low, 0), np.where(bounded, self.high, 1)
        uniform = self._random.uniform(low, high)
        normal = np.clip(self._random.normal(size=self.shape), self.low, self.high)
        return np.asarray(np.where(bounded, uniform, normal))

    def contains(self, x: npt.ArrayLike) -> bool:
        """Whether x is in the box."""
        a = np.asarray(x, dtype=float)
        return a.shape == self.shape and bool(np.all((a >= self.low) & (a <= self.high)))

    def __repr__(self) -> str:
        return f"Box({self.low}, {self.high})"


class Env:
    """An environment on a world: actions are the controls of its actuators, or efforts where it has none.

    Override observe(), reward(), terminated() and begin() for a task of your own; what is here balances nothing.
    """

    def __init__(self, world: World, *, frame_skip: int = 1, max_steps: int = 1000) -> None:
        """frame_skip: steps of the world for each action; max_steps: actions until an episode is cut short."""
        if frame_skip < 1 or max_steps < 1:
            raise ValueError("frame_skip and max_steps must be 1 or more")
        self.world = world
        self.frame_skip = frame_skip
        self.max_steps = max_steps
        self.random = np.random.default_rng()
        self._steps = 0
        self._start = world.save()
        if world.nu:
            ranges = np.array([actuator.range for actuator in world.actuators])
        else:
            ranges = np.tile([-np.inf, np.inf], (world.nv, 1))
        self.action_space = Box(ranges[:, 0], ranges[:, 1])
        size = self.observe().shape
        self.observation_space = Box(np.full(size, -np.inf), np.full(size, np.inf))

    # ---- for a task of your own

    def observe(self) -> Floats:
        """What the agent sees: q and v."""
        return np.concatenate([self.world.q, self.world.v])

    def reward(self, action: Floats) -> float:
        """Of the step that was just made."""
        return 0.0

    def terminated(self) -> bool:
        """Whether the task is over, well or badly."""
        return False

    def begin(self) -> None:
        """Called at the start of each episode, at the world's initial state: change it with self.random."""

    # ---- what agents call

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """A new episode: (observation, info). With a seed it is the same again."""
        if seed is not None:
            self.random = np.random.default_rng(seed)
        self.world.restore(self._start)
        self._steps = 0
        self.begin()
        return self.observe(), {}

    def step(self, action: npt.ArrayLike) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """(observation, reward, terminated, truncated, info) after frame_skip steps with this action."""
        a = np.asarray(action, dtype=float)
        if a.shape != self.action_space.shape:
            raise ValueError(f"action has shape {a.shape}, expected {self.action_space.shape}")
        if self.world.nu:
            self.world.u = a
        else:
            self.world.tau = a
        self.world.step(self.frame_skip)
        self._steps += 1
        info = {"time": self.world.time}
        return self.observe(), float(self.reward(a)), bool(self.terminated()), self._steps >= self.max_steps, info

    def close(self) -> None:
        """Nothing to be done."""
