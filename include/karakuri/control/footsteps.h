// Footsteps in time: where each foot is, where the ZMP shall be, and what comes next. docs/walking.md.
#pragma once

#include <array>
#include <vector>

#include "karakuri/core/diagnostic.h"
#include "karakuri/model/biped.h"

namespace karakuri {

/// Both soles, left and right.
using Soles = std::array<Transform, 2>;

/// Side by side about a middle.
Soles soles_about(const Transform& X_WM, double spacing);
/// The middle between two soles: mean place, mean heading, upright.
Transform middle_of(const Soles& soles);
/// Where a foot comes to when the other one stands at X_WS.
Footstep next_footstep(Side stance, const Transform& X_WS, const StepCommand& step, double spacing);
/// All footsteps of a plan, and a last one that brings the feet side by side.
std::vector<Footstep> plan_footsteps(const std::vector<PlannedSteps>& plan, Side first, const Soles& start,
                                     const Gait& gait);

/// From 0 to 1 with velocity and acceleration 0 at both ends: the polynomial of least jerk.
double smooth(double s);
/// From 0 to 1 and back, likewise.
double bump(double s);

/// A step in time, or a settling of weight where nothing swings.
struct Phase {
  double begin = 0, lift = 0, land = 0;  // double support, then single support [s]
  bool swings = true;
  Side swing = Side::kLeft;
  Transform from, to;  // of the sole that swings
  Vec3 zmp_before = Vec3::Zero(), zmp_after = Vec3::Zero();
  double left_before = 0.5, left_after = 0.5;  // share of the weight on the left foot
};

/// What is planned from now on. Times only grow; what is over is forgotten.
class Schedule {
 public:
  Schedule() = default;
  Schedule(const Gait& gait, const Soles& soles, double time);

  /// Appends a step, at the end of what is planned but not before `time`.
  void add(const Footstep& step, double time);
  /// Brings the weight to the middle between the feet.
  void settle();

  /// The last landing, or the end of settling.
  double end() const { return phases_.empty() ? start_ : phases_.back().land; }
  bool settled() const { return phases_.empty() || !phases_.back().swings; }
  /// The feet after all that is planned.
  const Soles& last_soles() const { return last_; }
  /// The foot that landed last; the other one is next.
  Side last_side() const { return last_side_; }
  void set_last_side(Side side) { last_side_ = side; }

  Vec3 zmp(double time) const;  // wanted, on the floor
  Soles soles(double time) const;
  double level(double time) const;  // of the floor that carries, smooth [m]
  /// Share of the weight that each foot is to carry.
  std::array<double, 2> shares(double time) const;
  /// The foot that is in the air, as planned.
  bool in_air(Side side, double time) const;
  /// When the foot that is in the air lands; `time` itself where none is.
  double next_landing(double time) const;
  /// Steps that have landed by then.
  int landed(double time) const;
  void forget(double time);

  const std::vector<Phase>& phases() const { return phases_; }
  /// All that changes, by visitors of src/control/numbers.h.
  template <class Ar>
  void visit_state(Ar& ar);

 private:
  Vec3 zmp_point(Side side, const Transform& X_WS) const;
  Vec3 middle_point() const;
  const Phase* phase_at(double time) const;  // that has begun by then, the last one

  Gait gait_;
  Soles first_, last_;  // before and after the phases
  double start_ = 0;
  Vec3 first_zmp_ = Vec3::Zero();
  double first_left_ = 0.5;
  Side last_side_ = Side::kRight;
  int forgotten_ = 0;  // steps
  std::vector<Phase> phases_;
};

}  // namespace karakuri
