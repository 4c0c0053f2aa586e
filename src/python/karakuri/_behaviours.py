"""Runs the behaviours of a scene: Python files with a function step(world, dt), loaded again when they are saved.

Used by the program `karakuri` through an interpreter inside it, and by World.load (docs/behaviours.md).
"""

from __future__ import annotations

import linecache
import os
import sys
import time
import traceback
from typing import Any, Callable, Optional

from ._errors import BehaviourError

_LOOK_EVERY = 0.1  # s between two looks at a file


class Behaviour:
    """One file, as a namespace that is made anew when the file changes."""

    def __init__(self, world: Any, name: str, path: str, parameters: dict[str, Any]) -> None:
        self.world = world
        self.name = name
        self.path = path
        self.parameters = parameters
        self.live = [key for key, value in parameters.items() if isinstance(value, float)]
        self.namespace: dict[str, Any] = {}
        self.function: Optional[Callable[..., Any]] = None
        self.failed = False
        self._stamp: Any = None
        self._source: Optional[str] = None
        self._looked = -_LOOK_EVERY

    def changed(self) -> bool:
        """Whether the file is another one than that which was loaded. A file that is just being replaced is not."""
        now = time.monotonic()
        if now - self._looked < _LOOK_EVERY and not self.failed:
            return False
        self._looked = now
        try:
            status = os.stat(self.path)
        except OSError:
            return self._source is None
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        return True

    def load(self) -> None:
        """Runs the file. Its global `state` outlives that, where the file still has one; all else starts anew."""
        with open(self.path, encoding="utf-8") as file:
            source = file.read()
        if source == self._source and not self.failed:
            return
        self._source = source
        self.failed = True  # until it has run
        linecache.checkcache(self.path)
        namespace: dict[str, Any] = {"__name__": self.name, "__file__": self.path, "__builtins__": __builtins__}
        exec(compile(source, self.path, "exec"), namespace)
        if not callable(namespace.get("step")):
            raise TypeError(f"{self.path} has no function step(world, dt)")
        for key, value in self.parameters.items():
            namespace[key] = value
        first = not self.namespace
        if not first and "state" in namespace and "state" in self.namespace:
            namespace["state"] = self.namespace["state"]
        if first:
            self.setup(namespace)
        self.namespace = namespace
        self.function = namespace["step"]
        self.failed = False

    def setup(self, namespace: dict[str, Any]) -> None:
        if callable(namespace.get("setup")):
            namespace["setup"](self.world)

    def step(self, dt: float) -> None:
        for key in self.live:
            self.namespace[key] = self.parameters[key] = self.world[f"behaviour.{self.name}.{key}"]
        assert self.function is not None
        self.function(self.world, dt)

    def trace(self, error: BaseException) -> str:
        """The traceback from the behaviour's own file on."""
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename != self.path:
            frames = frames.tb_next
        lines = traceback.format_exception(type(error), error, frames)
        return "".join(lines).rstrip()


class Runner:
    """All behaviours of one world."""

    def __init__(self, world: Any, described: list[tuple[str, str, dict[str, Any]]]) -> None:
        self.world = world
        self.all = [Behaviour(world, *one) for one in described]
        self.told = ""
        self.error: Optional[BaseException] = None
        for behaviour in self.all:
            folder = os.path.dirname(os.path.abspath(behaviour.path))
            if folder not in sys.path:
                sys.path.append(folder)

    def step(self) -> Optional[str]:
        """None: go on. Otherwise the step must wait; the text says why, and is empty where that was said before."""
        said = ""
        ready = True
        self.world._enter()
        dt = self.world.dt
        for behaviour in self.all:
            try:
                if behaviour.changed():
                    behaviour.load()
                if behaviour.failed:
                    ready = False
                else:
                    behaviour.step(dt)
            except BaseException as error:  # also SystemExit: a behaviour does not end the program
                behaviour.failed = True
                ready = False
                self.error = error
                said += f"behaviour '{behaviour.name}' failed; paused until {behaviour.path} is saved again\n"
                said += behaviour.trace(error)
        try:
            self.world._leave()
        except Exception as error:  # numbers that are not finite: told by the world, put right by it
            ready = False
            self.error = error
            said += f"{type(error).__name__}: {error}"
            for behaviour in self.all:
                behaviour.failed = True
        return None if ready else said

    def step_or_raise(self, was_reset: bool) -> None:
        """For worlds that a script steps: whoever steps is told, each time until the file is mended."""
        if was_reset:
            self.reset()
        said = self.step()
        if said is None:
            self.told, self.error = "", None
            return
        self.told = said or self.told
        if isinstance(self.error, KeyboardInterrupt):
            raise self.error
        raise BehaviourError(self.told) from self.error

    def reset(self) -> None:
        """The world is at its start again."""
        self.world._enter()
        for behaviour in self.all:
            if behaviour.failed:
                continue
            try:
                behaviour.setup(behaviour.namespace)
            except BaseException:
                behaviour.namespace = {}  # setup() fails again, and is told, when the file is loaded anew
                behaviour._stamp = behaviour._source = None
                behaviour._looked = -_LOOK_EVERY
        self.world._leave()

    def close(self) -> None:
        self.world._release()


def start(session: Any, described: list[tuple[str, str, dict[str, Any]]]) -> Runner:
    from karakuri._karakuri import World

    return Runner(World._borrow(session), described)
