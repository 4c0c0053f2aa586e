// A walk as motion: centre of mass by preview control, feet by the schedule, joints by whole-body inverse
// kinematics, and a second preview pass for what the cart on a table leaves out. Knows no world: what is
// planned here is played by Walking. docs/walking.md.
#pragma once

#include <vector>

#include "karakuri/control/footsteps.h"
#include "karakuri/control/preview_control.h"
#include "karakuri/dynamics/inverse_kinematics.h"

namespace karakuri {

/// Where everything shall be at one time.
struct WalkingReference {
  double time = 0;
  Vec3 center = Vec3::Zero(), center_velocity = Vec3::Zero(), center_acceleration = Vec3::Zero();
  Vec3 zmp = Vec3::Zero();          // as the schedule wants it
  Vec3 zmp_planned = Vec3::Zero();  // of the whole body, as the motion will have it
  Soles soles;
  Mat3 root = Mat3::Identity();  // orientation
  double level = 0;              // of the floor [m]
  std::array<double, 2> shares{0.5, 0.5};
  std::array<bool, 2> in_air{};
  double to_landing = 0;  // of the foot in the air [s]
};

/// A robot's whole-body problem: its soles, its centre of mass, and its root's orientation.
class WholeBody {
 public:
  /// `biped` speaks of this model.
  static Result<WholeBody> make(Model model, const Biped& biped, const Gait& gait);

  const Model& model() const { return model_; }
  const Biped& biped() const { return biped_; }
  /// Moves q towards these; at most so many iterations.
  IkReport solve(const Soles& soles, const Vec3& center, const Mat3& root, int iterations, VecOut q);
  /// The posture, with the root upright over a middle between the feet.
  std::vector<double> first_guess(const Transform& X_WM, double height) const;
  Transform sole_in_foot(Side side) const;

 private:
  WholeBody(Model model, const Biped& biped);
  Model model_;
  Biped biped_;
  IkProblem problem_;
  InverseKinematics ik_;
};

class WalkingPattern {
 public:
  /// Standing at `soles`. Errors: numbers that make no sense, places that the legs do not reach.
  static Result<WalkingPattern> make(WholeBody body, const Gait& gait, const Soles& soles, double time);

  // ---- what to do, from the first moment that is not planned yet
  void set_plan(std::vector<PlannedSteps> plan, std::vector<Footstep> footsteps, Side first);
  /// Replaces what is left of the plan.
  void walk(const StepCommand& step, int count);
  int steps_left() const;
  /// Nothing is left to do, and the weight rests on both feet.
  bool standing(double time) const;
  int steps_done(double time) const { return schedule_.landed(time); }

  /// Plans on until `time`.
  void advance(double time);
  /// @pre advance(time) was called, and none with a later time than a period after this one
  WalkingReference at(double time) const;

  const Schedule& schedule() const { return schedule_; }
  const Gait& gait() const { return gait_; }
  WholeBody& body() { return body_; }
  const WholeBody& body() const { return body_; }
  /// How far ahead steps are decided [s].
  double lead() const;
  /// Where it all begins.
  const std::vector<double>& first_posture() const { return first_q_; }

  /// All that changes, by visitors of src/control/numbers.h.
  template <class Ar>
  void visit_state(Ar& ar);

 private:
  struct Axes {
    CartState x, y;
  };
  WalkingPattern(WholeBody body, const Gait& gait, PreviewControl first, PreviewControl second);
  void tick();
  void extend(double until);
  void find_error();
  double time_of(long long tick) const { return start_ + static_cast<double>(tick) * gait_.period; }
  std::size_t slot(long long tick) const { return static_cast<std::size_t>(tick) % carts_.size(); }

  WholeBody body_;
  Gait gait_;
  PreviewControl first_pass_, second_pass_;
  Schedule schedule_;
  std::vector<PlannedSteps> plan_;
  std::vector<Footstep> footsteps_;
  Side next_side_ = Side::kLeft;
  double start_ = 0;
  long long tick_ = 0;                     // the last one that at() can be asked for
  long long ahead_ = 0;                    // by how many ticks the first pass is ahead
  std::vector<Axes> carts_;                // of the first pass, by tick, a ring
  std::vector<double> error_x_, error_y_;  // of the ZMP, likewise
  Axes correction_, correction_before_;
  std::vector<double> q_, q_before_, first_q_;  // of the first pass
  State moving_;
  Workspace ws_;
  Force momentum_;  // half a tick before
  bool has_momentum_ = false;
  std::vector<double> zmp_x_, zmp_y_, error_ahead_;
};

}  // namespace karakuri
