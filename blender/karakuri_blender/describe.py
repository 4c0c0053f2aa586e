"""Blender's scene as a scene file: what is run, and what is exported, is the same text.

  bodies    objects of the role BODY, in their order. A body that a joint carries stands in the frame of the joint's
            parent, where it is when the joint is at zero: X_PC = X_PF X_CM^-1, with F the joint's empty and M the same
            place on the child, moved by the joint's position: X_CM = X_WC^-1 X_WF J(q)                              (1)
  joints    empties of the role JOINT. The first one that carries a body makes the tree; one that would make a ring,
            carries a body that has its joint already, or is of a kind that only closes, is a loop
  shapes    the mesh of a body, and the objects of the role SHAPE that hang on it; of the world where no body is above

What has no object stands in a text block (surroundings.py). Numbers that came from a file and that nobody has changed are
the file's own (source.py).
"""
from __future__ import annotations

import json
from dataclasses import dataclass, field

import bpy
import numpy as np

from . import compat, frames, joints as joint_entries, kinds, meshes, naming, shapes, source, surfaces, surroundings
from .source import Group, plain


class ModelError(ValueError):
    """All that is wrong with the model, one line each."""

    def __init__(self, problems: list) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass
class Part:
    """An object that the world moves."""

    uid: str
    object_name: str
    name: str  # in the world
    frame: np.ndarray = field(default_factory=lambda: np.eye(4))  # in the modelled pose


@dataclass
class Description:
    content: dict
    assets: dict
    bodies: list
    joints: list
    notes: list
    geometry: dict  # what does not change while it runs, by uid: see `frozen`

    def text(self) -> str:
        return json.dumps(self.content, allow_nan=False, ensure_ascii=False, indent=1)


