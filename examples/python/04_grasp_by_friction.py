"""Two fingers lift a box by friction alone; it does not creep."""
import karakuri

scene = karakuri.Scene(name="grasp").settings(dt=0.002).ground().material("rubber", friction=0.8)
scene.body("palm", at=(0, 0, 0.5), mass=1, joint={"name": "lift", "kind": "prismatic", "axis": (0, 0, 1)},
           shapes={"box": (0.3, 0.1, 0.04)})
for name, side in (("left", -1), ("right", 1)):
    scene.body(name, parent="palm", at=(side * 0.12, 0, -0.4), mass=0.2, material="rubber",
               joint={"kind": "prismatic", "axis": (-side, 0, 0)}, shapes={"box": (0.02, 0.08, 0.2)})
scene.body("box", at=(0, 0, 0.05), mass=0.5, material="rubber", shapes={"box": (0.1, 0.1, 0.1)})
world = scene.world()

lift, box = world.joint("lift"), world.link("box")
lift.drive(stiffness=5000, damping=500, target=0)
for finger in (world.joint("left"), world.joint("right")):
    finger.drive(damping=200, target_velocity=1.0, limit=10)  # closes, and then presses with 10 N
world.run(0.5)
for i in range(500):
    lift.target = 0.3 * (i + 1) / 500
    world.step()
world.run(0.5)
relative = box.position[2] - world.link("left").position[2]
height = box.position[2]
world.run(5.0)
creep = box.position[2] - world.link("left").position[2] - relative
print(f"box at {height:.3f} m, in 5 s it slips by {creep:.1e} m")
for finger in ("left", "right"):
    world.joint(finger).target_velocity = -1.0
world.run(1.0)
print(f"let go: box at {box.position[2]:.3f} m")
