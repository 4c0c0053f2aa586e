#include "solver/accuracy.h"

#include <algorithm>
#include <cmath>

namespace karakuri::solver {

namespace {

// Measured on piles, towers and heaps of boxes, with the energy that is left after some seconds;
// docs/solvers.md.
constexpr double kStill = 1e-4;    // of what a step of gravity gives: slower is at rest
constexpr double kSteady = 0.05;   // of the motion: what changes by less slides on
constexpr double kShare = 0.1;     // of the motion, or of what changes, may be left over of what tumbles,
constexpr double kLeft = 0.04;     //   and of what a step of gravity gives
constexpr double kCalm = 0.016;    // of what is usual in the scene
constexpr double kHard = 0.03;     // of what a step of gravity gives: a change that is far
constexpr double kSliding = 0.03;  // of the motion, or of what changes, of what slides on
constexpr double kAtRest = 1e-3;   // of the tolerance: it will not begin to move soon
constexpr double kHeap = 0.03;     // of the motion, or of what changes
// Of robots: digits that are lost in the next step's contacts, and more than what a stalled method finds.
constexpr double kRobot = 1e-5, kStalled = 3e-3;

double least(const KnownMotion& k) { return std::min(k.motion, k.change); }

}  // namespace

bool moves(const KnownMotion& k) { return k.motion > kStill * k.fall; }
bool tumbles(const KnownMotion& k) { return moves(k) && k.change > kSteady * k.motion; }
bool is_calm(const KnownMotion& k) { return k.motion < kCalm * k.usual; }
double most_left(const KnownMotion& k) { return k.fall > 0 ? kLeft * k.fall : kInfinity; }
double tumbling_target(const KnownMotion& k) { return std::min(kShare * least(k), most_left(k)); }
bool is_enough_of_sweeps(const KnownMotion& k, double residual) {
  return std::isfinite(residual) && (!is_calm(k) || residual <= most_left(k));
}

LooseGoal loose_goal(const KnownMotion& k) {
  LooseGoal goal{.is_quick = tumbles(k), .is_hard = k.change > kHard * k.fall};
  if (goal.is_quick) {
    goal.target = tumbling_target(k);
    goal.good = is_calm(k) ? k.motion : kInfinity;
    goal.enough = is_calm(k) ? most_left(k) : kInfinity;
  } else if (k.motion > k.exact) {
    goal.target = goal.good = std::max(k.exact, kSliding * least(k));
    goal.enough = std::max({goal.target, k.acceptable, moves(k) ? kShare * k.change : 0});
  } else {
    goal.target = goal.good = kAtRest * k.exact;
    goal.enough = std::max(kAcceptedAtRest * k.exact, k.acceptable);
  }
  return goal;
}

void follow_heap(const KnownMotion& k, Settings& settings) {
  settings.absolute = std::max(settings.absolute, kHeap * least(k));
}

void follow_tangle(const KnownMotion& k, Settings& settings) {
  if (tumbles(k)) settings.absolute = std::max(settings.absolute, tumbling_target(k));
}

void follow_motion(bool loose, double motion, double needed, Settings& settings) {
  const double change = std::min(motion, needed);
  settings.acceptable = std::max(settings.acceptable, kStalled * change);
  if (!loose) settings.absolute = std::max(settings.absolute, kRobot * change);
}

double target_of_kept(double exact) {
  constexpr double kShare = 0.1;  // an error that is let through comes back in the next step, magnified
  return kShare * exact;
}

bool may_be_kept(double exact, double residual, double speed) {
  constexpr double kGrowth = 4;  // of a motion in one step
  return residual <= kAcceptedAtRest * exact ||
         (residual <= target_of_kept(exact) && residual <= kGrowth * speed);
}

void grade(int max_sweeps, int max_newton, Report& r) {
  if (r.residual <= r.promised) {
    r.status = Status::kConverged;
    r.ending = Ending::kTolerance;
  } else if (r.residual <= r.target) {
    r.status = Status::kAccepted;
    r.ending = Ending::kAccuracy;
  } else {
    if (r.status == Status::kConverged || r.status == Status::kAccepted) r.status = Status::kIterationLimit;
    r.ending = r.out_of_work                       ? Ending::kWork
               : r.sweeps >= max_sweeps            ? Ending::kSweeps
               : r.newton_iterations >= max_newton ? Ending::kSolves
                                                   : Ending::kStall;
  }
}

}  // namespace karakuri::solver
