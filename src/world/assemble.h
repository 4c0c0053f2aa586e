// An island of the world as constraint/state_island.h has it.
#pragma once

#include "constraint/state_island.h"
#include "world/impl.h"

namespace karakuri::world_detail {

inline RowsOnTrees rows_on_trees(const World::Impl& w) {
  return {w.model, w.ws, w.rows, w.tree_of, w.free_velocity};
}

/// slot.island.problem
inline void assemble(const World::Impl& w, BlockList blocks, Slot& slot) {
  slot.state.problem = &slot.island.problem;
  slot.state.response = &slot.response;
  state_island(rows_on_trees(w), blocks, slot.state);
}

/// The same in response vectors whatever the size, and no tree walked along.
inline void assemble_written_out(const World::Impl& w, BlockList blocks, Slot& slot) {
  slot.state.problem = &slot.island.problem;
  slot.state.response = &slot.response;
  state_island_written_out(rows_on_trees(w), blocks, slot.state);
}

}  // namespace karakuri::world_detail
