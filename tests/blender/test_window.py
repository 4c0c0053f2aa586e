"""In a window, with the mouse and keys that Blender simulates: panels, a scene that runs with its overlays, dragging, ESC.

Pictures go into KARAKURI_PICTURES where that is set; those of the documentation are made by it.
"""
import os
import time
import traceback

import bpy
import karakuri_blender as kb
from karakuri_blender import bake, compat, example, meshes, naming, simulation
from mathutils import Euler, Vector

PICTURES = os.environ.get("KARAKURI_PICTURES", "")


def view3d():
    window = bpy.context.window_manager.windows[0]
    area = max((a for a in window.screen.areas if a.type == "VIEW_3D"), key=lambda a: a.width * a.height)
    region = next(r for r in area.regions if r.type == "WINDOW")
    return window, area, region


def properties_area():
    return next(a for a in bpy.context.window_manager.windows[0].screen.areas if a.type == "PROPERTIES")


def override(**more):
    """A context for operators. While one is overridden Blender looks into it without Python's lock, wherever another thread
    has that (PyC_IsInterpreterActive asks for any thread): so none runs meanwhile."""
    for run in simulation.running.values():
        run.wait()
    window, area, region = view3d()
    return bpy.context.temp_override(window=window, area=area, region=region, **more)


def look(at, distance, turn=(1.15, 0, 0.6), perspective=True):
    _, area, _ = view3d()
    space = area.spaces.active
    space.show_region_ui = True
    space.overlay.show_relationship_lines = False
    space.region_3d.view_perspective = "PERSP" if perspective else "ORTHO"
    space.region_3d.view_location, space.region_3d.view_distance = Vector(at), distance
    space.region_3d.view_rotation = Euler(turn).to_quaternion()
    space.shading.type, space.shading.color_type = "SOLID", "MATERIAL"


def sidebar(panel="Karakuri"):
    """Shows a tab of the sidebar, where Blender lets a script choose it."""
    _, area, _ = view3d()
    for region in area.regions:
        if region.type == "UI" and hasattr(region, "active_panel_category"):
            try:
                region.active_panel_category = panel
            except AttributeError:  # to be read only, before 4.2
                pass


def picture(name):
    if PICTURES:
        os.makedirs(PICTURES, exist_ok=True)
        with override():
            bpy.ops.screen.screenshot(filepath=os.path.join(PICTURES, name + ".png"))


def mouse(kind, value, x, y):
    bpy.context.window_manager.windows[0].event_simulate(type=kind, value=value, x=int(x), y=int(y))


def click(x, y):
    mouse("MOUSEMOVE", "NOTHING", x, y)
    mouse("LEFTMOUSE", "PRESS", x, y)
    mouse("LEFTMOUSE", "RELEASE", x, y)


def choose_tab():
    """Clicks the tab of the sidebar that is ours: the lowest one."""
    _, area, _ = view3d()
    region = next(r for r in area.regions if r.type == "UI")
    click(region.x + region.width - 8, region.y + region.height - TAB[0])


TAB = [170]


def select(owner):
    for other in bpy.context.view_layer.objects:
        other.select_set(other == owner)
    bpy.context.view_layer.objects.active = owner


