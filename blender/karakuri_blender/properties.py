"""What the user sets, and what is saved with the .blend: properties of objects and of scenes.

0 stands for "no limit" where a limit of zero would make no sense (efforts, velocities). Numbers reach a running world at
once: each change marks its scene, and the next picture gives the new values to the engine (live.py).
"""
from __future__ import annotations

import bpy
from bpy.props import (BoolProperty, CollectionProperty, EnumProperty, FloatProperty, FloatVectorProperty, IntProperty,
                       PointerProperty, StringProperty)

from . import kinds, presets

touched = set()  # names of scenes whose values have changed since the engine saw them


def touch(owner, _context=None) -> None:
    """Something of an object or a scene has changed."""
    data = owner.id_data
    if isinstance(data, bpy.types.Scene):
        touched.add(data.name)
    else:
        touched.update(scene.name for scene in data.users_scene)


def _number(name, hint="", default=0.0, low=None, unit="NONE", subtype="NONE", **more):
    limits = {} if low is None else {"min": low}
    return FloatProperty(name=name, description=hint, default=default, update=touch, precision=4, step=10,
                         unit=unit, subtype=subtype, **limits, **more)


def _angle_of(field, name, hint=""):
    """The same number shown in degrees."""
    def read(self):
        return getattr(self, field)

    def write(self, value):
        setattr(self, field, value)

    return FloatProperty(name=name, description=hint, subtype="ANGLE", unit="ROTATION", get=read, set=write)


class KarakuriDof(bpy.types.PropertyGroup):
    """One degree of freedom of a joint."""

    use_limits: BoolProperty(name="Limits", description="Ends of the motion", update=touch)
    lower: _number("Lower", "Lowest position [rad or m]")
    upper: _number("Upper", "Highest position [rad or m]")
    lower_angle: _angle_of("lower", "Lower", "Lowest position")
    upper_angle: _angle_of("upper", "Upper", "Highest position")
    limit_stiffness: _number("Softness K", "Stiffness of the limits; 0: rigid", low=0)
    limit_damping: _number("Softness D", "Damping of soft limits", low=0)
    stiffness: _number("Spring", "Effort per displacement from its rest [N m/rad or N/m]", low=0)
    rest: _number("Rest", "Where the spring is at ease [rad or m]")
    rest_angle: _angle_of("rest", "Rest", "Where the spring is at ease")
    damping: _number("Damper", "Effort per rate [N m s/rad or N s/m]", low=0)
    dry_friction: _number("Dry friction", "Largest effort of Coulomb friction [N m or N]", low=0)
    armature: _number("Armature", "Inertia of the rotor [kg m^2 or kg]", low=0)
    effort_limit: _number("Effort limit", "Of a motor [N m or N]; 0: none", low=0)
    velocity_limit: _number("Velocity limit", "Of a motor [rad/s or m/s]; 0: none", low=0)
    use_drive: BoolProperty(name="Drive", description="An implicit PD drive: stable however stiff", update=touch)
    drive_stiffness: _number("Stiffness", "Effort per distance from the target [N m/rad or N/m]", 100.0, 0)
    drive_damping: _number("Damping", "Effort per rate [N m s/rad or N s/m]", 10.0, 0)
    target: _number("Target", "Position to go to [rad or m]")
    target_angle: _angle_of("target", "Target", "Position to go to")
    target_velocity: _number("Velocity", "Velocity to keep [rad/s or m/s]")
    drive_limit: _number("Limit", "Largest effort of the drive [N m or N]; 0: none", low=0)


class KarakuriRule(bpy.types.PropertyGroup):
    """A text block with a function step(world, dt)."""

    text: PointerProperty(type=bpy.types.Text, name="Rule", description="A text with a function step(world, dt)")
    enabled: BoolProperty(name="Run", default=True, description="Whether it runs")


class KarakuriValue(bpy.types.PropertyGroup):
    """The name of a numeric property of the user's; the number itself is a custom property of the same owner."""

    # `name` is there already


def _resize_dofs(joint, _context=None) -> None:
    count = len(kinds.JOINTS[joint.kind].dofs)
    while len(joint.dofs) < count:
        joint.dofs.add()
    while len(joint.dofs) > count:
        joint.dofs.remove(len(joint.dofs) - 1)
    touch(joint)


def _is_body(_self, candidate) -> bool:
    return candidate.karakuri.role == "BODY"


