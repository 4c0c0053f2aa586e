// A scene that runs: its world, with actuators, controllers, timed events and sensors, and one vocabulary of
// names (docs/scenes.md) for everything that can be read or set. Command line, server and Python stand on it.
//
// Same scene, same calls, same seed: the same bits. No step allocates after the first few, unless an event
// changes the structure or something goes wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "karakuri/io/loaded_scene.h"
#include "karakuri/world/world.h"

namespace karakuri {

struct SessionOptions {
  std::uint64_t seed = 0;  // of the world's random numbers, from which sensors take their noise
  std::string keyframe;    // to start at: its name, or its number from 0; empty: the scene's initial state
};

/// A number of a session, found once by name and then read or set without a look-up. What it names may be
/// gone later (a joint that was cut): it then reads as not-a-number.
struct Signal {
  Subject subject = Subject::kTime;
  std::uint8_t property = 0;     // of the subject; known to src/session alone
  std::int32_t component = 0;    // dof, or number of the sensor's reading
  std::uint32_t index = 0;       // of the link's or joint's id; or of the actuator, sensor, slider
  std::uint32_t generation = 0;  // of the link's or joint's id
};

/// All that a session's future depends on, beside its scene and hooks: the world's snapshot, its settings,
/// and what actuators, controllers, sensors and timed events keep. A value: copy it, keep it, write it.
struct SessionSnapshot {
  std::vector<std::byte> bytes;  // with version and one checksum of all; may be written to a file as it is
};
/// Whether it is one, of this version, and whole; empty: it is.
std::vector<Diagnostic> find_flaws(const SessionSnapshot& snapshot);

class Session;
class Walking;

/// Runs the behaviours of a session's scene, in whatever language they are written (docs/behaviours.md).
class BehaviourHost {
 public:
  virtual ~BehaviourHost() = default;
  /// At the very start of each step: reads and acts. False: a behaviour has failed, and the step is not made;
  /// it is asked again at the next one. What is new is appended to `problems`, once.
  virtual bool before_step(Session& session, std::vector<Diagnostic>& problems) = 0;
  /// The session is at its start again, or was restored.
  virtual void after_reset(Session&) {}
};

class Session {
 public:
  /// Or all that is wrong with the scene. Actuators, sensors and keyframes without a name are given one.
  static Result<Session> make(LoadedScene scene, const SessionOptions& options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();
  /// A second session at the same point: both have the same future, bit for bit. Hooks are not copied, and
  /// nobody runs its behaviours.
  Session clone() const;

  /// `count` steps of world().settings().dt. Each: behaviours, events that are due, trajectories, hooks,
  /// actuators, the world's step, sensors that are due. Ends early where a behaviour fails.
  void step(int count = 1);
  double time() const { return world().time(); }
  /// Back to the start, or to a keyframe. Values that were set stay, but for controls. Errors: no such
  /// keyframe, and nothing changes.
  std::vector<Diagnostic> reset(std::string_view keyframe = {});

  /// What the scene was made from; its script, sensors and names are those of the session.
  const LoadedScene& scene() const;
  /// To read from, and for what has no name. Drives and efforts of joints that the session drives (actuators,
  /// controllers, keys) are set by it whenever one of these changes.
  World& world();
  const World& world() const;

  // ---- reading and setting by name
  /// Unknown names come with those that are near.
  Result<Signal> find(std::string_view signal) const;
  /// Not-a-number where it is gone.
  double read(const Signal& signal) const;
  Result<double> get(std::string_view signal) const;
  /// Empty when done, else why not, and nothing changes.
  std::vector<Diagnostic> set(std::string_view key, const Value& value);
  /// The value as a user writes it: "0.5", "0 0 -1.6" or "0,0,-1.6", "on", "newton".
  std::vector<Diagnostic> set_text(std::string_view key, std::string_view text);

  /// By index of scene().actuators; cut to the actuator's range when used.
  std::span<const double> controls() const;
  /// What the dynamics of actuators have made of their controls, likewise; 0 where there are none.
  std::span<const double> activations() const;
  bool set_control(int actuator, double control);
  /// What the keys joint.NAME.effort and .stiffness, .damping, ... set, by id: it adds to what actuators
  /// give. False, with nothing done, where there is no such dof or a number is not possible.
  bool set_effort(JointId joint, std::span<const double> effort);
  bool set_drive(JointId joint, const Drive& drive, int dof = 0);
  Drive drive(JointId joint, int dof = 0) const;
  /// Gives the world its drives and efforts now, as the next step would do first.
  void apply_drives();
  /// Of all dofs; 0 where none was set.  @pre effort.size() == world().model().nv
  void read_efforts(std::span<double> effort) const;
  /// Numbers of a sensor, by index of scene().sensors: docs/scenes.md tells which. Empty: none.
  std::span<const double> reading(int sensor) const;

  // ---- acting
  /// Changes values of the scene, see World::edit(); also for what reset() starts from.
  std::vector<Diagnostic> edit(const std::function<void(Scene&)>& change);
  std::vector<Diagnostic> edit(SceneEdit&& prepared);  // of its world
  /// Does what a timed event or a button asks for.
  std::vector<Diagnostic> perform(const Action& action);
  /// Called in each step before actuators are applied. Returns a number for remove_hook().
  int add_hook(std::function<void(Session&)> hook);
  void remove_hook(int hook);
  /// Of its own or of its world.
  bool has_hooks() const;
  /// Whoever runs scene().script.behaviours from now on; without one they do not run. The session's address
  /// must stay while it has one.
  void set_behaviours(std::unique_ptr<BehaviourHost> host);
  bool has_behaviours() const;
  /// A behaviour has failed: step() does nothing until it is mended. problems() tells why.
  bool halted() const;
  /// What events and behaviours of the script could not do, what was frozen because its state became
  /// non-finite, and once for each choice of a solver what it does otherwise than its settings sound, since
  /// the last clear_problems(); at most 100.
  std::span<const Diagnostic> problems() const;
  void clear_problems();
  /// What problems() has told of the solver that is chosen now: the friction that it really has, and that
  /// another method solves what it cannot. For those who come later.
  std::vector<Diagnostic> told_of_solver() const;

  // ---- robots that walk
  /// By index of scene().script.walkers: their plans and reports. Good until the next step or reset.
  std::span<const Walking> walkers() const;

  // ---- what the page shows beside the scene
  /// A new one, or in the place of that with the same name; a slider then keeps its value, as far as it fits.
  std::vector<Diagnostic> put(UiElement element);
  /// Likewise, by title.
  std::vector<Diagnostic> put(Plot plot);
  /// nullptr where there is none.
  const UiElement* find_ui(std::string_view name) const;
  /// Does what a button does.
  std::vector<Diagnostic> press(std::string_view button);
  /// How often it was pressed since the session was made; no part of its state.
  long long presses(std::string_view button) const;
  /// Another one after each put().
  int ui_version() const;

  // ---- snapshots
  SessionSnapshot snapshot() const;
  /// Errors when it is of another scene or damaged; nothing changes then.
  std::vector<Diagnostic> restore(const SessionSnapshot& snapshot);
  /// Everything that a snapshot of `other` would hold, without making one; does not allocate where the
  /// structure is the same. Errors when it is of another scene.
  std::vector<Diagnostic> restore(const Session& other);
  /// Of the world's state and of what actuators keep; equal for equal bits.
  std::uint64_t hash() const;

  struct Impl;

 private:
  friend class Batch;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// A Value from text: numbers separated by spaces or commas, else the word itself.
Value value_from_text(std::string_view text);

}  // namespace karakuri
