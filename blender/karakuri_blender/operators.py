"""Running: play, pause, step, reset; baking; what is done with the frames that were kept."""
from __future__ import annotations

import time

import bpy
from bpy.props import IntProperty

from . import bake, cache, describe, drag, rules, simulation


def tell(operator, error: Exception) -> set:
    """What is wrong, in Blender's own manner. Several findings are several lines."""
    problems = getattr(error, "problems", None) or [str(error) or type(error).__name__]
    for problem in problems[:10]:
        operator.report({"ERROR"}, problem)
    if len(problems) > 10:
        operator.report({"ERROR"}, f"and {len(problems) - 10} more")
    return {"CANCELLED"}


def redraw(context, panels: bool = True) -> None:
    """The views; and the panels beside them, which need not follow each picture."""
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            if panels and area.type in ("VIEW_3D", "PROPERTIES"):
                area.tag_redraw()
            elif area.type == "VIEW_3D":
                for region in area.regions:
                    if region.type == "WINDOW":
                        region.tag_redraw()


def begun(scene) -> simulation.Simulation:
    """The simulation of a scene, made where there is none. A cache that fits is kept by going on, not by starting anew."""
    if bake.baked(scene):
        raise describe.ModelError(["this scene is baked: delete the bake first, or the keyframes would move what runs"])
    run = simulation.of(scene)
    if run is None:
        cache.shelves.pop(scene.name, None)
        run = simulation.begin(scene)
    return run


class KARAKURI_OT_play(bpy.types.Operator):
    """Run the scene, or pause it. The left mouse button pulls at bodies; sliders act at once"""

    bl_idname = "karakuri.play"
    bl_label = "Play"

    _modal_of: dict = {}  # scenes whose modal operator is there

    def invoke(self, context, event):
        scene = context.scene
        run = simulation.of(scene)
        if run is not None and scene.name in self._modal_of:
            self.toggle(run)
            return {"FINISHED"}
        try:
            run = begun(scene)
        except Exception as error:
            return tell(self, error)
        for note in run.notes[:5]:
            self.report({"INFO"}, note)
        run.start()
        self.scene_name = scene.name
        self.told, self.told_at = None, 0.0
        self._modal_of[scene.name] = self
        self.timer = context.window_manager.event_timer_add(1 / 60, window=context.window)
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def execute(self, context):
        self.report({"ERROR"}, "there is no window here: karakuri_blender.start() and advance(steps) run without one")
        return {"CANCELLED"}

    @staticmethod
    def toggle(run) -> None:
        if run.playing:
            run.playing = run.playing_wanted = False
            scene = run.scene
            if scene is not None:
                run.wait(5.0)
                scene.frame_set(run.frame()) if run.frame() in run.cache else None
        else:
            run.start()

    def modal(self, context, event):
        run = simulation.running.get(self.scene_name)
        if run is None or self._modal_of.get(self.scene_name) is not self:
            return self.leave(context)
        if event.type == "TIMER":
            run.wants_overlays = bool(run.scene and run.scene.karakuri.show_overlays)
            try:
                if run.playing or run.failed is not None or run.error is not None or self.scene_name in simulation.properties.touched:
                    run.tick()
            except Exception as error:
                run.fail(error)
            redraw(context, self.panels_are_old(run))
            return {"PASS_THROUGH"}
        return self.drag(context, event, run)

    PANELS_EVERY = 0.25  # s

    def panels_are_old(self, run) -> bool:
        """Where something happened, and a few times a second for the clock."""
        state, now = (run.playing, run.message, run.ahead), time.monotonic()
        old = state != self.told or (run.playing and now - self.told_at > self.PANELS_EVERY)
        if old:
            self.told, self.told_at = state, now
        return old

    def drag(self, context, event, run) -> set:
        if run.drag is not None:
            if event.type == "MOUSEMOVE":
                drag.move(run.drag, event)
            elif event.type == "LEFTMOUSE" and event.value == "RELEASE" or event.type == "ESC":
                run.drag = None
            return {"RUNNING_MODAL"}
        wanted = run.playing and context.scene.karakuri.drag_bodies
        if wanted and event.type == "LEFTMOUSE" and event.value == "PRESS" and not (event.ctrl or event.alt or event.shift):
            run.wait(1.0)
            run.drag = drag.begin(context, event, run)
            if run.drag is not None:
                return {"RUNNING_MODAL"}
        return {"PASS_THROUGH"}

    def leave(self, context) -> set:
        context.window_manager.event_timer_remove(self.timer)
        if self._modal_of.get(self.scene_name) is self:
            del self._modal_of[self.scene_name]
        redraw(context)
        return {"FINISHED"}