class KarakuriJoint(bpy.types.PropertyGroup):
    kind: EnumProperty(name="Kind", items=kinds.items(kinds.JOINTS), default="REVOLUTE", update=_resize_dofs)
    parent: PointerProperty(type=bpy.types.Object, name="Parent", poll=_is_body, update=touch,
                            description="The body it hangs on; none: the world")
    child: PointerProperty(type=bpy.types.Object, name="Child", poll=_is_body, update=touch,
                           description="The body that it carries")
    closes_loop: BoolProperty(name="Closes a loop", update=touch,
                              description="Never part of the tree. Joints that would make a ring close it by themselves")
    axis: FloatVectorProperty(name="Axis", default=(0, 0, 1), subtype="XYZ", update=touch,
                              description="In the frame of the empty")
    second_axis: FloatVectorProperty(name="Second axis", default=(1, 0, 0), subtype="XYZ", update=touch)
    pitch: _number("Pitch", "Advance per angle [m/rad]")
    q: _number("Position now", "The position of the joint in the pose that is modelled [rad or m]")
    q_angle: _angle_of("q", "Position now", "The position of the joint in the pose that is modelled")
    dofs: CollectionProperty(type=KarakuriDof)
    break_force: _number("Breaks at", "Force at which it parts [N]; 0: never", low=0)
    break_torque: _number("Breaks at", "Torque at which it parts [N m]; 0: never", low=0)
    # loops that give way
    is_soft: BoolProperty(name="Gives way", description="Springs and dampers in place of what it holds", update=touch)
    closing_stiffness: _number("Stiffness", "Along what it holds [N/m]", 1000.0, 0)
    closing_damping: _number("Damping", "The same per rate [N s/m]", 10.0, 0)
    turn_stiffness: _number("Turn stiffness", "For turns that it holds [N m/rad]; 0: rigid", 0.0, 0)
    turn_damping: _number("Turn damping", "The same per rate [N m s/rad]", 0.0, 0)
    distance: _number("Length", "Of a distance or spring [m]; 0: that at the start", low=0, unit="LENGTH")
    use_range: BoolProperty(name="Rope", description="Bounds the distance in place of holding it", update=touch)
    shortest: _number("Shortest", "[m]", low=0, unit="LENGTH")
    longest: _number("Longest", "[m]", 1.0, 0, unit="LENGTH")
    at_child: PointerProperty(type=bpy.types.Object, name="End", update=touch,
                              description="Of a distance: the object at whose origin it ends; none: the child's origin")


def _role_changed(self, context) -> None:
    from . import naming

    owner = self.id_data
    if self.role != "NONE":
        naming.give_order(owner)
    if self.role == "JOINT":
        _resize_dofs(self.joint)
    touch(self)


ROLES = [
    ("NONE", "None", "No part of the simulation"),
    ("BODY", "Body", "A rigid body"),
    ("SHAPE", "Shape", "A collision shape of the body that it hangs on; of the world where there is none"),
    ("VISUAL", "Visual", "What is seen of the body that it hangs on"),
    ("JOINT", "Joint", "A joint, loop, spring or rope between two bodies"),
]
MOTIONS = [
    ("DYNAMIC", "Dynamic", "Moved by forces; free where no joint carries it"),
    ("FIXED", "Fixed", "Does not move"),
    ("KINEMATIC", "Kinematic", "Moves with its velocity, whatever pushes it"),
]
MASSES = [
    ("DENSITY", "Density", "From its shapes"),
    ("MASS", "Mass", "Distributed as in its shapes"),
    ("INERTIA", "Inertia", "Mass, centre and moments outright"),
]


