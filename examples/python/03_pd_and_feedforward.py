"""An arm follows a sine: by feed-forward alone, by a weak PD alone, and by both after a push."""
import math

import numpy as np

import karakuri


def arm() -> karakuri.World:
    scene = karakuri.Scene(name="arm")
    for i in range(3):
        parent = {"parent": f"link{i - 1}"} if i else {}
        scene.body(f"link{i}", at=(0, 0, 0.4 if i else 0), **parent, joint={"name": f"j{i}", "axis": (0, 1, 0)},
                   shapes=[{"capsule": {"radius": 0.03, "length": 0.3}, "at": (0, 0, 0.2)}])
    return scene.world()


def follow(feedforward: bool, pd: bool, push: bool = False) -> tuple[float, float]:
    """Largest error, and error at the end [rad]."""
    world = arm()
    joints = world.joints
    amplitude, omega, dt = 0.4, 2 * math.pi, world.dt
    world.v = np.full(3, amplitude * omega)
    worst = error = 0.0
    for i in range(1, 2001):
        target = amplitude * math.sin(omega * i * dt)
        velocity = (target - amplitude * math.sin(omega * (i - 1) * dt)) / dt
        if feedforward:
            karakuri.feedforward(world, joints, np.full(3, velocity), apply=True)
        if pd:
            for joint in joints:
                joint.drive(stiffness=50, damping=5, target=target, target_velocity=velocity)
        if push and 500 <= i < 550:
            world.link("link2").add_force((30, 0, 0))
        world.step()
        error = float(np.abs(world.q - target).max())
        worst = max(worst, error)
    return worst, error


for name, options in {
    "feed-forward alone": dict(feedforward=True, pd=False),
    "weak PD alone": dict(feedforward=False, pd=True),
    "both, with a push": dict(feedforward=True, pd=True, push=True),
}.items():
    worst, end = follow(**options)
    print(f"{name:20} largest error {worst:.2e} rad, at the end {end:.2e} rad")