class Describer:
    def __init__(self, scene, stem: str, frozen: dict | None, visuals: bool) -> None:
        self.scene, self.k = scene, scene.karakuri
        self.folder = stem + ".assets"
        self.frozen = frozen
        self.visuals = visuals
        self.depsgraph = None if frozen is not None else bpy.context.evaluated_depsgraph_get()
        self.geometry: dict = {}
        self.problems: list = []
        self.notes: list = []
        self.assets: dict = {}
        self.bodies = naming.parts(scene, "BODY")
        self.joint_objects = naming.parts(scene, "JOINT")
        self.names = self._kept_names(naming.unique_names(self.bodies, ("world",)))
        self.joint_names = self._kept_names(naming.unique_names(self.joint_objects))
        self.frame = {body: self._frozen(body, "frame", lambda b=body: frames.frame_of(b.matrix_world)) for body in self.bodies}
        self.frame.update({j: self._frozen(j, "frame", lambda j=j: frames.frame_of(j.matrix_world)) for j in self.joint_objects})

    def _kept_names(self, names: dict) -> dict:
        """What has been renamed since the world was made keeps its name in it."""
        return {owner: self._frozen(owner, "name", lambda name=name: name) for owner, name in names.items()}

    def _frozen(self, owner, what: str, make):
        """Geometry as it was when the world was made, or as it is now."""
        uid = owner.karakuri.uid or owner.name
        if self.frozen is None:
            value = make()
        elif (uid, what) in self.frozen:
            value = self.frozen[uid, what]
        else:  # something new, which the comparison of the structure tells
            value = {"geometry": ({}, {}), "name": owner.name}.get(what, np.eye(4))
        self.geometry[uid, what] = value
        return value

    # ---- who carries whom

    def sort_joints(self) -> None:
        """Into the tree and loops."""
        self.carrier: dict = {}  # body: the joint that carries it
        self.loops: list = []
        root = {body: body for body in self.bodies}  # of the trees so far

        def top(body):
            while root[body] is not body:
                body = root[body]
            return body

        for joint in self.joint_objects:
            j = joint.karakuri.joint
            name = self.joint_names[joint]
            for role, body in (("parent", j.parent), ("child", j.child)):
                if body is not None and body not in root:
                    self.problems.append(f"joint '{name}': its {role} '{body.name}' is no body of this scene: "
                                         "give it the role Body")
            if j.child is None and j.closes_loop and j.parent in root:
                self.loops.append(joint)  # on the world
                continue
            if j.child is None:
                self.problems.append(f"joint '{name}' carries no body: choose its child")
            if j.child not in root or (j.parent is not None and j.parent not in root):
                continue
            if j.child is j.parent:
                self.problems.append(f"joint '{name}' joins '{self.names[j.child]}' to itself: choose another parent")
                continue
            makes_ring = j.parent is not None and top(j.parent) is j.child
            only_closes = kinds.JOINTS[j.kind].closes_only
            if j.closes_loop or only_closes or j.child in self.carrier or top(j.child) is not j.child or makes_ring:
                self.loops.append(joint)
                continue
            self.carrier[j.child] = joint
            if j.parent is not None:
                root[j.child] = top(j.parent)

    def parent_of(self, body):
        """The body in whose frame a body's pose is given, or None: the world."""
        joint = self.carrier.get(body)
        if joint is not None:
            return joint.karakuri.joint.parent
        if body.karakuri.motion == "DYNAMIC":
            return naming.body_above(body)  # hangs on it by Blender's parents: fixed to it
        return None

    # ---- bodies

    def body_entry(self, body) -> dict:
        k = body.karakuri
        joint, parent = self.carrier.get(body), self.parent_of(body)
        above = self.frame[parent] if parent is not None else frames.IDENTITY
        relative = frames.inverse(above) @ self.frame[body]
        groups = {"name": plain({"name": self.names[body]})}
        listed = joint is not None and joint.karakuri.home == "joints"
        if not listed:
            groups["parent"] = plain({"parent": self.names[parent]} if parent is not None else {})
        frame_mark = frames.pose_list(frames.inverse(above) @ self.frame[joint]) if joint is not None else None
        zero = joint_entries.zero_pose(joint.karakuri.joint, above, self.frame[joint], self.frame[body]) if joint else relative
        groups["pose"] = Group({"pose": frames.pose_list(relative), "pose_joint": frame_mark}, lambda: frames.pose_keys(zero))
        groups["inertia"] = plain(inertia_keys(k))
        if not k.source:
            groups["color"] = plain(color_keys(body))
        if joint is None and parent is None and k.motion != "FIXED":
            groups["velocity"] = plain(velocity_keys(k))
        self.groups_of_body[body] = groups
        entry = source.merge(k.source, k.seen, groups)
        if k.source and k.seen and joint is None and "pose" in source.changed(json.loads(k.seen), {"pose": groups["pose"]}):
            own = entry.get("joint")
            self.placed_anew.add(own.get("name", entry["name"]) if isinstance(own, dict) else entry["name"])
        self.add_shapes(entry, body)
        if listed:
            entry.pop("joint", None)
        elif joint is not None:
            entry["joint"] = self.tree_joint(joint, body, above, frame_mark)
        elif "joint" not in entry or k.motion == "FIXED":
            word = "fixed" if k.motion == "FIXED" or parent is not None else "free"
            if self._kind_of(entry) != word:
                entry["joint"] = word
        return entry

    @staticmethod
    def _kind_of(entry) -> str:
        joint = entry.get("joint")
        return joint if isinstance(joint, str) else (joint or {}).get("kind", "")

    def tree_joint(self, joint, body, above, frame_mark) -> dict:
        j = joint.karakuri.joint
        groups = joint_entries.groups(self.joint_names[joint], self.names[body], j)
        mark = {"pose": frame_mark, "pose_child": frames.pose_list(frames.inverse(above) @ self.frame[body])}
        if j.kind != "FIXED":
            in_child = joint_entries.in_child(j, self.frame[joint], self.frame[body])
            groups["frame"] = Group(mark, lambda: joint_entries.pose_entry("in_child", in_child))
        if joint.karakuri.home == "joints":
            groups["parent"] = plain({"parent": self.names[j.parent] if j.parent else "world"})
            groups["child"] = plain({"child": self.names[body]})
        self.groups_of_joint[joint] = groups
        k = joint.karakuri
        if k.source and k.seen and "q" in source.changed(json.loads(k.seen), {"q": groups["q"]}):
            self.placed_anew.add(self.joint_names[joint])
        return source.merge(k.source, k.seen, groups)

    def loop_entry(self, joint) -> dict:
        j = joint.karakuri.joint
        groups = joint_entries.loop_groups(self.joint_names[joint], j)
        groups["parent"] = plain({"parent": self.names[j.parent] if j.parent else "world"})
        groups["child"] = plain({"child": self.names[j.child] if j.child else "world"})
        above = self.frame[j.parent] if j.parent else frames.IDENTITY
        on_parent = frames.inverse(above) @ self.frame[joint]
        on_child = frames.inverse(self.frame[j.child] if j.child else frames.IDENTITY) @ self.loop_end(joint)
        keys = {"in_parent": frames.pose_keys(on_parent), "in_child": frames.pose_keys(on_child)}
        groups["frame"] = Group({"pose": frames.pose_list(on_parent), "pose_child": frames.pose_list(on_child)}, keys)
        self.groups_of_joint[joint] = groups
        return source.merge(joint.karakuri.source, joint.karakuri.seen, groups)

    def loop_end(self, joint) -> np.ndarray:
        """Where a loop holds its child: where the empty is, but for the end of a distance."""
        j = joint.karakuri.joint
        if j.kind != "DISTANCE" or not (j.at_child or j.child):
            return self.frame[joint]
        end = j.at_child or j.child
        return self._frozen(joint, "end", lambda: frames.frame_of(end.matrix_world))

    # ---- shapes

    def add_shapes(self, entry: dict, body) -> None:
        fixed = body.karakuri.motion == "FIXED"
        found = self.shapes_of(body, self.frame[body], body.karakuri, fixed, entry["name"])
        entry.pop("shapes", None)
        if found:
            entry["shapes"] = found
        seen = self.visuals_of(body, self.frame[body], entry["name"]) if self.visuals else []
        entry.pop("visuals", None)
        if seen:
            entry["visuals"] = seen

    def holders(self, body) -> list:
        """The objects whose shapes a body has: its own, then those below it that are no other body's."""
        out = []
        if body.karakuri.shape != "NONE" and (body.type in compat.evaluated_mesh_types() or body.instance_collection):
            out.append(body)
        return out + sorted(self.below(body, "SHAPE"), key=lambda o: (o.karakuri.order, o.name_full))

    def below(self, body, role: str) -> list:
        return self._below().get((body, role), [])

    def _below(self) -> dict:
        if not hasattr(self, "_held"):
            self._held: dict = {}
            for owner in self.scene.objects:
                if owner.karakuri.role in ("SHAPE", "VISUAL"):
                    self._held.setdefault((naming.body_above(owner), owner.karakuri.role), []).append(owner)
        return self._held

    def shapes_of(self, body, X_body, surface, fixed: bool, name: str) -> list:
        out = []
        for owner in self.holders(body) if body is not None else sorted(self.below(None, "SHAPE"), key=lambda o: o.karakuri.order):
            try:
                out.append(self.shape_entry(owner, X_body, surface, fixed, name))
            except shapes.ShapeError as error:
                self.problems.append(str(error))
        return out

    def shape_entry(self, owner, X_body, surface, fixed: bool, name: str) -> dict:
        k = owner.karakuri
        own = k if k.own_material or surface is None else surface
        material = surfaces.mark(own)
        geometry = self._frozen(owner, "geometry", lambda: self.geometry_of(owner, X_body, fixed, name))
        groups = {
            "geometry": Group(geometry[0], geometry[1]),
            "surface": Group(material, lambda: self._material_keys(material)),
            "density": plain({"density": frames.number(k.shape_density)} if k.own_density else {}),
            "group": plain({"group": k.group} if k.group else {}),
        }
        if k.role == "SHAPE" and not k.source:
            groups["color"] = plain(color_keys(owner))
        self.groups_of_shape[owner] = groups
        mine = k if k.role == "SHAPE" else None  # a body's words are not its mesh's
        return self.with_folder(source.merge(mine.source if mine else "", mine.seen if mine else "", groups), owner)

    def _material_keys(self, mark) -> dict:
        name = self.materials.name_for(mark)
        return {"material": name} if name else {}

    def geometry_of(self, owner, X_body, fixed: bool, name: str):
        """(mark, keys) of a shape."""
        k = owner.karakuri
        data = shapes.evaluated(owner, self.depsgraph)
        if data is None:
            raise shapes.ShapeError(f"'{owner.name}' has no mesh: it is of the type {owner.type.lower()}; choose the shape 'None', "
                                    "or hang objects of the role Shape on it")
        points, triangles = data
        mark = {"kind": k.shape, "axis": k.shape_axis, "mesh": shapes.fingerprint(points, triangles),
                "pose": frames.pose_list(frames.inverse(X_body) @ frames.frame_of(owner.matrix_world)),
                "scale": frames.numbers(owner.matrix_world.to_scale())}
        if k.role == "SHAPE" and k.source and (not k.seen or source.same(json.loads(k.seen).get("geometry"), mark)):
            return mark, {}
        if k.shape == "KEPT":
            raise shapes.ShapeError(f"'{owner.name}' is a shape that only its file can describe, and it was changed: "
                                    "undo the change, or choose another kind of shape")
        shapes.check(points, triangles, owner.name, k.shape)
        moved, turned = shapes.in_frame(points, triangles, frames.matrix(owner.matrix_world), X_body)
        if k.shape in ("HULL", *kinds.MESH_USE):
            return mark, {**shapes.solid(k.shape, moved, turned, name, self.assets)}
        return mark, shapes.primitive(k.shape, k.shape_axis, moved, owner.name, fixed, self.notes)

    def with_folder(self, entry: dict, owner) -> dict:
        """Names of files as this scene has them; files that came with an import go along."""
        kept = shapes.kept_files(owner.data) if owner.karakuri.source else {}

        def placed(shape: dict) -> dict:
            shape = dict(shape)
            for key in ("hull", "mesh", "heightfield"):
                inner = shape.get(key)
                if isinstance(inner, dict) and "file" in inner:
                    file = str(inner["file"]).rsplit("/", 1)[-1]
                    if file in kept:
                        self.assets[file] = kept[file]
                    shape[key] = {**inner, "file": f"{self.folder}/{file}"}
            if "compound" in shape:
                shape["compound"] = [placed(part) for part in shape["compound"]]
            return shape

        return placed(entry)

    # ---- what is seen

    def visuals_of(self, body, X_body, name: str) -> list:
        out = []
        for owner in sorted(self.below(body, "VISUAL"), key=lambda o: (o.karakuri.order, o.name_full)):
            data = shapes.evaluated(owner, self.depsgraph)
            if data is None or len(data[1]) == 0:
                continue
            points, triangles = shapes.in_frame(*data, frames.matrix(owner.matrix_world), X_body)
            file = shapes.assets_name(self.assets, f"{name}_visual")
            self.assets[file] = meshes.to_obj(points, triangles).encode()
            out.append({"mesh": {"file": f"{self.folder}/{file}", "use": "surface"}, **color_keys(owner)})
        return out

    # ---- the rest

    def settings_groups(self) -> dict:
        k = self.k
        given = {"dt": frames.number(k.dt), "substeps": k.substeps, "solver": k.solver, "contact": k.contact,
                 "integrator": k.integrator}
        default = {"dt": 0.001, "substeps": 1, "solver": "default", "contact": "cone", "integrator": "semi-implicit"}
        return {"settings": Group(given, {key: v for key, v in given.items() if v != default[key]})}

    def ground(self) -> dict:
        k = self.k
        if not k.use_ground:
            return {}
        keys = {"height": frames.number(k.ground_height)} if k.ground_height else {}
        mark = ["ground", frames.number(k.ground_friction), frames.number(k.ground_friction),
                frames.number(k.ground_restitution), 0.0, 0.0]
        if mark[1:] != [0.5, 0.5, 0.0, 0.0, 0.0]:
            keys["material"] = self.materials.name_for(mark)
        return {"ground": keys or True}

    def controllers(self, listed: list) -> list:
        return joint_entries.controllers(listed, [(self.joint_names[o], o.karakuri.joint) for o in self.carrier.values()])

    def renamings(self) -> tuple:
        """Of what was imported: the file's names to those of now."""
        links, joints = {}, {}
        for owner, name in (*self.names.items(), *self.joint_names.items()):
            k = owner.karakuri
            if not k.source:
                continue
            before = json.loads(k.seen or "{}").get("name", {}).get("name")
            if before:
                (links if k.role == "BODY" else joints)[before] = name
        known = json.loads(self.k.names_without_rules or "{}")  # all that imports brought
        for before in known.get("links", []):
            links.setdefault(before, None)
        for before in known.get("joints", []):
            joints.setdefault(before, None)
        for body in self.bodies:  # joints without an empty of their own have their names from the file
            entry = json.loads(body.karakuri.source or "{}").get("joint")
            if isinstance(entry, dict) and "name" in entry:
                joints[entry["name"]] = entry["name"]
            elif body.karakuri.source and body not in self.carrier:
                joints[json.loads(body.karakuri.seen or "{}").get("name", {}).get("name")] = self.names[body]
        return links, joints

    def run(self) -> Description:
        self.sort_joints()
        self.placed_anew: set = set()  # joints whose position in the file's `initial` is no longer meant
        self.groups_of_body: dict = {}
        self.groups_of_joint: dict = {}
        self.groups_of_shape: dict = {}
        try:
            more = surroundings.read(self.scene)
        except ValueError as error:
            self.problems.append(str(error))
            more = {}
        if self.problems:
            raise ModelError(self.problems)
        more = surroundings.renamed(more, *self.renamings(), self.notes)
        self.problems += surroundings.add_files(more, self.folder, self.assets)
        self.materials = surfaces.Materials(more.pop("materials", []))
        content = self.assemble(more)
        if self.problems:
            raise ModelError(self.problems)
        if abs(self.scene.unit_settings.scale_length - 1) > 1e-6:
            self.notes.append(f"the scene's unit scale is {self.scene.unit_settings.scale_length:g}: it changes what Blender shows, and "
                              "not what is simulated, where one unit is 1 m")
        parts = [Part(b.karakuri.uid, b.name, self.names[b], self.frame[b]) for b in self.bodies]
        joints = [Part(j.karakuri.uid, j.name, self.joint_names[j], self.frame[j]) for j in self.joint_objects]
        assets = {f"{self.folder}/{file}": data for file, data in self.assets.items()}
        return Description(content, assets, parts, joints, self.notes, self.geometry)

    def run_for_marks(self, owners) -> None:
        """After an import: what these objects are now is what their files said."""
        self.run()
        groups = {**self.groups_of_body, **self.groups_of_joint, **self.groups_of_shape}
        for owner in owners:
            if owner in groups and owner.karakuri.source:
                owner.karakuri.seen = source.marks(groups[owner])
        self.k.seen_settings = source.marks(self.settings_groups()) if self.k.source_settings else ""

    def assemble(self, more: dict) -> dict:
        content = {"name": self.scene.name}
        if self.scene.use_gravity:
            content["gravity"] = frames.numbers(self.scene.gravity)
        else:
            content["gravity"] = [0.0, 0.0, 0.0]
        settings = source.merge(self.k.source_settings, self.k.seen_settings, self.settings_groups())
        if settings:
            content["settings"] = settings
        bodies = [self.body_entry(body) for body in self.bodies]
        world = {"shapes": self.shapes_of(None, frames.IDENTITY, None, True, "world")}
        if self.visuals:
            world["visuals"] = self.visuals_of(None, frames.IDENTITY, "world")
        listed = sorted((j for j in self.carrier.values() if j.karakuri.home == "joints"), key=lambda j: j.karakuri.order)
        joints = []
        for joint in listed:
            above = self.frame[joint.karakuri.joint.parent] if joint.karakuri.joint.parent else frames.IDENTITY
            mark = frames.pose_list(frames.inverse(above) @ self.frame[joint])
            joints.append(self.tree_joint(joint, joint.karakuri.joint.child, above, mark))
        loops = [self.loop_entry(joint) for joint in self.loops]
        ground = self.ground()
        kinematic = [self.names[b] for b in self.bodies if b.karakuri.motion == "KINEMATIC"]
        content.update({key: value for key, value in (
            ("materials", self.materials.section()), ("pairs", more.pop("pairs", None)), *ground.items(),
            ("world", {key: value for key, value in world.items() if value}), ("bodies", bodies), ("joints", joints),
            ("loops", loops), ("kinematic", more.pop("kinematic", []) + kinematic),
            ("controllers", self.controllers(more.pop("controllers", [])))) if value})
        content.update(more)
        self.forget_initial(content)
        return content

    def forget_initial(self, content: dict) -> None:
        entries = [{key: value for key, value in entry.items() if key != "q" or entry["joint"] not in self.placed_anew}
                   for entry in content.pop("initial", [])]
        entries = [entry for entry in entries if len(entry) > 1]
        if entries:
            content["initial"] = entries


