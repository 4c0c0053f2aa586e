"""Physics of articulated bodies: exact friction, closed loops, structure that changes while it runs.

    import karakuri
    world = karakuri.World.load("robot.urdf")
    world.step(1000)
    print(world.q, world.link("hand").position)

SI units, radians, z up; quaternions are w, x, y, z. docs/python.md tells the rest.
"""
from ._errors import SceneError, UnknownName
from ._karakuri import (
    Actuator,
    Batch,
    ClosedLoop,
    Event,
    Joint,
    Link,
    Recording,
    Sensor,
    Snapshot,
    World,
    feedforward,
)
from .env import Box, Env
from .scene import ContactState, Scene, bundled_scenes, load

__version__ = "0.1.0"
__all__ = [
    "Actuator",
    "Batch",
    "Box",
    "ClosedLoop",
    "ContactState",
    "Env",
    "Event",
    "Joint",
    "Link",
    "Recording",
    "Scene",
    "SceneError",
    "Sensor",
    "Snapshot",
    "UnknownName",
    "World",
    "bundled_scenes",
    "feedforward",
]

World.load = staticmethod(load)  # type: ignore[assignment]
