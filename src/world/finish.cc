// What is kept and told after a step: impulses for the next one, forces, slip and state of contacts, events,
// sleep.
#include <algorithm>
#include <cmath>

#include "dynamics/relative_velocity.h"
#include "karakuri/constraint/contact_rows.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/model/configuration.h"
#include "world/impl.h"
#include "world/penalty.h"

namespace karakuri {

namespace {

/// The sum of (lambda_k / mu_k)^2 over rows [first, last) of a contact.
double square_of_friction(const Rows& rows, const RowBlock& block, int first, int last) {
  double sum = 0;
  for (int i = block.row + first; i < block.row + last; ++i)
    sum += (rows.lambda[i] / rows.friction[i]) * (rows.lambda[i] / rows.friction[i]);
  return sum;
}

/// Whether a contact that is braked in rolling, too, slips for no other reason than that it rolls: sliding
/// has a small part in what friction brakes, and less of its impulse than rolling has.
bool merely_rolls(const World::Impl& w, const RowBlock& block, double slip) {
  constexpr double kShare = 0.1;
  const double *u = w.row_velocity.data() + block.row, *mu = w.rows.friction.data() + block.row;
  if (block.size < 6 || mu[1] == kNoFriction) return false;
  return mu[1] * slip < kShare * mu[4] * std::sqrt(u[4] * u[4] + u[5] * u[5]) &&
         square_of_friction(w.rows, block, 1, 3) < square_of_friction(w.rows, block, 4, 6);
}

/// Sliding, spinning and rolling share one ellipsoid: friction holds no slip back on its surface.
ContactState classify(const World::Impl& w, const RowBlock& block, double slip) {
  const double normal = w.rows.lambda[block.row], least = (1 - 1e-6) * normal;
  if (!(normal > 0)) return ContactState::kOpen;
  if (!(slip > 12 * w.settings.tolerance)) return ContactState::kStick;
  if (block.size < 3) return ContactState::kSlide;
  const bool on_surface = square_of_friction(w.rows, block, 1, block.size) >= least * least;
  return on_surface && !merely_rolls(w, block, slip) ? ContactState::kSlide : ContactState::kStick;
}

/// Along the surface, of B relative to A, at the end of the step.
/// @param velocity  of bodies then; only read where the contact has no rows along the surface
Vec3 slip_of(const World::Impl& w, const RowBlock& block, std::span<const Workspace::Velocity> velocity) {
  Vec3 slip = Vec3::Zero();
  for (int k = 1; k < std::min(3, block.size); ++k)
    slip += w.row_velocity[block.row + k] * w.rows.impulses[block.row + k].force;
  if (block.size >= 3) return slip;
  const Contact& c = w.contacts[block.index];
  const int a = w.colliders[c.collider_a].body, b = w.colliders[c.collider_b].body;
  const simd::V3 u = kernel::relative_velocity(b, a, simd::v3(c.point), w.ws, velocity).v;
  slip = Vec3(u[0], u[1], u[2]);
  return slip - slip.dot(c.normal) * c.normal;
}

/// The tangential spring of a contact by springs at the end of the step: penalty.cc (2), (3).
void follow_spring(World::Impl& w, const RowBlock& block, double h) {
  Contact& c = w.contacts[block.index];
  const int a = w.colliders[c.collider_a].body, b = w.colliders[c.collider_b].body;
  const world_detail::ContactSpring s =
      world_detail::contact_spring(w, a, b, w.surface_of(c.collider_a, c.collider_b), h);
  if (c.state == ContactState::kStick)
    c.stretch += h * c.slip;
  else if (c.state == ContactState::kOpen || !(s.along_stiffness > 0))
    c.stretch.setZero();
  else
    c.stretch = (c.force.dot(c.normal) * c.normal - c.force) / s.along_stiffness;
}

/// What keeps a contact from giving way too far is part of its force.
void read_excess(World::Impl& w, const RowBlock& block, double h) {
  Contact& c = w.contacts[block.index];
  c.force += w.total[block.row] / h * c.normal;
}

void read_contact(World::Impl& w, const RowBlock& block, double h) {
  Contact& c = w.contacts[block.index];
  const ContactImpulse step = read_contact_impulse(w.rows, block, w.rows.lambda.data());
  const bool bounces = !std::equal(w.total.begin() + block.row, w.total.begin() + block.row + block.size,
                                   w.rows.lambda.begin() + block.row);
  const ContactImpulse all = bounces ? read_contact_impulse(w.rows, block, w.total.data()) : step;
  c.impulse = step.force;
  c.turning_impulse = step.moment;
  const double per_second = 1 / h;
  c.force = all.force * per_second;
  c.moment = all.moment * per_second;
  c.slip = slip_of(w, block, w.trial_velocity);
  const double slip = c.slip.norm();
  c.state = classify(w, block, slip);
  if (world_detail::has_implicit_springs(w.settings)) return follow_spring(w, block, h);
  // What slips faster than a solved contact can has moved, and is held where it is now: contacts of one patch
  // would otherwise remember displacements that no rigid body can take back. Where rolling is braked too, the
  // common ellipsoid lets it slip a little, and the anchor takes that back.
  const bool solved = slip <= w.settings.acceptable || block.size == 6;
  if (c.state == ContactState::kStick && solved)
    c.stretch += h * c.slip;
  else
    c.stretch.setZero();
}

/// What joints did; of trees that sleep it stays as it was.
void clear_joint_impulses(World::Impl& w) {
  w.limit_before = w.limit_impulse;
  for (const std::int32_t t : w.jointed_trees) {
    if (!w.trees[t].awake) continue;
    const Tree& tree = w.model.trees[t];
    const Body &root = w.model.bodies[tree.first], &last = w.model.bodies[tree.last - 1];
    for (std::vector<double>* v : {&w.friction_impulse, &w.drive_impulse, &w.limit_impulse})
      std::fill(v->begin() + root.first_v, v->begin() + last.first_v + last.dofs, 0.0);
  }
}

bool has_no_friction(const RowBlock& block) { return block.source == RowSource::kContact && block.size < 3; }

/// What a rigid loop did in the step: its rows, which RK4 does not use where it holds the loop in its stages,
/// bouncing, and what loops.cc adds at the end of the step or in stages.
void read_loop(World::Impl& w, const RowBlock& block) {
  const Loop& loop = w.model.loops[block.index];
  const int t = w.tree_of[w.responds(loop.body_f) ? loop.body_f : loop.body_m];
  const std::array<double, 6>& turning = w.loop_turning[block.index];
  const bool in_stages = w.integrator_of(t) == Integrator::kRk4 && turning != std::array<double, 6>{};
  for (int k = 0, row = block.row; k < 6; ++k) {
    const bool is_row = block.which >> k & 1;
    const double impulse = is_row ? w.rows.impulse(row) : 0;
    w.loop_impulse[block.index][k] = impulse;
    w.loop_bounce[block.index][k] =
        (is_row ? w.rows.unit[row] * w.bounce[row] : 0) + turning[k] - (in_stages ? impulse : 0);
    row += is_row ? 1 : 0;
  }
}

void read_impulses(World::Impl& w, double h) {
  clear_joint_impulses(w);
  if (std::any_of(w.rows.blocks.begin(), w.rows.blocks.end(), has_no_friction))
    body_velocities(w.model, w.ws, w.state.v_view(), w.trial_velocity);
  for (std::size_t i = 0; i < w.model.relations.size(); ++i)
    if (w.responds(w.model.relations[i])) w.relation_impulse[i] = {};
  for (std::size_t i = 0; i < w.model.loops.size(); ++i)
    if (w.model.loops[i].bounds() && w.answers(w.model.loops[i])) w.loop_impulse[i] = {};
  for (const RowBlock& block : w.rows.blocks) {
    const double first = w.rows.impulse(block.row);
    switch (block.source) {
      case RowSource::kLoop: read_loop(w, block); break;
      case RowSource::kSoftLoop:
        for (int k = 0; k < block.size; ++k) w.loop_impulse[block.index][k] = w.rows.impulse(block.row + k);
        break;
      case RowSource::kLoopLow:
      case RowSource::kLoopHigh:
        w.loop_impulse[block.index][0] += world_detail::loop_limit_sign(block.source) * first;
        break;
      case RowSource::kCoupling:
      case RowSource::kTendonLow:
      case RowSource::kTendonHigh:
      case RowSource::kTendonSpring:
        w.relation_impulse[block.index][world_detail::relation_slot(block.source)] = first;
        break;
      case RowSource::kLimit:
        w.limit_impulse[block.index] += world_detail::limit_sign(w.model, w.ws, w.rows, block) * first;
        break;
      case RowSource::kFriction: w.friction_impulse[block.index] = first; break;
      case RowSource::kDrive: w.drive_impulse[block.index] = first; break;
      case RowSource::kSpring: w.springs[block.index].impulse = Vec3(w.rows.lambda.data() + block.row); break;
      case RowSource::kContact: read_contact(w, block, h); break;
      case RowSource::kExcess: read_excess(w, block, h); break;
    }
  }
}

/// What each drive gave: as a row, or as part of the mass matrix at the end of the step.
void read_drives(World::Impl& w, double h) {
  const auto is_awake = [&](int dof) { return w.trees[w.tree_of[w.model.dofs[dof].body]].awake != 0; };
  const bool all = std::all_of(w.trees.begin(), w.trees.end(), [](const auto& tree) { return tree.awake; });
  for (int i = 0; i < w.model.nv; ++i)
    if (all || is_awake(i)) w.drive_effort[i] = w.effort[i];
  for (const std::int32_t i : w.driven_dofs) {
    if (!(all || is_awake(i))) continue;
    if (!w.drive_is_row[i]) w.drive_impulse[i] = h * w.drive_effort_of(i);
    w.drive_effort[i] += w.drive_impulse[i] / h;
  }
}

bool presses(const Contact& c) { return c.force.squaredNorm() > 0; }

/// Both lists ascend by pair.
void contact_events(World::Impl& w) {
  w.collect_pressing(w.pressing_now);
  const auto tell = [&](EventKind kind, ProxyPair pair) {
    w.events.push_back(
        {kind, w.state.time, w.collider_infos[pair.a].link, w.collider_infos[pair.b].link, {}});
  };
  auto now = w.pressing_now.begin();
  auto old = w.pressing.begin();
  while (now != w.pressing_now.end() || old != w.pressing.end()) {
    if (old == w.pressing.end() || (now != w.pressing_now.end() && *now < *old))
      tell(EventKind::kContactBegin, *now++);
    else if (now == w.pressing_now.end() || *old < *now)
      tell(EventKind::kContactEnd, *old++);
    else
      ++now, ++old;
  }
  std::swap(w.pressing, w.pressing_now);
}

void limit_events(World::Impl& w) {
  for (const RowBlock& block : w.rows.blocks) {
    if (block.source != RowSource::kLimit || w.limit_impulse[block.index] == 0 ||
        w.limit_before[block.index] != 0)
      continue;
    const int body = w.model.dofs[block.index].body;
    w.events.push_back({EventKind::kLimitHit, w.state.time, {}, {}, w.joint_of_body[body]});
  }
}

/// Whether all joints are slow, with the limits that SleepSettings sets to bodies.
bool moves_slowly(const World::Impl& w, const Tree& tree) {
  const Body &root = w.model.bodies[tree.first], &last = w.model.bodies[tree.last - 1];
  for (int i = root.first_v; i < last.first_v + last.dofs; ++i) {
    const bool slides = w.model.dofs[i].kind == DofKind::kTranslation;
    const double most = slides ? w.settings.sleep.speed : 10 * w.settings.sleep.speed / w.scales.length;
    if (!(std::abs(w.state.v[i]) < most)) return false;
  }
  return true;
}

/// What bounds the speed of every point of a tree: no tree is longer than many bodies in a row.
double most_speed(const World::Impl& w, const Tree& tree) {
  constexpr double kLong = 1000;  // bodies' sizes
  const Body &root = w.model.bodies[tree.first], &last = w.model.bodies[tree.last - 1];
  double along = 0, turning = 0;
  for (int i = root.first_v; i < last.first_v + last.dofs; ++i)
    (w.model.dofs[i].kind == DofKind::kTranslation ? along : turning) += std::abs(w.state.v[i]);
  return along + kLong * w.scales.length * turning;
}

/// Whether a body at this velocity is slow, of which something is `arm` away from its origin [m].
bool is_slow(const World::Impl& w, const Vec3& linear, const Vec3& angular, double arm) {
  const double speed = w.settings.sleep.speed, most = 10 * speed / std::max(w.scales.length, arm);
  return linear.squaredNorm() < speed * speed && angular.squaredNorm() < most * most;
}

/// Slow joints move what is far from them fast. Of trees with slow joints; `velocity` gets those of their
/// bodies.
bool carries_slowly(const World::Impl& w, const Tree& tree, std::span<Workspace::Velocity> velocity) {
  body_velocities(w.model, w.ws, w.state.v_view(), tree, velocity);
  for (int b = tree.first; b < tree.last; ++b) {
    const Body& body = w.model.bodies[b];
    const double moment2 = Vec3(body.mass_com).squaredNorm();
    const double least = body.mass * w.scales.length;
    const bool is_long = moment2 > least * least;  // others need no arm
    const double arm = is_long && body.mass > 0 ? std::sqrt(moment2) / body.mass : 0;
    if (!is_slow(w, velocity[b].v, velocity[b].w, arm)) return false;
  }
  return true;
}

bool is_slow(World::Impl& w, const Tree& tree) {
  if (!moves_slowly(w, tree)) return false;
  if (w.model.bodies[tree.first].alone || most_speed(w, tree) < w.settings.sleep.speed) return true;
  return carries_slowly(w, tree, w.trial_velocity);
}

/// What turns slowly moves the far ends of large shapes fast: their trees are not still.
void watch_large_shapes(World::Impl& w) {
  const auto is_still = [](const world_detail::TreeStatus& status) { return status.still > 0; };
  if (!w.settings.sleep.enabled || std::none_of(w.trees.begin(), w.trees.end(), is_still)) return;
  for (const world_detail::BodyShape& c : w.colliders) {
    const double arm = c.arm + c.radius;
    if (!(arm > w.scales.length) || std::isinf(arm) || w.tree_of[c.body] < 0) continue;
    world_detail::TreeStatus& status = w.trees[w.tree_of[c.body]];
    if (!status.responds() || status.still == 0) continue;
    const Tree& tree = w.model.trees[w.tree_of[c.body]];
    body_velocities(w.model, w.ws, w.state.v_view(), tree, w.trial_velocity);
    const Workspace::Velocity& v = w.trial_velocity[c.body];
    if (!is_slow(w, v.v, v.w, arm)) status.still = 0;
  }
}

void fall_asleep(World::Impl& w, int t) {
  const Tree& tree = w.model.trees[t];
  const Body &root = w.model.bodies[tree.first], &last = w.model.bodies[tree.last - 1];
  w.trees[t].awake = 0;
  std::fill(w.state.v.begin() + root.first_v, w.state.v.begin() + last.first_v + last.dofs, 0.0);
  w.emit(EventKind::kSleep, t);
}

/// Whether the step has moved no joint of a tree further than what is slow: closing a loop moves without
/// velocity. @pre w.move: by how far the step has moved the joints
bool was_moved_slowly(const World::Impl& w, const Tree& tree, double h) {
  const Body &root = w.model.bodies[tree.first], &last = w.model.bodies[tree.last - 1];
  for (int i = root.first_v; i < last.first_v + last.dofs; ++i)
    if (!(std::abs(w.move[i]) < 10 * h * w.settings.sleep.speed)) return false;
  return true;
}

/// How long each tree has been slow, and each set of trees at least.
void count_stillness(World::Impl& w, double h) {
  std::vector<double>& least = w.still_of_set;  // by root
  std::fill(least.begin(), least.end(), std::numeric_limits<double>::infinity());
  if (w.holds_anything())
    difference(w.model, Eigen::Map<const Eigen::VectorXd>(w.q_before.data(), w.model.nq), w.state.q_view(),
               Eigen::Map<Eigen::VectorXd>(w.move.data(), w.model.nv));
  for (std::size_t t = 0; t < w.trees.size(); ++t) {
    world_detail::TreeStatus& status = w.trees[t];
    const bool slow = is_slow(w, w.model.trees[t]) && !(w.shifted[t] > h * w.settings.sleep.speed) &&
                      (!w.holds_anything() || was_moved_slowly(w, w.model.trees[t], h));
    if (status.responds()) status.still = slow ? status.still + h : 0;
  }
  watch_large_shapes(w);
  for (std::size_t t = 0; t < w.trees.size(); ++t) {
    const world_detail::TreeStatus& status = w.trees[t];
    if (!status.responds()) continue;
    double& set = least[w.root_of(static_cast<int>(t))];
    set = std::min(set, status.still);
  }
}

void sleep(World::Impl& w) {
  for (std::size_t t = 0; t < w.trees.size(); ++t) {
    if (w.trees[t].responds() && w.still_of_set[w.root_of(static_cast<int>(t))] >= w.settings.sleep.time)
      fall_asleep(w, static_cast<int>(t));
  }
}

/// The time after a step; where that is a whole number of steps, exactly: sums of h drift.
double later(double time, double h) {
  constexpr double kNear = 1e-6;  // of a step
  const double sum = time + h, whole = std::round(sum / h) * h;
  return std::abs(sum - whole) < kNear * h ? whole : sum;
}

}  // namespace

void World::Impl::collect_pressing(std::vector<ProxyPair>& out) const {
  out.clear();
  for (const Contact& c : contacts) {
    const ProxyPair pair{c.collider_a, c.collider_b};
    if (presses(c) && (out.empty() || out.back() != pair)) out.push_back(pair);
  }
}

void World::Impl::finish(double h) {
  quarantine_infinite_states();
  state.time = later(state.time, h);
  ++steps;
  read_impulses(*this, h);
  read_drives(*this, h);
  contact_events(*this);
  limit_events(*this);
  count_stillness(*this, h);
  if (settings.sleep.enabled) sleep(*this);
  view_fresh = past_fresh = false;
  report.energy_made = energy_made;
  report.energy_taken = energy_taken;
  report.energy_exchanged = energy_exchanged;
  report.energy_link = energy_made_by;
  report.motion_lost = motion_lost;
  report.motion_link = motion_lost > 0 ? motion_lost_by : LinkId{};
  if (!breaking.empty()) find_broken();
}

}  // namespace karakuri
