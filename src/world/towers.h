// Newton's method on the islands of tower_data.h.
#pragma once

#include "solver/accuracy.h"
#include "world/tower_data.h"

namespace karakuri::world_detail {

/// What is asked of a lane, and what came of it.
struct TowerGoal : solver::LooseGoal {
  // ---- answers
  bool solved = false;
  double residual = 0;
  int solves = 0;  // linear ones
};

/// M⁻¹ f.
inline TowerMotion moved(const TowerBody& b, const TowerMotion& f) {
  Tower3 moment = f.w;
  lanes::subtract(moment, lanes::cross(b.com, f.v));
  TowerMotion m{lanes::scaled(f.v, b.inverse_mass), lanes::times(b.inverse_inertia, moment)};
  lanes::subtract(m.v, lanes::cross(m.w, b.com));
  return m;
}

// ---- towers.cc

/// Solves loose islands in motion that are small and narrow enough, as many as that succeeds for. Their
/// impulses, velocities, corrections of positions and reports are written, and `solved` is set.
void solve_towers(World::Impl& w, double h);

// ---- towers_group.cc

/// Bodies and patches of an island, which is left out where they are too much entangled.
void list_island(const World::Impl& w, Island& island, Slot& slot, TowerGroup& group);
/// A place for every patch of every island: those between the same bodies share it.
void find_places(TowerGroup& group);

// ---- towers_newton.cc

/// Natural map of the present impulses, as Measure::kScaled; trial ← what they do to bodies.
ByLane residual_of_towers(Towers& t);

/// Newton's method in all lanes at once, each with a problem of its own.
class TowerNewton {
 public:
  /// `start`: velocity of all bodies where a lane tumbles.
  TowerNewton(Towers& t, const Vec3& start) : t_(t), start_(start) {}

  /// Begins with what stands in the lane, and `trial` of residual_of_towers().
  void enter(int lane, const TowerGoal& goal);
  bool is_over(int lane) const { return course_[lane].over; }
  /// One linear solve.
  void step();
  /// Of a lane that is over. Where it is solved, bodies have the velocities `motion` − `error`.
  const TowerGoal& result(int lane) const { return goals_[lane]; }

 private:
  /// What is kept of a lane from one linear solve to the next.
  struct Course {
    bool over = true;
    bool gave_up = false;
    int solves = 0;  // of this problem
    double alpha = 1;
    double least = 0;  // α
    double last = 0;   // residual of the centre, where it was moved; else infinite

    bool is_moved() const;
  };

  void refresh();
  void begin_problem(int lane, double alpha);
  void go_to_start(int lane);
  void hold_lanes_that_are_over();
  bool recentre(int lane, double residual);
  bool try_coarser(int lane);
  bool end(int lane, double residual);
  bool give_up(int lane);
  void restore(int lane);
  void take_back_lanes_that_gave_up();
  bool decide(int lane, double residual, double inner);

  Towers& t_;
  Vec3 start_;
  std::array<TowerGoal, kTowerLanes> goals_;
  std::array<Course, kTowerLanes> course_;
  Tower inverse_alpha_ = Tower{} + 1;
  bool stale_ = false;  // impulses and forces are not those of `motion`
};

// ---- towers_push.cc

/// Sweeps over pseudo-impulses `push` that undo `gap`.
void push_towers(TowerPushes& pushes, int sweeps);

// ---- towers_band.cc

/// diagonal, below ← M + Σ Jᵀ A J.
void assemble_towers(Towers& t);
void factor_towers(Towers& t);
/// x ← (factored)⁻¹ x.
void solve_towers_linear(const Towers& t, std::vector<TowerMotion>& x);

}  // namespace karakuri::world_detail