class KARAKURI_OT_allow_rules(bpy.types.Operator):
    """Let the rules of this file run, until Blender is closed: they can do all that you can"""

    bl_idname = "karakuri.allow_rules"
    bl_label = "Allow Rules"

    def execute(self, context):
        rules.allow()
        redraw(context)
        return {"FINISHED"}


class KARAKURI_OT_step(bpy.types.Operator):
    """Make some steps, and pause"""

    bl_idname = "karakuri.step"
    bl_label = "Step"

    steps: IntProperty(name="Steps", default=0, min=0, description="0: as the panel says")

    def execute(self, context):
        scene = context.scene
        try:
            run = begun(scene)
            run.playing = run.playing_wanted = False
            run.wants_overlays = scene.karakuri.show_overlays
            run.save_rest()
            run.failed, run.message = None, ""
            run.advance(self.steps or scene.karakuri.steps_at_once)
        except Exception as error:
            return tell(self, error)
        redraw(context)
        return {"FINISHED"}


class KARAKURI_OT_reset(bpy.types.Operator):
    """Stop, and put everything back where it was modelled"""

    bl_idname = "karakuri.reset"
    bl_label = "Reset"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context):
        simulation.end(context.scene)
        cache.clear(context.scene)
        redraw(context)
        return {"FINISHED"}


class KARAKURI_OT_continue(bpy.types.Operator):
    """Go on from the frame that the timeline shows"""

    bl_idname = "karakuri.continue_from_frame"
    bl_label = "Continue from Frame"

    def execute(self, context):
        scene = context.scene
        try:
            run = begun(scene)
            if scene.frame_current < run.first_frame:
                raise ValueError(f"the run starts at frame {run.first_frame}: go to that one or a later one")
            run.playing = run.playing_wanted = False
            run.go_to(scene.frame_current)
        except Exception as error:
            return tell(self, error)
        redraw(context)
        return {"FINISHED"}


class KARAKURI_OT_bake(bpy.types.Operator):
    """Simulate a range of frames, and write keyframes. ESC breaks it off and leaves everything as it was"""

    bl_idname = "karakuri.bake"
    bl_label = "Bake to Keyframes"
    bl_options = {"REGISTER", "UNDO"}

    def begin(self, context):
        k = context.scene.karakuri
        bake.delete(context.scene)
        return bake.Bake(context.scene, k.bake_start, k.bake_end)

    def execute(self, context):
        k = context.scene.karakuri
        try:
            bake.delete(context.scene)
            keys = bake.all_at_once(context.scene, k.bake_start, k.bake_end)
        except Exception as error:
            return tell(self, error)
        self.report({"INFO"}, f"{keys} keys written")
        return {"FINISHED"}

    def invoke(self, context, event):
        try:
            self.work = self.begin(context)
        except Exception as error:
            return tell(self, error)
        manager = context.window_manager
        manager.progress_begin(0, 100)
        self.timer = manager.event_timer_add(0.01, window=context.window)
        manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type == "ESC":
            self.work.cancel()
            self.report({"INFO"}, "the bake was broken off; nothing was changed")
            return self.leave(context, {"CANCELLED"})
        if event.type != "TIMER":
            return {"RUNNING_MODAL"}
        try:
            context.window_manager.progress_update(100 * self.work.some(5))
            if self.work.done < self.work.end:
                return {"RUNNING_MODAL"}
            keys = self.work.write()
        except Exception as error:
            self.work.cancel()
            tell(self, error)
            return self.leave(context, {"CANCELLED"})
        self.report({"INFO"}, f"{keys} keys written")
        return self.leave(context, {"FINISHED"})

    def leave(self, context, how: set) -> set:
        context.window_manager.event_timer_remove(self.timer)
        context.window_manager.progress_end()
        redraw(context)
        return how


class KARAKURI_OT_delete_bake(bpy.types.Operator):
    """Take the keyframes away; objects stand where they were before, with the actions that they had"""

    bl_idname = "karakuri.delete_bake"
    bl_label = "Delete Bake"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context):
        self.report({"INFO"}, f"{bake.delete(context.scene)} objects")
        return {"FINISHED"}


class KARAKURI_OT_clear_cache(bpy.types.Operator):
    """Forget the frames that were kept"""

    bl_idname = "karakuri.clear_cache"
    bl_label = "Clear Cache"

    def execute(self, context):
        cache.clear(context.scene)
        return {"FINISHED"}


CLASSES = [KARAKURI_OT_play, KARAKURI_OT_allow_rules, KARAKURI_OT_step, KARAKURI_OT_reset, KARAKURI_OT_continue, KARAKURI_OT_bake,
           KARAKURI_OT_delete_bake, KARAKURI_OT_clear_cache]
