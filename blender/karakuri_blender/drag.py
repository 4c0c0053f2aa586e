"""Pulling at a body with the mouse while it runs: a spring and damper between the point that was taken and the pointer."""
from __future__ import annotations

import numpy as np
from bpy_extras import view3d_utils
from mathutils import Vector

from . import frames, naming

FREQUENCY = 3.0  # Hz, of the body on that spring
MOST = 30.0  # times its weight at 9.81 m/s^2


class Drag:
    def __init__(self, link: str, local, target, mass: float) -> None:
        self.link, self.local, self.target = link, tuple(local), np.array(target)
        self.mass = max(mass, 1e-6)

    def pull(self, world) -> None:
        """Before each step, on the thread that steps."""
        link = world.link(self.link)
        pose = link.pose
        r = pose[:3, :3] @ np.array(self.local)
        velocity = link.velocity + np.cross(link.angular_velocity, r)
        omega = 2 * np.pi * FREQUENCY
        force = self.mass * (omega**2 * (self.target - pose[:3, 3] - r) - 2 * omega * velocity)
        size = np.linalg.norm(force)
        most = MOST * 9.81 * self.mass
        link.add_force(force * min(1.0, most / size) if size > 0 else force, self.local)


def view_under(context, event):
    """(region, its 3D view) under the mouse, or None."""
    for area in context.screen.areas:
        if area.type != "VIEW_3D":
            continue
        for region in area.regions:
            inside = region.x <= event.mouse_x < region.x + region.width and region.y <= event.mouse_y < region.y + region.height
            if region.type == "WINDOW" and inside and not _covered(area, event):
                return region, area.spaces.active.region_3d
    return None


def _covered(area, event) -> bool:
    """Whether a panel lies over the view there."""
    for region in area.regions:
        if region.type in ("UI", "TOOLS", "HEADER", "TOOL_HEADER") and region.width > 1 and region.height > 1:
            if region.x <= event.mouse_x < region.x + region.width and region.y <= event.mouse_y < region.y + region.height:
                return True
    return False


def begin(context, event, run):
    """A Drag for the body under the mouse, with where it was taken, or None."""
    view = view_under(context, event)
    if view is None:
        return None
    region, region_3d = view
    at = (event.mouse_x - region.x, event.mouse_y - region.y)
    origin = view3d_utils.region_2d_to_origin_3d(region, region_3d, at)
    along = view3d_utils.region_2d_to_vector_3d(region, region_3d, at)
    hit, place, _, _, owner, _ = context.scene.ray_cast(context.view_layer.depsgraph, origin, along)
    if not hit:
        return None
    owner = owner.original
    body = owner if owner.karakuri.role == "BODY" else naming.body_above(owner)
    part = next((p for p in run.description.bodies if body is not None and p.uid == body.karakuri.uid), None)
    if part is None:
        return None
    index = {link.name: link.index for link in run.world.links} if run.idle else {}
    if part.name not in index:
        return None
    pose = run.shown.poses[index[part.name]]
    local = (frames.inverse(pose) @ np.array([*place, 1.0]))[:3]
    mass = run.world.link(part.name).mass or 1.0
    drag = Drag(part.name, local, place, mass)
    drag.depth, drag.view = Vector(place), view
    return drag


def move(drag, event) -> None:
    """The pointer in the plane, parallel to the screen, in which the body was taken."""
    region, region_3d = drag.view
    at = (event.mouse_x - region.x, event.mouse_y - region.y)
    drag.target = np.array(view3d_utils.region_2d_to_location_3d(region, region_3d, at, drag.depth))
