// Bodies that move further in a step than they are thick may have passed through something thin. Where they
// would have met it, their tree's motion ends: the rest of the step is lost, its velocity is not, and the
// next step finds the contact. Pairs that had contacts in this step are left to those.
//
// What impulses, forces and drives made faster than it was at the start of the step has come further than
// detect.cc looked. Its box in the broad phase is widened to its whole way, so that all are known whom it may
// have met. Boxes only choose the pairs to look at: what is found depends on the ways alone.
#include <algorithm>
#include <cmath>

#include "karakuri/collision/ccd.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/model/configuration.h"
#include "world/impl.h"
#include "world/reach.h"

namespace karakuri {

using world_detail::BodyShape;
using Path = World::Impl::Path;

namespace {

constexpr double kThick = 0.5;  // of the inner radius that a step may cover unwatched

/// Whether the joints of a tree became so much faster in the step that its links may have, too.
bool gained_speed(const World::Impl& w, const Tree& tree, double h) {
  constexpr double kUnseen = 1e-3;  // that all joints together came further [m or rad]
  const Body &root = w.model.bodies[tree.first], &last = w.model.bodies[tree.last - 1];
  if (root.alone) return false;
  using Dofs = Eigen::Map<const Eigen::VectorXd>;
  const int first = root.first_v, count = last.first_v + last.dofs - first;
  return h * (Dofs(w.state.v.data() + first, count) - Dofs(w.v_before.data() + first, count)).lpNorm<1>() >
         kUnseen;
}

/// Finds velocities at the end of the step of trees that gained speed, and sets `free_until` to 0 for them.
void find_gains(World::Impl& w, double h) {
  for (std::size_t t = 0; t < w.trees.size(); ++t) {
    const Tree& tree = w.model.trees[t];
    if (!w.trees[t].responds() || !gained_speed(w, tree, h)) continue;
    body_velocities(w.model, w.ws, w.state.v_view(), tree, w.trial_velocity);
    w.free_until[t] = 0;
  }
}

/// Whether a shape comes further in a step, at this velocity of its body, than it may unwatched.
bool comes_far(const BodyShape& c, const Vec3& linear, const Vec3& angular, double h) {
  const double arm = world_detail::arm_of(c), most = kThick * c.inner_radius;
  // |v| + |w| arm <= sqrt(2 (v^2 + w^2 arm^2)): most shapes need no roots
  if (2 * h * h * (linear.squaredNorm() + angular.squaredNorm() * arm * arm) < most * most) return false;
  return h * world_detail::speed_of(c, linear, angular) > most;
}

bool is_fast(const World::Impl& w, int collider, double h) {
  const BodyShape& c = w.colliders[collider];
  const int tree = w.tree_of[c.body];
  if (tree < 0 || !w.trees[tree].awake) return false;
  const double way = w.reach[collider] - 0.5 * w.settings.contact_margin;
  if (way > kThick * c.inner_radius) return true;
  const Workspace::Velocity& end = w.trial_velocity[c.body];
  if (w.free_until[tree] == 0) return comes_far(c, end.v, end.w, h);
  if (w.model.trees[tree].last - w.model.trees[tree].first > 1) return false;  // without a look at the body
  const Body& body = w.model.bodies[c.body];
  const double* v = w.state.v.data() + body.first_v;
  return body.alone && comes_far(c, Vec3(v), Vec3(v + 3), h);
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

/// Where a body's shape goes in the step. While it turns by an angle t, its points leave the straight line
/// between both ends by at most radius (1 - cos(t / 2)) <= radius (1 - cos t) / 2.
Path find_path(World::Impl& w, int collider) {
  const BodyShape& c = w.colliders[collider];
  const Transform& start = w.collider_pose[collider];
  const int t = w.tree_of[c.body];
  if (t < 0) return {start, bounding_box(*c.shape, start)};
  if (!w.is_viewed[t]) update_poses(w.model, w.state, w.model.trees[t], w.view);
  w.is_viewed[t] = 1;
  const Transform end = world_detail::pose_of(w.view, c);
  Aabb box = bounding_box(*c.shape, start);
  box.add(bounding_box(*c.shape, end));
  const double cosine = 0.5 * (start.R.cwiseProduct(end.R).sum() - 1);
  const double bulge = std::isinf(c.radius) ? 0 : 0.5 * c.radius * std::max(0.0, 1 - cosine);
  return {end, box.grown(bulge + ImpactOptions{}.target)};
}

const Path& path_of(World::Impl& w, int collider) {
  if (!w.path_known[collider]) w.paths[collider] = find_path(w, collider);
  w.path_known[collider] = 1;
  return w.paths[collider];
}

/// Boxes of what came further than them. What is not fast may have come further than its box, too, but by
/// less than it is thick: who passes it passes its box.
void widen_boxes(World::Impl& w) {
  for (std::size_t i = 0; i < w.colliders.size(); ++i) {
    if (!w.fast[i]) continue;
    const auto id = static_cast<ProxyId>(i);
    if (const Aabb& way = path_of(w, id).box; !w.broadphase.box(id).contains(way)) w.broadphase.move(id, way);
  }
}

/// The share of the step that a pair may move.
double free_share(World::Impl& w, ProxyPair pair, CollisionWorkspace& ws) {
  const Path &path_a = path_of(w, pair.a), &path_b = path_of(w, pair.b);
  if (!path_a.box.overlaps(path_b.box)) return 1;
  const BodyShape &a = w.colliders[pair.a], &b = w.colliders[pair.b];
  const Transform &start_a = w.collider_pose[pair.a], &start_b = w.collider_pose[pair.b];
  const Transform &end_a = path_a.end, &end_b = path_b.end;
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

}  // namespace

void World::Impl::stop_fast_bodies(double h) {
  std::fill(free_until.begin(), free_until.end(), 1.0);
  if (!settings.continuous || settings.contact == ContactModel::kNone) return;
  bool any = false;
  find_gains(*this, h);
  for (std::size_t i = 0; i < colliders.size(); ++i) {
    fast[i] = is_fast(*this, static_cast<int>(i), h);
    any = any || fast[i];
  }
  std::fill(free_until.begin(), free_until.end(), 1.0);
  if (!any) return;
  std::fill(is_viewed.begin(), is_viewed.end(), std::uint8_t{0});
  std::fill(path_known.begin(), path_known.end(), std::uint8_t{0});
  widen_boxes(*this);
  for (const ProxyPair& pair : broadphase.pairs_of(fast)) {
    const auto [a, b] = pair;
    const double share = free_share(*this, pair, slots[0].collision);
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
