// The inside of a session.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "karakuri/control/walking.h"
#include "karakuri/session/session.h"

namespace karakuri {

namespace session_detail {

/// What drives the dofs of one joint beside actuators: controllers, keys.
struct DrivenJoint {
  JointId joint;
  std::array<Drive, kMaxJointDofs> drives{};
  std::array<double, kMaxJointDofs> efforts{};
};

/// A transmission of an actuator, and where the joint stands in `driven`.
struct Drivetrain {
  std::int32_t actuator = 0, transmission = 0, driven = 0, dof = 0;
};

/// A controller that follows a column of a trajectory.
struct Follower {
  std::int32_t trajectory = 0, column = 0, driven = 0, dof = 0;
};

struct ActiveForce {
  ForceAction action;
  double until = 0;  // [s]
};

/// A link as the box of the same mass and moments, for what flows around it.
struct FluidBox {
  LinkId link;
  Transform X_LB;
  Vec3 size;  // [m]
};

/// Where the numbers of a sensor stand in `readings`. One that has noise or a rate of its own is sampled in
/// the step; any other is measured when it is read.
struct SensorSlot {
  std::int32_t first = 0, size = 0;
  bool sampled = false;
};

/// What was said about the solver of the world, which is said once.
struct ToldOfMethod {
  solver::Method solver = solver::Method::kDefault;
  ContactModel contact = ContactModel::kCone;
  bool friction = false, fallback = false, work = false, cut = false;
  std::vector<Diagnostic> notes;
};

/// What changes while a session runs, beside the world. Saved in snapshots.
struct SessionState {
  std::vector<double> controls;     // by actuator
  std::vector<double> activations;  // likewise; 0 where it has no dynamics
  std::vector<double> sliders;      // by element of the page; 0 where it is no slider
  std::vector<DrivenJoint> driven;
  std::vector<double> readings;              // of all sensors
  std::vector<double> next_sample;           // by sensor [s]
  std::vector<double> next_event;            // by timed event [s]; infinite: never again
  std::vector<ActiveForce> forces;           // that go on
  std::vector<StepCommand> walker_commands;  // by walker: of the steps that are asked for next
  bool drives_changed = true;                // since they were given to the world
};

}  // namespace session_detail

struct Session::Impl {
  Impl(LoadedScene loaded, World made, const SessionOptions& options);

  LoadedScene scene;
  World world;
  SessionOptions options;
  mutable session_detail::SessionState state;
  std::vector<session_detail::Drivetrain> drivetrains;
  std::vector<session_detail::Follower> followers;
  std::vector<session_detail::SensorSlot> sensors;
  std::vector<session_detail::FluidBox> boxes;  // empty: there is no fluid
  std::vector<Walking> walkers;                 // by Script::walkers
  std::vector<std::function<void(Session&)>> hooks;
  std::vector<Diagnostic> problems;
  session_detail::ToldOfMethod told;
  std::unique_ptr<BehaviourHost> behaviours;
  bool halted = false;             // by a behaviour
  std::vector<long long> presses;  // by element of the page
  int ui_version = 0;
  std::size_t last_driven = 0;  // where driven_index() looks first

  std::size_t scene_driven = 0;  // of `driven`: those that the scene drives come first

  // snapshot.cc
  std::string find_misfit(const session_detail::SessionState& own) const;
  // session.cc
  void start(const Keyframe* keyframe);
  const Keyframe* find_keyframe(std::string_view name) const;
  // drives.cc
  int driven_index(JointId joint);
  void take_controllers();
  std::vector<Diagnostic> apply_sliders(Session& self);
  void follow_trajectories();
  void apply_drives();
  double signal(std::size_t actuator) const;
  void advance_activations();
  // forces.cc
  void find_boxes();
  void push_actuators();
  void push_surroundings();
  // events.cc
  void fire_events(Session& self);
  void push();
  void tell(std::vector<Diagnostic> found);
  void tell_of_method();
  void tell_frozen();
  bool run_behaviours(Session& self);
  // walkers.cc
  std::vector<Diagnostic> make_walkers();
  void update_walkers();
  double read_walker(std::size_t index, std::uint8_t property) const;
  std::vector<Diagnostic> set_walker(const Signal& s, std::string_view key, double number);
  // names.cc
  std::optional<Signal> resolve(const Reference& reference) const;
  double read_drive(JointId joint, std::uint8_t property, int dof) const;
  std::vector<Diagnostic> set_coordinates(const Signal& s, std::string_view key,
                                          std::span<const double> numbers);
  std::vector<Diagnostic> set_drive(const Signal& s, std::string_view key, double number);
  std::vector<Diagnostic> set_joint(const Signal& s, std::string_view key, const Value& value);
  std::vector<Diagnostic> set_link(const Signal& s, std::string_view key, const Value& value);
  std::vector<Diagnostic> set_parameter(const Signal& s, std::string_view key, const Value& value);
  std::vector<Diagnostic> set_gravity(std::string_view key, const Value& value);
  std::vector<Diagnostic> set_slider(Session& self, std::size_t index, double number);
  // sensors.cc
  void measure(int sensor, std::span<double> out) const;
  void sample_sensors();
};

namespace session_detail {

/// What can be read and set of walkers, in the order of their numbers.
std::span<const std::string_view> walker_properties();
/// w, x, y, z; of the two that mean the rotation the one with w >= 0.
std::array<double, 4> unit_quaternion(const Mat3& R);
/// Whether it may be set.
bool is_possible(const Drive& drive);
/// How many numbers a sensor gives; 0: it cannot be read.
int sensor_size(const LoadedScene& scene, const Sensor& sensor);
/// The force of an actuator at the world's present state, cut to its range. `x`: its control, or what its
/// dynamics made of it.
double actuator_force(const World& world, const Actuator& actuator, double x);
struct Stroke {
  double length = 0, rate = 0;
};
Stroke stroke_of(const World& world, const Actuator& actuator);
Stroke stroke_of(const World& world, std::span<const CableSegment> cable);

}  // namespace session_detail

}  // namespace karakuri
