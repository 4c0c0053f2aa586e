// A tree whose state is not finite is frozen where it last was, reported, and left out from then on.
#include <algorithm>
#include <cmath>

#include "world/impl.h"

namespace karakuri {

namespace {

// Beyond this [m, rad, and per second] squares still fit, but nothing physical is left.
constexpr double kAbsurd = 1e50;

bool is_sane(const double* first, const double* last) {
  return std::all_of(first, last, [](double x) { return std::abs(x) < kAbsurd; });  // false for NaN
}

struct Range {
  int first_q, end_q, first_v, end_v;
};

Range range_of(const Model& model, const Tree& tree) {
  const Body &root = model.bodies[tree.first], &last = model.bodies[tree.last - 1];
  return {root.first_q, last.first_q + q_size(last.kind), root.first_v, last.first_v + last.dofs};
}

}  // namespace

void World::Impl::freeze_tree(int t) {
  const Range r = range_of(model, model.trees[t]);
  trees[t] = {.awake = 0, .quarantined = 1};
  std::copy(q_before.begin() + r.first_q, q_before.begin() + r.end_q, state.q.begin() + r.first_q);
  for (std::vector<double>* v :
       {&state.v, &v_free, &v_before, &limit_impulse, &friction_impulse, &drive_impulse})
    std::fill(v->begin() + r.first_v, v->begin() + r.end_v, 0.0);
  for (std::size_t i = 0; i < colliders.size(); ++i)  // it may have been moved by hand since they were placed
    if (tree_of[colliders[i].body] == t) collider_placed[i] = 0;
  emit(EventKind::kQuarantine, t);
}

void World::Impl::quarantine_infinite_motion() {
  bool any = false;
  for (std::size_t t = 0; t < trees.size(); ++t) {
    if (!trees[t].awake || trees[t].quarantined) continue;
    const Range r = range_of(model, model.trees[t]);
    if (is_sane(v_free.data() + r.first_v, v_free.data() + r.end_v)) continue;
    freeze_tree(static_cast<int>(t));
    any = true;
  }
  if (any) refresh_kinematics();
}

void World::Impl::quarantine_infinite_states() {
  for (std::size_t t = 0; t < trees.size(); ++t) {
    if (!trees[t].awake || trees[t].quarantined) continue;
    const Range r = range_of(model, model.trees[t]);
    if (is_sane(state.v.data() + r.first_v, state.v.data() + r.end_v) &&
        is_sane(state.q.data() + r.first_q, state.q.data() + r.end_q))
      continue;
    freeze_tree(static_cast<int>(t));
  }
}

}  // namespace karakuri
