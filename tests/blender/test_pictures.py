"""The pictures of docs/blender.md, made in a window: from an empty file to a toy that walks, and the example.

  KARAKURI_PICTURES=docs/blender bash tests/blender/run.sh . build/release pictures
"""
import os

import bpy
import karakuri_blender as kb
import test_window as window
from karakuri_blender import example, simulation, toy
from test_window import PICTURES, look, mouse, override, properties_area, select, until, wait


def picture(name, width=960):
    """A screenshot, as a JPEG of that width."""
    window.picture(name)
    path = os.path.join(PICTURES, name + ".png")
    shown = bpy.data.images.load(path)
    shown.scale(width, int(width * shown.size[1] / shown.size[0]))
    shown.file_format = "JPEG"
    shown.save(filepath=os.path.join(PICTURES, name + ".jpg"), quality=72)
    bpy.data.images.remove(shown)
    os.remove(path)


def physics():
    """The Physics tab, once the selection has reached it."""
    yield from wait(0.4)
    area = properties_area()
    if area.spaces.active.context != "PHYSICS":
        area.spaces.active.context = "PHYSICS"
    yield from wait(0.4)


def scroll(turns):
    area = properties_area()
    x, y = area.x + area.width // 2, area.y + area.height // 3
    mouse("MOUSEMOVE", "NOTHING", x, y)
    for _ in range(abs(turns)):
        mouse("WHEELDOWNMOUSE" if turns > 0 else "WHEELUPMOUSE", "PRESS", x, y)
        yield from wait(0.05)
    mouse("MOUSEMOVE", "NOTHING", 300, 300)
    yield from wait(0.5)


def story():
    kb.register()
    scene = bpy.context.scene
    for owner in list(scene.objects):
        bpy.data.objects.remove(owner)
    yield from wait(0.5)
    look((0, 0, 0.1), 1.7, (1.1, 0, 0.7))
    yield from wait(0.5)
    window.TAB[0] = 115  # without an object there is one tab less above
    window.choose_tab()
    mouse("MOUSEMOVE", "NOTHING", 300, 300)
    yield from wait(0.5)
    yield from building(scene)
    yield from walking(scene)
    yield from watching(scene)


def building(scene):
    picture("1-empty")
    made = toy.Toy(scene)
    trunk = made.body()
    made.make_body(trunk)
    select(trunk)
    yield from physics()
    picture("2-body")
    made.make_body(made.leg(0))
    select(made.legs[0])
    yield from physics()
    picture("3-leg")
    hip = made.hip(0)
    select(hip)
    yield from physics()
    picture("4-hinge")
    made.drive(hip)
    yield from scroll(14)
    picture("5-drive")
    yield from scroll(-40)
    for i in range(1, 6):
        made.make_body(made.leg(i))
        made.drive(made.hip(i))
    for owner in made.legs + made.hips:
        owner.select_set(True)
    yield from wait(0.4)
    picture("6-six-legs")
    made.rule()
    select(trunk)
    area = properties_area()
    area.type = "TEXT_EDITOR"
    area.spaces.active.text = bpy.data.texts["walk.py"]
    area.spaces.active.top = 0
    area.spaces.active.font_size = 9
    yield from wait(0.6)
    picture("7-rule")
    area.type = "PROPERTIES"
    yield from physics()


def walking(scene):
    with override():
        bpy.ops.karakuri.play("INVOKE_DEFAULT")
    run = simulation.of(scene)
    yield from until(lambda: run.shot.time > 0.6, 60)
    picture("8-play")
    scene.objects["Trunk"]["pace"] = -6.0
    now = run.shot.time
    yield from until(lambda: run.shot.time > now + 0.8, 60)
    picture("9-tune")
    with override():
        bpy.ops.karakuri.reset()
    scene.objects["Trunk"]["pace"] = 4.0
    scene.karakuri.bake_end = 120
    with override():
        bpy.ops.karakuri.bake("INVOKE_DEFAULT")
    yield from until(lambda: bool(kb.bake.baked(scene)), 60)
    scene.frame_set(60)
    look((0.5, 0, 0.1), 2.6, (1.1, 0, 0.7))
    yield from wait(0.5)
    picture("10-bake")
    with override():
        bpy.ops.karakuri.delete_bake()


def watching(scene):
    """The example: the set-up of arm, creature and ball."""
    for owner in list(scene.objects):
        bpy.data.objects.remove(owner)
    scene.frame_set(1)
    example.build(scene)
    head = scene.objects["Head"]
    select(head)
    head["view_length"] = 1.4
    look((-0.6, 0.1, 0.5), 3.6)
    yield from physics()
    with override():
        bpy.ops.karakuri.play("INVOKE_DEFAULT")
    run = simulation.of(scene)
    yield from until(lambda: run.shot.time > 1.0, 60)
    picture("view-cone")
    elbow = scene.objects["Elbow"]
    select(elbow)
    yield from wait(0.4)
    yield from scroll(14)
    elbow.karakuri.joint.dofs[0].drive_stiffness = 1.0
    yield from until(lambda: run.shot.time > 2.5, 60)
    picture("slider")
    yield from scroll(-40)
    text = bpy.data.texts["wave.py"]
    text.clear()
    text.write('def step(world, dt):\n    x = 1\n    raise ValueError("the arm is tired")\n')
    yield from until(lambda: not run.playing, 60)
    select(scene.objects["Base"])
    yield from wait(0.5)
    picture("rule-error")



def begin(leave):
    window.begin(leave, story)
