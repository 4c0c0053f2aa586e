// A look inside a step, for tests and benchmarks of the solver: what is to be solved, and what came of it.
// Without an observer it costs a look at the world's hooks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "karakuri/solver/solve.h"
#include "karakuri/world/world.h"
#include "solver/rigid_islands.h"

namespace karakuri::world_detail {

/// What is known of an island before anything of it is solved.
struct IslandState {
  std::uint64_t step = 0;
  double h = 0;          // length of the step [s]
  double fall = 0;       // that gravity adds to a velocity in it [m/s]
  double speed = 0;      // Scales::speed [m/s]
  double tolerance = 0;  // WorldSettings::tolerance [m/s]
  bool loose = false;    // free bodies alone
  // In the response vectors of trees, whatever its size: J^T and M^-1 J^T need no more than that.
  solver::Problem problem;
  // The same as rigid bodies: one island, or none where it is of anything else. Its points are the blocks.
  solver::RigidBatch rigid;
  std::vector<double> old;       // impulses of the last step, by row
  std::vector<double> velocity;  // of rows at the start of the step
};

class IslandObserver {
 public:
  virtual ~IslandObserver() = default;
  /// Asked of every island in each round of a step. @param numbers  That its problem takes, about.
  virtual bool wants(int island, int rows, std::size_t numbers) = 0;
  /// Of those that it wants.
  virtual void before(int island, IslandState state) = 0;
  /// Of the same, when they are solved. @param impulses  By row, with those of bouncing.
  virtual void after(int island, std::span<const double> impulses, const solver::Report& report) = 0;

 private:
  friend class IslandWindow;
  std::vector<int> seen_;  // in this round
};

/// A hook of a world that does nothing but name who looks: world.add_hook(ObserveIslands{&observer}).
struct ObserveIslands {
  IslandObserver* observer = nullptr;
  void operator()(World&) const {}
};

/// What solve_islands() opens for the time of a round.
class IslandWindow {
 public:
  IslandWindow(World::Impl& w, double h);
  /// When all is solved.
  void close() const;

 private:
  World::Impl& w_;
  IslandObserver* observer_ = nullptr;
};

}  // namespace karakuri::world_detail
