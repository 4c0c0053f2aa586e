// Changes of the trees while a world runs: a joint of a tree is cut, or two trees become one.
//
// Only the trees that are touched are compiled (model/recompile.h). Everything that a world keeps is by body,
// tree, coordinate or dof, and follows the model; or by collider, whose numbers never change; or by id. So
// contacts, boxes of the broad phase, islands and sleep of all others stay as they are.
#include <algorithm>
#include <unordered_map>

#include "core/compose.h"
#include "karakuri/constraint/joint_rows.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/loop_rows.h"
#include "karakuri/model/reverse.h"
#include "world/impl.h"

namespace karakuri {

using world_detail::Breaking;
using world_detail::TreeEdit;
using world_detail::TreeStatus;

namespace {

Diagnostic refused(const std::string& name, std::string what, std::string remedy) {
  return {Severity::kError, compose("joint '{}'", name), std::move(what), std::move(remedy)};
}

// ---- what the arrays of a world do

/// By dof or coordinate: joints that are still there keep their numbers.
template <class T>
void carry(const Splice& s, const Model& model, Axis axis, std::vector<T>& values) {
  const bool by_q = axis == Axis::kQ;
  std::vector<T> old;
  s.apply(axis, values, T{}, &old);
  for (const JointEntry& before : s.old_joints) {
    const JointEntry* now = model.find(before.id);
    if (!now || now->first_v < 0 || before.first_v < 0) continue;
    std::copy_n(old.begin() + s.replaced(axis, by_q ? before.first_q : before.first_v),
                by_q ? q_size(now->kind) : v_size(now->kind),
                values.begin() + (by_q ? now->first_q : now->first_v));
  }
}

void carry_joints(World::Impl& w, const Splice& s) {
  for (std::vector<double>* v : {&w.state.q, &w.q_before}) carry(s, w.model, Axis::kQ, *v);
  for (std::vector<double>* v : {&w.state.v, &w.v_before, &w.effort, &w.drive_effort, &w.limit_impulse,
                                 &w.friction_impulse, &w.drive_impulse})
    carry(s, w.model, Axis::kV, *v);
  carry(s, w.model, Axis::kV, w.drives);
  for (const std::int32_t j : s.joints) {
    const JointEntry& joint = w.model.joints[j];
    const auto is_it = [&](const JointEntry& old) { return old.id == joint.id; };
    if (!has_quaternion(joint.kind) || joint.body == 0) continue;
    if (std::any_of(s.old_joints.begin(), s.old_joints.end(), is_it)) continue;
    for (std::vector<double>* q : {&w.state.q, &w.q_before}) (*q)[joint.first_q + q_size(joint.kind) - 4] = 1;
  }
}

/// A new tree is awake or not as the one was that its root was in.
void carry_trees(World::Impl& w, const Splice& s) {
  std::unordered_map<LinkId, TreeStatus> before;
  for (const LinkEntry& link : s.old_links)
    if (link.body > 0) before[link.id] = w.trees[w.tree_of[link.body]];
  s.apply(Axis::kTree, w.trees, TreeStatus{});
  s.apply(Axis::kTree, w.root_links, LinkId{});
  s.apply(Axis::kBody, w.joint_of_body, JointId{});
  w.tree_of.assign(w.model.bodies.size(), -1);
  for (std::size_t t = 0; t < w.model.trees.size(); ++t)
    std::fill(w.tree_of.begin() + w.model.trees[t].first, w.tree_of.begin() + w.model.trees[t].last,
              static_cast<std::int32_t>(t));
  for (const std::int32_t j : s.joints)
    if (w.model.joints[j].body > 0) w.joint_of_body[w.model.joints[j].body] = w.model.joints[j].id;
  for (const std::int32_t i : s.links) {
    const LinkEntry& link = w.model.links[i];
    const int t = w.tree_of[link.body];
    if (t < 0 || w.model.trees[t].first != link.body || w.root_links[t]) continue;
    w.root_links[t] = link.id;
    if (const auto known = before.find(link.id); known != before.end()) w.trees[t] = known->second;
  }
}

void move_numbers(const Splice& s, Axis axis, std::vector<std::int32_t>& list) {
  for (std::int32_t& i : list) i = static_cast<std::int32_t>(s.moved(axis, i));
  std::erase(list, -1);
}

void carry_special_dofs(World::Impl& w, const Splice& s) {
  move_numbers(s, Axis::kBody, w.limited_bodies);
  move_numbers(s, Axis::kV, w.rubbing_dofs);
  for (const std::int32_t j : s.joints)
    if (w.model.joints[j].body > 0) w.find_special_dofs(w.model.joints[j].body);
  std::sort(w.limited_bodies.begin(), w.limited_bodies.end());
  std::sort(w.rubbing_dofs.begin(), w.rubbing_dofs.end());
}

void carry_colliders(World::Impl& w, const Splice& s) {
  for (world_detail::BodyShape& c : w.colliders)
    if (const std::int64_t now = s.moved(Axis::kBody, c.body); now >= 0) c.body = static_cast<int>(now);
  std::vector<ProxyId> touched;
  for (const std::int32_t i : s.links) {
    const LinkEntry& link = w.model.links[i];
    for (int k = w.collider_start[link.id.index]; k < w.collider_start[link.id.index + 1]; ++k) {
      world_detail::BodyShape& c = w.colliders[k];
      c.body = link.body;
      c.X_BS = link.X_BL * w.collider_infos[k].X_LS;
      c.arm = c.X_BS.p.norm();
      touched.push_back(k);
      w.broadphase.set_fixed(k, link.body == 0);
      w.collider_placed[k] = 0;
    }
  }
  w.broadphase.include_all(touched);
  w.exclude_around(s.links);
}

/// Room; what was computed in it is of no use.
void fit_scratch(World::Impl& w) {
  const std::size_t nq = w.model.nq, nv = w.model.nv, bodies = w.model.bodies.size(),
                    count = w.model.trees.size();
  for (Workspace* ws : {&w.ws, &w.view, &w.past}) ws->fit(w.model);
  w.known.q.clear();
  for (State* state : {&w.stage, &w.state_free, &w.ahead, &w.past_state})
    state->q.resize(nq), state->v.resize(nv);
  for (std::vector<double>* v :
       {&w.tau, &w.acceleration, &w.implicit, &w.held_effort, &w.stage_effort, &w.stage_diagonal, &w.v_free,
        &w.v_end, &w.v_trial, &w.shift, &w.move, &w.sum_v, &w.limit_before, &w.past_a, &w.past_tau,
        &w.v_whole, &w.way, &w.share_of_way})
    v->resize(nv);
  for (std::vector<double>* v : {&w.rate_q, &w.sum_q, &w.stage_q}) v->resize(nq);
  w.drive_is_row.resize(nv);
  const auto size = [](std::size_t n, auto&... all) { (all.resize(n), ...); };
  size(count, w.parent, w.pushed, w.free_until, w.free_within, w.floats, w.motions, w.from_outside, w.gained,
       w.accounts, w.is_viewed, w.still_of_set, w.given_by_loops, w.slowed, w.plain, w.shifted,
       w.shift_warranted);
  for (std::size_t t = 0; t < count; ++t) w.parent[t] = static_cast<std::int32_t>(t);
  size(bodies, w.f_ext, w.held_force, w.past_forces, w.free_velocity, w.trial_velocity);
  for (world_detail::Slot& slot : w.slots) {
    slot.response.fit(w.model);
    slot.state.tree_subsystem.resize(count, -1);
  }
  w.tabulate_dofs();
  w.view_fresh = w.past_fresh = false;
}

// ---- edits

/// The children of the world that an edit changes, or none where it names what is not there.
std::vector<TouchedRoot> touched_by(const Mechanism& m, const TreeEdit& edit) {
  const auto is_link = [&](LinkId id) { return m.contains(id) && (id == m.world() || m.link(id).joint); };
  if (!edit.joins) {
    if (!m.contains(edit.cut)) return {};
    const LinkId child = m.joint(edit.cut).child, root = m.root_of(child);
    return {{root, root == child ? LinkId{} : root}, {{}, child}};
  }
  const LinkId parent = edit.made.parent, child = edit.made.child;
  if (!is_link(parent) || !is_link(child) || child == m.world()) return {};
  const TouchedRoot gone{m.root_of(child), {}};
  if (parent == m.world()) return {gone, {{}, child}};
  return {{m.root_of(parent), m.root_of(parent)}, gone};
}

/// Of a link that stood still, or one that is fixed to it: shapes without end cannot move.
bool carries_endless_shape(const World::Impl& w, LinkId cut_off) {
  const Mechanism& m = w.scene.mechanism;
  for (std::size_t i = 0; i < w.colliders.size(); ++i) {
    const ShapeKind kind = w.colliders[i].shape->kind();
    if (w.colliders[i].body != 0 || (kind != ShapeKind::kPlane && kind != ShapeKind::kHeightfield)) continue;
    for (LinkId at = w.collider_infos[i].link; at && at != m.world(); at = m.link(at).parent)
      if (at == cut_off) return true;
  }
  return false;
}

/// Where F and M are apart by more than this, a joint of a tree cannot take over [rad, or bodies' sizes].
constexpr double kFits = 1e-9;

}  // namespace

void World::Impl::follow(const Splice& splice) {
  carry_joints(*this, splice);
  carry_trees(*this, splice);
  carry_special_dofs(*this, splice);
  if (model.relations.size() != relation_impulse.size()) {  // one of them is gone, or back
    relation_impulse.assign(model.relations.size(), {});
    relation_chord.assign(model.relations.size(), 1.0);
  }
  for (const Attachment& a : attached) add_attached_loop(a);
  carry_colliders(*this, splice);
  fit_scratch(*this);
}

namespace {

/// The links that an edit hangs elsewhere, in the order in which it does.
std::vector<LinkId> hung_by(const Mechanism& m, const TreeEdit& edit) {
  if (!edit.joins) return {m.joint(edit.cut).child};
  std::vector<LinkId> out;
  for (LinkId at = edit.made.child; at != m.world(); at = m.link(at).parent) out.push_back(at);
  return out;
}

bool is_in(const std::vector<world_detail::LinkPair>& pairs, const world_detail::LinkPair& pair) {
  return std::any_of(pairs.begin(), pairs.end(), [&](const auto& p) {
    return p == pair || (p.first == pair.second && p.second == pair.first);
  });
}

}  // namespace

void World::Impl::remember_hung(std::span<const LinkId> links) {
  const Mechanism& m = scene.mechanism;
  for (const LinkId link : links) {
    std::erase_if(structure.hung, [&](const HungLink& h) { return h.joint.child == link; });
    structure.hung.push_back({m.link(link).joint, m.joint(m.link(link).joint)});
  }
}

void World::Impl::remember_parted(const world_detail::LinkPair& pair) {
  if (is_in(scene.no_contact, pair)) return;
  scene.no_contact.push_back(pair);
  structure.parted.push_back(pair);
}

std::vector<Diagnostic> World::Impl::apply(const TreeEdit& edit) {
  Mechanism& m = scene.mechanism;
  const std::vector<TouchedRoot> touched = touched_by(m, edit);
  if (touched.empty()) return {refused("", "it names what is not there", "use ids that are alive")};
  if (edit.joins)
    if (std::vector<Diagnostic> flaws = find_flaws(edit.made); !flaws.empty()) return flaws;
  if (!edit.joins && carries_endless_shape(*this, m.joint(edit.cut).child))
    return {refused(m.joint(edit.cut).name, "a plane or heightfield is part of what it holds",
                    "leave it where it stands")};
  if (!made) made = std::make_shared<const Mechanism>(m);
  const std::vector<LinkId> hung = hung_by(m, edit);
  world_detail::LinkPair parted;
  if (!edit.joins) parted = {m.joint(edit.cut).parent, m.joint(edit.cut).child};
  MechanismUndo undo;
  const Result<JointId> joint = edit.joins ? m.graft(edit.made, &undo) : m.cut(edit.cut, edit.X_WL, &undo);
  if (!joint.ok()) return joint.errors();
  const std::vector<Loop> more(model.loops.begin() + static_cast<std::ptrdiff_t>(scene_loops),
                               model.loops.end());
  model.loops.resize(scene_loops);
  const Result<Splice> splice = recompile(m, touched, model);
  if (!splice.ok()) {
    m.undo(undo);
    model.loops.insert(model.loops.end(), more.begin(), more.end());
    return splice.errors();
  }
  remember_hung(hung);
  // they lie in each other where the joint was: touching would throw them apart
  if (!edit.joins) remember_parted(parted);
  follow(*splice);
  return {};
}

std::vector<Diagnostic> World::cut(JointId joint) {
  Impl& w = *impl_;
  if (!w.model.find(joint))
    return {{Severity::kError, "joint", "there is no such joint in this world", "use an id that is alive"}};
  const LinkId parent = w.scene.mechanism.joint(joint).parent, child = w.scene.mechanism.joint(joint).child;
  const Transform X_WL = pose(child);
  const Motion V = velocity(child);
  if (std::vector<Diagnostic> flaws = w.apply({.cut = joint, .X_WL = X_WL}); !flaws.empty()) return flaws;
  std::erase_if(w.breaking, [&](const Breaking& b) { return b.joint == joint; });
  const Body& root = w.model.bodies[w.model.find(child)->body];
  const Motion at_body = V.shifted(Vec3(root.p_PF) - X_WL.p).rotated(Mat3(root.R_PF).transpose());
  for (std::vector<double>* v : {&w.state.v, &w.v_before}) {
    Eigen::Map<Vec3>(v->data() + root.first_v) = at_body.linear;
    Eigen::Map<Vec3>(v->data() + root.first_v + 3) = at_body.angular;
  }
  for (const LinkId link : {parent, child})
    if (const int t = w.tree_of_link(link); t >= 0) w.wake_tree(t);
  return {};
}

// ---- two trees become one

namespace {

bool floats(const World::Impl& w, LinkId link) {
  const LinkEntry* entry = w.model.find(link);
  if (!entry || entry->body == 0) return false;
  return w.model.bodies[w.model.trees[w.tree_of[entry->body]].first].kind == JointKind::kFree;
}

bool is_driven(const World::Impl& w, const JointEntry& joint) {
  for (int i = joint.first_v; i < joint.first_v + v_size(joint.kind); ++i)
    if (w.effort[i] != 0 || w.drives[i].stiffness != 0 || w.drives[i].damping != 0) return true;
  return false;
}

/// The joints from a link up to the root of its tree, the free one last.
std::vector<JointId> path_of(const Mechanism& m, LinkId link) {
  std::vector<JointId> out;
  for (; link != m.world(); link = m.link(link).parent) out.push_back(m.link(link).joint);
  return out;
}

std::vector<Diagnostic> flaws_of_tree_joint(const World::Impl& w, const Joint& joint) {
  if (joint.closing_stiffness < DofProperties::kNone || joint.closing_turn_stiffness < DofProperties::kNone)
    return {refused(joint.name, "it gives way", "attach it as a loop")};
  for (const LinkId link : {joint.parent, joint.child})
    if (const int t = w.tree_of_link(link); t >= 0 && (w.trees[t].kinematic || w.trees[t].quarantined))
      return {refused(joint.name, "one of its trees does not answer to forces", "attach it as a loop")};
  if (!floats(w, joint.child))
    return {refused(joint.name, "neither of its links floats", "attach it as a loop")};
  for (const JointId id : path_of(w.scene.mechanism, joint.child)) {
    const JointEntry& entry = *w.model.find(id);
    const bool new_coordinates = entry.kind == JointKind::kPlanar || has_quaternion(entry.kind);
    if (entry.body > 0 && new_coordinates && is_driven(w, entry))
      return {refused(entry.name, "efforts or drives act on coordinates that it will not have any more",
                      "take them off, or attach the link as a loop")};
  }
  return {};
}

/// A joint's numbers after its tree was turned round, those of the state and of the step before.
struct Coordinates {
  JointId id;
  std::vector<double> q, v, q_before, v_before;
  bool swapped = false;
};

Coordinates turned_coordinates(const World::Impl& w, JointId id) {
  const JointEntry& entry = *w.model.find(id);
  const Joint& joint = w.scene.mechanism.joint(id);
  const auto slice = [](const std::vector<double>& all, int first, int count) {
    return std::vector<double>(all.begin() + first, all.begin() + first + count);
  };
  const int nq = q_size(entry.kind), nv = v_size(entry.kind);
  Coordinates c{id,
                slice(w.state.q, entry.first_q, nq),
                slice(w.state.v, entry.first_v, nv),
                slice(w.q_before, entry.first_q, nq),
                slice(w.v_before, entry.first_v, nv),
                entry.kind == JointKind::kUniversal};
  reverse_coordinates(joint, c.q, c.v);
  reverse_coordinates(joint, c.q_before, c.v_before);
  return c;
}

void write(World::Impl& w, const Coordinates& c) {
  const JointEntry& entry = *w.model.find(c.id);
  if (entry.body == 0) return;
  std::copy(c.q.begin(), c.q.end(), w.state.q.begin() + entry.first_q);
  std::copy(c.v.begin(), c.v.end(), w.state.v.begin() + entry.first_v);
  std::copy(c.q_before.begin(), c.q_before.end(), w.q_before.begin() + entry.first_q);
  std::copy(c.v_before.begin(), c.v_before.end(), w.v_before.begin() + entry.first_v);
  if (!c.swapped) return;
  for (std::vector<double>* v :
       {&w.effort, &w.drive_effort, &w.limit_impulse, &w.friction_impulse, &w.drive_impulse})
    std::swap((*v)[entry.first_v], (*v)[entry.first_v + 1]);
  std::swap(w.drives[entry.first_v], w.drives[entry.first_v + 1]);
  w.tabulate_dofs();
}

/// The new joint's own, from where its links are and how they move.
Coordinates fitted_coordinates(const World& world, const Joint& joint) {
  const Transform X_WF = world.pose(joint.parent) * joint.X_PF, X_WM = world.pose(joint.child) * joint.X_CM;
  const Motion on_f = world.velocity(joint.parent).shifted(X_WM.p - world.pose(joint.parent).p);
  const Motion on_m = world.velocity(joint.child).shifted(X_WM.p - world.pose(joint.child).p);
  const Mat3 to_F = X_WF.R.transpose();
  Coordinates c;
  c.q.resize(q_size(joint.kind));
  c.v.resize(v_size(joint.kind));
  fit_coordinates(joint, X_WF.inverse() * X_WM, to_F * (on_m.angular - on_f.angular),
                  to_F * (on_m.linear - on_f.linear), c.q, c.v);
  c.q_before = c.q;
  c.v_before = c.v;
  return c;
}

}  // namespace

Result<JointId> World::attach_as_tree(Joint joint) {
  Impl& w = *impl_;
  if (w.model.find(joint.parent) && w.model.find(joint.child) && !floats(w, joint.child)) {
    Result<Joint> turned = reversed(joint);
    if (!turned.ok()) return turned.errors();
    joint = std::move(*turned);
  }
  // first as a loop: the impact is the same, and tells whether the frames fit
  const std::vector<double> v = w.state.v;
  const Result<JointId> loop = attach(joint);
  if (!loop.ok()) return loop.errors();
  std::vector<Diagnostic> flaws = flaws_of_tree_joint(w, joint);
  w.refresh_kinematics();
  const LoopRows rows = loop_rows(w.model.loops.back(), w.ws);
  for (int k = 0; k < rows.count && flaws.empty(); ++k)
    if (!(std::abs(rows.error[k]) <= kFits * w.scales.length / loop_row_unit(rows.row[k], w.scales.length)))
      flaws.push_back(refused(joint.name, compose("its frames are apart by {:.3g}", rows.error[k]),
                              "bring them together, or attach it as a loop"));
  std::vector<Coordinates> all;
  if (flaws.empty()) {
    all.push_back(fitted_coordinates(*this, joint));
    std::vector<JointId> path = path_of(w.scene.mechanism, joint.child);
    path.pop_back();
    for (const JointId id : path)
      if (w.model.find(id)->body > 0) all.push_back(turned_coordinates(w, id));
  }
  (void)detach(*loop);
  if (flaws.empty()) flaws = w.apply({.joins = true, .made = joint});
  if (!flaws.empty()) {
    w.state.v = v;
    w.view_fresh = false;
    return flaws;
  }
  all[0].id = w.scene.mechanism.link(joint.child).joint;
  for (const Coordinates& c : all) write(w, c);
  return all[0].id;
}

}  // namespace karakuri
