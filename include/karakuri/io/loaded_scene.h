// What a file says: a scene to simulate, and beside it what looks, drives, measures and names it.
#pragma once

#include <array>
#include <limits>
#include <memory>
#include <numbers>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "karakuri/core/random.h"
#include "karakuri/io/mesh_file.h"
#include "karakuri/io/script.h"
#include "karakuri/world/scene.h"
#include "karakuri/world/settings.h"
#include "karakuri/world/world.h"

namespace karakuri {

/// Something to be seen on a link: a mesh where there is one, else a shape.
struct Visual {
  std::string name;  // may be empty
  LinkId link;
  Transform X_LV;
  Shape shape;                           // where `mesh` is null
  std::shared_ptr<const MeshData> mesh;  // scaled already [m]
  Color color{0.7F, 0.7F, 0.7F, 1.0F};
  bool color_given = false;  // else the colours of the mesh's own parts count
  bool shown = true;         // false: there for collision, hidden by default
};

/// A named place on a link.
struct Frame {
  std::string name;
  LinkId link;
  Transform X_LF;
};

struct Camera {
  std::string name;
  LinkId link;
  Transform X_LC;                               // looks along -z, up is +y
  double field_of_view = std::numbers::pi / 4;  // vertical [rad]
};

/// A piece of a cable, straight between points of two links. length += share * distance, pull += share *
/// force.
struct CableSegment {
  LinkId from, to;
  Vec3 p_from = Vec3::Zero(), p_to = Vec3::Zero();  // in the links' frames [m]
  double share = 1;
};

/// What an actuator's force does to a link, in axes that are fixed to it: propellers, jets. Its length is 0.
struct Thrust {
  LinkId link;  // none: there is no thrust
  Transform X_LT;
  Vec3 force = Vec3::Zero(), moment = Vec3::Zero();  // per unit of force, on T's origin, in T's axes
};

/// What becomes of a control u before it acts, as a state x of the actuator's own.
enum class ActuatorDynamics : std::uint8_t {
  kNone,         // x = u
  kIntegrator,   // dx/dt = u
  kFilter,       // dx/dt = (u - x) / time_constant, by Euler's method
  kExactFilter,  // the same, exact for a control that is constant over the step
};

/// force = gain * x + bias - stiffness * length - (damping + control_damping * x) * rate, with the control
/// and then the force cut to their ranges; x is the control, or what the dynamics make of it, cut to its own.
/// length and rate are sums over transmissions, cable and thrust. A motor has gain alone; a position servo
/// has gain = stiffness; a velocity servo has gain = damping. Joints are driven implicitly, cables and
/// thrusts by the force at the start of each step.
struct Actuator {
  std::string name;
  std::vector<Transmission> transmissions;
  std::vector<CableSegment> cable;
  Thrust thrust;
  double gain = 1;
  double bias = 0;
  double stiffness = 0;
  double damping = 0;
  double control_damping = 0;
  Interval control;
  Interval force;
  ActuatorDynamics dynamics = ActuatorDynamics::kNone;
  double time_constant = 1;  // of filters [s]
  Interval activation;       // of x, where there are dynamics
};
/// x after a step of `dt` with this control.
double next_activation(const Actuator& actuator, double activation, double control, double dt);

/// What one dof of an actuator is given at x, a control or what dynamics made of it: an implicit drive, and
/// an effort to be added to it.
struct ActuatorOutput {
  Drive drive;
  double effort = 0;
};
/// Exact for an actuator of one transmission whose force range is symmetric about zero; a range that is not
/// is cut at its larger end, and of several transmissions each takes its share of the gains.
ActuatorOutput actuator_output(const Actuator& actuator, double x, std::size_t transmission = 0);

enum class SensorKind : std::uint8_t {
  kJointPosition,
  kJointVelocity,
  kJointEffort,
  kActuatorPosition,
  kActuatorVelocity,
  kActuatorForce,
  kGyro,
  kAccelerometer,
  kVelocimeter,
  kInertialUnit,  // gyro and accelerometer together
  kForce,         // between link and parent
  kTorque,
  kForceTorque,
  kTouch,
  kFramePosition,
  kFrameOrientation,
  kFrameAxis,
  kFrameLinearVelocity,
  kFrameAngularVelocity,
  kFrameLinearAcceleration,
  kFrameAngularAcceleration,
  kRangefinder,
  kCamera,
  kOther,
};

struct Sensor {
  std::string name;
  std::string type;  // as the file calls it
  SensorKind kind = SensorKind::kOther;
  LinkId link;  // where it sits, if on a link
  Transform X_LS;
  JointId joint;      // what it measures, if a joint
  int actuator = -1;  // of LoadedScene::actuators, if one
  double noise = 0;   // standard deviation, in the unit of the reading
  double cutoff = 0;  // largest reading; 0: none
  double rate = 0;    // [Hz]; 0: every step
};

/// A spring and damper on the length of a cable: pulls beyond `rest`, and pushes where it is shorter.
struct Cable {
  std::string name;
  std::vector<CableSegment> path;
  double stiffness = 0, damping = 0;  // [N/m], [N s/m]
  Interval rest{0, 0};                // lengths at which the spring is at ease [m]
};

/// A link that is held up against a share of its weight, whatever gravity is.
struct Lift {
  LinkId link;
  double share = 1;
};

/// What fills the world. It acts on each link as on the box of the same mass and moments: drag across its
/// faces by density, and that of a sphere of its mean size by viscosity.
struct Fluid {
  double density = 0;        // [kg/m^3]
  double viscosity = 0;      // [Pa s]
  Vec3 wind = Vec3::Zero();  // its velocity [m/s]
  bool acts() const { return density > 0 || viscosity > 0; }
};

/// A whole state with a name. Joints that are not listed are at their initial place.
struct Keyframe {
  std::string name;
  double time = 0;
  std::vector<InitialJoint> joints;
  std::vector<double> control, activation;  // by actuator; empty: not said
};

struct LoadedScene {
  std::string name;
  Scene scene;
  WorldSettings settings;
  Vec3 gravity = kEarthGravity;
  std::vector<Visual> visuals;
  std::vector<Frame> frames;
  std::vector<Camera> cameras;
  std::vector<Actuator> actuators;
  std::vector<Sensor> sensors;
  std::vector<Keyframe> keyframes;
  std::vector<Cable> cables;
  std::vector<Lift> lifts;
  Fluid fluid;
  std::vector<LinkId> kinematic;    // links whose trees move as their velocities say, from the start
  std::vector<JointId> open_loops;  // joints that close loops, but not at the start
  Script script;                    // of native scenes
  std::vector<Diagnostic> notes;    // what was understood otherwise than meant; once per feature
  std::unordered_map<std::string, std::string> places;  // "file:line" of "link 'NAME'" and "joint 'NAME'"

  /// nullptr where there is no such name.
  const Keyframe* find_keyframe(std::string_view name) const;
};

/// Adds everything of `part` to `into`, but for its name, settings and gravity; their worlds become one. Ids
/// of `part` mean nothing in `into`; things are found by name. Refused, with nothing done, where a name of a
/// link or joint is in both: load one of them with a prefix. Keyframes with the same name become one.
std::vector<Diagnostic> merge(LoadedScene& into, const LoadedScene& part);

/// The states of `keyframe` become the scene's initial ones.
void apply(const Keyframe& keyframe, Scene& scene);

}  // namespace karakuri
