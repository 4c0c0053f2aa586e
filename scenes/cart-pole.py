"""Swings the pole up by its energy (Astrom and Furuta), then holds it upright by the state's feedback.

Save this file while the scene runs: the next step uses it.
"""

from math import cos, pi, sin

CART, POLE, HALF, G = 1.0, 0.2, 0.5, 9.81  # kg, kg, m, m/s^2
INERTIA = POLE * (2 * HALF) ** 2 / 3  # of the pole about the hinge, kg m^2

# given by the scene; the slider moves the first
target = 0.0  # of the cart, m
swing_gain = 2.0

# outlives saving this file
state = {"balanced_since": None}


def setup(world):
    state["balanced_since"] = None


def step(world, dt):
    x, speed = world["joint.slide.q"], world["joint.slide.v"]
    angle, rate = (world["joint.hinge.q"] + pi) % (2 * pi) - pi, world["joint.hinge.v"]
    if abs(angle) < 0.4 and abs(rate) < 3.5:
        # poles at -2, -2, -4, -4 1/s of: x'' = a, angle'' = 1.5 (g angle - a)
        a = 4.349 * (x - target) + 6.524 * speed + 47.38 * angle + 12.35 * rate
        if state["balanced_since"] is None:
            state["balanced_since"] = world.time
            print(f"caught at {world.time:.2f} s")
    else:
        energy = INERTIA * rate**2 / 2 + POLE * G * HALF * (cos(angle) - 1)  # 0 upright
        a = swing_gain * energy * rate * cos(angle) - (x - target) - speed
        a = max(-8.0, min(8.0, a))
        state["balanced_since"] = None
    # the force that gives the cart this acceleration, whatever the pole does
    turn = POLE * HALF / INERTIA * (G * sin(angle) - a * cos(angle))
    force = (CART + POLE) * a + POLE * HALF * (turn * cos(angle) - rate**2 * sin(angle))
    world["joint.slide.effort"] = max(-30.0, min(30.0, force))
