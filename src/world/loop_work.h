// What loops.cc does with the loops that it holds: impulses on their rows, and the work of what is kinematic.
#pragma once

#include "world/impl.h"

namespace karakuri::world_detail {

/// Takes down in which sets of trees loops contradict each other: they stay open, or rows are left with more
/// than `most` of what they ask for.  @pre s.right: what is left, by row
void find_contradictions(const World::Impl& w, LoopStage& s, double most);

/// Takes down what impulses s.sum on the rows of loops give to what responds at the velocities of w.ws; loops
/// among such give nothing. And the impulses, but of those that contradict each other, which may press
/// without bound.
/// @param share  of the impulses
void add_given(World::Impl& w, LoopStage& s, double share);

}  // namespace karakuri::world_detail
