// Continuous contact: what a step may pass becomes rows of its problem.
//
// Contacts are found where shapes are at the start of the step, up to a distance of the order of their size
// (detect.cc). What comes further than it is thick may pass something that was not seen from there. So the
// motion v of the step, first the free one and then that of each solution, carries the shapes along sweeps.
// Where two of them meet at the share t of the step, each point of the manifold at that time becomes a
// speculative contact with the normal n of that time,
//   h n . (v_B(p) - v_A(p)) >= -g,   g = s - t h n . (v_B(p) - v_A(p)) at the motion that was swept (1)
// with its separation s at that time: the motion, cut at t, is just allowed. The point p has the arms from
// its body that it has at the impact.
//
// The step is solved with these rows and its motion swept again, until it meets nothing new. Whatever still
// passes then is slowed down as a whole,
//   v <- t v                                                                                              (2)
// which loses motion, is reported, and holds in any case; of a tree on a free joint whose links would pass
// each other, the motion within it, which keeps its momentum. So bodies move by h v and by nothing else, and
// pairs that touch at the start of the step belong to their contacts.
#include <algorithm>
#include <cmath>

#include "dynamics/free_spin.h"
#include "karakuri/collision/ccd.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/model/configuration.h"
#include "world/impl.h"
#include "world/reach.h"

