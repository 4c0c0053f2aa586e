// What users of a world read and set.
#include "karakuri/world/world.h"

#include <algorithm>
#include <cmath>

#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/loop_rows.h"
#include "karakuri/dynamics/rnea.h"
#include "karakuri/spatial/rotation.h"
#include "world/impl.h"

namespace karakuri {

using world_detail::SpringSlot;

namespace {

bool all_finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

}  // namespace

// ---- what it is

const Scene& World::scene() const { return impl_->scene; }
const Model& World::model() const { return impl_->model; }
const WorldSettings& World::settings() const { return impl_->given; }
const WorldSettings& World::effective_settings() const { return impl_->settings; }
const Scales& World::scales() const { return impl_->scales; }
const Vec3& World::gravity() const { return impl_->gravity; }
std::span<const ColliderInfo> World::colliders() const { return impl_->collider_infos; }

std::vector<Diagnostic> World::set_settings(const WorldSettings& settings) {
  std::vector<Diagnostic> flaws = world_detail::check_settings(settings, impl_->scene);
  if (!flaws.empty()) return flaws;
  const bool other_threads = settings.threads != impl_->settings.threads;
  const auto touches = [](const WorldSettings& s) { return s.contact != ContactModel::kNone; };
  const bool wakes = (impl_->settings.sleep.enabled && !settings.sleep.enabled) ||
                     touches(impl_->settings) != touches(settings);
  impl_->given = settings;
  impl_->resolve_settings();
  if (other_threads) impl_->use_threads(settings.threads);
  for (std::size_t t = 0; wakes && t < impl_->trees.size(); ++t) impl_->wake_tree(static_cast<int>(t));
  return {};
}

bool World::set_gravity(const Vec3& gravity) {
  if (!gravity.allFinite()) return false;
  impl_->gravity = impl_->model.gravity = gravity;
  impl_->resolve_settings();
  for (std::size_t t = 0; t < impl_->trees.size(); ++t) impl_->wake_tree(static_cast<int>(t));
  return true;
}

// ---- where it is

double World::time() const { return impl_->state.time; }
const State& World::state() const { return impl_->state; }

std::span<const double> World::q(JointId id) const {
  const JointEntry* joint = impl_->model.find(id);
  if (!joint || joint->first_q < 0) return {};
  return {impl_->state.q.data() + joint->first_q, static_cast<std::size_t>(q_size(joint->kind))};
}

std::span<const double> World::v(JointId id) const {
  const JointEntry* joint = impl_->model.find(id);
  if (!joint || joint->first_v < 0) return {};
  return {impl_->state.v.data() + joint->first_v, static_cast<std::size_t>(v_size(joint->kind))};
}

void World::Impl::refresh_view() const {
  if (view_fresh) return;
  update_poses(model, state, view);
  update_velocities(model, state, view);
  view_fresh = true;
  view_boxes_fresh = false;
}

/// The tree of the step itself has boxes of its start, and what it holds decides what the next one compares.
void World::Impl::refresh_view_boxes() const {
  refresh_view();
  if (view_boxes_fresh) return;
  const int count = static_cast<int>(colliders.size());
  if (view_boxes.size() != count) view_boxes = Broadphase();
  const bool is_new = view_boxes.size() == 0;
  for (int i = 0; i < count; ++i) {
    const Aabb box = bounding_box(*colliders[i].shape, pose_of(view, colliders[i]));
    if (is_new)
      view_boxes.insert(box);
    else
      view_boxes.move(i, box);
  }
  view_boxes_fresh = true;
}

Transform World::pose(LinkId link) const {
  if (!impl_->model.find(link)) return {};
  impl_->refresh_view();
  return link_pose(impl_->model, impl_->view, link);
}

Motion World::velocity(LinkId link) const {
  if (!impl_->model.find(link)) return {};
  impl_->refresh_view();
  return point_velocity(impl_->model, impl_->view, link, Vec3::Zero());
}

Motion World::acceleration(LinkId link) const {
  const Impl& w = *impl_;
  if (!w.model.find(link) || !(w.h_before > 0)) return {};
  w.refresh_view();
  w.refresh_past();
  const Motion now = point_velocity(w.model, w.view, link, Vec3::Zero());
  return (now - point_velocity(w.model, w.past, link, Vec3::Zero())) * (1 / w.h_before);
}

/// Inverse dynamics of the last step, with all that acted on bodies from outside their joints: what is left
/// is what the joints carried. Contacts, loops and springs are taken from what a snapshot saves, so that a
/// restored world reads the same.
void World::Impl::refresh_past() const {
  if (past_fresh) return;
  past_state.q = q_before;
  past_state.v = v_before;
  update_poses(model, past_state, past);
  std::fill(past_forces.begin(), past_forces.end(), Force{});
  const auto add = [&](int body, double sign, const Vec3& point, const Vec3& force, const Vec3& moment) {
    const Vec3 arm = point - Vec3(past.pose[body].p);
    past_forces[body] = past_forces[body] + Force{sign * (moment + arm.cross(force)), sign * force};
  };
  for (const Contact& c : contacts) {
    add(colliders[c.collider_b].body, 1, c.point, c.force, c.moment);
    add(colliders[c.collider_a].body, -1, c.point, c.force, c.moment);
  }
  update_velocities(model, past_state, past);
  for (std::size_t i = 0; i < model.loops.size(); ++i) {
    if (!state.loop_closed[i]) continue;
    const LoopRows held = loop_rows(model.loops[i], past);
    for (int k = 0; k < held.count; ++k) {
      const ImpulseRow& row = held.row[k];
      const double force = (loop_impulse[i][k] + loop_bounce[i][k]) / h_before;
      add(row.body, force, row.point, row.force, row.moment);
      add(row.other, -force, row.point, row.force, row.moment);
    }
  }
  // couplings and tendons push joints as drives do, and are part of what joints carry
  for (const SpringSlot& slot : springs) {
    const LinkEntry* link = slot.used ? model.find(slot.spring.link) : nullptr;
    if (link)
      add(link->body, 1, link_pose(model, past, slot.spring.link) * slot.spring.p_L, slot.impulse / h_before,
          Vec3::Zero());
  }
  for (const world_detail::PendingForce& f : applied)
    add_external_wrench(model, past, f.link, f.p_L, {f.moment, f.force}, past_forces);
  Eigen::Map<Eigen::VectorXd> change(past_a.data(), model.nv), ignored(past_tau.data(), model.nv);
  for (int i = 0; i < model.nv; ++i) past_a[i] = (state.v[i] - v_before[i]) / h_before;
  rnea(model, past_state, change, past_forces, past, ignored);
  past_fresh = true;
}

// ---- setting it

bool World::set_q(JointId id, std::span<const double> q) {
  Impl& w = *impl_;
  const JointEntry* joint = w.model.find(id);
  if (!joint || joint->first_q < 0 || static_cast<int>(q.size()) != q_size(joint->kind) || !all_finite(q))
    return false;
  double* to = w.state.q.data() + joint->first_q;
  std::copy(q.begin(), q.end(), to);
  if (has_quaternion(joint->kind)) {
    double* at = to + q.size() - 4;
    const Quat unit = normalized_or_identity(Quat(at[0], at[1], at[2], at[3]));
    at[0] = unit.w(), at[1] = unit.x(), at[2] = unit.y(), at[3] = unit.z();
  }
  w.moved_by_hand(w.tree_of[joint->body]);
  return true;
}

bool World::set_v(JointId id, std::span<const double> v) {
  Impl& w = *impl_;
  const JointEntry* joint = w.model.find(id);
  if (!joint || joint->first_v < 0 || static_cast<int>(v.size()) != v_size(joint->kind) || !all_finite(v))
    return false;
  std::copy(v.begin(), v.end(), w.state.v.begin() + joint->first_v);
  w.wake_tree(w.tree_of[joint->body]);
  w.view_fresh = false;
  return true;
}

bool World::set_state(std::span<const double> q, std::span<const double> v) {
  Impl& w = *impl_;
  if (q.size() != w.state.q.size() || v.size() != w.state.v.size() || !all_finite(q) || !all_finite(v))
    return false;
  for (const JointEntry& joint : w.model.joints) {
    if (joint.first_q < 0) continue;
    set_q(joint.id, q.subspan(joint.first_q, q_size(joint.kind)));
    set_v(joint.id, v.subspan(joint.first_v, v_size(joint.kind)));
  }
  return true;
}

bool World::set_time(double time) {
  if (!std::isfinite(time)) return false;
  impl_->state.time = time;
  return true;
}

bool World::teleport(LinkId link, const Transform& X_WL) {
  Impl& w = *impl_;
  const int tree = w.tree_of_link(link);
  if (tree < 0 || !X_WL.p.allFinite() || !X_WL.R.allFinite()) return false;
  const Body& root = w.model.bodies[w.model.trees[tree].first];
  if (root.kind != JointKind::kFree) return false;
  w.refresh_view();
  const Workspace::Pose& at = w.view.pose[w.model.trees[tree].first];
  const Transform X_WB{Mat3(at.R), Vec3(at.p)}, X_WF{Mat3(root.R_PF), Vec3(root.p_PF)};
  const Transform X_LB = link_pose(w.model, w.view, link).inverse() * X_WB;
  const Transform X_FB = X_WF.inverse() * X_WL * X_LB;
  const Quat turn = normalized_or_identity(Quat(X_FB.R));
  const double q[7] = {X_FB.p.x(), X_FB.p.y(), X_FB.p.z(), turn.w(), turn.x(), turn.y(), turn.z()};
  return set_q(w.joint_of_body[w.model.trees[tree].first], q);
}

bool World::set_velocity(LinkId link, const Motion& velocity) {
  Impl& w = *impl_;
  const int tree = w.tree_of_link(link);
  if (tree < 0 || !velocity.linear.allFinite() || !velocity.angular.allFinite()) return false;
  const int body = w.model.trees[tree].first;
  const Body& root = w.model.bodies[body];
  if (root.kind != JointKind::kFree || w.model.find(link)->body != body) return false;
  w.refresh_view();
  const Vec3 arm = Vec3(w.view.pose[body].p) - link_pose(w.model, w.view, link).p;
  const Motion at_body = velocity.shifted(arm).rotated(Mat3(root.R_PF).transpose());
  const double v[6] = {at_body.linear.x(),  at_body.linear.y(),  at_body.linear.z(),
                       at_body.angular.x(), at_body.angular.y(), at_body.angular.z()};
  return set_v(w.joint_of_body[body], v);
}

void World::Impl::moved_by_hand(int tree) {
  wake_tree(tree);
  trees[tree].quarantined = 0;
  trees[tree].awake = 1;
  forget_contacts_of(tree);
  for (std::size_t i = 0; i < model.loops.size(); ++i) {  // a kinematic tree at rest would not wake them
    const int a = tree_of[model.loops[i].body_f], b = tree_of[model.loops[i].body_m];
    if (state.loop_closed[i] && (a == tree || b == tree)) wake_tree(a), wake_tree(b);
  }
  view_fresh = false;
}

void World::Impl::forget_contacts_of(int tree) {
  for (Contact& c : contacts) {
    if (tree_of[colliders[c.collider_a].body] != tree && tree_of[colliders[c.collider_b].body] != tree)
      continue;
    c.impulse.setZero();
    c.turning_impulse.setZero();
    c.stretch.setZero();
    c.state = ContactState::kOpen;
    for (const std::int32_t side : {c.collider_a, c.collider_b})
      if (const int other = tree_of[colliders[side].body]; other >= 0) wake_tree(other);
  }
}

// ---- acting on it

bool World::set_effort(JointId id, std::span<const double> effort) {
  Impl& w = *impl_;
  const JointEntry* joint = w.model.find(id);
  if (!joint || joint->first_v < 0 || static_cast<int>(effort.size()) != v_size(joint->kind) ||
      !all_finite(effort))
    return false;
  double* to = w.effort.data() + joint->first_v;
  if (!std::equal(effort.begin(), effort.end(), to)) w.wake_tree(w.tree_of[joint->body]);
  std::copy(effort.begin(), effort.end(), to);
  return true;
}

std::span<const double> World::effort(JointId id) const {
  const JointEntry* joint = impl_->model.find(id);
  if (!joint || joint->first_v < 0) return {};
  return {impl_->effort.data() + joint->first_v, static_cast<std::size_t>(v_size(joint->kind))};
}

bool World::set_drive(JointId id, const Drive& drive, int dof) {
  Impl& w = *impl_;
  const JointEntry* joint = w.model.find(id);
  if (!joint || joint->first_v < 0 || dof < 0 || dof >= v_size(joint->kind)) return false;
  if (!world_detail::is_possible(drive)) return false;
  Drive& to = w.drives[joint->first_v + dof];
  const bool same = to.stiffness == drive.stiffness && to.damping == drive.damping &&
                    to.q_target == drive.q_target && to.v_target == drive.v_target && to.limit == drive.limit;
  const bool was_set = to.is_set();
  to = drive;
  if (to.is_set() != was_set) {
    w.drive_impulse[joint->first_v + dof] = 0;
    w.tabulate_dofs();
  }
  if (!same) w.wake_tree(w.tree_of[joint->body]);
  return true;
}

const Drive& World::drive(JointId id, int dof) const {
  static const Drive none;
  const JointEntry* joint = impl_->model.find(id);
  if (!joint || joint->first_v < 0 || dof < 0 || dof >= v_size(joint->kind)) return none;
  return impl_->drives[joint->first_v + dof];
}

bool World::add_force(LinkId link, const Vec3& force, const Vec3& p_L, const Vec3& moment) {
  if (!impl_->model.find(link) || !force.allFinite() || !p_L.allFinite() || !moment.allFinite()) return false;
  impl_->forces.push_back({link, p_L, force, moment});
  return true;
}

bool world_detail::is_possible(const Drive& d) {
  return d.stiffness >= 0 && std::isfinite(d.stiffness) && d.damping >= 0 && d.limit >= 0 &&
         std::isfinite(d.q_target) && std::isfinite(d.v_target);
}

bool world_detail::is_possible(const Model& model, const PointSpring& s) {
  return model.find(s.link) && s.p_L.allFinite() && s.target.allFinite() && s.stiffness >= 0 &&
         s.damping >= 0 && std::isfinite(s.stiffness) && std::isfinite(s.damping);
}

namespace {

SpringSlot* find_slot(std::vector<SpringSlot>& springs, SpringId id) {
  if (id.index >= springs.size()) return nullptr;
  SpringSlot& slot = springs[id.index];
  return slot.used && slot.generation == id.generation ? &slot : nullptr;
}

}  // namespace

SpringId World::add_spring(const PointSpring& spring) {
  Impl& w = *impl_;
  if (!world_detail::is_possible(w.model, spring)) return {};
  std::uint32_t index = 0;
  while (index < w.springs.size() && w.springs[index].used) ++index;
  if (index == w.springs.size()) w.springs.emplace_back();
  SpringSlot& slot = w.springs[index];
  slot.spring = spring;
  slot.impulse.setZero();
  slot.used = 1;
  return {index, slot.generation};
}

bool World::set_spring(SpringId id, const PointSpring& spring) {
  SpringSlot* slot = find_slot(impl_->springs, id);
  if (!slot || !world_detail::is_possible(impl_->model, spring)) return false;
  slot->spring = spring;
  return true;
}

void World::remove_spring(SpringId id) {
  if (SpringSlot* slot = find_slot(impl_->springs, id)) {
    slot->used = 0;
    ++slot->generation;
  }
}

bool World::set_kinematic(LinkId link, bool kinematic) {
  const int tree = impl_->tree_of_link(link);
  if (tree < 0) return false;
  impl_->trees[tree].kinematic = kinematic ? 1 : 0;
  impl_->wake_tree(tree);
  return true;
}

int World::Impl::tree_of_link(LinkId link) const {
  const LinkEntry* entry = model.find(link);
  return entry ? tree_of[entry->body] : -1;
}

void World::Impl::wake_tree(int t) {
  if (t < 0 || trees[t].quarantined) return;
  trees[t].still = 0;
  if (trees[t].awake) return;
  trees[t].awake = 1;
  emit(EventKind::kWake, t);
  if (h_now > 0 && trees[t].responds()) {  // within a step: its free motion is that of the others
    const Body &root = model.bodies[model.trees[t].first], &last = model.bodies[model.trees[t].last - 1];
    for (int i = root.first_v; i < last.first_v + last.dofs; ++i)
      v_free[i] = state.v[i] + h_now * acceleration[i];
  }
}

void World::Impl::emit(EventKind kind, int tree) {
  events.push_back({kind, state.time, root_links[tree], {}, {}});
}

void World::wake(LinkId link) { impl_->wake_tree(impl_->tree_of_link(link)); }
bool World::awake(LinkId link) const {
  const int tree = impl_->tree_of_link(link);
  return tree >= 0 && impl_->trees[tree].awake;
}
bool World::quarantined(LinkId link) const {
  const int tree = impl_->tree_of_link(link);
  return tree >= 0 && impl_->trees[tree].quarantined;
}

int World::add_hook(std::function<void(World&)> hook) {
  impl_->hooks.push_back(std::move(hook));
  return static_cast<int>(impl_->hooks.size()) - 1;
}
void World::remove_hook(int hook) {
  if (hook >= 0 && hook < static_cast<int>(impl_->hooks.size())) impl_->hooks[hook] = nullptr;
}

void World::watch_parts(std::function<void(const World&)> observer) {
  impl_->part_observer = std::move(observer);
}

bool World::has_hooks() const {
  return std::any_of(impl_->hooks.begin(), impl_->hooks.end(),
                     [](const auto& hook) { return hook != nullptr; });
}

// ---- what happened

std::span<const Contact> World::contacts() const { return impl_->contacts; }
std::span<const Event> World::events() const { return impl_->events; }
const StepTimes& World::times() const { return impl_->times; }
const StepReport& World::report() const { return impl_->report; }

Force World::contact_force(LinkId link) const {
  const Vec3 origin = pose(link).p;
  Force sum;
  for (const Contact& c : impl_->contacts) {
    const double sign = (c.link_b == link ? 1 : 0) - (c.link_a == link ? 1 : 0);
    sum = sum + Force{sign * (c.moment + (c.point - origin).cross(c.force)), sign * c.force};
  }
  return sum;
}

Energies World::energies() const {
  const Impl& w = *impl_;
  w.refresh_view();
  return {kinetic_energy(w.model, w.state, w.view), potential_energy(w.model, w.state, w.view)};
}

JointLoad World::load(JointId id) const {
  const Impl& w = *impl_;
  JointLoad out;
  if (!(w.h_before > 0)) return out;
  if (const int loop = w.find_loop(id); loop >= 0) {
    if (w.state.loop_closed[loop]) out.wrench = w.loop_wrench(loop);
    return out;
  }
  const JointEntry* joint = w.model.find(id);
  if (!joint || joint->body == 0) return out;
  for (int k = 0; k < v_size(joint->kind); ++k) {
    const int dof = joint->first_v + k;
    out.drive[k] = w.drive_effort[dof];
    out.friction[k] = w.friction_impulse[dof] / w.h_before;
    out.limit[k] = w.limit_impulse[dof] / w.h_before;
  }
  w.refresh_past();
  const Workspace::Wrench& carried = w.past.wrench[joint->body];
  out.wrench = {Vec3(carried.n), Vec3(carried.f)};
  return out;
}

std::optional<World::Hit> World::ray_cast(const Vec3& origin, const Vec3& direction, double limit,
                                          LinkId ignored) const {
  const Impl& w = *impl_;
  if (!origin.allFinite() || !direction.allFinite() || direction.isZero(0) || !(limit >= 0))
    return std::nullopt;
  w.refresh_view_boxes();
  std::optional<Hit> best;
  w.view_boxes.cast({origin, origin}, direction, limit, [&](ProxyId i, double within) {
    const world_detail::BodyShape& c = w.colliders[i];
    const LinkId link = w.collider_infos[i].link;
    if (ignored && link == ignored) return within;
    const auto hit = karakuri::ray_cast(*c.shape, pose_of(w.view, c), origin, direction, within);
    if (!hit) return within;
    if (!best || hit->t < best->hit.t || (hit->t == best->hit.t && i < best->collider))
      best = Hit{link, i, *hit};
    return std::min(within, hit->t);
  });
  return best;
}

World::InertialReading World::inertial(LinkId link, const Vec3& p_L) const {
  if (!impl_->model.find(link)) return {Vec3::Zero(), Vec3::Zero()};
  const Transform X = pose(link);
  const Motion V = velocity(link), A = acceleration(link);
  const Vec3 arm = X.R * p_L;
  const Vec3 at = A.linear + A.angular.cross(arm) + V.angular.cross(V.angular.cross(arm)) - gravity();
  return {X.R.transpose() * V.angular, X.R.transpose() * at};
}

std::uint64_t World::scene_hash() const { return impl_->scene_hash; }
std::uint64_t World::scene_stamp() const { return impl_->scene_stamp; }
Random& World::random() { return impl_->random; }

}  // namespace karakuri