class KarakuriObject(bpy.types.PropertyGroup):
    role: EnumProperty(name="Role", items=ROLES, update=_role_changed)
    order: IntProperty(description="Its place among the others, given when it became a part")
    uid: StringProperty(description="What it is known by while names change")
    title: StringProperty(name="Name", description="In scene files; empty: the object's name")

    # bodies
    motion: EnumProperty(name="Motion", items=MOTIONS, update=touch)
    mass_from: EnumProperty(name="Mass from", items=MASSES, default="DENSITY", update=touch)
    mass: _number("Mass", "[kg]", 1.0, 0, unit="MASS")
    density: _number("Density", "[kg/m^3]", 1000.0, 0)
    com: FloatVectorProperty(name="Centre of mass", subtype="TRANSLATION", update=touch, precision=5)
    moments: FloatVectorProperty(name="Moments / mass", default=(0.1, 0.1, 0.1), update=touch, precision=6,
                                 description="Ixx, Iyy, Izz about the centre of mass, per kg [m^2]")
    products: FloatVectorProperty(name="Products / mass", update=touch, precision=6,
                                  description="Ixy, Ixz, Iyz per kg [m^2]")
    velocity: FloatVectorProperty(name="Velocity", subtype="VELOCITY", update=touch,
                                  description="At the start, of a free body [m/s]")
    angular_velocity: FloatVectorProperty(name="Turning", update=touch,
                                          description="Angular velocity at the start, of a free body [rad/s]")
    # surfaces, of bodies and shapes
    own_material: BoolProperty(name="Own material", default=False, update=touch,
                               description="Of a shape: another material than its body's")
    preset: EnumProperty(name="Material", items=presets.items, update=presets.chosen, description="Fills in the numbers")
    material: StringProperty(name="Name", update=touch, description="What the material is called in scene files")
    friction: _number("Friction", "Coulomb's coefficient at rest", 0.5, 0)
    kinetic_friction: _number("Sliding", "The coefficient when sliding, at most that at rest", 0.5, 0)
    restitution: _number("Restitution", "Share of the speed that a bounce returns", 0.0, 0, max=1.0)
    rolling_friction: _number("Rolling", "Moment across the normal per normal force [m]", 0.0, 0)
    torsional_friction: _number("Torsional", "Moment about the normal per normal force [m]", 0.0, 0)
    # shapes
    shape: EnumProperty(name="Shape", items=kinds.items(kinds.SHAPES), default="HULL", update=touch)
    shape_axis: EnumProperty(name="Axis", items=[(a, a, "") for a in "XYZ"], default="Z", update=touch)
    own_density: BoolProperty(name="Own density", update=touch)
    shape_density: _number("Density", "Of this shape [kg/m^3]", 1000.0, 0)
    group: IntProperty(name="Group", update=touch,
                       description="Two of one group always touch (positive) or never (negative); 0: no group")

    joint: PointerProperty(type=KarakuriJoint)
    rules: CollectionProperty(type=KarakuriRule)
    values: CollectionProperty(type=KarakuriValue)

    # what a file said, in full precision, and what Blender made of it then: where nothing has changed since, the file's
    # own words are used (source.py)
    source: StringProperty()
    seen: StringProperty()
    home: StringProperty()  # where a joint stands in scene files: "" with its body, "joints", "loops"

    # where it was before a run moved it (rest.py)
    rest_saved: BoolProperty()
    rest: FloatVectorProperty(size=10)
    rest_rotation: FloatVectorProperty(size=11)
    baked: PointerProperty(type=bpy.types.Action)
    action_before: PointerProperty(type=bpy.types.Action)


SOLVERS = ["default", "block", "newton", "pgs", "pgs-isotropic", "springhead", "dantzig", "lemke", "quickstep"]
CONTACTS = ["cone", "pyramid", "penalty", "none"]
INTEGRATORS = ["semi-implicit", "symplectic", "rk4", "explicit"]


def _words(words):
    return [(word, word, "") for word in words]


class KarakuriScene(bpy.types.PropertyGroup):
    dt: _number("Time step", "[s]", 0.001, 1e-6, unit="TIME")
    substeps: IntProperty(name="Substeps", default=1, min=1, max=1000, update=touch)
    solver: EnumProperty(name="Solver", items=_words(SOLVERS), update=touch)
    contact: EnumProperty(name="Contact", items=_words(CONTACTS), update=touch)
    integrator: EnumProperty(name="Integrator", items=_words(INTEGRATORS), update=touch)
    use_ground: BoolProperty(name="Ground", default=True, description="A floor without end", update=touch)
    ground_height: _number("Height", "Of the floor", unit="LENGTH")
    ground_friction: _number("Friction", "Of the floor", 0.5, 0)
    ground_restitution: _number("Restitution", "Of the floor", 0.0, 0, max=1.0)
    rest_of_scene: PointerProperty(type=bpy.types.Text, name="More",
                                   description="JSON with the sections of the scene that have no panels: sensors, actuators...")
    speed: _number("Speed", "Of the run, as a share of real time", 1.0, 0.01)
    steps_at_once: IntProperty(name="Steps", default=1, min=1, description="Of the button that steps")
    rules: CollectionProperty(type=KarakuriRule)
    values: CollectionProperty(type=KarakuriValue)
    names_without_rules: StringProperty()

    show_overlays: BoolProperty(name="Overlays", default=True)
    show_contacts: BoolProperty(name="Contact forces", default=True)
    show_joints: BoolProperty(name="Joint axes and limits", default=True)
    show_com: BoolProperty(name="Centre of mass", default=True)
    show_rules: BoolProperty(name="Shapes of rules", default=True)
    force_scale: _number("Force", "Length of the arrow of a force as heavy as the whole scene [m]", 0.5, 0.0)
    drag_bodies: BoolProperty(name="Drag bodies", default=True, description="The left mouse button pulls at bodies while it runs")
    use_cache: BoolProperty(name="Show the cache", default=True, description="Objects follow the frames that were kept")
    bake_start: IntProperty(name="Start", default=1)
    bake_end: IntProperty(name="End", default=250)
    seen_settings: StringProperty()  # as with objects
    source_settings: StringProperty()


CLASSES = [KarakuriDof, KarakuriRule, KarakuriValue, KarakuriJoint, KarakuriObject, KarakuriScene]


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Object.karakuri = PointerProperty(type=KarakuriObject)
    bpy.types.Scene.karakuri = PointerProperty(type=KarakuriScene)


def unregister() -> None:
    del bpy.types.Object.karakuri
    del bpy.types.Scene.karakuri
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
