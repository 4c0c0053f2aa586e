// To which residual an island is solved, by what is known of it before: all that loosens the tolerance, or
// tightens it, stands here. What rests, what a loop holds, and what touches nothing is always solved to the
// tolerance.
#pragma once

#include "karakuri/solver/solve.h"

namespace karakuri::solver {

/// What is known of an island. All are roots of sums of squares over its rows [m/s].
struct KnownMotion {
  double exact = 0;       // the tolerance of each row
  double acceptable = 0;  // of each row, what is left where methods stall
  double motion = 0;      // speeds at the start of the step, and of corrections of positions that are due
  double change = 0;      // residual that the last step's impulses leave
  double fall = 0;        // what a step of gravity gives to each row
  double usual = 0;       // what is usual in the scene, of each row
};

/// It does not rest.
bool moves(const KnownMotion& k);
/// It does not slide on either: what it does changes.
bool tumbles(const KnownMotion& k);
/// It moves so slowly that what is left over would stir it up.
bool is_calm(const KnownMotion& k);
/// The most that may be left over of a step of gravity.
double most_left(const KnownMotion& k);
/// Of what tumbles.
double tumbling_target(const KnownMotion& k);

/// Whether sweeps may leave that much of it.
bool is_enough_of_sweeps(const KnownMotion& k, double residual);

/// What is asked of loose bodies.
struct LooseGoal {
  double target = 0;     // residual that ends it at once
  double good = 0;       // that ends it with the solution of a proximal problem
  double enough = 0;     // that is needed in any case
  bool is_quick = true;  // it tumbles: not from the last step's impulses, but from its motion
  bool is_hard = true;   // far from the last step's impulses
};
LooseGoal loose_goal(const KnownMotion& k);

/// Of a heap of loose bodies that is solved by the general methods.
void follow_heap(const KnownMotion& k, Settings& settings);
/// Of trees that are too many for Newton's method to be tried first, and touch each other.
void follow_tangle(const KnownMotion& k, Settings& settings);
/// Of what moves and touches anything. @param needed  The residual without any impulses.
void follow_motion(bool loose, double motion, double needed, Settings& settings);

/// Status and ending of a report, from its residual and what it has spent: `converged` is said where the
/// residual is within what is promised, and nowhere else.
void grade(int max_sweeps, int max_newton, Report& report);

/// What impulses of the last step may leave that are kept as they are.
double target_of_kept(double exact);
/// Whether they are. @param speed  Of the rows at the start of the step: where nothing moves yet, a residual
/// would make it move, and is let through only where it is tiny; see world/verify.cc.
bool may_be_kept(double exact, double residual, double speed);

/// Of the tolerance: what begins to rest is solved as far, ...
inline constexpr double kAcceptedAtRest = 1e-2;
/// ... where the last step's impulses leave no more than so many times it.
inline constexpr double kSettling = 100;
/// Of the motion that is stopped before: what is left of it.
inline constexpr double kOfStops = 1e-2;
/// Of the slop: what corrections of positions are solved to.
inline constexpr double kOfPositions = 1e-3;

}  // namespace karakuri::solver
