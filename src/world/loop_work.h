// What loops.cc does with the loops that it holds: impulses on their rows, and the work of what is kinematic.
#pragma once

#include "world/impl.h"

namespace karakuri::world_detail {

/// Beyond this, of a body's size, a loop is open: the factor of the pose before is not used again.
inline constexpr double kWideOpen = 1e-6;

/// Calls f(body) for each body of a loop, and for each that the joints of a coupling carry.
template <class F>
void for_each_body(const World::Impl& w, bool is_loop, int index, F&& f) {
  if (is_loop) {
    f(w.model.loops[index].body_f);
    f(w.model.loops[index].body_m);
  } else {
    w.model.relations[index].for_each_dof([&](const Relation::Term& t) { f(w.model.dofs[t.dof].body); });
  }
}
template <class F>
void for_each_body(const World::Impl& w, const LoopStage::Member& m, F&& f) {
  for_each_body(w, m.is_loop, m.index, f);
}

/// Calls f(k, row) for each row of a member: the k-th of its loop.
template <class F>
void for_each_row(const LoopStage::Member& m, F&& f) {
  int row = m.first_row;
  for (int k = 0; k < 6; ++k)
    if (m.which >> k & 1) f(k, row++);
}

/// The first of its trees that responds.
inline int tree_of(const World::Impl& w, const LoopStage::Member& m) {
  int tree = -1;
  for_each_body(w, m, [&](int body) {
    if (tree < 0 && w.responds(body)) tree = w.tree_of[body];
  });
  return tree;
}
inline int root_of(const World::Impl& w, const LoopStage::Member& m) { return w.root_of(tree_of(w, m)); }

/// Takes down in which sets of trees loops contradict each other: they stay open, or rows are left with more
/// than `most` of what they ask for.  @pre s.right: what is left, by row
void find_contradictions(const World::Impl& w, LoopStage& s, double most);

/// Takes down what impulses s.sum on the rows of loops give to what responds at the velocities of w.ws; loops
/// among such give nothing. And the impulses, but of those that contradict each other, which may press
/// without bound.
/// @param share  of the impulses
void add_given(World::Impl& w, LoopStage& s, double share);

}  // namespace karakuri::world_detail
