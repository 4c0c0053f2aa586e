"""A scene of Blender that runs: the world, the thread that steps it, and what goes between it and the objects.

Everything that touches bpy happens on the main thread, everything that touches the world on the other one, as jobs; so that
no picture waits for a step, and no step for a picture. Between two jobs the main thread takes the last Shot. Only one
simulation exists for a scene.
"""
from __future__ import annotations

import gc
import os
import queue
import shutil
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field

import bpy
import numpy as np

from . import animation, describe, module, poses, properties, rest, values
from .rules import RuleError, Rules, may_run


@dataclass
class Shot:
    """The world at one time, for the main thread."""

    time: float = 0.0
    poses: np.ndarray = field(default_factory=lambda: np.zeros((1, 4, 4)))
    q: np.ndarray = field(default_factory=lambda: np.zeros(0))
    contacts: np.ndarray | None = None
    center: np.ndarray | None = None
    shapes: list = field(default_factory=list)


@dataclass
class Kept:
    """A frame of the cache."""

    poses: np.ndarray
    snapshot: object = None


class Simulation:
    def __init__(self, scene) -> None:
        self.karakuri = module.need()
        self.scene_name = scene.name
        self.folder = tempfile.mkdtemp(prefix="karakuri-run-")
        self.notes: list = []
        self.error: Exception | None = None
        self.message = ""  # what the panel tells
        self.playing = False
        self.ahead = ""  # what acts at the next start only
        self.cache: dict = {}
        self.write_seconds = 0.0
        self.engine_seconds = 0.0
        self.factor = 0.0
        self.seconds_per_step = 1e-3
        self.wants_overlays = False
        self.drag = None  # see drag.py
        self.first_frame = scene.karakuri.bake_start
        self.fps = scene.render.fps / scene.render.fps_base
        self._pending: list = []
        self._jobs: queue.SimpleQueue = queue.SimpleQueue()
        self._idle = threading.Event()
        self._idle.set()
        self._build(scene)
        self._thread = threading.Thread(target=self._work, name="karakuri", daemon=True)
        self._thread.start()

    # ---- making

    def _build(self, scene) -> None:
        named = sorted({f"'{rule.text.name}'" for _, rule in Rules.of(scene)})
        if named and not may_run():
            raise describe.ModelError([f"this file has rules ({', '.join(named)}), which can do all that you can: read them, and "
                                       "press 'Allow Rules' in the sidebar; or switch them off"])
        with rest.Shown(scene):
            self.description = describe.describe(scene)
            self.key = cache_key(self.description)
            self.write_assets()
            self.world = self.make_world()
            self.poses_start = np.array(self.world.poses)
            self.bind(scene)
            names = [part.name for part in self.moved_parts]
            self.motions = animation.motions(scene, self.movers.objects, names, self.mover_notes)
        self.rules = Rules(scene, {part.uid: part.name for part in self.description.bodies + self.description.joints})
        self.notes = self.description.notes + self.mover_notes + list(self.world.notes)
        self.world.on_step(self._before_step)
        self.shot = self.shown = self._shoot()  # the last one, and that which the objects show
        properties.touched.discard(scene.name)

    def write_assets(self) -> None:
        for file, content in self.description.assets.items():
            path = os.path.join(self.folder, file)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as out:
                out.write(content)

    def make_world(self):
        return self.karakuri.World.from_text(self.description.text(), os.path.join(self.folder, "scene.scene.yaml"))

    def bind(self, scene) -> None:
        """Finds the objects, in the modelled pose."""
        index = {link.name: link.index for link in self.world.links}
        found = poses.find(self.description.bodies)
        self.mover_notes: list = []
        pairs = [(owner, index[part.name], part) for owner, part in zip(found, self.description.bodies) if owner is not None]
        self.moved_parts = [part for _, _, part in pairs]
        self.movers = poses.Movers([o for o, _, _ in pairs], [i for _, i, _ in pairs], self.poses_start, self.mover_notes)

        self.mass = float(self.world.mass)
        places = self.poses_start[1:, :3, 3]
        self.extent = float(np.linalg.norm(places.max(axis=0) - places.min(axis=0))) if len(places) > 1 else 1.0
        self.single = {part.uid: i for part in self.description.joints if (i := self.only_coordinate(part.name)) >= 0}

    def only_coordinate(self, joint: str) -> int:
        """Where it is in q; -1 for joints that have none or several."""
        try:
            handle = self.world.joint(joint)
            return handle.q_index if len(handle.q) == 1 else -1
        except (KeyError, ValueError):  # loops and fixed joints
            return -1

    def positions(self) -> dict:
        """Of joints with one degree of freedom, by the uid of their objects."""
        q = self.shown.q
        return {uid: float(q[i]) for uid, i in self.single.items() if 0 <= i < len(q)}

    @property
    def scene(self):
        return bpy.data.scenes.get(self.scene_name)

    # ---- the other thread

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            try:
                job()
            except BaseException as error:  # told on the main thread
                self.error = error
            finally:
                self._idle.set()

    def submit(self, job) -> None:
        """Python's collector of cycles waits until the job is done: on that thread it could free what belongs to Blender's
        drawing, which only the main thread may."""
        if gc.isenabled():
            gc.disable()
            self._collects = True
        self._idle.clear()
        self._jobs.put(job)

    @property
    def idle(self) -> bool:
        return self._idle.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        return self._idle.wait(seconds)

    def _before_step(self, world) -> None:
        drag = self.drag
        if drag is not None:
            drag.pull(world)
        self.rules.before_step(world)

    def _shoot(self) -> Shot:
        world = self.world
        shot = Shot(world.time, np.array(world.poses), np.array(world.q))
        if self.wants_overlays:
            shot.contacts = world.contacts
            shot.center = np.array(world.center_of_mass) if world.mass > 0 else None
            shot.shapes = self.rules.drawn(world)
        return shot

    def _apply_pending(self) -> None:
        pending, self._pending = self._pending, []
        for change in pending:
            try:
                change(self.world)
            except Exception as error:  # a value that the engine refuses; the old one stays
                self.ahead = f"refused: {error}"

    def _advance(self, steps: int) -> None:
        """Steps, cut at the frames that are kept."""
        began = time.perf_counter()
        self._apply_pending()
        left = steps
        while left > 0:
            frame, until = self.next_frame()
            some = min(left, until)
            self.steer(frame, until)
            if some > 0:
                self.world.step(some)
                left -= some
            if some == until:
                self.keep(frame)
        spent = time.perf_counter() - began
        self.engine_seconds += spent
        self.seconds_per_step = 0.5 * (self.seconds_per_step + spent / max(steps, 1))
        self.shot = self._shoot()

    _steered = None

    def steer(self, frame: int, steps: int) -> None:
        """Kinematic bodies with keyframes set out for the next frame; once for each, however the steps are cut."""
        if self.motions and self._steered != frame:
            self._steered = frame
            for motion in self.motions:
                motion.steer(self.world, frame, steps * self.world.dt)

    # ---- frames

    def time_of(self, frame: int) -> float:
        return (frame - self.first_frame) / self.fps

    def next_frame(self):
        """(frame, steps until it), the first one that lies at least a step ahead."""
        world = self.world
        dt = world.dt
        frame = self.first_frame + int(np.floor((world.time + 0.5 * dt) * self.fps + 1e-9)) + 1
        while True:
            steps = int(round((self.time_of(frame) - world.time) / dt))
            if steps > 0:
                return frame, steps
            frame += 1

    def frame(self) -> int:
        """The last one that has been reached."""
        return self.first_frame + int(np.floor((self.shot.time + 0.5 * self.world_dt()) * self.fps + 1e-9))

    def world_dt(self) -> float:
        return self.description.content.get("settings", {}).get("dt", 0.001)

    def keep(self, frame: int) -> None:
        self.cache[frame] = Kept(np.array(self.world.poses)[self.movers.links], self.world.save())

    def keep_start(self) -> None:
        if self.first_frame not in self.cache:
            self.keep(self.first_frame)

    # ---- from the main thread

    def advance(self, steps: int) -> None:
        """So many steps at once, and shows where they led. Raises what went wrong."""
        self.finish()
        self.look()
        self.do(steps)
        self.show()

    def do(self, steps: int) -> None:
        """So many steps on this thread, which has nothing else to do: no picture waits. Raises what went wrong."""
        try:
            if not self.cache:
                self.keep_start()
            self._advance(steps)
        except BaseException as error:
            self.fail(error)
            raise

    def finish(self) -> None:
        """Waits for the job under way. Raises what went wrong in it."""
        self.wait()
        self.collect_again()
        if self.error is not None:
            error, self.error = self.error, None
            self.fail(error)
            raise error

    def fail(self, error: Exception) -> None:
        """Pauses, and says why: in the panel and on the console."""
        self.playing = False
        self.failed = error
        self.message = str(error) or type(error).__name__
        print(getattr(error, "trace", "") or f"karakuri: {self.message}", file=sys.stderr)

    failed: Exception | None = None

    def look(self) -> None:
        """What the user has changed since: texts, numbers, sliders. Goes on where a rule that had failed was mended."""
        scene = self.scene
        if scene is None:
            return
        if self.rules.look(scene) and isinstance(self.failed, RuleError):
            self.failed, self.message = None, ""
            self.playing = self.playing_wanted
        if self.scene_name in properties.touched:
            properties.touched.discard(self.scene_name)
            self._pending += values.changes(self, scene)

    playing_wanted = False

    def show(self) -> None:
        """Moves the objects."""
        began = time.perf_counter()
        shot = self.shown = self.shot
        try:
            self.movers.write(shot.poses[self.movers.links])
        except ReferenceError:
            self.rebind()
            self.movers.write(shot.poses[self.movers.links])
        self.write_seconds += time.perf_counter() - began

    def rebind(self) -> None:
        """Objects were deleted, or undo has made all of them anew."""
        scene = self.scene
        if scene is None:
            return
        found = poses.find(self.description.bodies)
        gone = [part.name for part, owner in zip(self.description.bodies, found) if owner is None]
        for owner in found:
            if owner is not None and owner.karakuri.rest_saved:
                rest.show(owner)
        bpy.context.view_layer.update()
        self.bind(scene)
        for owner in self.movers.objects:
            rest.save(owner)
        if gone:
            names = ", ".join(f"'{name}'" for name in gone[:5])
            self.ahead = f"{names} deleted: the world still has {'it' if len(gone) == 1 else 'them'}, unseen, until the next start"

    def save_rest(self) -> None:
        for owner in self.movers.objects:
            rest.save(owner)

    # ---- the clock of a run that is watched

    def start(self) -> None:
        self.save_rest()
        self.playing = self.playing_wanted = True
        self.failed, self.message = None, ""
        self._clock = time.perf_counter()
        self._owed = 0.0

    _clock = 0.0
    _owed = 0.0
    MOST = 0.2  # s of computing that one picture may wait for

    _collects = False

    def collect_again(self) -> None:
        if self._collects:
            self._collects = False
            gc.enable()

    def tick(self) -> bool:
        """Called often by the modal operator. Whether the picture has changed."""
        if not self.idle:
            return False
        self.collect_again()
        if self.error is not None:
            error, self.error = self.error, None
            self.fail(error)
        self.show()
        self.look()
        now = time.perf_counter()
        passed, self._clock = now - self._clock, now
        scene = self.scene
        if not self.playing or scene is None:
            if self._pending:
                self.submit(lambda: (self._apply_pending(), setattr(self, "shot", self._shoot())))
            return True
        dt = self.world_dt()
        self._owed += passed * scene.karakuri.speed
        steps = int(self._owed / dt)
        if steps > 0:
            most = max(int(self.MOST / max(self.seconds_per_step, 1e-7)), 1)
            self._owed = 0.0 if steps > most else self._owed - steps * dt
            steps = min(steps, most)
            self._note_factor(steps * dt, passed)
            self.submit(lambda: (self.keep_start() if not self.cache else None, self._advance(steps)))
        return True

    def _note_factor(self, simulated: float, passed: float) -> None:
        """The share of real time, smoothed over about a second."""
        if passed > 0:
            weight = min(passed, 1.0)
            self.factor = (1 - weight) * self.factor + weight * simulated / passed if self.factor else simulated / passed

    # ---- ends

    def go_to(self, frame: int) -> None:
        """Goes on from a frame: out of the cache, or by simulating up to it."""
        self.finish()
        self._steered = None
        kept = self.cache.get(frame)
        if kept is not None and kept.snapshot is not None:
            self.world.restore(kept.snapshot)
            self.cache = {f: k for f, k in self.cache.items() if f <= frame}
        else:
            self.world.reset()
            self.rules.restart()
            self.cache = {}
            steps = int(round(self.time_of(frame) / self.world.dt))
            self.do(max(steps, 0))
        self.shot = self._shoot()
        self.save_rest()
        self.show()

    def close(self, keep_moved: bool = False) -> None:
        """Ends the thread, and puts everything back where the user had it."""
        self.playing = False
        self.collect_again()
        self._jobs.put(None)
        self._thread.join(5.0)
        if self._thread.is_alive():
            print("karakuri: a rule does not return; its thread is left behind", file=sys.stderr)
        shutil.rmtree(self.folder, ignore_errors=True)
        if keep_moved:
            return
        scene = self.scene
        for owner in rest.moved(scene) if scene is not None else []:
            if owner.karakuri.baked is None:
                rest.restore(owner)


def cache_key(description) -> str:
    import hashlib

    return hashlib.md5(description.text().encode()).hexdigest()


running: dict = {}  # by name of scene


def of(scene) -> Simulation | None:
    return running.get(scene.name) if scene is not None else None


def begin(scene) -> Simulation:
    """A new one, in the place of what there was."""
    end(scene)
    simulation = Simulation(scene)
    running[scene.name] = simulation
    simulation.save_rest()
    return simulation


def end(scene) -> None:
    simulation = running.pop(scene.name, None)
    if simulation is not None:
        simulation.close()


def end_all() -> None:
    for name in list(running):
        running.pop(name).close()
