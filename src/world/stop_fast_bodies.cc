// Bodies that move further in a step than they are thick may have passed through something thin. Where they
// would have met it, their tree's motion ends: the rest of the step is lost, its velocity is not, and the
// next step finds the contact. Pairs that had contacts in this step are left to those.
#include <algorithm>
#include <cmath>

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
  const Body& body = w.model.bodies[c.body];
  return body.alone && h * Vec3(w.state.v.data() + body.first_v).norm() > kThick * c.inner_radius;
}

Transform pose_of(const Workspace& ws, const BodyShape& c) {
  return Transform{Mat3(ws.pose[c.body].R), Vec3(ws.pose[c.body].p)} * c.X_BS;
}

std::span<const Contact> contacts_of(const World::Impl& w, ProxyPair pair) {
  const auto before = [](const Contact& c, ProxyPair p) { return ProxyPair{c.collider_a, c.collider_b} < p; };
  auto last = std::lower_bound(w.contacts.begin(), w.contacts.end(), pair, before);
  const auto first = last;
  while (last != w.contacts.end() && last->collider_a == pair.a && last->collider_b == pair.b) ++last;
  return {first, last};
}

/// Whether two shapes in contact have gone through each other: their origins have changed sides, or they
/// overlap by half of the thinner one.
bool went_through(const World::Impl& w, ProxyPair pair, const Contact& contact, const Transform& end_a,
                  const Transform& end_b, CollisionWorkspace& ws) {
  const BodyShape &a = w.colliders[pair.a], &b = w.colliders[pair.b];
  const bool endless = std::isinf(a.radius) || std::isinf(b.radius);
  const double before = (w.collider_pose[pair.b].p - w.collider_pose[pair.a].p).dot(contact.normal);
  const double after = (end_b.p - end_a.p).dot(contact.normal);
  if (!endless && before > 0 && after < 0) return true;
  ClosestPoints nearest;
  return closest_points(*a.shape, end_a, *b.shape, end_b, ws, nearest) &&
         nearest.separation < -kThick * std::min(a.inner_radius, b.inner_radius);
}

/// The share of the step that a pair may move.
double free_share(const World::Impl& w, ProxyPair pair, const Transform& end_a, const Transform& end_b,
                  CollisionWorkspace& ws) {
  ImpactOptions options;
  if (const std::span<const Contact> contacts = contacts_of(w, pair); !contacts.empty()) {
    if (!went_through(w, pair, contacts[0], end_a, end_b, ws)) return 1;
    double gap = contacts[0].separation;
    for (const Contact& c : contacts) gap = std::min(gap, c.separation);
    constexpr double kTouching = 1e-5;  // [m]
    if (gap < kTouching) return 0;
    options.target = std::min(options.target, 0.5 * gap);
    options.tolerance = 0.25 * options.target;
  }
  const Impact impact =
      time_of_impact(*w.colliders[pair.a].shape, Sweep::between(w.collider_pose[pair.a], end_a),
                     *w.colliders[pair.b].shape, Sweep::between(w.collider_pose[pair.b], end_b), options, ws);
  const bool stops = impact.state == ImpactState::kTouching || impact.state == ImpactState::kUnresolved;
  return stops ? impact.t : 1;
}

}  // namespace

void World::Impl::stop_fast_bodies(double h) {
  std::fill(free_until.begin(), free_until.end(), 1.0);
  if (!settings.continuous || settings.contact == ContactModel::kNone) return;
  bool any = false;
  for (std::size_t i = 0; i < colliders.size(); ++i) {
    fast[i] = is_fast(*this, static_cast<int>(i), h);
    any = any || fast[i];
  }
  if (!any) return;
  update_poses(model, state, view);
  for (const PairMemory& memory : pairs) {
    const auto [a, b] = memory.pair;
    if (!fast[a] && !fast[b]) continue;
    const double share = free_share(*this, memory.pair, pose_of(view, colliders[a]),
                                    pose_of(view, colliders[b]), slots[0].collision);
    if (share == 1) continue;
    for (const int c : {a, b}) {
      if (const int tree = tree_of[colliders[c].body]; tree >= 0)
        free_until[tree] = std::min(free_until[tree], share);
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
