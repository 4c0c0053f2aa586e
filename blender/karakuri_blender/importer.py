"""Scenes and robots of files as objects: bodies as empties with their shapes and pictures below them, joints as empties.

Whatever the format, the engine reads it, and writes it as a native scene in full precision; that is what is shown here.
"""
from __future__ import annotations

import hashlib
import json
import os
import tempfile

import bpy
import numpy as np
from mathutils import Matrix

from . import compat, describe, frames, joints, kinds, meshes, module, naming, rules, shapes, source, surfaces, surroundings

GEOMETRY_KIND = {"box": "BOX", "sphere": "SPHERE", "capsule": "CAPSULE", "cylinder": "CYLINDER", "cone": "CONE",
                 "ellipsoid": "ELLIPSOID", "hull": "HULL"}
USE_KIND = {use: kind for kind, use in kinds.MESH_USE.items()}


class Importer:
    def __init__(self, scene, path: str, base: str, package_paths=(), keyframe: str = "") -> None:
        self.karakuri = module.need()
        self.scene = scene
        self.path = path
        self.world = self.karakuri.World.load(path, base=base, package_paths=list(package_paths), keyframe=keyframe,
                                              behaviours=False)
        self.folder = tempfile.mkdtemp(prefix="karakuri-import-")
        native = os.path.join(self.folder, "scene.scene.yaml")
        self.world.save_scene(native)
        self.content = self.karakuri.Scene.read(native).content
        self.name = self.world.name or os.path.splitext(os.path.basename(path))[0]
        self.was_empty = not any(o.karakuri.role != "NONE" for o in scene.objects)
        self.colors: dict = {}
        self.bodies: dict = {}  # name in the file: object
        self.made: list = []
        self.notes: list = []

    # ---- names and assets

    def prefix_names(self) -> None:
        """Where the scene has one of the names already, all that come get the robot's before them."""
        here = {o.karakuri.title or o.name for o in self.scene.objects if o.karakuri.role != "NONE"}
        bodies = [entry["name"] for entry in self.content.get("bodies", [])]
        names = [str(n) for n in bodies]
        loop_names = [str(e.get("name", "")) for key in ("joints", "loops") for e in self.content.get(key, [])]
        nested = [str(e["joint"]["name"]) for e in self.content.get("bodies", [])
                  if isinstance(e.get("joint"), dict) and "name" in e["joint"]]
        if not here & {*names, *loop_names, *nested}:
            self.prefix = ""
            return
        number = 2
        while any(name.startswith(f"{self.name}{number}/") for name in here):
            number += 1
        self.prefix = f"{self.name}{number}/"
        for entry in self.content.get("bodies", []):
            entry["name"] = self.prefix + str(entry["name"])
            if "parent" in entry:
                entry["parent"] = self.prefix + str(entry["parent"])
            if isinstance(entry.get("joint"), dict) and "name" in entry["joint"]:
                entry["joint"]["name"] = self.prefix + str(entry["joint"]["name"])
        for key in ("joints", "loops"):
            for entry in self.content.get(key, []):
                for which in ("name", "parent", "child"):
                    if which in entry and entry[which] != "world":
                        entry[which] = self.prefix + str(entry[which])
        links = {name: self.prefix + name for name in names}
        all_joints = {name: self.prefix + name for name in (*names, *loop_names, *nested)}
        own = {key: self.content[key] for key in surroundings.OWN if key in self.content}
        more = {key: value for key, value in self.content.items() if key not in own}
        self.content = {**own, **surroundings.renamed(more, links, all_joints, [])}

    def as_text(self) -> None:
        """Names that look like numbers are names all the same."""
        for entry in self.content.get("bodies", []):
            for key in ("name", "parent"):
                if key in entry:
                    entry[key] = str(entry[key])

    def asset(self, file: str) -> tuple:
        """(name that no other file has, content)."""
        with open(os.path.join(self.folder, file), "rb") as opened:
            content = opened.read()
        stem, ending = os.path.splitext(os.path.basename(file))
        return f"{stem}-{hashlib.md5(content).hexdigest()[:8]}{ending}", content

    # ---- shapes

    def geometry(self, entry: dict, keep: dict):
        """(kind of shape, points, faces) of an entry, whose files are put into keep."""
        kind = next(key for key in source.GEOMETRY if key in entry)
        value = entry[kind]
        if kind == "box":
            return "BOX", *meshes.box(value)
        if kind == "sphere":
            return "SPHERE", *meshes.ellipsoid(value, value, value)
        if kind == "ellipsoid":
            return "ELLIPSOID", *meshes.ellipsoid(*value)
        if kind == "capsule":
            return "CAPSULE", *meshes.capsule(value["radius"], value["length"])
        if kind == "cylinder":
            return "CYLINDER", *meshes.cylinder(value["radius"], value["length"])
        if kind == "cone":
            return "CONE", *meshes.cone(value["radius"], value["height"])
        if kind == "plane":
            return "KEPT", *meshes.plane()
        if kind == "heightfield":
            return "KEPT", *meshes.heightfield(value, self.heights(value, keep))
        if kind == "compound":
            return "KEPT", *meshes.joined(self.compound_part(part, keep) for part in value)
        if "points" in value:
            return "HULL", *self.hull_of(value["points"])
        points, faces, _ = self.from_file(value, keep)
        if kind == "hull":
            return "HULL", points, faces
        return USE_KIND.get(value.get("use", "hull"), "HULL"), points, faces

    def from_file(self, value: dict, keep: dict):
        name, content = self.asset(value["file"])
        keep[name] = content
        value["file"] = name
        points, faces, materials = meshes.from_obj(content.decode())
        return points, faces, materials

    def heights(self, value: dict, keep: dict):
        if "heights" in value:
            return value["heights"]
        name, content = self.asset(value["file"])
        keep[name], value["file"] = content, name
        return [float(word) for word in content.decode().replace(",", " ").split()]

    def compound_part(self, part: dict, keep: dict):
        _, points, faces = self.geometry(part, keep)
        X = frames.from_keys(part)
        return [tuple(X[:3, :3] @ np.array(p) + X[:3, 3]) for p in points], faces

    @staticmethod
    def hull_of(points):
        """The faces of the hull of a few points, by Blender's own means."""
        import bmesh

        shown = bmesh.new()
        vertices = [shown.verts.new(p) for p in points]
        shown.verts.ensure_lookup_table()
        try:
            bmesh.ops.convex_hull(shown, input=vertices)
        except RuntimeError:
            pass
        index = {v: i for i, v in enumerate(vertices)}
        faces = [tuple(index[v] for v in face.verts) for face in shown.faces if all(v in index for v in face.verts)]
        shown.free()
        return points, faces

    def shape(self, entry: dict, name: str, parent, collection):
        keep: dict = {}
        kind, points, faces = self.geometry(entry, keep)
        mesh = meshes.new(name, points, faces)
        for file, content in keep.items():
            shapes.keep_file(mesh, file, content)
        owner = self.below(name, mesh, entry, parent, collection)
        k = owner.karakuri
        k.role = "SHAPE"
        k.shape = kind
        k.own_material = True
        surfaces.fill(k, self.materials.get(entry.get("material"), {}))
        k.group = int(entry.get("group", 0))
        if "density" in entry:
            k.own_density, k.shape_density = True, entry["density"]
        k.source = json.dumps(entry)
        if entry.get("visible", True):
            self.paint(owner, entry.get("color"))
        else:
            owner.display_type = "WIRE"
            owner.hide_render = True
        return owner

    def visual(self, entry: dict, name: str, parent, collection):
        kind = next(key for key in source.GEOMETRY if key in entry)
        materials: list = []
        if kind in ("mesh", "hull") and "file" in entry[kind]:
            points, faces, materials = self.from_file(entry[kind], {})
        else:
            _, points, faces = self.geometry(entry, {})
        mesh = meshes.new(name, points, faces)
        compat.smooth(mesh, kind not in ("box",) and len(faces) > 200)
        owner = self.below(name, mesh, entry, parent, collection)
        owner.karakuri.role = "VISUAL"
        self.paint(owner, entry.get("color") or self.color_of_mesh(entry.get(kind), materials))
        if not entry.get("shown", True):
            owner.hide_set(True) if owner.name in bpy.context.view_layer.objects else None
            owner.hide_render = True
        return owner

    def color_of_mesh(self, value, materials: list):
        """The first colour of the MTL beside an OBJ."""
        if not materials or not isinstance(value, dict) or not materials[0]:
            return None
        for root, _, files in os.walk(self.folder):
            for file in files:
                if file.endswith(".mtl"):
                    with open(os.path.join(root, file), encoding="utf-8") as opened:
                        found = meshes.colors_of(opened.read()).get(materials[0])
                    if found:
                        return found
        return None

    def below(self, name: str, data, entry: dict, parent, collection):
        owner = naming.new_object(name, data, collection)
        owner.parent = parent
        owner.matrix_basis = Matrix(frames.from_keys(entry).tolist())
        self.made.append(owner)
        return owner

    def paint(self, owner, color) -> None:
        if color is None:
            return
        rgba = tuple(round(float(c), 4) for c in (list(color) + [1.0])[:4])
        if rgba not in self.colors:
            self.colors[rgba] = bpy.data.materials.new(f"{self.name} {len(self.colors) + 1}")
            compat.base_color(self.colors[rgba], rgba)
        if owner.data is not None and hasattr(owner.data, "materials"):
            owner.data.materials.append(self.colors[rgba])

    # ---- bodies

    def body(self, entry: dict):
        """An empty in the pose that the engine gives, with shapes and visuals below it."""
        name = entry["name"]
        original = name[len(self.prefix):] if self.prefix else name
        pose = np.array(self.world.link(original).pose)
        owner = naming.new_object(name, None, self.collection)
        owner.empty_display_type, owner.empty_display_size = "ARROWS", self.size
        owner.matrix_world = Matrix(pose.tolist())
        k = owner.karakuri
        k.role = "BODY"
        k.title = name if owner.name != name else ""
        k.shape = "NONE"
        kind = self.kind_of(entry.get("joint"), "parent" in entry)
        k.motion = "KINEMATIC" if name in self.content.get("kinematic", []) else "DYNAMIC"
        if kind == "fixed" and "parent" not in entry:
            k.motion = "FIXED"
        self.read_inertia(k, entry)
        k.velocity = entry.get("velocity", (0, 0, 0))
        k.angular_velocity = entry.get("angular_velocity", (0, 0, 0))
        self.bodies[name] = owner
        self.made.append(owner)
        for i, shape in enumerate(entry.get("shapes", [])):
            self.shape(shape, f"{name} shape{f' {i + 1}' if i else ''}", owner, self.collision)
        for i, visual in enumerate(entry.get("visuals", [])):
            self.visual(visual, f"{name} visual{f' {i + 1}' if i else ''}", owner, self.collection)
        k.source = json.dumps({key: value for key, value in entry.items() if key not in ("shapes", "visuals")})
        return owner

    @staticmethod
    def kind_of(joint, has_parent: bool) -> str:
        if joint is None:
            return "fixed" if has_parent else "free"
        return joint if isinstance(joint, str) else joint.get("kind", "revolute")

    @staticmethod
    def read_inertia(k, entry: dict) -> None:
        inertia = entry.get("inertia")
        if inertia is None:
            k.mass_from = "MASS" if "mass" in entry else "DENSITY"
            k.mass = entry.get("mass", 1.0)
            k.density = entry.get("density", 1000.0)
            return
        k.mass_from = "INERTIA"
        mass = inertia["mass"]
        k.mass = mass
        k.com = inertia.get("com", (0, 0, 0))
        moments, products = inertia.get("moments", (0, 0, 0)), inertia.get("products", (0, 0, 0))
        if "full" in inertia:
            I = np.reshape(inertia["full"], (3, 3))
            moments, products = np.diag(I), (I[0, 1], I[0, 2], I[1, 2])
        if mass > 0:
            k.moments, k.products = [x / mass for x in moments], [x / mass for x in products]

    # ---- joints

    def joint(self, entry, child, parent, home: str):
        """An empty at frame F, or nothing for a body that is free in the world."""
        name = child.karakuri.title or child.name if child is not None else "loop"
        name = entry.get("name", name) if isinstance(entry, dict) else name
        kind = kinds.JOINT_OF_WORD[self.kind_of(entry, parent is not None)]
        if home == "" and parent is None and kind in ("FREE", "FIXED"):
            return None
        keys = entry if isinstance(entry, dict) else {}
        X_child = frames.frame_of(child.matrix_world) if child is not None else frames.IDENTITY
        F = self.frame_of_joint(keys, kind, child, parent, X_child, home)
        owner = self.joint_empty(name, F, parent)
        k = owner.karakuri
        k.role = "JOINT"
        k.home = home
        joints.read(k.joint, keys, kind)
        k.joint.parent, k.joint.child = parent, child
        k.joint.closes_loop = home == "loops"
        if home == "loops" and kind == "DISTANCE":
            self.loop_end(owner, keys, child)
        elif home != "loops" and kind != "FIXED":
            self.read_position(owner, name, keys, kind, F, X_child, child)
        k.source = json.dumps(entry)
        self.made.append(owner)
        return owner

    def frame_of_joint(self, keys: dict, kind: str, child, parent, X_child, home: str) -> np.ndarray:
        """Frame F in the world."""
        X_parent = frames.frame_of(parent.matrix_world) if parent is not None else frames.IDENTITY
        if kind == "FIXED" and home != "loops":
            return X_child
        if "in_parent" in keys:
            return X_parent @ frames.from_keys(keys["in_parent"])
        body = json.loads(child.karakuri.source)
        return X_parent @ frames.from_keys(body) @ self.in_child(keys, kind, child)

    def joint_empty(self, name: str, F, parent):
        """An empty that moves with the parent."""
        owner = naming.new_object(name, None, self.joints)
        owner.empty_display_type, owner.empty_display_size = "SINGLE_ARROW", 1.5 * self.size
        owner.parent = parent
        if parent is not None:
            owner.matrix_parent_inverse = parent.matrix_world.inverted()
        owner.matrix_world = Matrix(F.tolist())
        owner.karakuri.title = name if owner.name != name else ""
        return owner

    def loop_end(self, owner, keys: dict, child) -> None:
        if "in_child" not in keys:
            return
        end = naming.new_object(owner.name + " end", None, self.joints)
        end.empty_display_size = 0.5 * self.size
        end.parent = child
        end.matrix_basis = Matrix(frames.from_keys(keys["in_child"]).tolist())
        owner.karakuri.joint.at_child = end

    def in_child(self, keys: dict, kind: str, child) -> np.ndarray:
        if "in_child" in keys:
            return frames.from_keys(keys["in_child"])
        if kind == "FREE":  # M is the centre of mass where nothing is said
            return frames.rigid(json.loads(child.karakuri.source).get("inertia", {}).get("com", (0, 0, 0)))
        return frames.IDENTITY

    def read_position(self, owner, name: str, keys: dict, kind: str, F, X_child, child) -> None:
        """Where the joint is in the pose that is shown."""
        original = name[len(self.prefix):] if self.prefix else name
        q = np.array(self.world.joint(original).q, dtype=float)
        j = owner.karakuri.joint
        if kind in joints.SINGLE:
            j.q = q[0]
        moved = frames.inverse(F) @ X_child @ self.in_child(keys, kind, child)
        if not np.allclose(moved, np.eye(4), atol=1e-9):
            owner["karakuri_offset"] = joints.offset_of(moved, j.q)

    # ---- all of it

    def settings(self) -> None:
        """Those of the file, where the scene had nothing of its own yet."""
        k = self.scene.karakuri
        if not self.was_empty:
            return
        given = self.content.get("settings", {})
        k.dt = given.get("dt", 0.001)
        k.substeps = int(given.get("substeps", 1))
        for key in ("solver", "contact", "integrator"):
            if key in given:
                setattr(k, key, given[key])
        k.source_settings = json.dumps(given)
        k.use_ground = False  # a floor of the file is one of its shapes
        gravity = self.content.get("gravity", [0, 0, -9.81])
        self.scene.use_gravity = True
        self.scene.gravity = gravity

    def keep_sections(self) -> None:
        """What has no objects, and the names that it may mean."""
        own = surroundings.OWN | {"kinematic"}
        more = {key: value for key, value in self.content.items() if key not in own and key != "description"}
        self.take_drives(more.get("controllers", []))
        before = surroundings.read(self.scene)
        for key, value in more.items():
            if isinstance(value, list):
                value = before.get(key, []) + value
            if value:
                before[key] = value
        surroundings.write(self.scene, before)
        k = self.scene.karakuri
        known = json.loads(k.names_without_rules or '{"links": [], "joints": []}')
        known["links"] += list(self.bodies)
        known["joints"] += [o.karakuri.title or o.name for o in self.made if o.karakuri.role == "JOINT"]
        k.names_without_rules = json.dumps(known)

    def take_rules(self) -> None:
        """Behaviours become rules of the scene, which do not run until the user says so: they can do all that the user can."""
        for section in ("ui", "plots", "events"):  # what speaks of behaviours has nothing to speak of
            entries = self.content.pop(section, [])
            self.content[section] = [e for e in entries if "behaviour." not in json.dumps(e)]
        for entry in self.content.pop("behaviours", []):
            file = entry["file"] if os.path.isabs(entry["file"]) else os.path.join(self.folder, entry["file"])
            if not os.path.isfile(file):
                self.notes.append(f"the behaviour {file} is not there")
                continue
            with open(file, encoding="utf-8") as opened:
                text = bpy.data.texts.new(os.path.basename(file))
                text.write(opened.read())
            rule = self.scene.karakuri.rules.add()
            rule.text, rule.enabled = text, False
            self.notes.append(f"the rule '{text.name}' came with the file; read it, and switch it on in the panel")
            for name, value in entry.get("parameters", {}).items():
                if isinstance(value, (int, float)):
                    rules.add_value(self.scene, name, {"default": value})

    def take_drives(self, entries: list) -> None:
        """Controllers of one joint are shown by its panel; the first for each degree of freedom."""
        by_name = {o.karakuri.title or o.name: o for o in self.made if o.karakuri.role == "JOINT"}
        for entry in entries:
            owner = by_name.get(entry.get("joints"))
            dof = int(entry.get("dof", 0))
            plain_keys = {"joints", "dof", "target", "target_velocity", "stiffness", "damping", "limit"}
            if owner is None or not set(entry) <= plain_keys or dof >= len(owner.karakuri.joint.dofs):
                continue
            d = owner.karakuri.joint.dofs[dof]
            numbers = [value for key, value in entry.items() if key != "joints"]
            if d.use_drive or any(isinstance(value, str) for value in numbers):
                continue
            d.use_drive = True
            d.target, d.target_velocity = entry.get("target", 0), entry.get("target_velocity", 0)
            d.drive_stiffness, d.drive_damping = entry.get("stiffness", 0), entry.get("damping", 0)
            d.drive_limit = entry.get("limit", 0)
            entry[joints.IN_PANEL] = True

    def remember(self) -> None:
        """What Blender says of all this now, to see later what was changed."""
        bpy.context.view_layer.update()
        describer = describe.Describer(self.scene, "scene", None, False)
        describer.run_for_marks(self.made)

    def run(self) -> list:
        self.as_text()
        self.prefix_names()
        self.materials = {entry["name"]: entry for entry in self.content.get("materials", [])}
        self.collection = bpy.data.collections.new(self.name)
        self.scene.collection.children.link(self.collection)
        self.collision = bpy.data.collections.new(f"{self.name} collision")
        self.joints = bpy.data.collections.new(f"{self.name} joints")
        for inner in (self.collision, self.joints):
            self.collection.children.link(inner)
        self.size = self.display_size()
        self.settings()
        world = self.content.get("world", {})
        for i, shape in enumerate(world.get("shapes", [])):
            self.shape(shape, f"{self.name} world{f' {i + 1}' if i else ''}", None, self.collection)
        for visual in world.get("visuals", []):
            self.visual(visual, f"{self.name} world visual", None, self.collection)
        for entry in self.content.get("bodies", []):
            self.body(entry)
        bpy.context.view_layer.update()
        self.make_joints()
        surroundings.keep_files(self.content, self.folder)
        self.take_rules()
        self.keep_sections()
        self.remember()
        return self.made

    def make_joints(self) -> None:
        for entry in self.content.get("bodies", []):
            if "joint" in entry or "parent" in entry:
                self.joint(entry.get("joint"), self.bodies[entry["name"]], self.bodies.get(entry.get("parent")), "")
        for key in ("joints", "loops"):
            for entry in self.content.get(key, []):
                parent = self.bodies.get(str(entry.get("parent", "")))
                child = self.bodies.get(str(entry["child"]))
                kind = self.kind_of(entry, True)
                if key == "joints" and child is not None and parent is None and kind == "fixed":
                    child.karakuri.motion = "FIXED"
                self.joint(entry, child, parent, key)

    def display_size(self) -> float:
        """Of empties: a part of the distance between bodies."""
        places = np.array([np.array(link.position) for link in self.world.links[1:]] or [[0, 0, 0]])
        extent = float(np.linalg.norm(places.max(axis=0) - places.min(axis=0)))
        return min(max(0.03 * extent, 0.005), 0.2)


def load(scene, path: str, base: str = "auto", package_paths=(), keyframe: str = "") -> list:
    """Adds what a file describes to a scene. Returns the objects. Raises what the engine says of a file that is wrong."""
    work = Importer(scene, path, base, package_paths, keyframe)
    made = work.run()
    for note in work.notes + list(work.world.notes):
        print(f"karakuri: {note}")
    return made
