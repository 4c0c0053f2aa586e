"""Many copies of a pendulum, each with another constant effort: how little swings it up within two seconds?"""
import math
import os
import time

import numpy as np

import karakuri

quick = "KARAKURI_EXAMPLE_QUICK" in os.environ
scene = karakuri.Scene(name="pendulum")
inertia = {"mass": 1.0, "com": (0, 0, -0.5), "moments": (1e-3, 1e-3, 1e-3)}
scene.body("bob", at=(0, 0, 1), inertia=inertia, joint={"name": "hinge", "axis": (0, 1, 0), "damping": 0.05})
batch = karakuri.Batch(scene.world(), 64 if quick else 1024)

batch.tau[:, 0] = np.linspace(0, 10, len(batch))
steps = 2000
begin = time.perf_counter()
best = np.full(len(batch), np.inf)
for _ in range(steps // 10):
    batch.step(10)
    best = np.minimum(best, np.abs(np.abs(batch.q[:, 0]) - math.pi))
seconds = time.perf_counter() - begin
print(f"{len(batch) * steps / seconds:.3g} steps per second on {batch.threads} threads")
print(f"{batch.tau[best < 0.1, 0].min():.2f} N m swing it up; holding it level takes {9.81 * 0.5:.2f} N m")
