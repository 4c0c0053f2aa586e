// What a step cannot follow is slowed down before it moves, and what that costs is told: the way that the
// shape of a tree which loses most would have gone beside.
#include <algorithm>
#include <cmath>

#include "karakuri/dynamics/kinematics.h"
#include "world/dofs.h"
#include "world/impl.h"
#include "world/reach.h"
#include "world/rigid_motion.h"

namespace karakuri {

using world_detail::kFarTurn;

namespace {

Eigen::Map<const Eigen::VectorXd> as_vector(const std::vector<double>& v) {
  return {v.data(), static_cast<Eigen::Index>(v.size())};
}

/// @pre trial_velocity and free_velocity: of the tree's bodies before and after
void tell_lost(World::Impl& w, int t, double h) {
  for (const world_detail::BodyShape& c : w.colliders) {
    if (w.tree_of[c.body] != t) continue;
    const Workspace::Velocity &before = w.trial_velocity[c.body], &after = w.free_velocity[c.body];
    const double lost =
        h * world_detail::speed_of(c, Vec3(before.v) - Vec3(after.v), Vec3(before.w) - Vec3(after.w));
    if (lost > w.motion_lost) w.motion_lost = lost, w.motion_lost_by = c.link;
  }
}

/// How far the joints between the bodies of each loop turn in a step, by the root of its set of trees [rad].
void find_turns(const World::Impl& w, const std::vector<double>& v, double h, std::vector<double>& most) {
  std::fill(most.begin(), most.end(), 0.0);
  const auto turn_of = [&](int body) {
    const Body& b = w.model.bodies[body];
    double turn = 0;
    for (int i = b.first_v; i < b.first_v + b.dofs && b.kind != JointKind::kFree; ++i)
      if (w.model.dofs[i].kind != DofKind::kTranslation) turn = std::max(turn, h * std::abs(v[i]));
    return turn;
  };
  for (std::size_t i = 0; i < w.model.loops.size(); ++i) {
    const Loop& loop = w.model.loops[i];
    if (!w.state.loop_closed[i] || !loop.held()) continue;
    int a = loop.body_f, b = loop.body_m;
    double turn = 0;
    while (a != b) {  // bodies follow their parents
      int& further = a > b ? a : b;
      turn = std::max(turn, turn_of(further));
      further = w.model.bodies[further].parent;
    }
    for (const int body : {loop.body_f, loop.body_m})
      if (w.responds(body))
        most[w.root_of(w.tree_of[body])] = std::max(most[w.root_of(w.tree_of[body])], turn);
  }
}

}  // namespace

void World::Impl::slow_down(int t, double share, double within, std::vector<double>& v, double h) {
  const Tree& tree = model.trees[t];
  body_velocities(model, ws, as_vector(v), tree, trial_velocity);
  if (within < 1) world_detail::slow_within(*this, tree, within, v);
  if (share < 1) world_detail::scale_rates(model, tree, share, v);
  body_velocities(model, ws, as_vector(v), tree, free_velocity);
  tell_lost(*this, t, h);
  body_velocities(model, ws, as_vector(v_free), tree, free_velocity);  // as they were
}

bool World::Impl::turns_loops_far(const std::vector<double>& v, double h) {
  if (model.loops.empty()) return false;
  find_turns(*this, v, h, still_of_set);
  for (std::size_t t = 0; t < trees.size(); ++t)
    if (trees[t].responds() && still_of_set[root_of(static_cast<int>(t))] > kFarTurn) return true;
  return false;
}

// What turns too far cannot be kept closed.
void World::Impl::slow_down_loops(std::vector<double>& v, double h) {
  if (model.loops.empty()) return;
  find_turns(*this, v, h, still_of_set);
  for (std::size_t t = 0; t < trees.size(); ++t) {
    const double turn = trees[t].responds() ? still_of_set[root_of(static_cast<int>(t))] : 0;
    if (turn > kFarTurn) slow_down(static_cast<int>(t), 1, kFarTurn / turn, v, h);
  }
}

}  // namespace karakuri
