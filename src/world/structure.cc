// Joining and parting while the world runs.
//
// A joint that is made is one more loop (Nakamura & Yamane's pseudo-closed chain): nothing is turned round or
// compiled, and what it cuts off again costs nothing. Or, where it is asked for, it makes two trees one.
// That, and a cut of a joint of a tree, is in tree_edits.cc.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_map>

#include "core/compose.h"
#include "karakuri/constraint/joint_rows.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/loop_rows.h"
#include "world/impl.h"

namespace karakuri {

using world_detail::Breaking;

namespace {

Diagnostic refused(const std::string& name, std::string what, std::string remedy) {
  return {Severity::kError, compose("joint '{}'", name), std::move(what), std::move(remedy)};
}

/// Ids of joints that are made while running lie beyond those of the scene and are never used twice.
JointId attached_id(const Model& model, std::uint64_t count) {
  constexpr std::uint64_t kSlots = 1u << 24;
  const std::size_t base = model.joint_at.size();  // cuts use the slot of the joint that they cut
  return {static_cast<std::uint32_t>(base + count % kSlots), static_cast<std::uint32_t>(1 + count / kSlots)};
}

std::vector<Diagnostic> flaws_of(const Model& model, const Joint& joint) {
  std::vector<Diagnostic> flaws;
  for (const LinkId link : {joint.parent, joint.child})
    if (!model.find(link))
      flaws.push_back(
          refused(joint.name, "one of its links is not in this world", "use links of World::scene()"));
  if (flaws.empty()) flaws = find_flaws(joint);
  if (flaws.empty() && loop_row_count(joint.kind) == 0)
    flaws.push_back(refused(joint.name, "a free joint holds nothing", "choose another kind"));
  if (flaws.empty() && model.find(joint.parent)->body == model.find(joint.child)->body)
    flaws.push_back(refused(joint.name, "its links are rigidly joined already", "join links that can move"));
  return flaws;
}

}  // namespace

int World::Impl::find_loop(JointId joint) const {
  for (std::size_t i = 0; i < model.loops.size(); ++i)
    if (model.loops[i].joint == joint) return static_cast<int>(i);
  return -1;
}

void World::Impl::add_attached_loop(const Attachment& a) {
  const LinkEntry &on_f = *model.find(a.joint.parent), &on_m = *model.find(a.joint.child);
  model.loops.push_back(make_loop(a.id, a.joint, on_f, on_m));
}

Result<JointId> World::attach(Joint joint, Joining how) {
  Impl& w = *impl_;
  if (how == Joining::kTree) return attach_as_tree(std::move(joint));
  if (std::vector<Diagnostic> flaws = flaws_of(w.model, joint); !flaws.empty()) return flaws;
  Attachment added{attached_id(w.model, w.attach_count++), std::move(joint)};
  w.add_attached_loop(added);
  w.attached.push_back(std::move(added));
  w.state.loop_closed.push_back(true);
  w.loop_impulse.push_back({});
  w.loop_bounce.push_back({});
  w.loop_chord.push_back(1);
  const Loop& loop = w.model.loops.back();
  if (loop.joins()) w.set_pair_joined(w.links_of(loop), true);
  w.impact(static_cast<int>(w.model.loops.size()) - 1);
  return w.attached.back().id;
}

Result<JointId> World::attach(LinkId a, const Transform& X_a, LinkId b, const Transform& X_b, Joint joint,
                              Joining how) {
  joint.parent = a;
  joint.child = b;
  joint.X_PF = X_a;
  joint.X_CM = X_b;
  return attach(std::move(joint), how);
}

Result<JointId> World::attach_here(LinkId a, LinkId b, const Transform& X_WJ, Joint joint, Joining how) {
  return attach(a, pose(a).inverse() * X_WJ, b, pose(b).inverse() * X_WJ, std::move(joint), how);
}

std::span<const Attachment> World::attachments() const { return impl_->attached; }

namespace {

void forget_breaking(std::vector<Breaking>& breaking, JointId joint) {
  std::erase_if(breaking, [&](const Breaking& b) { return b.joint == joint; });
}

void wake_both(World::Impl& w, const Loop& loop) {
  for (const int body : {loop.body_f, loop.body_m})
    if (w.tree_of[body] >= 0) w.wake_tree(w.tree_of[body]);
}

}  // namespace

bool World::set_loop_closed(JointId joint, bool closed) {
  Impl& w = *impl_;
  const int loop = w.find_loop(joint);
  if (loop < 0) return false;
  if (w.state.loop_closed[loop] == closed) return true;
  w.state.loop_closed[loop] = closed;
  w.loop_impulse[loop] = w.loop_bounce[loop] = {};
  wake_both(w, w.model.loops[loop]);
  if (closed) w.impact(loop);
  return true;
}

std::vector<Diagnostic> World::detach(JointId joint) {
  Impl& w = *impl_;
  const int loop = w.find_loop(joint);
  if (loop < 0) return cut(joint);
  forget_breaking(w.breaking, joint);
  if (static_cast<std::size_t>(loop) < w.scene_loops) {
    set_loop_closed(joint, false);
    return {};
  }
  const Loop gone = w.model.loops[loop];
  const world_detail::LinkPair parted = w.links_of(gone);
  wake_both(w, gone);
  w.model.loops.erase(w.model.loops.begin() + loop);
  w.state.loop_closed.erase(w.state.loop_closed.begin() + loop);
  w.loop_impulse.erase(w.loop_impulse.begin() + loop);
  w.loop_bounce.erase(w.loop_bounce.begin() + loop);
  w.loop_chord.erase(w.loop_chord.begin() + loop);
  w.attached.erase(w.attached.begin() + (loop - static_cast<int>(w.scene_loops)));
  w.set_pair_joined(parted, false);
  w.past_fresh = false;
  return {};
}

// ---- an edited scene

namespace {

/// Copies the numbers of every joint that both models have.
void move_joints(const Model& from, const std::vector<double>& old, const Model& to, bool positions,
                 std::vector<double>& now) {
  for (const JointEntry& joint : to.joints) {
    const JointEntry* before = from.find(joint.id);
    if (joint.first_v < 0 || !before || before->first_v < 0) continue;
    const int size = positions ? q_size(joint.kind) : v_size(joint.kind);
    std::copy_n(old.begin() + (positions ? before->first_q : before->first_v), size,
                now.begin() + (positions ? joint.first_q : joint.first_v));
  }
}

/// By old collider: its new index. Shapes of a link keep their order.
std::vector<int> match_colliders(const World::Impl& old, const World::Impl& now) {
  std::unordered_map<LinkId, std::vector<int>> left;  // by link: those that nothing is matched with yet
  for (std::size_t j = 0; j < now.colliders.size(); ++j)
    left[now.collider_infos[j].link].push_back(static_cast<int>(j));
  std::vector<int> to(old.colliders.size(), -1);
  for (std::size_t i = 0; i < old.colliders.size(); ++i) {
    std::vector<int>& of_link = left[old.collider_infos[i].link];
    const auto found = std::find_if(of_link.begin(), of_link.end(), [&](int j) {
      return now.collider_infos[j].shape == old.collider_infos[i].shape;
    });
    if (found == of_link.end()) continue;
    to[i] = *found;
    of_link.erase(found);
  }
  return to;
}

/// Contacts keep what the next step starts from; those whose colliders come in another order now start anew.
void move_contacts(const World::Impl& old, World::Impl& now) {
  const std::vector<int> to = match_colliders(old, now);
  for (Contact c : old.contacts) {
    c.collider_a = to[c.collider_a];
    c.collider_b = to[c.collider_b];
    if (c.collider_a >= 0 && c.collider_a < c.collider_b) now.contacts.push_back(c);
  }
  std::sort(now.contacts.begin(), now.contacts.end(), [](const Contact& a, const Contact& b) {
    return std::tuple(a.collider_a, a.collider_b, a.part_a, a.part_b, a.feature) <
           std::tuple(b.collider_a, b.collider_b, b.part_a, b.part_b, b.feature);
  });
}

}  // namespace

void World::Impl::inherit(Impl& old) {
  move_joints(old.model, old.state.q, model, true, state.q);
  q_before = state.q;  // of joints that are new; a rotation has no zero
  move_joints(old.model, old.q_before, model, true, q_before);
  move_joints(old.model, old.state.v, model, false, state.v);
  for (const auto& [from, to] :
       {std::pair{&old.v_before, &v_before}, std::pair{&old.effort, &effort},
        std::pair{&old.drive_effort, &drive_effort}, std::pair{&old.limit_impulse, &limit_impulse},
        std::pair{&old.friction_impulse, &friction_impulse}, std::pair{&old.drive_impulse, &drive_impulse}})
    move_joints(old.model, *from, model, false, *to);
  for (const JointEntry& joint : model.joints) {
    const JointEntry* before = old.model.find(joint.id);
    if (joint.first_v < 0 || !before || before->first_v < 0) continue;
    std::copy_n(old.drives.begin() + before->first_v, v_size(joint.kind), drives.begin() + joint.first_v);
  }
  for (std::size_t t = 0; t < trees.size(); ++t)
    if (const int before = old.tree_of_link(root_links[t]); before >= 0) trees[t] = old.trees[before];
  for (std::size_t i = 0; i < scene_loops; ++i) {
    const int before = old.find_loop(model.loops[i].joint);
    state.loop_closed[i] = before < 0 || old.state.loop_closed[before];
    if (before < 0) continue;
    loop_impulse[i] = old.loop_impulse[before];
    loop_bounce[i] = old.loop_bounce[before];
    loop_chord[i] = old.loop_chord[before];
  }
  if (model.relations.size() == old.model.relations.size()) {
    relation_impulse = old.relation_impulse;
    relation_chord = old.relation_chord;
  }
  attached = old.attached;
  for (std::size_t i = 0; i < attached.size(); ++i) {
    add_attached_loop(attached[i]);
    state.loop_closed.push_back(old.state.loop_closed[old.scene_loops + i]);
    loop_impulse.push_back(old.loop_impulse[old.scene_loops + i]);
    loop_bounce.push_back(old.loop_bounce[old.scene_loops + i]);
    loop_chord.push_back(old.loop_chord[old.scene_loops + i]);
  }
  attach_count = old.attach_count;
  breaking = old.breaking;
  springs = old.springs;
  forces = old.forces;
  applied = old.applied;
  random = old.random;
  steps = old.steps;
  state.time = old.state.time;
  h_before = old.h_before;
  move_contacts(old, *this);
  hooks = std::move(old.hooks);
  part_observer = std::move(old.part_observer);
  for (const Loop& loop : std::span(model.loops).subspan(scene_loops))
    if (loop.joins()) set_pair_joined(links_of(loop), true);
  after_restore();
  events = std::move(old.events);
  broken = std::move(old.broken);
  times = old.times;
  report = old.report;
}

// ---- breaking

bool World::set_breaking(JointId joint, double force, double moment) {
  Impl& w = *impl_;
  const JointEntry* entry = w.model.find(joint);
  const bool known = w.find_loop(joint) >= 0 || (entry && entry->body > 0);
  if (!known || !(force > 0) || !(moment > 0)) return false;
  forget_breaking(w.breaking, joint);
  w.breaking.push_back({joint, force, moment});
  return true;
}

Force World::Impl::loop_wrench(int index) const {
  refresh_past();
  const LoopRows held = loop_rows(model.loops[index], past);
  Force sum;
  for (int k = 0; k < held.count; ++k)
    sum = sum + Force{held.row[k].moment, held.row[k].force} *
                    ((loop_impulse[index][k] + loop_bounce[index][k]) / h_before);
  return sum;
}

void World::Impl::find_broken() {
  for (const Breaking& b : breaking) {
    const int loop = find_loop(b.joint);
    const JointEntry* entry = loop < 0 ? model.find(b.joint) : nullptr;
    if (loop < 0 && !entry) continue;
    Force load;
    if (loop >= 0) {
      load = loop_wrench(loop);
    } else {
      refresh_past();
      load = {Vec3(past.wrench[entry->body].n), Vec3(past.wrench[entry->body].f)};
    }
    if (!(load.force.norm() > b.force || load.moment.norm() > b.moment)) continue;
    broken.push_back(b.joint);
    Event event{EventKind::kBreak, state.time, {}, {}, b.joint};
    const Joint* joint = nullptr;
    for (const Attachment& a : attached)
      if (a.id == b.joint) joint = &a.joint;
    if (!joint && scene.mechanism.contains(b.joint)) joint = &scene.mechanism.joint(b.joint);
    if (joint) event.link_a = joint->parent, event.link_b = joint->child;
    events.push_back(event);
  }
}

}  // namespace karakuri
