"""A humanoid walks where it is told, and is pushed; its joints for a wanted pose are found by inverse kinematics.

Run it by: ./karakuri python examples/python/09_walk.py
"""

import karakuri

world = karakuri.World.load("walk-push")
world["walker.walk.forward"] = 0.12  # m of a step
world["walker.walk.turn"] = 0.05  # rad of a step, to the left
world["walker.walk.steps"] = 6

with world.record("time", "walker.walk.margin", "walker.walk.left_force", "walker.walk.right_force") as recording:
    world.run(4)
    for step in karakuri.footsteps(world, "walk"):
        x, y, _ = step["position"]
        print(f"{step['side']:>5} foot to ({x:+.2f}, {y:+.2f}) m at {step['land']:.2f} s")
    for _ in range(100):  # 6 N s from its right
        world.link("waist_pitch").add_force([0, 60, 0], point=[0, 0, 0.2])
        world.step()
    world.run(7)

margin = recording["walker.walk.margin"]
print(f"steps done: {world['walker.walk.steps']:.0f}, fallen: {bool(world['walker.walk.fallen'])}")
print(f"the ZMP was {1e3 * margin[600:].min():.0f} mm inside the soles at least")
print("carried now by a polygon of", len(karakuri.support_polygon(world, "walk")), "corners")

# Inverse kinematics for any robot: the left hand reaches out, the feet and the centre of mass stay.
feet = [
    {"link": name, "position": world.link(name).position, "rotation": world.link(name).rotation}
    for name in ("left_foot", "right_foot")
]
there = world.link("left_hand").position + [0.1, 0.05, 0.2]
q, report = karakuri.inverse_kinematics(
    world,
    [*feet, {"link": "left_hand", "position": there, "priority": 2}],
    center=[world[f"walker.walk.center_{axis}"] for axis in "xyz"],
)
print(f"the hand gets within {report['error']:.1e} m in {report['iterations']} iterations")
