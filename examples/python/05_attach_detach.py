"""A pendulum catches a ball in flight, swings with it, and lets it go."""
import numpy as np

import karakuri

scene = karakuri.Scene(name="catch").ground(height=-3)
scene.body("rod", at=(0, 0, 0), mass=1, joint={"name": "hinge", "axis": (0, 1, 0)},
           shapes={"capsule": {"radius": 0.02, "length": 0.9}, "at": (0, 0, -0.5)})
scene.body("ball", at=(-0.6, 0, -0.8), mass=0.5, velocity=(3, 0, 0.4), shapes={"sphere": 0.05})
world = scene.world()


@world.on_event
def catch(world, event):
    if event.kind == "contact_begin" and set(event.links) == {"rod", "ball"}:
        before = world.energy[0]
        world.attach("rod", "ball", name="grip")
        print(f"caught at {event.time:.3f} s: energy of motion {before:.3f} J -> {world.energy[0]:.3f} J, never more")


world.run(0.8)
joints = [joint.name for joint in world.joints]
if "grip" in joints:
    print(f"the grip carries {np.linalg.norm(world.joint('grip').load['force']):.2f} N")
    world.remove_callback(catch)
    world.detach("grip")
world.run(0.3)
print(f"ball at {world.link('ball').position.round(3)} m")
