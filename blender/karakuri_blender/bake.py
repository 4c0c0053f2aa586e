"""Keyframes from a run: one for each frame and body, written a whole curve at a time.

The action that an object had is set aside and comes back when the bake is deleted, as does the rest pose.
"""
from __future__ import annotations

import bpy
import numpy as np

from . import compat, frames, rest, simulation

LINEAR = 1  # of interpolations


class Bake:
    """A run over a range of frames; `some()` until it is done, then `write()`."""

    def __init__(self, scene, start: int, end: int) -> None:
        if end < start:
            raise ValueError(f"the range of frames ends ({end}) before it starts ({start})")
        self.scene, self.start, self.end = scene, start, end
        self.run = simulation.begin(scene)
        self.run.first_frame = start
        self.run.cache = {}
        self.run.keep_start()

    @property
    def done(self) -> int:
        """The last frame that is there."""
        return max(self.run.cache)

    def some(self, count: int = 10) -> float:
        """Simulates some frames more. Returns the share that is done."""
        run = self.run
        run.finish()
        until = min(self.done + count, self.end)
        steps = int(round((run.time_of(until) - run.world.time) / run.world.dt))
        if steps > 0:
            run.look()
            run.do(steps)
        elif until > self.done:  # several frames within a step
            run.cache.update({frame: run.cache[self.done] for frame in range(self.done + 1, until + 1)})
        return (self.done - self.start) / max(self.end - self.start, 1)

    def write(self) -> int:
        """Curves for all bodies. Returns the number of keys."""
        run = self.run
        count = self.end - self.start + 1
        kept = fill_gaps(run.cache, self.start, self.end)
        pairs = [run.movers.channels(kept[i]) for i in range(count)]
        locations = np.array([p for p, _ in pairs])
        turns = continuous_quaternions(np.array([q for _, q in pairs]))
        angles = continuous_angles(frames.euler_xyz(turns)) if count else turns[..., :3]
        at = np.arange(self.start, self.end + 1, dtype=float)
        total = 0
        for i, owner in enumerate(run.movers.objects):
            curves = begin_action(owner)
            total += write_channel(curves, "location", at, locations[:, i], owner.name)
            total += write_rotation(curves, owner, at, turns[:, i], angles[:, i])
        simulation.running.pop(self.scene.name, None)
        run.close(keep_moved=True)
        return total

    def cancel(self) -> None:
        """As if nothing had been."""
        simulation.end(self.scene)


def fill_gaps(cache: dict, start: int, end: int) -> np.ndarray:
    """Poses of all frames; where a step is longer than a frame those before stand for it."""
    out, last = [], cache[start].poses
    for frame in range(start, end + 1):
        last = cache[frame].poses if frame in cache else last
        out.append(last)
    return np.array(out)


def continuous_quaternions(q: np.ndarray) -> np.ndarray:
    """(frames, n, 4), each in the half-space of the one before."""
    signs = np.where((q[1:] * q[:-1]).sum(axis=2) < 0, -1.0, 1.0)
    q[1:] *= np.cumprod(signs, axis=0)[..., None]
    return q


def continuous_angles(e: np.ndarray) -> np.ndarray:
    """XYZ angles (frames, n, 3) without jumps: of the two triples that are the same rotation the nearer one, then unwrapped."""
    for f in range(1, len(e)):
        other = np.stack([e[f, :, 0] + np.pi, np.pi - e[f, :, 1], e[f, :, 2] + np.pi], axis=-1)
        choices = [c + 2 * np.pi * np.round((e[f - 1] - c) / (2 * np.pi)) for c in (e[f], other)]
        far = [np.abs(c - e[f - 1]).sum(axis=-1) for c in choices]
        e[f] = np.where((far[1] < far[0])[:, None], choices[1], choices[0])
    return e


def begin_action(owner):
    """A new action; the old one is set aside."""
    k = owner.karakuri
    data = owner.animation_data_create()
    if k.baked is None:
        k.action_before = data.action
    old = k.baked
    action = bpy.data.actions.new(f"{owner.name} karakuri")
    data.action = action
    k.baked = action
    if old is not None:
        bpy.data.actions.remove(old)
    return compat.curves_of(owner, action)


def write_channel(curves, path: str, at: np.ndarray, values: np.ndarray, group: str) -> int:
    pairs = np.empty(2 * len(at))
    pairs[0::2] = at
    interpolation = np.full(len(at), LINEAR, dtype=np.int32)
    for index in range(values.shape[1]):
        curve = compat.new_curve(curves, path, index, group)
        points = curve.keyframe_points
        points.add(len(at))
        pairs[1::2] = values[:, index]
        points.foreach_set("co", pairs)
        points.foreach_set("interpolation", interpolation)
        curve.update()
    return values.shape[1] * len(at)


def write_rotation(curves, owner, at, turns, angles) -> int:
    from mathutils import Quaternion

    mode = owner.rotation_mode
    if mode == "QUATERNION":
        return write_channel(curves, "rotation_quaternion", at, turns, owner.name)
    if mode == "XYZ":
        return write_channel(curves, "rotation_euler", at, angles, owner.name)
    if mode == "AXIS_ANGLE":
        pairs = [Quaternion(q).to_axis_angle() for q in turns]
        return write_channel(curves, "rotation_axis_angle", at, np.array([(a, *axis) for axis, a in pairs]), owner.name)
    out, last = [], None
    for q in turns:
        last = Quaternion(q).to_euler(mode, last) if last is not None else Quaternion(q).to_euler(mode)
        out.append(list(last))
    return write_channel(curves, "rotation_euler", at, np.array(out), owner.name)


def baked(scene) -> list:
    return [o for o in scene.objects if o.karakuri.baked is not None]


def delete(scene) -> int:
    """Actions, rest poses as they were before the bake."""
    found = baked(scene)
    for owner in found:
        k = owner.karakuri
        action, before = k.baked, k.action_before
        k.baked = k.action_before = None
        if owner.animation_data is not None:
            owner.animation_data.action = before
            if before is None:
                owner.animation_data_clear()
        bpy.data.actions.remove(action)
        rest.restore(owner)
    return len(found)


def all_at_once(scene, start: int, end: int, progress=None) -> int:
    """Without a window. progress(share): true to go on. Returns the number of keys; 0 where it was broken off."""
    work = Bake(scene, start, end)
    try:
        while work.done < end:
            share = work.some(50)
            if progress is not None and not progress(share):
                work.cancel()
                return 0
        return work.write()
    except Exception:
        work.cancel()
        raise
