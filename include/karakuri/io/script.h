// What a scene asks for while it runs: controllers, timed events, plots, elements of the page, behaviours.
//
// Signals (what can be read and plotted) and keys (what can be set) are words with dots; docs/scenes.md lists
// them, find_signal() and find_key() take them apart. Here they are kept as written, and known to be good.
#pragma once

#include <filesystem>
#include <limits>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "karakuri/core/diagnostic.h"
#include "karakuri/io/mesh_file.h"
#include "karakuri/model/biped.h"
#include "karakuri/model/joint.h"

namespace karakuri {

struct LoadedScene;
struct WorldSettings;

/// A number, several, or a word.
using Value = std::variant<double, std::vector<double>, std::string>;

/// Positions over time, straight lines between the rows, held before the first and after the last.
struct Trajectory {
  std::string name;
  std::filesystem::path file;        // where it was read
  std::vector<std::string> columns;  // names of joints, or "NAME.1" for their further dofs
  std::vector<double> times;         // strictly ascending [s]
  std::vector<double> values;        // a row for each time, a number for each column [rad or m]
  bool repeat = false;               // starts again after the last row
};
struct TrajectoryPoint {
  double position = 0, velocity = 0;
};
/// @pre column < columns.size(), and times is not empty
TrajectoryPoint sample(const Trajectory& trajectory, std::size_t column, double time);

/// A CSV: a first line of names, the first of them "time", then numbers. Errors name file and line.
Result<Trajectory> read_trajectory(const std::filesystem::path& file);

/// An implicit PD drive of one dof, towards a target or along a column of a trajectory.
struct Controller {
  JointId joint;
  int dof = 0;
  double target = 0;                                       // [rad or m]
  double target_velocity = 0;                              // [rad/s or m/s]
  double stiffness = 0;                                    // [N m/rad or N/m]
  double damping = 0;                                      // [N m s/rad or N s/m]
  double limit = std::numeric_limits<double>::infinity();  // [N m or N]
  int trajectory = -1;                                     // of LoadedScene::trajectories; -1: none
  int column = -1;                                         // of that trajectory
};

// ---- things that can be done at a time, or when a button is pressed

struct ForceAction {
  LinkId link;
  Vec3 point = Vec3::Zero();   // in the link's frame [m]
  Vec3 force = Vec3::Zero();   // world axes [N]
  Vec3 moment = Vec3::Zero();  // world axes [N m]
  double duration = 0;         // [s]; 0: one step
};
/// A new joint between two links, which closes a loop where they hang together already.
struct AttachAction {
  Joint joint;        // parent and child are the two links
  bool here = false;  // frame M is where frame F is at that moment: X_CM is not used
  bool tree = false;  // as Joining::kTree
};
struct DetachAction {
  std::string joint;  // by name: it may be one that an AttachAction made
};
struct SetAction {
  std::string key;
  Value value;
};
using Action = std::variant<ForceAction, AttachAction, DetachAction, SetAction>;

struct TimedEvent {
  double time = 0;    // [s]
  double period = 0;  // again after so long, for ever; 0: once [s]
  Action action;
};

/// A joint that parts where it carries more than this.
struct Breakable {
  JointId joint;
  double force = std::numeric_limits<double>::infinity();   // [N]
  double torque = std::numeric_limits<double>::infinity();  // [N m]
};

/// A Python file that runs at each step.
struct Behaviour {
  std::string name;
  std::filesystem::path file;  // without symbolic links
  std::vector<std::pair<std::string, Value>> parameters;
  std::filesystem::path named_by;  // the scene file that names it
};

// ---- what is shown

struct Plot {
  std::string title;
  std::vector<std::string> signals;
};

struct Slider {
  std::string name;
  std::string key;  // what it sets; empty: nothing, behaviours read it as signal "ui.NAME"
  double min = 0, max = 1, value = 0;
};
struct Button {
  std::string name;
  std::vector<Action> actions;
};
struct Text {
  std::string name;
  std::string text;  // "{SIGNAL}" stands for its value
};
using UiElement = std::variant<Slider, Button, Text>;

/// Where the viewer stands at first.
struct View {
  Vec3 from{3, -3, 2}, to = Vec3::Zero();       // [m]
  double field_of_view = std::numbers::pi / 4;  // vertical [rad]
};

struct Look {
  Color sky{0.74F, 0.84F, 0.93F, 1};
  Color ground{0.45F, 0.47F, 0.49F, 1};
  bool grid = true;
  bool shadows = true;
};

struct Script {
  std::string description;  // one line
  std::vector<Trajectory> trajectories;
  std::vector<Controller> controllers;
  std::vector<TimedEvent> events;
  std::vector<Breakable> breakables;
  std::vector<Walker> walkers;
  std::vector<Behaviour> behaviours;
  std::vector<Plot> plots;
  std::vector<UiElement> ui;
  std::optional<View> view;
  std::optional<Look> look;
};

// ---- signals and keys

enum class Subject : std::uint8_t {
  kTime,       // time
  kLink,       // link.NAME.PROPERTY
  kJoint,      // joint.NAME.PROPERTY[.INDEX]
  kSensor,     // sensor.NAME[.INDEX]
  kActuator,   // actuator.NAME
  kEnergy,     // energy.PROPERTY
  kStep,       // step.PROPERTY
  kUi,         // ui.NAME
  kSetting,    // settings.PROPERTY
  kGravity,    // gravity
  kBehaviour,  // behaviour.NAME.PROPERTY
  kWalker,     // walker.NAME.PROPERTY
};
/// A signal or key, taken apart. Names may have dots of their own.
struct Reference {
  Subject subject = Subject::kTime;
  std::string name;      // of the link, joint, ...
  std::string property;  // "q", "px", "dt", "sleep.speed", ...
  int index = 0;         // of the dof or of the sensor's numbers
};
/// Unknown names list those that are near; `where` of the error is empty.
Result<Reference> find_signal(const LoadedScene& scene, std::string_view signal);
Result<Reference> find_key(const LoadedScene& scene, std::string_view key);
/// As it is written.
std::string to_string(const Reference& reference);

/// One setting by its name in the section `settings` of scenes, such as "dt" or "sleep.speed". Empty when
/// taken.
std::vector<Diagnostic> set_setting(WorldSettings& settings, std::string_view name, const Value& value);

}  // namespace karakuri