namespace karakuri {

using world_detail::BodyShape;
using Path = World::Impl::Path;

namespace {

constexpr double kThick = 0.5;     // of the inner radius that a step may cover unwatched
constexpr double kNear = 1e-3;     // of the thinner shape: distance at which shapes count as met
constexpr double kManifold = 0.1;  // of the thinner shape: how far points of a manifold may be apart

Eigen::Map<const Eigen::VectorXd> as_vector(const std::vector<double>& v) {
  return {v.data(), static_cast<Eigen::Index>(v.size())};
}

/// Whether a shape comes further in a step, at this velocity of its body, than it may unwatched.
bool comes_far(const BodyShape& c, const Vec3& linear, const Vec3& angular, double h) {
  const double arm = world_detail::arm_of(c), most = kThick * c.inner_radius;
  // |v| + |w| arm <= sqrt(2 (v^2 + w^2 arm^2)): most shapes need no roots
  if (2 * h * h * (linear.squaredNorm() + angular.squaredNorm() * arm * arm) < most * most) return false;
  return h * world_detail::speed_of(c, linear, angular) > most;
}

/// Of bodies that are alone in their trees the rates are those of the body itself, in other axes.
bool is_fast(const World::Impl& w, const BodyShape& c, const std::vector<double>& v, double h) {
  const int tree = w.tree_of[c.body];
  if (tree < 0 || !w.trees[tree].awake || w.trees[tree].quarantined) return false;
  const Body& body = w.model.bodies[c.body];
  const double* rates = v.data() + body.first_v;
  if (body.alone) return comes_far(c, Vec3(rates), Vec3(rates + 3), h);
  const Workspace::Velocity& at = w.trial_velocity[c.body];
  return comes_far(c, at.v, at.w, h);
}

bool find_fast(World::Impl& w, const std::vector<double>& v, double h) {
  for (std::size_t t = 0; t < w.trees.size(); ++t) {
    const Tree& tree = w.model.trees[t];
    if (w.trees[t].awake && !w.trees[t].quarantined && !w.model.bodies[tree.first].alone)
      body_velocities(w.model, w.ws, as_vector(v), tree, w.trial_velocity);
  }
  bool any = false;
  for (std::size_t i = 0; i < w.colliders.size(); ++i) {
    w.fast[i] = is_fast(w, w.colliders[i], v, h);
    any = any || w.fast[i];
  }
  return any;
}

std::span<const Contact> contacts_of(const World::Impl& w, ProxyPair pair) {
  const auto before = [](const Contact& c, ProxyPair p) { return ProxyPair{c.collider_a, c.collider_b} < p; };
  auto last = std::lower_bound(w.contacts.begin(), w.contacts.end(), pair, before);
  const auto first = last;
  while (last != w.contacts.end() && last->collider_a == pair.a && last->collider_b == pair.b) ++last;
  return {first, last};
}

/// Of the thinner of two shapes [m].
double thickness(const BodyShape& a, const BodyShape& b) { return std::min(a.inner_radius, b.inner_radius); }

/// Whether the origins of two shapes in contact have changed sides.
bool changed_sides(const World::Impl& w, ProxyPair pair, const Contact& contact, const Transform& end_a,
                   const Transform& end_b) {
  const double before = (w.collider_pose[pair.b].p - w.collider_pose[pair.a].p).dot(contact.normal);
  const double after = (end_b.p - end_a.p).dot(contact.normal);
  return before > 0 && after < 0;
}

/// Whether two shapes in contact have gone through each other: they have changed sides, or they overlap by a
/// share of the thinner one's inner radius.
bool went_through(const World::Impl& w, ProxyPair pair, const Contact& contact, const Transform& end_a,
                  const Transform& end_b, CollisionWorkspace& ws, double share = kThick) {
  if (changed_sides(w, pair, contact, end_a, end_b)) return true;
  const BodyShape &a = w.colliders[pair.a], &b = w.colliders[pair.b];
  ClosestPoints nearest;
  return closest_points(*a.shape, end_a, *b.shape, end_b, ws, nearest) &&
         nearest.separation < -share * thickness(a, b);
}

/// Of two shapes that touch at the start, and have changed sides at the end, or come out behind the thinner
/// one: the last time at which they had not gone through each other. Their contacts look straight ahead, and
/// what turns far may come round them. What is as deep at the start belongs to its contacts.
/// @param depth  at the start [m]
Impact find_passage(World::Impl& w, ProxyPair pair, const Contact& contact, double depth, const Sweep& way_a,
                    const Sweep& way_b, CollisionWorkspace& ws) {
  constexpr int kHalvings = 12;
  constexpr double kOut = 2;  // of the inner radius: all of the thinner one
  const BodyShape &a = w.colliders[pair.a], &b = w.colliders[pair.b];
  const double share = depth / thickness(a, b);
  if (!(share < kOut) || !went_through(w, pair, contact, way_a.at(1), way_b.at(1), ws, kOut)) return {};
  const double through = share < kThick ? kThick : 0.5 * (share + kOut);
  double before = 0, after = 1;
  for (int k = 0; k < kHalvings; ++k) {
    const double t = 0.5 * (before + after);
    (went_through(w, pair, contact, way_a.at(t), way_b.at(t), ws, through) ? after : before) = t;
  }
  Impact impact{.state = ImpactState::kTouching, .t = before};
  const bool found =
      closest_points(*a.shape, way_a.at(before), *b.shape, way_b.at(before), ws, impact.nearest);
  return found ? impact : Impact{};
}

/// Whether spheres about the shapes' origins, which move straight, never come near each other: true of most
/// pairs, which then need no more.
bool stays_clear(const BodyShape& a, const Sweep& way_a, const BodyShape& b, const Sweep& way_b) {
  const double reach = a.radius + b.radius + kNear * thickness(a, b);
  if (std::isinf(reach) || !way_a.center.isZero(0) || !way_b.center.isZero(0)) return false;
  const Vec3 d = way_b.start.p - way_a.start.p, way = way_b.displacement - way_a.displacement;
  const double square = way.squaredNorm();
  const double t = square > 0 ? std::clamp(-d.dot(way) / square, 0.0, 1.0) : 0;
  return (d + t * way).squaredNorm() > reach * reach;
}

/// The same of a shape and a plane that does not move.
bool stays_above(const BodyShape& a, const Sweep& way, const BodyShape& plane, const Transform& at) {
  if (plane.shape->kind() != ShapeKind::kPlane) return false;
  const Vec3 n = at.R.col(2);
  const double least = n.dot(way.start * way.center - at.p) + std::min(0.0, n.dot(way.displacement));
  return least > a.radius + way.center.norm() + kNear * a.inner_radius;
}

/// The same of a body that is alone in its tree: its centre of mass goes straight, and it turns as in
/// move_bodies.cc.
Sweep find_sweep_alone(const World::Impl& w, const BodyShape& c, const Transform& start,
                       const std::vector<double>& v, double h) {
  const Body& body = w.model.bodies[c.body];
  const Workspace::Velocity& at = w.trial_velocity[c.body];
  const Vec3 com = w.model.free_bodies[body.extra].com;
  const Vec3 along = Vec3(at.v) + Vec3(at.w).cross(Mat3(w.ws.pose[c.body].R) * com);
  const Vec3 spin = Eigen::Map<const Vec3>(v.data() + body.first_v + 3);
  Vec3 turn = h * Vec3(at.w);
  if (h * spin.norm() > kFarSpin && tumbles(w.model, body, spin)) {
    const double* q = w.state.q.data() + body.first_q + 3;
    turn = Mat3(body.R_PF) * spin_freely(w.model, body, Quat(q[0], q[1], q[2], q[3]), spin, h);
  }
  return {start, c.X_BS.inverse() * com, h * along, turn};
}

/// Where a shape goes in the step. What is alone in its tree turns steadily about its centre of mass; other
/// links turn the short way from one end to the other.
Sweep find_sweep(World::Impl& w, int collider, const std::vector<double>& v, double h) {
  const BodyShape& c = w.colliders[collider];
  const Transform& start = w.collider_pose[collider];
  const int t = w.tree_of[c.body];
  if (t < 0 || !w.trees[t].awake || w.trees[t].quarantined) return Sweep::still(start);
  const Tree& tree = w.model.trees[t];
  if (w.model.bodies[c.body].alone) {
    if (!w.is_viewed[t]) body_velocities(w.model, w.ws, as_vector(v), tree, w.trial_velocity);
    w.is_viewed[t] = 1;
    return find_sweep_alone(w, c, start, v, h);
  }
  if (!w.is_viewed[t]) {
    const Body &root = w.model.bodies[tree.first], &last = w.model.bodies[tree.last - 1];
    std::copy(w.state.q.begin() + root.first_q, w.state.q.begin() + last.first_q + q_size(last.kind),
              w.ahead.q.begin() + root.first_q);
    integrate(w.model, tree.first, tree.last, w.ahead.q_view(), as_vector(v), h);
    update_poses(w.model, w.ahead, tree, w.view);
    w.is_viewed[t] = 1;
  }
  return Sweep::between(start, world_detail::pose_of(w.view, c));
}

/// While a shape turns by an angle, its points leave the box about both ends by at most that share of its
/// radius about the centre of the turn.
Path find_path(World::Impl& w, int collider, const std::vector<double>& v, double h) {
  const BodyShape& c = w.colliders[collider];
  Path path{find_sweep(w, collider, v, h), {}};
  const Sweep& s = path.sweep;
  path.box = bounding_box(*c.shape, s.start);
  if (s.displacement.isZero(0) && s.rotation.isZero(0)) return path;
  path.box.add(bounding_box(*c.shape, s.at(1)));
  const double angle = std::min(s.rotation.norm(), M_PI);
  const double radius = std::isinf(c.radius) ? 0 : c.radius + s.center.norm();
  const double turned = s.rotation.norm() > M_PI ? 2 * radius : radius * (1 - std::cos(0.5 * angle));
  path.box = path.box.grown(turned + (std::isinf(c.inner_radius) ? 0 : kNear * c.inner_radius));
  return path;
}

const Path& path_of(World::Impl& w, int collider, const std::vector<double>& v, double h) {
  if (!w.path_known[collider]) w.paths[collider] = find_path(w, collider, v, h);
  w.path_known[collider] = 1;
  return w.paths[collider];
}

/// How far two shapes move against each other in the step, at most: links of one tree fall side by side [m].
double relative_way(const BodyShape& a, const Sweep& way_a, const BodyShape& b, const Sweep& way_b) {
  const auto turned = [](const BodyShape& c, const Sweep& s) {
    return s.rotation.isZero(0) ? 0 : s.rotation.norm() * (c.radius + s.center.norm());
  };
  return (way_a.displacement - way_b.displacement).norm() + turned(a, way_a) + turned(b, way_b);
}

/// When a pair that was apart meets; kNone where it does not, or where its contacts see to it.
Impact find_impact(World::Impl& w, ProxyPair pair, const Path& path_a, const Path& path_b,
                   CollisionWorkspace& ws) {
  if (!path_a.box.overlaps(path_b.box)) return {};
  const BodyShape &a = w.colliders[pair.a], &b = w.colliders[pair.b];
  const Sweep &way_a = path_a.sweep, &way_b = path_b.sweep;
  if (relative_way(a, way_a, b, way_b) < kThick * thickness(a, b)) return {};
  if (stays_clear(a, way_a, b, way_b) || stays_above(a, way_a, b, way_b.start) ||
      stays_above(b, way_b, a, way_a.start))
    return {};
  ImpactOptions options;
  options.target = kNear * thickness(a, b);
  if (const std::span<const Contact> contacts = contacts_of(w, pair); !contacts.empty()) {
    if (!went_through(w, pair, contacts[0], way_a.at(1), way_b.at(1), ws)) return {};
    ClosestPoints nearest;
    if (!closest_points(*a.shape, way_a.start, *b.shape, way_b.start, ws, nearest)) return {};
    if (!(nearest.separation > 0.1 * options.target)) {  // they touch
      return find_passage(w, pair, contacts[0], -nearest.separation, way_a, way_b, ws);
    }
    options.target = std::min(options.target, 0.5 * nearest.separation);
  }
  options.tolerance = 0.25 * options.target;
  const Impact impact = time_of_impact(*a.shape, way_a, *b.shape, way_b, options, ws);
  const bool met = impact.state == ImpactState::kTouching || impact.state == ImpactState::kUnresolved;
  return met ? impact : Impact{};
}

/// Calls f(pair, impact) for all pairs that the motion lets meet.
template <class F>
void for_each_impact(World::Impl& w, const std::vector<double>& v, double h, F&& f) {
  if (!find_fast(w, v, h)) return;
  std::fill(w.is_viewed.begin(), w.is_viewed.end(), std::uint8_t{0});
  std::fill(w.path_known.begin(), w.path_known.end(), std::uint8_t{0});
  for (std::size_t i = 0; i < w.colliders.size(); ++i) {
    if (!w.fast[i]) continue;  // what is not comes by less than it is thick: who passes it passes its box
    const auto id = static_cast<ProxyId>(i);
    if (const Aabb& way = path_of(w, static_cast<int>(i), v, h).box; !w.broadphase.box(id).contains(way))
      w.broadphase.move(id, way);
  }
  for (const ProxyPair& pair : w.broadphase.pairs_of(w.fast)) {
    const Path &path_a = path_of(w, pair.a, v, h), &path_b = path_of(w, pair.b, v, h);
    const Impact impact = find_impact(w, pair, path_a, path_b, w.slots[0].collision);
    if (impact.state != ImpactState::kNone) f(pair, impact);
  }
}

/// Velocity of a point of a body [m/s].
Vec3 velocity_at(const World::Impl& w, int body, const Vec3& point) {
  const Workspace::Velocity& v = w.trial_velocity[body];
  return Vec3(v.v) + Vec3(v.w).cross(point - Vec3(w.ws.pose[body].p));
}

/// Where a point of the impact at `t` is at the start of the step, if the body only moves and does not turn.
Vec3 point_at_start(const World::Impl& w, const BodyShape& c, const Sweep& s, double t, const Vec3& p) {
  const Vec3 origin = s.at(t) * c.X_BS.inverse().p;  // of the body, at the impact
  return Vec3(w.ws.pose[c.body].p) + p - origin;
}

/// The point that both bodies' impulses act at: exact for the one whose turning matters more, which is the
/// smaller one; and one point for both, so that no angular momentum arises.
Vec3 common_point(const World::Impl& w, ProxyPair pair, double t, const Vec3& p) {
  const BodyShape &a = w.colliders[pair.a], &b = w.colliders[pair.b];
  const bool of_b = !w.responds(a.body) || (w.responds(b.body) && b.radius < a.radius);
  const int c = of_b ? pair.b : pair.a;
  return point_at_start(w, w.colliders[c], w.paths[c].sweep, t, p);
}

/// (1)
void add_point(World::Impl& w, ProxyPair pair, double t, const Manifold& m, int k, double h) {
  const int a = w.colliders[pair.a].body, b = w.colliders[pair.b].body;
  Contact& c = w.swept.emplace_back();
  c.link_a = w.colliders[pair.a].link;
  c.link_b = w.colliders[pair.b].link;
  c.collider_a = pair.a;
  c.collider_b = pair.b;
  c.part_a = m.part_a;
  c.part_b = m.part_b;
  c.feature = m.points[k].id();
  c.normal = m.normal;
  c.point = common_point(w, pair, t, m.points[k].position);
  const double closing = -m.normal.dot(velocity_at(w, b, c.point) - velocity_at(w, a, c.point));
  c.separation = std::max(0.0, m.points[k].separation) + t * h * std::max(0.0, closing);
}

void add_contacts(World::Impl& w, ProxyPair pair, const Impact& impact, const std::vector<double>& v,
                  double h) {
  const BodyShape &a = w.colliders[pair.a], &b = w.colliders[pair.b];
  for (const int c : {pair.a, pair.b})  // velocity_at() reads them
    if (const int t = w.tree_of[w.colliders[c].body]; t >= 0)
      body_velocities(w.model, w.ws, as_vector(v), w.model.trees[t], w.trial_velocity);
  const Transform at_a = w.paths[pair.a].sweep.at(impact.t), at_b = w.paths[pair.b].sweep.at(impact.t);
  w.swept_manifolds.clear();
  constexpr double kMostWork = 1e-3;  // of a step's: what meets is near each other at few places
  collide(*a.shape, at_a, *b.shape, at_b,
          {.margin = kManifold * thickness(a, b), .max_work = kMostWork * w.settings.max_work},
          w.slots[0].collision, w.swept_manifolds);
  if (w.swept_manifolds.empty()) {
    Manifold& m = w.swept_manifolds.emplace_back();
    m.normal = impact.nearest.normal;
    m.count = 1;
    m.points[0].position = 0.5 * (impact.nearest.on_a + impact.nearest.on_b);
    m.points[0].separation = impact.nearest.separation;
  }
  for (const Manifold& m : w.swept_manifolds)
    for (int k = 0; k < m.count; ++k) add_point(w, pair, impact.t, m, k, h);
}

/// Contacts ascend by pair.
void merge_swept(World::Impl& w) {
  w.contacts.insert(w.contacts.end(), w.swept.begin(), w.swept.end());
  const auto key = [](const Contact& c) { return ProxyPair{c.collider_a, c.collider_b}; };
  // insertion keeps the order of equals and needs no memory
  for (std::size_t i = w.contacts.size() - w.swept.size(); i < w.contacts.size(); ++i) {
    const auto at =
        std::upper_bound(w.contacts.begin(), w.contacts.begin() + static_cast<std::ptrdiff_t>(i),
                         key(w.contacts[i]), [&](ProxyPair pair, const Contact& c) { return pair < key(c); });
    std::rotate(at, w.contacts.begin() + static_cast<std::ptrdiff_t>(i),
                w.contacts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

/// Finds out for how long each tree may move as it does, and as a whole: free_within, free_until.
/// @return Whether any must be slowed down.
bool find_free_times(World::Impl& w, const std::vector<double>& v, double h, bool last) {
  std::fill(w.free_until.begin(), w.free_until.end(), 1.0);
  std::fill(w.free_within.begin(), w.free_within.end(), 1.0);
  bool any = false;
  for_each_impact(w, v, h, [&](ProxyPair pair, const Impact& impact) {
    const int a = w.tree_of[w.colliders[pair.a].body], b = w.tree_of[w.colliders[pair.b].body];
    if (a == b && impact.state == ImpactState::kUnresolved) return;  // might hold its joints for good
    for (const int t : {a, b}) {
      if (t < 0 || !w.trees[t].responds()) continue;
      const bool floats = w.model.bodies[w.model.trees[t].first].kind == JointKind::kFree;
      double& share = (a == b && floats ? w.free_within : w.free_until)[t];
      share = std::min(share, last ? 0.0 : impact.t);
      any = true;
    }
  });
  return any;
}

}  // namespace

bool World::Impl::meets_more(const std::vector<double>& v, double h) {
  if (!settings.continuous || settings.contact == ContactModel::kNone) return false;
  swept.clear();
  for_each_impact(*this, v, h,
                  [&](ProxyPair pair, const Impact& impact) { add_contacts(*this, pair, impact, v, h); });
  if (swept.empty()) return false;
  merge_swept(*this);
  return true;
}

bool World::Impl::passes(const std::vector<double>& v, double h) {
  return settings.continuous && settings.contact != ContactModel::kNone &&
         find_free_times(*this, v, h, false);
}

// Each round shortens the ways of those that still meet; in the last one they stay where they are.
void World::Impl::slow_down_what_passes(std::vector<double>& v, double h, bool any) {
  constexpr int kRounds = 8;
  std::fill(slowed.begin(), slowed.end(), std::uint8_t{0});
  if (!any || !settings.continuous || settings.contact == ContactModel::kNone) return;
  for (int round = 1; round <= kRounds; ++round) {
    if (!find_free_times(*this, v, h, round == kRounds)) return;
    for (std::size_t t = 0; t < trees.size(); ++t) {
      const double share = free_until[t], within = free_within[t];
      if (share == 1 && within == 1) continue;
      slow_down(static_cast<int>(t), share, within, v, h);  // (2)
      slowed[t] = slowed[t] || share < 1;
    }
  }
}

}  // namespace karakuri
