// Newton's method on the islands of tower_data.h.
#pragma once

#include "world/tower_data.h"

namespace karakuri::world_detail {

/// What is asked of a lane, and what came of it.
struct TowerGoal {
  double target = 0;        // residual that ends it at once
  double good = 0;          // that ends it with the solution of a problem
  double enough = 0;        // that is needed in any case
  bool is_quick = true;     // it tumbles: not from the last step's impulses, but from its motion
  bool is_hard = true;      // far from the last step's impulses
  bool is_carried = false;  // by the world: it does not fall as a whole
  bool wanted = false;
  // ---- answers
  bool solved = false;
  bool gave_up = false;
  int solves = 0;  // linear ones
};

// ---- towers.cc

/// Solves loose islands in motion that are small and narrow enough, as many as that succeeds for. Their
/// impulses, velocities, corrections of positions and reports are written, and `solved` is set.
void solve_towers(World::Impl& w, double h);

// ---- towers_newton.cc

/// Mobilities; force ← that of the impulses.
void begin_towers(Towers& t);
/// Natural map of the present impulses, as Measure::kScaled; their velocities go to `given` where asked, what
/// they do to bodies to `trial`.
ByLane residual_of_towers(Towers& t, bool keep_velocities);
/// Newton's method from the velocity `start` of all bodies.
void solve_goals(Towers& t, const Vec3& start, std::array<TowerGoal, kTowerLanes>& goals);
/// Sweeps over pseudo-impulses `push` that undo `gap`.
void push_towers(Towers& t, int sweeps);

// ---- towers_band.cc

/// diagonal, below ← M + Σ Jᵀ A J.
void assemble_towers(Towers& t);
void factor_towers(Towers& t);
/// x ← (factored)⁻¹ x.
void solve_towers_linear(const Towers& t, std::vector<TowerMotion>& x);

}  // namespace karakuri::world_detail
