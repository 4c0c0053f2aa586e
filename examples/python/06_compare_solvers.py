"""One scene, every solver: residual of the contact problem and time per step, as a figure.

    06_compare_solvers.py [FIGURE]
"""
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import karakuri


def tower() -> karakuri.World:
    scene = karakuri.Scene(name="tower").ground()
    for i in range(5):
        scene.body(f"box{i}", at=(0.01 * (i % 2), 0, 0.05 + 0.1 * i), mass=1, shapes={"box": (0.1, 0.1, 0.1)})
    return scene.world()


names = ["default", "block", "newton", "pgs", "springhead", "dantzig", "lemke", "quickstep"]
residuals, times = [], []
for name in names:
    world = tower()
    world["settings.solver"] = name
    world["settings.sleep.enabled"] = False
    reports = []
    for _ in range(30):
        world.step()
        reports.append(world.report)
    residuals.append(max(r["residual"] for r in reports[5:]))
    times.append(np.median([r["seconds"] for r in reports[5:]]))
    print(f"{name:12} residual {residuals[-1]:.1e} m/s, {1e3 * times[-1]:.2f} ms per step")

figure, axes = plt.subplots(1, 2, figsize=(9, 3.5))
axes[0].bar(names, np.maximum(residuals, 1e-16))
axes[0].set(yscale="log", ylabel="largest residual [m/s]")
axes[1].bar(names, np.array(times) * 1e3)
axes[1].set(ylabel="time per step [ms]")
for ax in axes:
    ax.tick_params(axis="x", rotation=45)
figure.tight_layout()
path = sys.argv[1] if len(sys.argv) > 1 else "solvers.png"
figure.savefig(path)
print("figure:", path)
