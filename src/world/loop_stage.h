// Loops that are closed and joints that are coupled, held where the solver of the step does not: positions at
// the end of a step, velocities there, accelerations inside one, by constraint/held_loops.h. The chord of
// add_loop_rows() borrows no more than
//   |dv|^2 <= 2 K / 100                                                                                   (1)
#pragma once

#include "constraint/held_loops.h"

namespace karakuri::world_detail {

struct LoopStage : HeldLoops {
  std::vector<std::int32_t> rows_alone;   // by loop, then by coupling: in World::Impl::rows; -1: not alone
  std::vector<std::int32_t> world_row;    // by row
  double fastest = 0;                     // velocity of a dof before they act, as a row's
  std::vector<std::uint8_t> contradicts;  // by root of a set of trees: its loops each other
};

}  // namespace karakuri::world_detail
