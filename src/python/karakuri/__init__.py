"""Physics of articulated bodies: exact friction, closed loops, structure that changes while it runs.

    import karakuri
    world = karakuri.World.load("robot.urdf")
    world.step(1000)
    print(world.q, world.link("hand").position)

SI units, radians, z up; quaternions are w, x, y, z. docs/python.md tells the rest.
"""
import sys as _sys

try:
    import numpy as _numpy  # noqa: F401  the module below cannot say what it misses
except ImportError as missing:
    raise ImportError(
        f"karakuri needs NumPy, which this Python, {_sys.version.split()[0]} in {_sys.prefix}, cannot import ({missing}): "
        "use Debian's /usr/bin/python3 with the package python3-numpy, or install it (pip install numpy)"
    ) from missing

from . import _page
from ._errors import BehaviourError, SceneError, UnknownName, UntrustedCode
from ._karakuri import (
    Actuator,
    Batch,
    Button,
    ClosedLoop,
    Event,
    Joint,
    Link,
    Plot,
    Recording,
    Sensor,
    Slider,
    Snapshot,
    Text,
    World,
    feedforward,
    footsteps,
    inverse_kinematics,
    support_polygon,
)
from ._page import Page
from .env import Box, Env
from .scene import ContactState, Scene, bundled_scenes, load

__version__ = "0.1.0"
__all__ = [
    "Actuator",
    "Batch",
    "BehaviourError",
    "Box",
    "Button",
    "ClosedLoop",
    "ContactState",
    "Env",
    "Event",
    "Joint",
    "Link",
    "Page",
    "Plot",
    "Recording",
    "Scene",
    "SceneError",
    "Sensor",
    "Slider",
    "Snapshot",
    "Text",
    "UnknownName",
    "UntrustedCode",
    "World",
    "bundled_scenes",
    "feedforward",
    "footsteps",
    "inverse_kinematics",
    "support_polygon",
]

World.load = staticmethod(load)  # type: ignore[assignment]
World.show = _page.show  # type: ignore
