// Feed-forward by snapshot: the efforts with which joints move as wanted in the next step, whatever the
// mechanism is. Hasegawa et al. (Springhead); docs/control.md.
//
// A second world is brought to the present state, the joints are driven there at the wanted velocities, and
// after one step the efforts of the drives are read. Loops, limits, dry friction, springs and, where asked
// for, contacts act in that step as in the real one, so that no other model of the mechanism is needed. The
// real world is only read: calling from its hooks is fine.
#pragma once

#include <span>
#include <vector>

#include "karakuri/world/world.h"

namespace karakuri {

struct FeedforwardOptions {
  /// What the mechanism touches counts: for robots that stand on something, or hold it. Otherwise efforts are
  /// those of the mechanism alone, and what it touches is a disturbance.
  bool contact = false;
  /// For how long the efforts will act [s]; 0: settings().dt. Hooks of a world with substeps take dt /
  /// substeps.
  double duration = 0;
};

class Feedforward {
 public:
  /// @param joints  Of trees, with dofs; their efforts are sought. All other joints do what they do in
  /// `world`.
  static Result<Feedforward> make(const World& world, std::vector<JointId> joints,
                                  const FeedforwardOptions& options = {});

  /// Of all the joints, in their order; a joint of several dofs has its dofs side by side.
  int dofs() const { return static_cast<int>(effort_.size()); }
  std::span<const JointId> joints() const { return joints_; }
  const FeedforwardOptions& options() const { return options_; }

  /// Finds the efforts with which the joints have these velocities at the end of the coming step [rad/s or
  /// m/s]. Drives and efforts that `world` has on these joints do not count: effort() is all that they need.
  /// It is cut at the joints' effort limits. Allocates only where the structure of the world has changed, or
  /// its scene was edited. Errors: sizes, numbers that are not finite, joints that are gone; effort() is as
  /// before then.
  std::vector<Diagnostic> find(const World& world, std::span<const double> velocity);
  /// The same for accelerations over the coming step [rad/s^2 or m/s^2].
  std::vector<Diagnostic> find_for_acceleration(const World& world, std::span<const double> acceleration);

  /// What find() found (dofs()) [N m or N].
  std::span<const double> effort() const { return effort_; }
  /// Largest difference between a velocity that was asked for and what the trial reached [rad/s or m/s]: at
  /// the solver's tolerance, unless effort limits, stops or loops are in the way.
  double missed() const { return missed_; }
  /// Gives effort() to the joints of a world. False where one of them is gone; the others have theirs then.
  bool apply(World& world) const;

 private:
  Feedforward(World trial, std::vector<JointId> joints, const FeedforwardOptions& options);
  std::vector<Diagnostic> prepare(const World& world, std::span<const double> given, const char* what);
  void run();

  World trial_;
  std::vector<JointId> joints_;
  FeedforwardOptions options_;
  std::vector<double> effort_, target_;  // by dof
  double missed_ = 0;
};

/// One call of Feedforward, for when speed does not matter: the second world is made anew each time.
Result<std::vector<double>> feedforward(const World& world, std::span<const JointId> joints,
                                        std::span<const double> velocity,
                                        const FeedforwardOptions& options = {});

}  // namespace karakuri
