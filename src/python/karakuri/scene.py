"""Building scenes in code, and finding those that are bundled.

A Scene is the same thing as a native scene file (docs/scenes.md), written in Python: each method adds an entry to the
section of that name, with the same keys, and the same checks tell what is wrong.
"""
from __future__ import annotations

import enum
import json
import os
import pathlib
from typing import Any

from ._behaviours import Runner
from ._errors import SceneError, UnknownName
from ._karakuri import World

_SCENES = pathlib.Path(__file__).parent / "share" / "karakuri" / "scenes"
_ENDING = ".scene.yaml"


class ContactState(enum.IntEnum):
    """The field `state` of World.contacts."""

    OPEN = 0
    STICK = 1
    SLIDE = 2


def bundled_scenes() -> list[str]:
    """Names of the bundled scenes, as World.load takes them."""
    return sorted(path.name[: -len(_ENDING)] for path in _SCENES.glob("*" + _ENDING))


def _find(path: str | os.PathLike[str]) -> pathlib.Path:
    given = pathlib.Path(path)
    if given.is_file():
        return given
    bundled = _SCENES / (given.name + _ENDING)
    if given.name == str(given) and bundled.is_file():
        return bundled
    if given.is_dir():
        raise IsADirectoryError(f"'{given}' is a folder: name a scene file in it")
    raise FileNotFoundError(
        f"there is no file '{given}', nor a bundled scene of that name: {', '.join(bundled_scenes())}"
    )


def load(
    path: str | os.PathLike[str],
    *,
    seed: int = 0,
    keyframe: str = "",
    base: str = "auto",
    strict: bool = False,
    package_paths: list[str] | tuple[str, ...] = (),
    behaviours: bool | None = None,
    overlapping_touch: bool = False,
) -> World:
    """A world from a file: native YAML, URDF, MJCF or SDF; or the name of a bundled scene.

    seed is that of the world's random numbers; keyframe where to start; base how the root of a URDF stands ('auto',
    'fixed', 'free'); strict makes errors of warnings; package_paths are folders in which package:// is looked for.
    behaviours: whether Python files that the scene names run before each step, with all that you can do: True runs them,
    False leaves them alone, None runs those of bundled scenes and of folders that `karakuri trust` has put on the user's
    list, and raises UntrustedCode for others. overlapping_touch: whether links of a
    URDF or SDF touch that overlap where all joints are at zero.
    """
    packages = [str(p) for p in package_paths]
    file = _find(path)
    world = World._load(file, seed, keyframe, base, strict, packages, overlapping_touch)
    named = world._named_behaviours()
    if behaviours is None and named:
        world._refuse_untrusted_code(file, _SCENES)
    if behaviours is not False and named:
        world._run_behaviours(Runner(world, named))
    return world


def _plain(value: Any) -> Any:
    """What json does not know: NumPy's numbers and arrays, paths."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"a scene holds numbers, words, lists and dicts, not {type(value).__name__}")


class Scene:
    """A scene in the making: Scene().ground().body("ball", at=(0, 0, 1), shapes={"sphere": 0.1}).world()"""

    def __init__(self, **keys: Any) -> None:
        """keys: those of a scene file, such as name, gravity, settings."""
        self.content: dict[str, Any] = dict(keys)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Scene:
        """A native scene file as it stands, to look at and to change; what it includes stays a name in it.

        Of another format: World.load(robot).save_scene(path), then Scene.read(path).
        """
        file = _find(path)
        content = json.loads(World._as_json(file.read_text(encoding="utf-8"), str(file)))
        if not isinstance(content, dict):
            raise SceneError(f"{file}: a scene is a map of keys, such as bodies: [...]")
        return cls(**content)

    def _add(self, section: str, entry: dict[str, Any]) -> Scene:
        self.content.setdefault(section, []).append(entry)
        return self

    def settings(self, **keys: Any) -> Scene:
        """How the world steps: dt [s], solver, contact, ..."""
        self.content.setdefault("settings", {}).update(keys)
        return self

    def ground(self, **keys: Any) -> Scene:
        """A floor without end, z <= 0."""
        self.content["ground"] = keys or True
        return self

    def material(self, name: str, **keys: Any) -> Scene:
        """What shapes are made of: friction, restitution, ..."""
        return self._add("materials", {"name": name, **keys})

    def fixture(self, shape: dict[str, Any]) -> Scene:
        """A shape that does not move, such as {"box": (1, 1, 0.1), "at": (0, 0, -0.05)}: sizes in m."""
        self.content.setdefault("world", {}).setdefault("shapes", []).append(shape)
        return self

    def body(self, name: str, **keys: Any) -> Scene:
        """A rigid body: at, rpy or quat, mass [kg], shapes, parent, joint, ...; free where it has no parent and joint."""
        return self._add("bodies", {"name": name, **keys})

    def joint(self, name: str, **keys: Any) -> Scene:
        """A joint between two bodies: kind, parent, child, axis, limits, damping, ..."""
        return self._add("joints", {"name": name, **keys})

    def loop(self, name: str, **keys: Any) -> Scene:
        """A joint that closes a loop, with the keys of a joint."""
        return self._add("loops", {"name": name, **keys})

    def robot(self, file: str | os.PathLike[str], **keys: Any) -> Scene:
        """A model from another file: prefix, at, base, ..."""
        return self._add("robots", {"file": os.fspath(file), **keys})

    def actuator(self, name: str, **keys: Any) -> Scene:
        """A motor with a control signal."""
        return self._add("actuators", {"name": name, **keys})

    def sensor(self, name: str, **keys: Any) -> Scene:
        """What is measured: type, link or joint, noise, rate [Hz]."""
        return self._add("sensors", {"name": name, **keys})

    def controller(self, joints: str, **keys: Any) -> Scene:
        """Implicit PD control of joints: target, stiffness, damping, limit."""
        return self._add("controllers", {"joints": joints, **keys})

    def event(self, time: float, **keys: Any) -> Scene:
        """What happens at a time [s]: force, attach, detach or set."""
        return self._add("events", {"time": time, **keys})

    def text(self) -> str:
        """The scene as text: JSON, which is YAML."""
        try:
            return json.dumps(self.content, default=_plain, allow_nan=False, ensure_ascii=False, indent=1)
        except ValueError as error:
            raise ValueError("a scene holds finite numbers: leave out what has no limit") from error

    def world(self, *, folder: str | os.PathLike[str] = ".", seed: int = 0, keyframe: str = "") -> World:
        """The world that the scene describes. Files that it names are looked for in folder."""
        return World.from_text(self.text(), pathlib.Path(folder) / ("scene" + _ENDING), seed, keyframe)

    def apply(self, world: World, *, folder: str | os.PathLike[str] = ".") -> None:
        """Gives a world that runs the values of this scene: masses, materials, sizes, limits, springs and dampers.

        The scene has the same bodies and joints in the same order; the world keeps its state. Settings, gravity and
        what has keys of its own, such as targets of controllers, is set by these: world["joint.elbow.target"] = 1.
        """
        world._edit(self.text(), pathlib.Path(folder) / ("scene" + _ENDING))


__all__ = ["ContactState", "Scene", "UnknownName", "bundled_scenes", "load"]
