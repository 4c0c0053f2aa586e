// What a file says: a scene to simulate, and beside it what looks, drives, measures and names it.
#pragma once

#include <array>
#include <limits>
#include <memory>
#include <numbers>
#include <string>
#include <string_view>
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

/// force = gain * control + bias - stiffness * length - (damping + control_damping * control) * rate, with
/// the control and then the force cut to their ranges. length and rate are sums over the transmissions. A
/// motor has gain alone; a position servo has gain = stiffness; a velocity servo has gain = damping.
struct Actuator {
  std::string name;
  std::vector<Transmission> transmissions;
  double gain = 1;
  double bias = 0;
  double stiffness = 0;
  double damping = 0;
  double control_damping = 0;
  Interval control;
  Interval force;
};

/// What one dof of an actuator is given at a control: an implicit drive, and an effort to be added to it.
struct ActuatorOutput {
  Drive drive;
  double effort = 0;
};
/// Exact for an actuator of one transmission whose force range is symmetric about zero; a range that is not
/// is cut at its larger end, and of several transmissions each takes its share of the gains.
ActuatorOutput actuator_output(const Actuator& actuator, double control, std::size_t transmission = 0);

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

/// A whole state with a name. Joints that are not listed are at their initial place.
struct Keyframe {
  std::string name;
  double time = 0;
  std::vector<InitialJoint> joints;
  std::vector<double> control;  // by actuator; empty: not said
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
  std::vector<JointId> open_loops;  // joints that close loops, but not at the start
  Script script;                    // of native scenes
  std::vector<Diagnostic> notes;    // what was understood otherwise than meant; once per feature

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
