// Newton's method on the islands of banded_lanes.h.
#pragma once

#include "karakuri/spatial/types.h"
#include "solver/accuracy.h"
#include "solver/banded_lanes.h"

namespace karakuri::solver {

/// What is asked of a lane, and what came of it.
struct BandGoal : LooseGoal {
  // ---- answers
  bool solved = false;
  double residual = 0;
  int solves = 0;  // linear ones
};

inline constexpr int kMostSolvesOfAll = 40;  // linear ones, of a lane

/// M⁻¹ f.
inline BandMotion moved(const BandBody& b, const BandMotion& f) {
  Four3 moment = f.w;
  lanes::subtract(moment, lanes::cross(b.com, f.v));
  BandMotion m{lanes::scaled(f.v, b.inverse_mass), lanes::times(b.inverse_inertia, moment)};
  lanes::subtract(m.v, lanes::cross(m.w, b.com));
  return m;
}

// ---- banded_order.cc

/// Bodies and patches of an island, which is left out where its band would be wider. @param points  Of the
/// batch
void list_island(std::span<const RigidPoint> points, RigidIsland& island, int most_band, BandGroup& group);
/// A place for every patch of every island: those between the same bodies share it.
void find_places(BandGroup& group);

// ---- banded_newton.cc

/// Natural map of the present impulses, as Measure::kScaled; trial ← what they do to bodies.
ByLane residual_in_lanes(Band& t);

/// Newton's method in all lanes at once, each with a problem of its own.
class BandedNewton {
 public:
  /// `start`: velocity of all bodies where a lane tumbles.
  BandedNewton(Band& t, const Vec3& start) : t_(t), start_(start) {}

  /// Begins with what stands in the lane, and `trial` of residual_in_lanes().
  void enter(int lane, const BandGoal& goal);
  bool is_over(int lane) const { return course_[lane].over; }
  /// One linear solve.
  void step();
  /// Of a lane that is over. Where it is solved, bodies have the velocities `motion` − `error`.
  const BandGoal& result(int lane) const { return goals_[lane]; }

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

  Band& t_;
  Vec3 start_;
  std::array<BandGoal, kBandLanes> goals_;
  std::array<Course, kBandLanes> course_;
  Four inverse_alpha_ = Four{} + 1;
  bool stale_ = false;  // impulses and forces are not those of `motion`
};

// ---- banded_positions.cc

/// Sweeps over pseudo-impulses `push` that undo `gap`.
void push_in_lanes(BandPushes& pushes, int sweeps);

// ---- banded_factors.cc

/// diagonal, below ← M + Σ Jᵀ A J.
void assemble_band(Band& t);
void factor_band(Band& t);
/// x ← (factored)⁻¹ x.
void solve_band(const Band& t, std::vector<BandMotion>& x);

}  // namespace karakuri::solver
