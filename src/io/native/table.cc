#include "io/native/table.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "io/native/settings_keys.h"
#include "io/native/walker_keys.h"

namespace karakuri::io {

namespace {

constexpr Key kSurfaceKeys[] = {
    {"friction", kNumber, "0.5", "Coulomb's coefficient, at rest and sliding."},
    {"static_friction", kNumber, "friction", "The coefficient at rest."},
    {"kinetic_friction", kNumber, "friction", "The coefficient when sliding; at most that at rest."},
    Key{"restitution", kNumber, "0", "Share of the approaching speed that a bounce returns."}.from(0).to(1),
    Key{"torsional_friction", kNumber, "0", "Moment about the normal per normal force."}.in("m").from(0),
    Key{"rolling_friction", kNumber, "0", "Moment across the normal per normal force."}.in("m").from(0),
    Key{"stiffness", kNumber, ".inf", "Normal force per depth; .inf is rigid."}
        .in("N/m")
        .above(0)
        .or_infinite(),
    Key{"damping", kNumber, "0", "Normal force per rate of depth, of soft surfaces."}.in("N s/m").from(0),
};

constexpr Key kPoseKeys[] = {
    Key{"at", kNumbers, "[0, 0, 0]", "Position."}.many(3).in("m"),
    Key{"rpy_deg", kNumbers, "[0, 0, 0]", "Turns about the fixed axes x, then y, then z."}.many(3).in("deg"),
    Key{"rpy", kNumbers, "[0, 0, 0]", "The same in radians."}.many(3).in("rad"),
    Key{"quat", kNumbers, "[1, 0, 0, 0]", "Orientation as a quaternion w, x, y, z; of any length."}.many(4),
    Key{"matrix", kNumbers, "",
        "Orientation as a rotation matrix, row by row; written where nothing else is exact."}
        .many(9),
};

constexpr Key kSceneKeys[] = {
    {"name", kText, "the file's", "What the scene is called."},
    {"description", kText, "", "One line for lists of scenes."},
    Key{"gravity", kNumbers, "[0, 0, -9.81]", "Acceleration of free fall."}.many(3).in("m/s^2"),
    Key{"settings", kSection, "", "How the world steps."}.a("settings"),
    Key{"materials", kList, "", "What shapes are made of."}.a("material"),
    Key{"pairs", kList, "", "What two materials do to each other, where the mean of both is wrong."}.a(
        "pair"),
    Key{"ground", kFlagOrSection, "false", "A floor without end."}.a("ground"),
    Key{"world", kSection, "", "What is fixed to the world."}.a("fixture"),
    Key{"robots", kList, "", "Models from other files."}.a("robot"),
    Key{"bodies", kList, "", "Rigid bodies."}.a("body"),
    Key{"joints", kList, "",
        "Joints between bodies, where they are not written with the body that they carry."}
        .a("joint"),
    Key{"loops", kList, "", "Joints that close loops."}.a("joint"),
    Key{"no_contact", kList, "", "Bodies that never touch, beside those that a joint joins."}.a("link_pair"),
    Key{"initial", kList, "", "Where joints start."}.a("initial"),
    Key{"frames", kList, "", "Named places on bodies."}.a("frame"),
    Key{"cameras", kList, "", "Cameras on bodies."}.a("camera"),
    Key{"sensors", kList, "", "What is measured."}.a("sensor"),
    Key{"actuators", kList, "", "Motors with a control signal."}.a("actuator"),
    Key{"keyframes", kList, "", "States with a name."}.a("keyframe"),
    Key{"couplings", kList, "", "Joints that follow others."}.a("coupling"),
    Key{"tendons", kList, "", "Sums of joint positions, with limits and springs."}.a("tendon"),
    Key{"cables", kList, "", "Springs along cables through points of bodies."}.a("cable"),
    Key{"lifts", kList, "", "Bodies that are held up against their weight."}.a("lift"),
    Key{"fluid", kSection, "", "What fills the world and resists motion."}.a("fluid"),
    Key{"kinematic", kTexts, "", "Bodies whose trees move as their velocities say, whatever pushes them."},
    Key{"trajectories", kList, "", "Motions from CSV files."}.a("trajectory"),
    Key{"controllers", kList, "", "PD control of joints."}.a("controller"),
    Key{"walkers", kList, "", "Robots that walk on two legs."}.a("walker"),
    Key{"events", kList, "", "What happens at a given time."}.a("event"),
    Key{"behaviours", kList, "", "Python files that run at each step."}.a("behaviour"),
    Key{"plots", kList, "", "What is plotted."}.a("plot"),
    Key{"ui", kList, "", "Sliders, buttons and texts of the page."}.a("element"),
    Key{"view", kSection, "", "Where the viewer stands at first."}.a("view"),
    Key{"look", kSection, "", "Sky and ground."}.a("look"),
};

constexpr Key kGroundKeys[] = {
    {"material", kText, "", "Of `materials`."},
    Key{"height", kNumber, "0", "Of the surface."}.in("m"),
};
constexpr Key kFixtureKeys[] = {
    Key{"shapes", kListOrSection, "", "What others touch."}.a("shape"),
    Key{"visuals", kListOrSection, "", "What is only seen."}.a("visual"),
};
constexpr Key kMaterialKeys[] = {Key{"name", kText, "", "What shapes call it."}.needed()};
constexpr Key kPairKeys[] = {Key{"between", kTexts, "", "The two materials."}.many(2).needed()};
constexpr Key kLinkPairKeys[] = {Key{"between", kTexts, "", "The two bodies."}.many(2).needed()};

constexpr Key kRobotKeys[] = {
    Key{"file", kText, "", "A URDF, MJCF, SDF or native scene, beside this file or as package://NAME/PATH."}
        .needed(),
    {"prefix", kText, "", "Before each of its names."},
    Key{"base", kWord, "auto",
        "How its root stands. auto: free, but fixed where it has no mass or is called world."}
        .one_of("auto fixed free"),
    Key{"q", kNamed, "", "Where its joints start, by name without the prefix."}.in("rad or m"),
    {"keyframe", kText, "", "One of its own states to start from."},
    Key{"mesh_collision", kWord, "hull", "How its meshes meet others."}.one_of("hull decomposed solid"),
    {"overlapping_touch", kFlag, "false",
     "URDF, SDF: also links that overlap where all joints are at zero; else they never touch."},
    Key{"repeat", kListOrSection, "", "Several of them."}.a("repeat"),
};

constexpr Key kRepeatKeys[] = {
    Key{"count", kInteger, "", "How many."}.from(0).to(50000).needed(),
    Key{"offset", kNumbers, "[0, 0, 0]", "From one to the next."}.many(3).in("m"),
    Key{"alternate", kNumbers, "[0, 0, 0]", "Added to every second one: bricks in bond."}.many(3).in("m"),
    Key{"shrink", kInteger, "0", "So many fewer for each step of the repetition around it: pyramids."}.from(
        0),
    {"chain", kFlag, "false",
     "Each hangs on the one before by the body's joint, at `offset` from it; the first as the body says."},
};

constexpr Key kBodyKeys[] = {
    Key{"name", kText, "", "Its name; of a repeated body with _0, _1, ... after it."}.needed(),
    {"parent", kText, "world", "The body on which it hangs, and in whose frame its pose is given."},
    Key{"joint", kWordOrSection, "free", "How it moves against its parent. Under another body: fixed."}
        .a("joint")
        .one_of("free fixed spherical"),
    Key{"shapes", kListOrSection, "", "What it is made of."}.a("shape"),
    Key{"visuals", kListOrSection, "", "What is only seen."}.a("visual"),
    Key{"mass", kNumber, "", "The shapes' inertia, scaled to this mass."}.in("kg").from(0),
    Key{"density", kNumber, "1000", "Of its shapes, where neither mass nor inertia is given."}
        .in("kg/m^3")
        .from(0),
    Key{"inertia", kSection, "", "Mass, centre and moments outright."}.a("inertia"),
    {"material", kText, "", "Of its shapes, where they do not say."},
    Key{"color", kColor, "grey", "Of its shapes, where they do not say."},
    Key{"velocity", kNumbers, "[0, 0, 0]", "Of its origin at the start, world axes; of a free body."}
        .many(3)
        .in("m/s"),
    Key{"angular_velocity", kNumbers, "[0, 0, 0]", "At the start, world axes; of a free body."}.many(3).in(
        "rad/s"),
    Key{"repeat", kListOrSection, "", "Several of it; the first repetition is the outermost."}.a("repeat"),
};

constexpr Key kInertiaKeys[] = {
    Key{"mass", kNumber, "", "Mass."}.in("kg").from(0).needed(),
    Key{"com", kNumbers, "[0, 0, 0]", "Centre of mass in the body's frame."}.many(3).in("m"),
    Key{"moments", kNumbers, "[0, 0, 0]", "ixx, iyy, izz about the centre of mass, in the body's axes."}
        .many(3)
        .in("kg m^2"),
    Key{"products", kNumbers, "[0, 0, 0]", "ixy, ixz, iyz."}.many(3).in("kg m^2"),
    Key{"full", kNumbers, "", "All nine, row by row, instead."}.many(9).in("kg m^2"),
};

constexpr Key kDofKeys[] = {
    Key{"limits", kNumbers, "none",
        "Lowest and highest position. Of a spherical joint: 0 and the largest angle."}
        .many(2)
        .in("rad or m")
        .or_infinite(),
    Key{"limits_deg", kNumbers, "none", "The same in degrees."}.many(2).in("deg").or_infinite(),
    Key{"damping", kNumber, "0", "Effort per rate."}.in("N m s/rad or N s/m").from(0),
    Key{"stiffness", kNumber, "0", "Of a spring towards `rest`."}.in("N m/rad or N/m").from(0),
    Key{"rest", kNumber, "0", "Where the spring is at ease."}.in("rad or m"),
    Key{"dry_friction", kNumber, "0", "Largest effort of Coulomb friction."}.in("N m or N").from(0),
    Key{"armature", kNumber, "0", "Inertia of rotors."}.in("kg m^2 or kg").from(0),
    Key{"effort_limit", kNumber, ".inf", "Of a motor."}.in("N m or N").from(0).or_infinite(),
    Key{"velocity_limit", kNumber, ".inf", "Of a motor."}.in("rad/s or m/s").from(0).or_infinite(),
    Key{"limit_stiffness", kNumber, ".inf", "Of its limits, per displacement beyond; .inf is rigid."}
        .in("N m/rad or N/m")
        .above(0)
        .or_infinite(),
    Key{"limit_damping", kNumber, "0", "Of its limits, per rate beyond, where they are soft."}
        .in("N m s/rad or N s/m")
        .from(0),
};

constexpr Key kJointFrameKeys[] = {
    Key{"kind", kWord, "revolute", "What it allows. Of `attach`: fixed where nothing is said."}.one_of(
        "fixed revolute prismatic cylindrical screw universal planar spherical free point-on-line distance"),
    Key{"axis", kNumbers, "[0, 0, 1]", "In the joint's frame; of any length."}.many(3),
    Key{"second_axis", kNumbers, "[1, 0, 0]", "Of a universal joint."}.many(3),
    Key{"pitch", kNumber, "0", "Of a screw: advance per angle."}.in("m/rad"),
    Key{"distance", kNumber, "that at zero", "Of a distance joint, which only closes loops."}.in("m").above(
        0),
    Key{"range", kNumbers, "none", "Of a distance joint: bounds the distance in place of holding it."}
        .many(2)
        .in("m")
        .or_infinite(),
    Key{"closing_stiffness", kNumber, ".inf", "Of a loop that gives way, along what it holds; .inf is rigid."}
        .in("N/m")
        .from(0)
        .or_infinite(),
    Key{"closing_damping", kNumber, "0", "The same per rate."}.in("N s/m").from(0),
    Key{"closing_turn_stiffness", kNumber, ".inf", "The same for turns that it holds; .inf is rigid."}
        .in("N m/rad")
        .from(0)
        .or_infinite(),
    Key{"closing_turn_damping", kNumber, "0", "The same per rate."}.in("N m s/rad").from(0),
    Key{"in_parent", kSection, "where the body's pose puts it", "The joint's frame in the parent."}.a("pose"),
    Key{"in_child", kSection, "the body's frame", "The joint's frame in the body that it carries."}.a("pose"),
};
constexpr Key kJointKeys[] = {
    {"name", kText, "the body's name", "Its name."},
    {"parent", kText, "the body's", "Of `joints` and `loops`: the body it hangs on."},
    {"child", kText, "the body", "Of `joints` and `loops`: the body it carries or closes on."},
    Key{"q", kNumberOrNumbers, "0", "Position at the start."}.in("rad or m"),
    Key{"q_deg", kNumberOrNumbers, "0", "The same in degrees."}.in("deg"),
    Key{"v", kNumberOrNumbers, "0", "Velocity at the start."}.in("rad/s or m/s"),
    Key{"dofs", kList, "", "What differs between its degrees of freedom, in their order."}.a("dof"),
    Key{"break_force", kNumber, ".inf", "It parts where it carries more."}.in("N").above(0).or_infinite(),
    Key{"break_torque", kNumber, ".inf", "It parts where it carries more."}.in("N m").above(0).or_infinite(),
    {"open", kFlag, "false", "Of a loop: not closed at the start."},
};

constexpr Key kGeometryKeys[] = {
    Key{"box", kNumbers, "", "Full sizes."}.many(3).in("m"),
    Key{"sphere", kNumber, "", "Radius."}.in("m").above(0),
    Key{"capsule", kSection, "", "Along z, with round ends."}.a("rod"),
    Key{"cylinder", kSection, "", "Along z."}.a("rod"),
    Key{"cone", kSection, "", "Along z, the tip up, the origin half way."}.a("cone"),
    Key{"ellipsoid", kNumbers, "", "Half axes."}.many(3).in("m"),
    Key{"plane", kFlag, "", "The half-space below z = 0; of the world."},
    Key{"hull", kSection, "", "The convex hull of points or of a mesh."}.a("hull"),
    Key{"mesh", kSection, "", "Triangles from a file."}.a("mesh"),
    Key{"heightfield", kSection, "", "Terrain; of the world."}.a("heightfield"),
    Key{"compound", kList, "", "Several shapes as one."}.a("part"),
};
constexpr Key kRodKeys[] = {
    Key{"radius", kNumber, "", "Radius."}.in("m").above(0).needed(),
    Key{"length", kNumber, "", "Length; of a capsule without its ends."}.in("m").from(0).needed(),
};
constexpr Key kConeKeys[] = {
    Key{"radius", kNumber, "", "Of the base."}.in("m").above(0).needed(),
    Key{"height", kNumber, "", "From base to tip."}.in("m").above(0).needed(),
};
constexpr Key kHullKeys[] = {
    {"file", kText, "", "A mesh: stl, obj, dae, gltf or glb."},
    Key{"scale", kNumberOrNumbers, "1", "Of the file."},
    Key{"points", kPoints, "", "The points themselves, instead of a file."}.in("m"),
};
constexpr Key kMeshKeys[] = {
    Key{"file", kText, "", "A mesh: stl, obj, dae, gltf or glb."}.needed(),
    Key{"scale", kNumberOrNumbers, "1", "Of the file."},
    Key{"use", kWord, "hull",
        "How it meets others: by its hull, by convex parts, as a solid, or as a surface without inside."}
        .one_of("hull decomposed solid surface"),
};
constexpr Key kHeightfieldKeys[] = {
    Key{"size", kNumbers, "", "Extent along x and y."}.many(2).in("m").above(0).needed(),
    Key{"columns", kInteger, "", "Points along x."}.from(2).to(16384).needed(),
    Key{"rows", kInteger, "", "Points along y."}.from(2).to(16384).needed(),
    Key{"heights", kNumbers, "", "Row by row, x first."}.in("m"),
    {"file", kText, "", "The same numbers in a text file (txt or csv)."},
};

constexpr Key kShapeKeys[] = {
    {"material", kText, "the body's", "Of `materials`."},
    Key{"color", kColor, "the body's", "When seen."},
    Key{"density", kNumber, "the body's", "Of this shape."}.in("kg/m^3").from(0),
    {"visible", kFlag, "true", "Whether it is seen."},
    Key{"category", kInteger, "1", "Bits: what it is."}.from(0).to(4294967295.0),
    Key{"mask", kInteger, "4294967295", "Bits: what it touches."}.from(0).to(4294967295.0),
    Key{"group", kInteger, "0", "Two of one group always touch (positive) or never (negative)."}
        .from(-2147483648.0)
        .to(2147483647.0),
};
constexpr Key kVisualKeys[] = {
    {"name", kText, "", "Its name."},
    Key{"color", kColor, "the mesh's own", "Colour."},
    {"shown", kFlag, "true", "False: hidden until asked for."},
};

constexpr Key kInitialKeys[] = {
    Key{"joint", kText, "", "The joint."}.needed(),
    Key{"q", kNumberOrNumbers, "neutral", "Position: the kind's coordinates, quaternions as w, x, y, z."}.in(
        "rad or m"),
    Key{"q_deg", kNumberOrNumbers, "0", "The same in degrees."}.in("deg"),
    Key{"v", kNumberOrNumbers, "0", "Velocity."}.in("rad/s or m/s"),
};
constexpr Key kFrameKeys[] = {
    Key{"name", kText, "", "Its name."}.needed(),
    {"link", kText, "world", "The body that it is on."},
};
constexpr Key kCameraKeys[] = {
    {"name", kText, "", "Its name."},
    {"link", kText, "world", "The body that it is on. It looks along -z, up is +y."},
    Key{"field_of_view_deg", kNumber, "45", "Vertical."}.in("deg").above(0).to(180),
    Key{"field_of_view", kNumber, "", "The same in radians."}.in("rad").above(0).to(3.2),
};
constexpr Key kSensorKeys[] = {
    {"name", kText, "", "Its name."},
    Key{"kind", kWord, "other", "What it measures."}.one_of(
        "joint-position joint-velocity joint-effort actuator-position actuator-velocity actuator-force gyro "
        "accelerometer velocimeter inertial-unit force torque force-torque touch frame-position "
        "frame-orientation frame-axis frame-linear-velocity frame-angular-velocity frame-linear-acceleration "
        "frame-angular-acceleration rangefinder camera other"),
    {"type", kText, "the kind", "What another format called it."},
    {"link", kText, "", "The body that it is on."},
    {"joint", kText, "", "The joint that it measures."},
    {"actuator", kText, "", "The actuator that it measures: its name, or its number from 0."},
    Key{"noise", kNumber, "0", "Standard deviation, in the unit of the reading."}.from(0),
    Key{"cutoff", kNumber, "0", "Largest reading; 0 for none."}.from(0),
    Key{"rate", kNumber, "0", "Readings per second; 0 for every step."}.in("Hz").from(0),
};
constexpr Key kActuatorKeys[] = {
    {"name", kText, "", "Its name."},
    Key{"joints", kList, "", "What it works on."}.a("transmission"),
    Key{"cable", kList, "", "Or a cable, which a force above zero makes longer."}.a("segment"),
    Key{"thrust", kSection, "", "Or a body, at a place: propellers, jets."}.a("thrust"),
    Key{"gain", kNumber, "1", "Force per control."},
    Key{"bias", kNumber, "0", "Force without control."}.in("N m or N"),
    Key{"stiffness", kNumber, "0", "Force against the length."},
    Key{"damping", kNumber, "0", "Force against the rate."},
    Key{"control_damping", kNumber, "0", "The same per control, where that is above zero."}.from(0),
    Key{"control", kNumbers, "none", "Range of the control."}.many(2).or_infinite(),
    Key{"force", kNumbers, "none", "Range of the force."}.many(2).in("N m or N").or_infinite(),
    Key{"dynamics", kWord, "none",
        "What becomes of the control u before it acts, as a state x. integrator: dx/dt = u; filter: dx/dt = "
        "(u - x) / time_constant by Euler's method; exact-filter: the same, exactly."}
        .one_of("none integrator filter exact-filter"),
    Key{"time_constant", kNumber, "1", "Of filters."}.in("s").from(0),
    Key{"activation", kNumbers, "none", "Range of x."}.many(2).or_infinite(),
};
constexpr Key kSegmentKeys[] = {
    Key{"from", kText, "world", "The body at one end."},
    Key{"from_point", kNumbers, "[0, 0, 0]", "Where on it, in its frame."}.many(3).in("m"),
    Key{"to", kText, "world", "The body at the other."},
    Key{"to_point", kNumbers, "[0, 0, 0]", "Where on it."}.many(3).in("m"),
    {"share", kNumber, "1", "Of the distance in the length, and of the force in the pull: pulleys."},
};
constexpr Key kThrustKeys[] = {
    Key{"link", kText, "", "The body."}.needed(),
    Key{"force", kNumbers, "[0, 0, 0]", "Force per unit, in the axes of this place."}.many(3),
    Key{"moment", kNumbers, "[0, 0, 0]", "Moment per unit."}.many(3).in("m"),
};
constexpr Key kCableKeys[] = {
    {"name", kText, "", "Its name."},
    Key{"path", kList, "", "The straight pieces that it is made of."}.a("segment").needed(),
    Key{"stiffness", kNumber, "0", "Of its spring."}.in("N/m").from(0),
    Key{"damping", kNumber, "0", "Of its damper."}.in("N s/m").from(0),
    Key{"rest", kNumbers, "[0, 0]", "Shortest and longest length at which the spring is at ease."}
        .many(2)
        .in("m")
        .or_infinite(),
};
constexpr Key kLiftKeys[] = {
    Key{"link", kText, "", "The body."}.needed(),
    {"share", kNumber, "1", "Of its weight."},
};
constexpr Key kFluidKeys[] = {
    Key{"density", kNumber, "0", "1.2 for air, 1000 for water."}.in("kg/m^3").from(0),
    Key{"viscosity", kNumber, "0", "1.8e-5 for air, 9e-4 for water."}.in("Pa s").from(0),
    Key{"wind", kNumbers, "[0, 0, 0]", "Its velocity."}.many(3).in("m/s"),
};
constexpr Key kTransmissionKeys[] = {
    Key{"joint", kText, "", "The joint."}.needed(),
    Key{"dof", kInteger, "0", "Which of its degrees of freedom."}.from(0).to(5),
    {"gear", kNumber, "1", "Length per position, and effort per force."},
};
constexpr Key kKeyframeKeys[] = {
    {"name", kText, "", "Its name."},
    Key{"time", kNumber, "0", "Time."}.in("s"),
    Key{"joints", kList, "", "Where joints are; others are at their initial places."}.a("initial"),
    {"control", kNumbers, "", "One for each actuator."},
    {"activation", kNumbers, "", "What their dynamics have made of it, one for each actuator."},
};
constexpr Key kCouplingKeys[] = {
    {"name", kText, "", "Its name."},
    Key{"follower", kText, "", "The joint that follows."}.needed(),
    {"leader", kText, "none", "The joint that leads."},
    Key{"coefficients", kNumbers, "[0, 1, 0, 0, 0]", "Of the polynomial, constant first."}.many(5),
    {"follower_start", kNumber, "0", "The follower is measured from here."},
    {"leader_start", kNumber, "0", "The leader is measured from here."},
    Key{"stiffness", kNumber, ".inf", "Of a spring that holds it in place of holding exactly."}
        .from(0)
        .or_infinite(),
    Key{"damping", kNumber, "0", "Of the same."}.from(0),
    {"active", kFlag, "true", "Whether it is held."},
};
constexpr Key kTendonKeys[] = {
    {"name", kText, "", "Its name."},
    Key{"joints", kList, "", "The joints and their weights."}.a("transmission"),
    Key{"range", kNumbers, "none", "Lowest and highest length."}.many(2).or_infinite(),
    {"stiffness", kNumber, "0", "Of its spring."},
    {"damping", kNumber, "0", "Of its damper."},
    {"rest", kNumber, "0", "Length at which the spring is at ease."},
    Key{"limit_stiffness", kNumber, ".inf", "Of its range, per length beyond; .inf is rigid."}
        .above(0)
        .or_infinite(),
    Key{"limit_damping", kNumber, "0", "Of its range, per rate beyond, where it is soft."}.from(0),
};

constexpr Key kTrajectoryKeys[] = {
    Key{"name", kText, "", "What controllers call it."}.needed(),
    Key{"file", kText, "", "A CSV: a line of names, the first `time`, the others joints; then numbers."}
        .needed(),
    {"repeat", kFlag, "false", "Start again after the last row."},
};
constexpr Key kControllerKeys[] = {
    Key{"joints", kTextOrTexts, "all columns of the trajectory",
        "The joints it drives; * stands for any letters."},
    Key{"dof", kInteger, "0", "Which of their degrees of freedom."}.from(0).to(5),
    Key{"target", kNumber, "0", "Position to go to."}.in("rad or m"),
    Key{"target_deg", kNumber, "0", "The same in degrees."}.in("deg"),
    Key{"target_velocity", kNumber, "0", "Velocity to keep."}.in("rad/s or m/s"),
    {"trajectory", kText, "none", "Go along this instead of to a target."},
    {"column", kText, "the joint's name", "The column of the trajectory that they follow."},
    Key{"stiffness", kNumber, "0", "Effort per distance from the target."}.in("N m/rad or N/m").from(0),
    Key{"damping", kNumber, "0", "Effort per rate."}.in("N m s/rad or N s/m").from(0).or_infinite(),
    Key{"limit", kNumber, ".inf", "Largest effort."}.in("N m or N").from(0).or_infinite(),
};
constexpr Key kActionKeys[] = {
    Key{"force", kSection, "", "Push a body."}.a("force"),
    Key{"attach", kSection, "", "Join two bodies."}.a("attach"),
    {"detach", kText, "", "Undo the joint of this name."},
    Key{"set", kValues, "", "Set keys, such as joint.elbow.target, to values."},
};
constexpr Key kEventKeys[] = {
    Key{"time", kNumber, "0", "When."}.in("s").from(0),
    Key{"every", kNumber, "once", "Again after so long."}.in("s").above(0),
};
constexpr Key kForceKeys[] = {
    Key{"link", kText, "", "The body."}.needed(),
    Key{"point", kNumbers, "[0, 0, 0]", "Where, in the body's frame."}.many(3).in("m"),
    Key{"force", kNumbers, "[0, 0, 0]", "In world axes."}.many(3).in("N"),
    Key{"moment", kNumbers, "[0, 0, 0]", "In world axes."}.many(3).in("N m"),
    Key{"duration", kNumber, "one step", "For how long."}.in("s").from(0),
};
constexpr Key kAttachKeys[] = {
    Key{"name", kText, "", "Of the new joint."}.needed(),
    Key{"parent", kText, "", "One body; its frame is `in_parent`."}.needed(),
    Key{"child", kText, "", "The other body."}.needed(),
    {"here", kFlag, "true without in_child",
     "Join them as they are at that moment: in_child is found from in_parent."},
    {"tree", kFlag, "false",
     "Make what floats part of the other's tree, instead of closing a loop: exact by the joint's "
     "coordinates."},
};

constexpr Key kBehaviourKeys[] = {
    Key{"name", kText, "the file's", "Its name."},
    Key{"file", kText, "", "A Python file."}.needed(),
    Key{"parameters", kValues, "", "What it is given."},
};
constexpr Key kPlotKeys[] = {
    {"title", kText, "", "Above it."},
    Key{"signals", kTexts, "", "Such as joint.elbow.q or link.box.pz."}.needed(),
};
constexpr Key kElementKeys[] = {
    Key{"slider", kSection, "", "A number to move."}.a("slider"),
    Key{"button", kSection, "", "Something to do."}.a("button"),
    Key{"text", kSection, "", "Something to read."}.a("text"),
};
constexpr Key kSliderKeys[] = {
    Key{"name", kText, "", "Beside it; also its signal, ui.NAME."}.needed(),
    {"key", kText, "", "What it sets."},
    Key{"min", kNumber, "0", "Left end."},
    Key{"max", kNumber, "1", "Right end."},
    Key{"value", kNumber, "0", "At the start."},
};
constexpr Key kButtonKeys[] = {
    Key{"name", kText, "", "On it."}.needed(),
    Key{"do", kListOrSection, "", "What it does."}.a("action"),
};
constexpr Key kTextKeys[] = {
    {"name", kText, "", "Beside it."},
    Key{"text", kText, "", "{SIGNAL} stands for its value."}.needed(),
};
constexpr Key kViewKeys[] = {
    Key{"from", kNumbers, "[3, -3, 2]", "The eye."}.many(3).in("m"),
    Key{"to", kNumbers, "[0, 0, 0]", "What it looks at."}.many(3).in("m"),
    Key{"field_of_view_deg", kNumber, "45", "Vertical."}.in("deg").above(0).to(180),
    Key{"field_of_view", kNumber, "", "The same in radians."}.in("rad").above(0).to(3.2),
};
constexpr Key kLookKeys[] = {
    Key{"sky", kColor, "[0.74, 0.84, 0.93]", "Colour of the sky."},
    Key{"ground", kColor, "[0.45, 0.47, 0.49]", "Colour of the ground."},
    {"grid", kFlag, "true", "Lines on the ground."},
    {"shadows", kFlag, "true", "Shadows."},
};

constexpr Section kTable[] = {
    {"scene", "The whole file.", kSceneKeys, ""},
    {"settings", "How the world steps.", kSettingsKeys, ""},
    {"stabilization", "How position errors of contacts, limits and loops are undone.", kStabilizationKeys,
     ""},
    {"penalty", "Contact springs of the penalty model.", kPenaltyKeys, ""},
    {"sleep", "When what lies still is left alone.", kSleepKeys, ""},
    {"material", "What shapes are made of.", kMaterialKeys, "surface"},
    {"pair", "What two materials do to each other.", kPairKeys, "surface"},
    {"surface", "How two surfaces act on each other.", kSurfaceKeys, ""},
    {"ground", "A floor without end.", kGroundKeys, ""},
    {"fixture", "Shapes of the world.", kFixtureKeys, ""},
    {"robot", "A model from another file.", kRobotKeys, "pose"},
    {"repeat", "Several of a thing.", kRepeatKeys, ""},
    {"pose", "Where something is. At most one kind of orientation.", kPoseKeys, ""},
    {"body", "A rigid body.", kBodyKeys, "pose"},
    {"inertia", "Mass, centre and moments.", kInertiaKeys, ""},
    {"joint", "A joint. Keys of `dof` count for all its degrees of freedom.", kJointKeys, "joint_frame dof"},
    {"joint_frame", "Where a joint is and what it allows.", kJointFrameKeys, ""},
    {"dof", "One degree of freedom.", kDofKeys, ""},
    {"shape", "A shape: exactly one of `geometry`, its place, and more.", kShapeKeys, "geometry pose"},
    {"part", "A part of a compound.", {}, "geometry pose"},
    {"geometry", "What a shape or visual is.", kGeometryKeys, ""},
    {"rod", "A capsule or cylinder.", kRodKeys, ""},
    {"cone", "A cone.", kConeKeys, ""},
    {"hull", "A convex hull.", kHullKeys, ""},
    {"mesh", "A mesh.", kMeshKeys, ""},
    {"heightfield", "Terrain.", kHeightfieldKeys, ""},
    {"visual", "Something that is only seen.", kVisualKeys, "geometry pose"},
    {"link_pair", "Two bodies.", kLinkPairKeys, ""},
    {"initial", "Where a joint is.", kInitialKeys, ""},
    {"frame", "A named place on a body.", kFrameKeys, "pose"},
    {"camera", "A camera on a body.", kCameraKeys, "pose"},
    {"sensor", "Something that is measured.", kSensorKeys, "pose"},
    {"actuator",
     "force = gain * x + bias - stiffness * length - (damping + control_damping * x) * rate, where x is the "
     "control, or what `dynamics` make of it.",
     kActuatorKeys, ""},
    {"segment", "A straight piece of a cable.", kSegmentKeys, ""},
    {"thrust", "What an actuator's force does to a body.", kThrustKeys, "pose"},
    {"cable", "A spring and damper on the length of a cable.", kCableKeys, ""},
    {"lift", "A body that is held up.", kLiftKeys, ""},
    {"fluid", "It resists each body as it would the box of the same mass and moments.", kFluidKeys, ""},
    {"transmission", "A joint's share.", kTransmissionKeys, ""},
    {"keyframe", "A state with a name.", kKeyframeKeys, ""},
    {"coupling", "A joint that follows another.", kCouplingKeys, ""},
    {"tendon", "A weighted sum of joint positions.", kTendonKeys, ""},
    {"trajectory", "A motion from a file.", kTrajectoryKeys, ""},
    {"controller", "An implicit PD drive.", kControllerKeys, ""},
    {"walker", "A robot that walks: it gives targets to the drives of its joints, see `controllers`.",
     walker_table::kWalkerKeys, ""},
    {"gait", "How it walks.", walker_table::kGaitKeys, ""},
    {"stabilizer", "Feedback that keeps a walk on its plan.", walker_table::kStabilizerKeys, ""},
    {"steps", "Steps that are alike.", walker_table::kStepsKeys, ""},
    {"footstep", "A place of a sole.", walker_table::kFootstepKeys, "pose"},
    {"event", "Something that happens: a time and one action.", kEventKeys, "action"},
    {"action", "Exactly one of these.", kActionKeys, ""},
    {"force", "A push.", kForceKeys, ""},
    {"attach", "A joint made while running.", kAttachKeys, "joint_frame"},
    {"behaviour", "A Python file that runs at each step.", kBehaviourKeys, ""},
    {"plot", "Curves in one picture.", kPlotKeys, ""},
    {"element", "Exactly one of these.", kElementKeys, ""},
    {"slider", "A number to move.", kSliderKeys, ""},
    {"button", "Something to press.", kButtonKeys, ""},
    {"text", "Something to read.", kTextKeys, ""},
    {"view", "Where the viewer stands.", kViewKeys, ""},
    {"look", "Sky and ground.", kLookKeys, ""},
};

}  // namespace

std::span<const Section> scene_table() { return kTable; }

const Section& section(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kTable), std::end(kTable), [&](const Section& s) { return s.name == name; });
  assert(found != std::end(kTable));
  return *found;
}

std::vector<std::string> words_of(std::string_view words) {
  std::vector<std::string> all;
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    all.emplace_back(word);
    words.remove_prefix(std::min(words.size(), word.size() + 1));
  }
  return all;
}

std::vector<const Key*> keys_of(const Section& s) {
  std::vector<const Key*> all;
  for (const Key& key : s.keys) all.push_back(&key);
  for (const std::string& part : words_of(s.also)) {
    for (const Key& key : section(part).keys) all.push_back(&key);
  }
  return all;
}

}  // namespace karakuri::io
