// Bodies that move further in a step than they are thick may have passed through something thin. Where they
// would have met it, their tree's motion ends: the rest of the step is lost, its velocity is not, and the
// next step finds the contact. Pairs that had contacts in this step are left to those.
#include <algorithm>

#include "karakuri/collision/ccd.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/model/configuration.h"
#include "world/impl.h"

namespace karakuri {

using world_detail::BodyShape;

namespace {

constexpr double kThick = 0.5;  // of the inner radius that a step may cover unwatched

bool is_fast(const World::Impl& w, int collider, double h) {
  const BodyShape& c = w.colliders[collider];
  const int tree = w.tree_of[c.body];
  if (tree < 0 || !w.trees[tree].awake) return false;
  const double way = w.reach[collider] - 0.5 * w.settings.contact_margin;
  if (way > kThick * c.inner_radius) return true;
  // impulses may have made it faster than it was
  const Vec3 v(w.state.v.data() + w.model.bodies[w.model.trees[tree].first].first_v);
  return w.model.bodies[c.body].alone && h * v.norm() > kThick * c.inner_radius;
}

Transform pose_of(const Workspace& ws, const BodyShape& c) {
  return Transform{Mat3(ws.pose[c.body].R), Vec3(ws.pose[c.body].p)} * c.X_BS;
}

bool had_contact(const World::Impl& w, ProxyPair pair) {
  const auto at = std::lower_bound(
      w.contacts.begin(), w.contacts.end(), pair,
      [](const Contact& c, ProxyPair p) { return ProxyPair{c.collider_a, c.collider_b} < p; });
  return at != w.contacts.end() && at->collider_a == pair.a && at->collider_b == pair.b;
}

}  // namespace

void World::Impl::stop_fast_bodies(double h) {
  if (!settings.continuous) return;
  bool any = false;
  for (std::size_t i = 0; i < colliders.size(); ++i) {
    fast[i] = is_fast(*this, static_cast<int>(i), h);
    any = any || fast[i];
  }
  if (!any) return;
  update_poses(model, state, view);
  std::fill(free_until.begin(), free_until.end(), 1.0);
  for (const PairMemory& memory : pairs) {
    const auto [a, b] = memory.pair;
    if ((!fast[a] && !fast[b]) || had_contact(*this, memory.pair)) continue;
    const Sweep sweep_a = Sweep::between(collider_pose[a], pose_of(view, colliders[a]));
    const Sweep sweep_b = Sweep::between(collider_pose[b], pose_of(view, colliders[b]));
    const Impact impact =
        time_of_impact(*colliders[a].shape, sweep_a, *colliders[b].shape, sweep_b, {}, slots[0].collision);
    if (impact.state != ImpactState::kTouching && impact.state != ImpactState::kUnresolved) continue;
    for (const int c : {a, b}) {
      if (const int tree = tree_of[colliders[c].body]; tree >= 0)
        free_until[tree] = std::min(free_until[tree], impact.t);
    }
  }
  for (std::size_t t = 0; t < trees.size(); ++t) {
    if (free_until[t] == 1 || trees[t].kinematic) continue;
    const Tree& tree = model.trees[t];
    const Body& last = model.bodies[tree.last - 1];
    const int first_q = model.bodies[tree.first].first_q, end_q = last.first_q + q_size(last.kind);
    const auto before = Eigen::Map<const Eigen::VectorXd>(q_before.data(), model.nq);
    difference(model, before, state.q_view(), Eigen::Map<Eigen::VectorXd>(move.data(), model.nv));
    std::copy(q_before.begin() + first_q, q_before.begin() + end_q, state.q.begin() + first_q);
    integrate(model, tree.first, tree.last, state.q_view(),
              Eigen::Map<Eigen::VectorXd>(move.data(), model.nv), free_until[t]);
  }
}

}  // namespace karakuri