def wait(seconds):
    """A pause of the story, in which Blender goes on."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield


def until(there, seconds=30):
    end = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < end, "it did not come about in time"
        yield


def pixel_of(place):
    from bpy_extras.view3d_utils import location_3d_to_region_2d

    _, area, region = view3d()
    at = location_3d_to_region_2d(region, area.spaces.active.region_3d, Vector(place))
    return region.x + at[0], region.y + at[1]


def story():
    """What happens, as a generator that is asked to go on by a timer."""
    kb.register()
    scene = bpy.context.scene
    for owner in list(scene.objects):
        bpy.data.objects.remove(owner)
    yield from wait(0.5)
    yield from running(scene)
    yield from dragging(scene)
    yield from breaking_off(scene)
    yield from undoing(scene)


def running(scene):
    """Play by its operator; overlays are drawn; a slider acts; the picture goes on meanwhile."""
    example.build(scene)
    head = bpy.data.objects["Head"]
    select(head)
    look((-0.6, 0.1, 0.5), 4.2)
    scene.karakuri.dt = 0.002
    yield from wait(0.5)
    properties_area().spaces.active.context = "PHYSICS"
    yield from wait(0.5)
    picture("tabs")
    choose_tab()
    yield from wait(0.5)
    with override():
        bpy.ops.karakuri.play("INVOKE_DEFAULT")
    yield from until(lambda: kb.simulation.of(scene) is not None and simulation.of(scene).shot.time > 1.0)
    run = simulation.of(scene)
    assert run.playing and run.factor > 0
    assert any(shape[0] == "cone" for shape in run.shot.shapes)
    picture("running")
    elbow = bpy.data.objects["Elbow"].karakuri.joint.dofs[0]
    elbow.drive_stiffness = 1.0
    yield from until(lambda: kb.world()["joint.Elbow.stiffness"] == 1.0)
    head["view_angle"] = 1.2
    yield from wait(0.5)
    picture("view-cone")
    text = bpy.data.texts["wave.py"]
    text.clear()
    text.write('def step(world, dt):\n    x = 1\n    raise ValueError("the arm is tired")\n')
    yield from until(lambda: not run.playing)
    assert "wave.py, line 3" in run.message, run.message
    select(bpy.data.objects["Base"])
    yield from wait(0.3)
    picture("rule-error")
    text.clear()
    text.write(example.WAVE)
    yield from until(lambda: run.playing)
    with override():
        bpy.ops.karakuri.play("INVOKE_DEFAULT")
    assert not run.playing
    before = {p.uid: tuple(bpy.data.objects[p.object_name].karakuri.rest[0:3]) for p in run.moved_parts}
    with override():
        bpy.ops.karakuri.reset()
    for part in run.moved_parts:
        assert tuple(bpy.data.objects[part.object_name].location) == before[part.uid]
    yield from wait(0.3)


def clear(scene):
    simulation.end(scene)
    for owner in list(scene.objects):
        bpy.data.objects.remove(owner)


def box(scene, name, at, size=(0.4, 0.4, 0.4), motion="DYNAMIC", color=(0.8, 0.4, 0.2, 1)):
    owner = naming.new_object(name, meshes.new(name, *meshes.box(size)), scene.collection)
    owner.location = at
    owner.karakuri.role, owner.karakuri.shape, owner.karakuri.motion = "BODY", "BOX", motion
    material = bpy.data.materials.new(name)
    compat.base_color(material, color)
    owner.data.materials.append(material)
    return owner


def dragging(scene):
    """A box is taken by the mouse, and lifted from the floor."""
    clear(scene)
    owner = box(scene, "Box", (0, 0, 0.2))
    select(owner)
    look((0, 0, 0.4), 4)
    yield from wait(0.3)
    with override():
        bpy.ops.karakuri.play("INVOKE_DEFAULT")
    run = simulation.of(scene)
    yield from until(lambda: run.shot.time > 0.1)
    x, y = pixel_of((0, 0, 0.25))
    mouse("MOUSEMOVE", "NOTHING", x, y)
    yield
    mouse("LEFTMOUSE", "PRESS", x, y)
    yield from until(lambda: run.drag is not None, 5)
    for i in range(20):
        mouse("MOUSEMOVE", "NOTHING", x, y + 6 * i)
        yield from wait(0.03)
    yield from until(lambda: owner.location[2] > 0.4, 10)
    picture("dragging")
    mouse("LEFTMOUSE", "RELEASE", x, y + 120)
    yield from until(lambda: run.drag is None, 5)
    yield from until(lambda: owner.location[2] < 0.25, 10)


def breaking_off(scene):
    """A long bake is ended by ESC; nothing is left of it."""
    clear(scene)
    yield from wait(0.3)
    for i in range(30):
        box(scene, f"Box{i}", (0.1 * (i % 3), 0, 0.5 + 0.5 * i), color=(0.5, 0.5, 0.6, 1))
    scene.karakuri.dt = 0.0002
    scene.karakuri.bake_end = 5000
    with override():
        bpy.ops.karakuri.bake("INVOKE_DEFAULT")
    yield from wait(1.0)
    assert simulation.of(scene) is not None
    window, _, _ = view3d()
    window.event_simulate(type="ESC", value="PRESS", x=400, y=400)
    window.event_simulate(type="ESC", value="RELEASE", x=400, y=400)
    yield from until(lambda: simulation.of(scene) is None, 10)
    assert not bake.baked(scene)
    assert bpy.data.objects["Box29"].location[2] == 15


def undoing(scene):
    """Undo by its operator while it runs: no crash, it goes on, and the rest poses are there."""
    clear(scene)
    box(scene, "A", (0, 0, 2))
    with override():
        bpy.ops.ed.undo_push(message="made")
        bpy.data.objects["A"].name = "B"
        bpy.ops.ed.undo_push(message="renamed")
        bpy.ops.karakuri.play("INVOKE_DEFAULT")
    run = simulation.of(scene)
    yield from until(lambda: run.shot.time > 0.2)
    with override():
        bpy.ops.ed.undo()
    now = run.shot.time
    yield from until(lambda: run.shot.time > now + 0.2)
    assert "A" in bpy.data.objects
    with override():
        bpy.ops.karakuri.reset()
    assert tuple(bpy.data.objects["A"].location) == (0, 0, 2)
    yield from wait(0.2)


def begin(leave, tale=None):
    """Starts the story once there is a window."""
    going = (tale or story)()
    began = time.monotonic()

    def go_on():
        try:
            next(going)
        except StopIteration:
            print(f"the window's story went well, in {time.monotonic() - began:.1f} s")
            leave(0)
        except BaseException:
            traceback.print_exc()
            leave(1)
        return 0.02

    bpy.app.timers.register(go_on, first_interval=1.0)
