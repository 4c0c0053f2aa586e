"""Rules: text blocks with a function step(world, dt), called before each step.

They are what scenes call behaviours (docs/behaviours.md): step(), setup(), `state`, and parameters as globals. So a rule that
is exported runs in the program as it does here. Two things are Blender's own:

  properties = {"reach": {"min": 0, "max": 2}}   numbers that the panel shows; the global `reach` is the default
  def draw(world, pen): ...                      called for each picture, to show what the rule means (overlays.py)

Rules run on the thread that steps. They never touch bpy, which belongs to the main thread: what they need of Blender, the
numbers of the panel and the name of their owner, are globals of theirs.
"""
from __future__ import annotations

import ast
import linecache
import time
import traceback
from typing import Any

import bpy

SETTLE = 0.2  # s that a text must have been left alone before it is loaded again


allowed: set = set()  # files whose rules may run, in this session: those saved in it, and those the user said so of


def may_run() -> bool:
    """Rules can do all that the user can. Those of a file from elsewhere wait for a word, as scripts of .blend files do."""
    file = bpy.data.filepath
    return not file or file in allowed or bpy.context.preferences.filepaths.use_scripts_auto_execute


def allow() -> None:
    allowed.add(bpy.data.filepath)


class RuleError(RuntimeError):
    """Where a rule failed, and why."""

    def __init__(self, rule: str, line: int, what: str, trace: str) -> None:
        super().__init__(f"{rule}, line {line}: {what}")
        self.rule, self.line, self.what, self.trace = rule, line, what, trace


class Pen:
    """What rules ask to be drawn, in world coordinates."""

    def __init__(self) -> None:
        self.shapes: list = []

    def line(self, a, b, color=(1, 1, 0, 1)) -> None:
        self.shapes.append(("line", tuple(map(float, a)), tuple(map(float, b)), tuple(color)))

    def arrow(self, at, along, color=(1, 1, 0, 1)) -> None:
        self.shapes.append(("arrow", tuple(map(float, at)), tuple(map(float, along)), tuple(color)))

    def cone(self, at, along, angle, length=1.0, color=(0.3, 0.8, 1, 0.25)) -> None:
        """A view: its tip at a point, opening by `angle` [rad] around a direction."""
        self.shapes.append(("cone", tuple(map(float, at)), tuple(map(float, along)), float(angle), float(length), tuple(color)))

    def sphere(self, at, radius, color=(1, 1, 0, 1)) -> None:
        self.shapes.append(("sphere", tuple(map(float, at)), float(radius), tuple(color)))

    def text(self, at, words, color=(1, 1, 1, 1)) -> None:
        self.shapes.append(("text", tuple(map(float, at)), str(words), tuple(color)))


def declared(text: str) -> dict:
    """{name: {"default", "min", "max", ...}} of the properties that a rule names, without running it."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return {}
    constants: dict = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            try:
                constants[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    wanted = constants.get("properties")
    if not isinstance(wanted, dict):
        return {}
    out = {}
    for name, more in wanted.items():
        if isinstance(name, str) and name.isidentifier() and isinstance(more, dict):
            default = constants.get(name, more.get("default", 0.0))
            out[name] = {**more, "default": float(default) if isinstance(default, (int, float)) else 0.0}
    return out


def declare(owner) -> None:
    """The numbers that an owner's rules name become custom properties of it, with their ranges."""
    for rule in owner.karakuri.rules:
        if rule.text is None:
            continue
        for name, more in declared(rule.text.as_string()).items():
            add_value(owner, name, more)


def add_value(owner, name: str, more: dict) -> None:
    k = owner.karakuri
    if name not in k.values:
        k.values.add().name = name
    elif name in owner.keys() and not _range_changed(owner, name, more):
        return
    if name not in owner.keys():
        owner[name] = float(more.get("default", 0.0))
    ui = {key: float(more[key]) for key in ("min", "max") if key in more}
    ui.update({"soft_" + key: value for key, value in list(ui.items())})
    if more.get("unit") == "ANGLE":
        ui["subtype"] = "ANGLE"
    if more.get("description"):
        ui["description"] = str(more["description"])
    owner.id_properties_ui(name).update(**ui)


def _range_changed(owner, name: str, more: dict) -> bool:
    now = owner.id_properties_ui(name).as_dict()
    return any(key in more and abs(float(more[key]) - now.get(key, 0)) > 1e-6 for key in ("min", "max"))


def values_of(scene, owner) -> dict:
    """The scene's numbers, and those of the rule's owner."""
    out = {}
    for holder in (scene, owner):
        for value in holder.karakuri.values:
            if value.name in holder.keys():
                out[value.name] = float(holder[value.name])
    return out


