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

/// Whether spheres about the shapes' origins, which move straight, never come near each other: true of most
/// pairs, which then need no more.
bool stays_clear(const BodyShape& a, const Transform& start_a, const Transform& end_a, const BodyShape& b,
                 const Transform& start_b, const Transform& end_b) {
  const double reach = a.radius + b.radius + ImpactOptions{}.target;
  if (std::isinf(reach)) return false;
  const Vec3 d = start_b.p - start_a.p, way = end_b.p - end_a.p - d;
  const double t = std::clamp(-d.dot(way) / std::max(way.squaredNorm(), 1e-300), 0.0, 1.0);
  return (d + t * way).squaredNorm() > reach * reach;
}

/// The same of a shape and a plane that does not turn.
bool stays_above(const BodyShape& a, const Transform& start_a, const Transform& end_a, const BodyShape& plane,
                 const Transform& start, const Transform& end) {
  if (plane.shape->kind() != ShapeKind::kPlane || start.R.col(2) != end.R.col(2)) return false;
  const Vec3 n = start.R.col(2);
  const double least = std::min(n.dot(start_a.p - start.p), n.dot(end_a.p - end.p));
  return least > a.radius + ImpactOptions{}.target;
}

/// The share of the step that a pair may move.
double free_share(const World::Impl& w, ProxyPair pair, const Transform& end_a, const Transform& end_b,
                  CollisionWorkspace& ws) {
  const BodyShape &a = w.colliders[pair.a], &b = w.colliders[pair.b];
  const Transform &start_a = w.collider_pose[pair.a], &start_b = w.collider_pose[pair.b];
  if (stays_clear(a, start_a, end_a, b, start_b, end_b) ||
      stays_above(a, start_a, end_a, b, start_b, end_b) || stays_above(b, start_b, end_b, a, start_a, end_a))
    return 1;
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
  const Impact impact = time_of_impact(*a.shape, Sweep::between(start_a, end_a), *b.shape,
                                       Sweep::between(start_b, end_b), options, ws);
  const bool stops = impact.state == ImpactState::kTouching || impact.state == ImpactState::kUnresolved;
  return stops ? impact.t : 1;
}

/// Of a collider at the end of the step, in `view`, tree by tree as they are asked for.
Transform end_pose(World::Impl& w, int collider) {
  const BodyShape& c = w.colliders[collider];
  if (const int t = w.tree_of[c.body]; t >= 0 && !w.is_viewed[t]) {
    update_poses(w.model, w.state, w.model.trees[t], w.view);
    w.is_viewed[t] = 1;
  }
  return world_detail::pose_of(w.view, c);
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
  std::fill(is_viewed.begin(), is_viewed.end(), std::uint8_t{0});
  for (const PairMemory& memory : pairs) {
    const auto [a, b] = memory.pair;
    if (!fast[a] && !fast[b]) continue;
    const double share =
        free_share(*this, memory.pair, end_pose(*this, a), end_pose(*this, b), slots[0].collision);
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