def inertia_keys(k) -> dict:
    if k.mass_from == "DENSITY":
        return {"density": frames.number(k.density)} if k.density != 1000 else {}
    mass = frames.number(k.mass)
    if k.mass_from == "MASS":
        return {"mass": mass}
    scaled = [[float(f"{mass * frames.number(x):.9g}") for x in values] for values in (k.moments, k.products)]
    return {"inertia": {"mass": mass, "com": frames.numbers(k.com), "moments": scaled[0], "products": scaled[1]}}


def velocity_keys(k) -> dict:
    keys = {}
    if any(k.velocity):
        keys["velocity"] = frames.numbers(k.velocity)
    if any(k.angular_velocity):
        keys["angular_velocity"] = frames.numbers(k.angular_velocity)
    return keys


def color_keys(owner) -> dict:
    slot = owner.material_slots[0].material if owner.material_slots else None
    color = slot.diffuse_color if slot is not None else None
    return {"color": [float(f"{c:.4g}") for c in color[:3]]} if color is not None else {}


def describe(scene, stem: str = "scene", frozen: dict | None = None, visuals: bool = False) -> Description:
    """The scene of Blender as one of karakuri. Raises ModelError with all that is wrong.

    stem: of the folder with meshes, STEM.assets. frozen: the geometry of an earlier description, for values that change
    while objects are elsewhere. visuals: also what is only seen.
    """
    return Describer(scene, stem, frozen, visuals).run()
