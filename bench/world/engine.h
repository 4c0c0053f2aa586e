// One engine's world, stepped and looked at from outside.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "karakuri/core/diagnostic.h"
#include "karakuri/world/contact.h"
#include "karakuri/world/settings.h"
#include "scenes/setup.h"

namespace karakuri::bench {

class Engine {
 public:
  virtual ~Engine() = default;

  /// By Setup::dt.
  virtual void step() = 0;

  // ---- of the last step; not timed
  /// Centre of mass of a body of the setup, in the world [m].
  virtual Vec3 position(int body) const = 0;
  /// Points that press.
  virtual int contacts() const = 0;
  /// Depth of the deepest contact, as this engine's own collision detection found it [m].
  virtual double penetration() const = 0;
  /// How far the solved velocities are from the laws of contact [m/s]; only ours tells.
  virtual std::optional<StepReport> report() const { return std::nullopt; }
  /// Why this world is no longer worth stepping; empty: all is well.
  virtual std::string trouble() const { return ""; }
  virtual std::optional<StepTimes> times() const { return std::nullopt; }
};

/// A world, or why this engine cannot take the setup.
using Made = Result<std::unique_ptr<Engine>>;

enum class MujocoCone { kPyramidal, kElliptic };

// The setup must outlive the engine.
/// `settings` but for dt and sleep, which are the setup's and none.
Made make_karakuri(const Setup& setup, const WorldSettings& settings);
Made make_mujoco(const Setup& setup, MujocoCone cone);
Made make_bullet(const Setup& setup);
Made make_ode(const Setup& setup);
Made make_dart(const Setup& setup);

/// What MuJoCo makes of a file: its total mass and degrees of freedom.
struct MujocoFile {
  double mass = 0;
  int dofs = 0;
};
std::optional<MujocoFile> read_with_mujoco(const std::string& path);

/// For engines that are not there, and for setups that would take more than a second a step.
Diagnostic not_installed(const std::string& engine, const std::string& package);
Diagnostic too_slow(const std::string& engine, const Setup& setup, const std::string& why);

}  // namespace karakuri::bench