class Rule:
    """One text block at work."""

    def __init__(self, name: str, owner: str) -> None:
        self.name, self.owner = name, owner
        self.file = f"rule {name}"
        self.source: str | None = None
        self.pending: str | None = None
        self.values: dict = {}
        self.namespace: dict[str, Any] = {}
        self.broken = False

    def load(self, world) -> None:
        """Runs the text. Its global `state` outlives that, where the new text has one, too."""
        self.source, self.pending = self.pending, None
        self.broken = True  # until it has run
        linecache.cache[self.file] = (len(self.source), None, self.source.splitlines(True), self.file)
        namespace: dict[str, Any] = {"__name__": self.name, "__file__": self.file, "__builtins__": __builtins__}
        try:
            exec(compile(self.source, self.file, "exec"), namespace)
            if not callable(namespace.get("step")):
                raise TypeError("there is no function step(world, dt)")
            namespace.update(self.values)
            namespace["owner"] = self.owner
            first = not self.namespace
            if not first and "state" in namespace and "state" in self.namespace:
                namespace["state"] = self.namespace["state"]
            if first and callable(namespace.get("setup")):
                namespace["setup"](world)
        except BaseException as error:
            raise self.error(error) from error
        self.namespace = namespace
        self.broken = False

    def before_step(self, world, dt: float) -> None:
        if self.pending is not None:
            self.load(world)
        if self.broken:
            raise RuleError(self.name, 0, "it has failed and was not changed since", "")
        try:
            self.namespace["step"](world, dt)
        except BaseException as error:
            raise self.error(error) from error

    def draw(self, world, pen: Pen) -> None:
        function = self.namespace.get("draw")
        if not callable(function) or self.broken:
            return
        try:
            function(world, pen)
        except BaseException as error:
            raise self.error(error) from error

    def give(self, values: dict) -> None:
        """New numbers from the panel."""
        self.values = values
        self.namespace.update(values)

    def error(self, error: BaseException) -> RuleError:
        line = getattr(error, "lineno", 0) if isinstance(error, SyntaxError) else 0
        for frame in traceback.extract_tb(error.__traceback__):
            if frame.filename == self.file:
                line = frame.lineno
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename != self.file:
            frames = frames.tb_next
        trace = "".join(traceback.format_exception(type(error), error, frames)).rstrip()
        return RuleError(self.name, line or 0, f"{type(error).__name__}: {error}", trace)


class Rules:
    """All rules of a scene: its own, then those of its objects."""

    def __init__(self, scene, names: dict) -> None:
        """names: of bodies and joints in the world, by the uid of their objects."""
        self.names = names
        self.rules: dict = {}  # by (owner, text)
        self.order: list = []
        self.seen: dict = {}  # text: (content, since)
        self.look(scene, at_once=True)

    @staticmethod
    def of(scene) -> list:
        """[(owner, rule)]"""
        holders = [scene] + sorted((o for o in scene.objects if len(o.karakuri.rules)), key=lambda o: (o.karakuri.order, o.name))
        return [(h, r) for h in holders for r in h.karakuri.rules if r.enabled and r.text is not None]

    def look(self, scene, at_once: bool = False) -> bool:
        """Texts that have changed, and numbers of the panel; on the main thread. Whether anything was changed."""
        now = time.monotonic()
        order, new = [], False
        for owner, entry in self.of(scene):
            is_scene = isinstance(owner, bpy.types.Scene)
            key = ("" if is_scene else owner.karakuri.uid, entry.text.name)
            rule = self.rules.get(key)
            if rule is None:
                rule = self.rules[key] = Rule(entry.text.name, "" if is_scene else self.names.get(owner.karakuri.uid, owner.name))
            order.append(rule)
            content = entry.text.as_string()
            before = self.seen.get(key)
            if before is None or before[0] != content:
                self.seen[key] = before = (content, now)
                declare(owner)
            settled = at_once or rule.source is None or now - before[1] >= SETTLE
            if settled and content != rule.source and content != rule.pending:
                rule.pending = content
                new = True
            values = values_of(scene, owner)
            if values != rule.values:
                rule.give(values)
        self.order = order
        return new

    def before_step(self, world) -> None:
        dt = world.dt
        for rule in self.order:
            rule.before_step(world, dt)

    def restart(self) -> None:
        """The world is at its start: setup() runs again."""
        for rule in self.rules.values():
            if rule.source is not None:
                rule.pending, rule.namespace = rule.source, {}

    def drawn(self, world) -> list:
        pen = Pen()
        for rule in self.order:
            rule.draw(world, pen)
        return pen.shapes
