"""A pendulum from three lines, its period against the formula of small angles."""
import math

import karakuri

scene = karakuri.Scene(name="pendulum")
inertia = {"mass": 1.0, "com": (0, 0, -0.5), "moments": (1e-6, 1e-6, 1e-6)}
scene.body("bob", at=(0, 0, 1), inertia=inertia, joint={"name": "hinge", "axis": (0, 1, 0), "q": 0.05})
world = scene.world()

recording = world.record("time", "joint.hinge.q")
world.run(5.0)
time, angle = recording["time"], recording["joint.hinge.q"]
rising = [t for t, a, b in zip(time, angle, angle[1:]) if a < 0 <= b]
period = (rising[-1] - rising[0]) / (len(rising) - 1)
print(f"period {period:.4f} s, formula {2 * math.pi * math.sqrt(0.5 / 9.81):.4f} s")
