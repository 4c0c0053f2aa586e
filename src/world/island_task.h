// One island on its way to being solved: what solve_islands.cc and bounce.cc share.
#pragma once

#include <span>

#include "karakuri/solver/solve.h"
#include "world/impl.h"

namespace karakuri::world_detail {

struct IslandTask {
  World::Impl& w;
  const Island& island;
  Slot& slot;
  double h;

  int block_count() const { return static_cast<int>(slot.near.size()); }
  int block_index(int b) const { return slot.near[b]; }
  const RowBlock& block(int b) const { return w.rows.blocks[block_index(b)]; }
};

inline bool has_position(const RowBlock& block) {
  return block.source == RowSource::kContact || is_limit(block.source);
}

/// Solves a problem; where the method does not take it, by the default.
solver::Report solve_or_default(const solver::Problem& problem, solver::Settings settings, Slot& slot,
                                std::span<double> lambda, bool* refused);

/// bounce.cc (1): what approaches at the start of the step bounces, or is stopped.
void bounce(const IslandTask& t, const solver::Settings& settings);

/// Impulses that stop a motion are not those that hold what rests afterwards: of an island that rests but for
/// a tiny motion, the motion is stopped first, like a bounce, so that the impulses of the step hold the next.
void stop(const IslandTask& t, solver::Settings settings);

}  // namespace karakuri::world_detail
