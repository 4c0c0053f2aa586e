"""Worlds that the tests share."""
import karakuri

G = 9.81


def pendulum(**joint) -> karakuri.World:
    """A point-like bob of 1 kg on a massless rod of 0.5 m that turns about y; at q = 0 it hangs."""
    inertia = {"mass": 1.0, "com": (0, 0, -0.5), "moments": (1e-6, 1e-6, 1e-6)}
    scene = karakuri.Scene(name="pendulum")
    scene.body("bob", at=(0, 0, 1), inertia=inertia, joint={"name": "hinge", "axis": (0, 1, 0), **joint})
    return scene.world()


def arm() -> karakuri.World:
    """Three links on revolute joints, an actuator, sensors."""
    scene = karakuri.Scene(name="arm")
    parent = {}
    for i in range(3):
        scene.body(f"link{i}", at=(0, 0, 0 if i == 0 else 0.4), **parent,
                   joint={"name": f"joint{i}", "axis": (0, 1, 0) if i else (0, 0, 1), "q": 0.3 * (i + 1)},
                   shapes=[{"capsule": {"radius": 0.03, "length": 0.3}, "at": (0, 0, 0.2)}])
        parent = {"parent": f"link{i}"}
    scene.actuator("motor", joints=[{"joint": "joint1"}], gain=2.0, control=(-5, 5))
    scene.sensor("encoder", kind="joint-position", joint="joint1")
    return scene.world()


def box_on_floor() -> karakuri.World:
    scene = karakuri.Scene(name="floor").ground()
    scene.body("box", at=(0, 0, 0.05), mass=2.0, shapes={"box": (0.1, 0.1, 0.1)})
    scene.body("ball", at=(1, 0, 1.0), mass=1.0, shapes={"sphere": 0.1})
    return scene.world()


def four_bar() -> karakuri.World:
    return karakuri.World.load("four-bar")
