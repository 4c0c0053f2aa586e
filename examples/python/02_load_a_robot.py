"""Loads a robot (URDF, MJCF, SDF or a native scene) and tells what is in it.

    02_load_a_robot.py [FILE]
"""
import sys

import numpy as np

import karakuri

world = karakuri.World.load(sys.argv[1] if len(sys.argv) > 1 else "arm")
print(world)
for joint in world.joints:
    print(f"  joint {joint.name}: {joint.kind}")
print(f"mass {world.mass:.3f} kg, centre of mass {world.center_of_mass.round(3)} m")
np.set_printoptions(precision=3, suppress=True)
print("mass matrix:\n", world.mass_matrix()[:6, :6])
last = world.links[-1]
print(f"{last.name} is at {last.position.round(3)} m; its Jacobian has shape {world.jacobian(last).shape}")
