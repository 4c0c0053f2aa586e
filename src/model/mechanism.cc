#include "karakuri/model/mechanism.h"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "core/compose.h"
#include "karakuri/model/reverse.h"

namespace karakuri {

namespace {

Diagnostic refused(const Joint& joint, std::string what, std::string remedy) {
  return {Severity::kError, compose("joint '{}'", joint.name), std::move(what), std::move(remedy)};
}

}  // namespace

Mechanism::Mechanism() : world_(links_.insert({.name = "world"})) {}

LinkId Mechanism::add_link(std::string name, const Inertia& inertia) {
  return links_.insert({.name = std::move(name), .inertia = inertia});
}

Result<JointId> Mechanism::add_joint(Joint joint) {
  const Link* parent = links_.find(joint.parent);
  const Link* child = links_.find(joint.child);
  if (!parent || !child) {
    return refused(joint, compose("its {} names no link of this mechanism", parent ? "child" : "parent"),
                   "use an id that add_link returned, and that was not removed");
  }
  if (parent->is_virtual()) {
    return refused(joint, compose("its parent '{}' is a virtual link", parent->name),
                   "hang it on the real link that this one stands for");
  }
  if (joint.child == world_) {
    return refused(joint, "its child is the world, which cannot move", "swap parent and child");
  }
  if (child->joint) {
    return refused(joint,
                   compose("its child '{}' already hangs on '{}' by joint '{}'", child->name,
                           links_[child->parent].name, joints_[child->joint].name),
                   "a link has one parent: use add_loop to close a loop");
  }
  // a link on which nothing hangs is nobody's ancestor: building a chain from its base needs no walks
  const bool may_cycle = child->child || joint.parent == joint.child;
  for (LinkId up = joint.parent; may_cycle && up; up = links_[up].parent) {
    if (up == joint.child) {
      return refused(
          joint,
          compose("it would make a cycle of parents: '{}' hangs on '{}' already", parent->name, child->name),
          "use add_loop to close a loop");
    }
  }
  const LinkId child_id = joint.child, parent_id = joint.parent;
  const JointId id = joints_.insert(std::move(joint));
  hang(child_id, parent_id, id);
  return id;
}

Result<JointId> Mechanism::add_loop(Joint joint) {
  const LinkId real = joint.child;
  if (!links_.contains(real)) {
    return refused(joint, "its child names no link of this mechanism",
                   "use an id that add_link returned, and that was not removed");
  }
  if (links_[real].is_virtual()) {
    return refused(joint, "its child is a virtual link", "name the real link that the loop closes on");
  }
  joint.child = links_.insert({.name = compose("{}@{}", links_[real].name, joint.name), .real = real});
  const LinkId virtual_link = joint.child;
  Result<JointId> added = add_joint(std::move(joint));
  if (!added) links_.erase(virtual_link);
  return added;
}

Result<JointId> Mechanism::cut(JointId id, const Transform& X_WL, MechanismUndo* undo) {
  const Joint* joint = joints_.find(id);
  if (!joint)
    return Diagnostic{Severity::kError, "joint", "there is no such joint in this mechanism",
                      "use an id that is alive"};
  const LinkId child = joint->child;
  if (links_[child].is_virtual()) return refused(*joint, "it closes a loop", "open the loop instead");
  if (joint->kind == JointKind::kFree && joint->parent == world_)
    return refused(*joint, "it is free already", "leave it alone");
  const Transform X_CM = Transform::translation(links_[child].inertia.com);
  Joint free{.name = joint->name,
             .kind = JointKind::kFree,
             .parent = world_,
             .child = child,
             .X_PF = X_WL * X_CM,
             .X_CM = X_CM};
  MechanismUndo ignored;
  MechanismUndo& saved = undo ? *undo : ignored;
  save_hanging(child, saved);
  save_place(world_, saved);
  if (links_[world_].last) save_place(links_[world_].last, saved);
  saved.joints.emplace_back(id, *joint);
  unhang(child);
  joints_.erase(id);
  const auto names = [&](const FixedTendon& t) {
    return std::any_of(t.joints.begin(), t.joints.end(),
                       [&](const Transmission& j) { return j.joint == id; });
  };
  const auto names_it = [&](const Coupling& c) { return c.follower == id || c.leader == id; };
  if (std::any_of(couplings_.begin(), couplings_.end(), names_it) ||
      std::any_of(tendons_.begin(), tendons_.end(), names)) {
    save_relations(saved);
    std::erase_if(couplings_, names_it);
    std::erase_if(tendons_, names);
  }
  const JointId added = joints_.insert(std::move(free));
  hang(child, world_, added);
  return added;
}

std::vector<Diagnostic> Mechanism::flaws_of_graft(const Joint& joint) const {
  for (const LinkId id : {joint.parent, joint.child})
    if (!links_.contains(id) || links_[id].is_virtual())
      return {refused(joint, "one of its links is not in this mechanism", "use real links that are alive")};
  if (joint.child == world_ || only_closes_loops(joint.kind) || joint.kind == JointKind::kFree)
    return {refused(joint, "it cannot carry a link that floated", "choose another kind, or swap the links")};
  const LinkId root = root_of(joint.child);
  if (joint.parent != world_ && root_of(joint.parent) == root)
    return {refused(joint, "its links are of one tree", "close a loop with it")};
  const Joint& base = joints_[links_[root].joint];
  if (base.kind != JointKind::kFree)
    return {refused(joint, compose("'{}' does not float", links_[joint.child].name),
                    "close a loop with it, or swap the links")};
  if (!std::all_of(base.dofs.begin(), base.dofs.end(), [](const DofProperties& p) { return p.bare(); }))
    return {refused(joint, compose("the free joint '{}' has springs or the like", base.name),
                    "close a loop with it")};
  if (const JointId same = find_joint(joint.name); same && same != links_[root].joint)
    return {refused(joint, "another joint has this name", "give it its own")};
  return {};
}

/// The joints from a link up to the root of its tree, each turned round.
Result<std::vector<Joint>> Mechanism::turned_path(LinkId child) const {
  std::vector<Joint> out;
  for (LinkId at = child; links_[at].parent != world_; at = links_[at].parent) {
    const JointId id = links_[at].joint;
    Result<Joint> turned = reversed(joints_[id]);
    if (!turned.ok()) return turned.errors();
    const auto names_it = [&](const Coupling& c) { return c.follower == id || c.leader == id; };
    if (turned->kind == JointKind::kUniversal && std::any_of(couplings_.begin(), couplings_.end(), names_it))
      return refused(*turned, "a coupling names the first of its two turns, which becomes the second",
                     "close a loop with the joint");
    out.push_back(std::move(*turned));
  }
  return out;
}

Result<JointId> Mechanism::graft(Joint joint, MechanismUndo* undo) {
  if (std::vector<Diagnostic> flaws = flaws_of_graft(joint); !flaws.empty()) return flaws;
  Result<std::vector<Joint>> turned = turned_path(joint.child);
  if (!turned.ok()) return turned.errors();
  MechanismUndo ignored;
  MechanismUndo& saved = undo ? *undo : ignored;
  std::vector<LinkId> links;  // from the child to the old root
  for (LinkId at = joint.child; at != world_; at = links_[at].parent) links.push_back(at);
  std::vector<JointId> ids;
  for (const LinkId link : links) {
    save_hanging(link, saved);
    if (links_[link].last) save_place(links_[link].last, saved);
    ids.push_back(links_[link].joint);
    saved.joints.emplace_back(ids.back(), joints_[ids.back()]);
  }
  save_place(joint.parent, saved);
  if (links_[joint.parent].last) save_place(links_[joint.parent].last, saved);
  for (const LinkId link : links) unhang(link);
  joints_.erase(ids.back());
  const LinkId child = joint.child, parent = joint.parent;
  const JointId added = joints_.insert(std::move(joint));
  hang(child, parent, added);
  for (std::size_t i = 0; i + 1 < links.size(); ++i) {
    joints_[ids[i]] = std::move((*turned)[i]);
    hang(links[i + 1], links[i], ids[i]);
  }
  swap_tendon_dofs(ids, saved);
  return added;
}

/// The dofs of universal joints have changed places.
void Mechanism::swap_tendon_dofs(std::span<const JointId> ids, MechanismUndo& undo) {
  for (FixedTendon& tendon : tendons_) {
    for (Transmission& j : tendon.joints) {
      const bool is_turned = std::find(ids.begin(), ids.end(), j.joint) != ids.end();
      if (!is_turned || !joints_.contains(j.joint) || joints_[j.joint].kind != JointKind::kUniversal)
        continue;
      if (!undo.has_relations) save_relations(undo);
      j.dof = 1 - j.dof;
    }
  }
}

namespace {

/// Whether all links that are hung lead to the world then.
bool has_cycle(const Mechanism& m, std::span<const HungLink> hung) {
  std::unordered_map<LinkId, LinkId> parent;
  for (const HungLink& h : hung) parent[h.joint.child] = h.joint.parent;
  const std::size_t links = m.link_ids().size();
  for (const HungLink& h : hung) {
    LinkId at = h.joint.child;
    std::size_t steps = 0;
    for (; at && at != m.world() && steps <= links; ++steps) {
      const auto found = parent.find(at);
      at = found != parent.end() ? found->second : m.link(at).parent;
    }
    if (steps > links || !at) return true;
  }
  return false;
}

}  // namespace

/// Empty: nothing. The joints of links that are hung anew keep the slots that they have among them.
std::string Mechanism::flaw_of_rehanging(std::span<const HungLink> hung) const {
  std::vector<std::uint32_t> slots, wanted;
  std::vector<LinkId> links;
  for (const auto& [id, joint] : hung) {
    if (!links_.contains(joint.child) || joint.child == world_ || links_[joint.child].is_virtual() ||
        !links_[joint.child].joint)
      return "a link that is hung is not in it";
    if (!links_.contains(joint.parent) || links_[joint.parent].is_virtual())
      return "a link that others are hung on is not in it";
    if (static_cast<int>(joint.kind) >= kJointKindCount || !find_flaws(joint).empty())
      return compose("joint '{}' cannot carry a link", joint.name);
    links.push_back(joint.child);
    slots.push_back(links_[joint.child].joint.index);
    wanted.push_back(id.index);
    if (id.generation == 0) return "a joint has no id";
  }
  for (auto* all : {&slots, &wanted}) std::sort(all->begin(), all->end());
  std::sort(links.begin(), links.end());
  const bool twice = std::adjacent_find(links.begin(), links.end()) != links.end() ||
                     std::adjacent_find(wanted.begin(), wanted.end()) != wanted.end();
  if (twice || slots != wanted) return "its joints have other ids than they can have";
  return has_cycle(*this, hung) ? "its links hang on each other in a circle" : "";
}

std::vector<Diagnostic> Mechanism::rehang(std::span<const HungLink> hung) {
  if (const std::string flaw = flaw_of_rehanging(hung); !flaw.empty())
    return {{Severity::kError, "links that are hung anew", flaw, "give what is of this mechanism"}};
  std::vector<JointId> turned;
  for (const HungLink& h : hung)
    if (const Joint* before = joints_.find(h.id); before && before->child != h.joint.child)
      turned.push_back(h.id);
  for (const HungLink& h : hung) unhang(h.joint.child);
  for (const HungLink& h : hung) {
    joints_.put_back(h.id, h.joint);
    hang(h.joint.child, h.joint.parent, h.id);
  }
  drop_dead_relations();
  MechanismUndo ignored;
  swap_tendon_dofs(turned, ignored);
  return {};
}

/// Of joints that are no more.
void Mechanism::drop_dead_relations() {
  const auto dead = [&](JointId id) { return id && !joints_.contains(id); };
  std::erase_if(couplings_, [&](const Coupling& c) { return dead(c.follower) || dead(c.leader); });
  std::erase_if(tendons_, [&](const FixedTendon& t) {
    return std::any_of(t.joints.begin(), t.joints.end(),
                       [&](const Transmission& j) { return dead(j.joint); });
  });
}

void Mechanism::save_place(LinkId id, MechanismUndo& undo) const {
  const Link& l = links_[id];
  undo.places.push_back({id, l.parent, l.child, l.last, l.sibling, l.joint});
}

void Mechanism::save_hanging(LinkId child, MechanismUndo& undo) const {
  save_place(child, undo);
  save_place(links_[child].parent, undo);
  if (const LinkId before = sibling_before(child)) save_place(before, undo);
}

void Mechanism::save_relations(MechanismUndo& undo) const {
  undo.has_relations = true;
  undo.couplings = couplings_;
  undo.tendons = tendons_;
}

void Mechanism::undo(const MechanismUndo& edit) {
  for (const auto& [id, joint] : edit.joints) joints_.put_back(id, joint);
  // a link may have been saved more than once: the first time counts
  for (auto p = edit.places.rbegin(); p != edit.places.rend(); ++p) {
    Link& l = links_[p->link];
    l.parent = p->parent, l.child = p->child, l.last = p->last, l.sibling = p->sibling, l.joint = p->joint;
  }
  if (!edit.has_relations) return;
  couplings_ = edit.couplings;
  tendons_ = edit.tendons;
}

LinkId Mechanism::add_free_link(std::string name, const Inertia& inertia, const Transform& X_WL) {
  const LinkId id = add_link(name, inertia);
  const Transform X_CM = Transform::translation(inertia.com);
  // cannot be refused: the child is new and the parent is the world
  (void)add_joint({.name = std::move(name),
                   .kind = JointKind::kFree,
                   .parent = world_,
                   .child = id,
                   .X_PF = X_WL * X_CM,
                   .X_CM = X_CM});
  return id;
}

MaterialId Mechanism::add_material(Material material) { return materials_.insert(std::move(material)); }

LinkId Mechanism::find_link(std::string_view name) const {
  for (LinkId id : links_.keys()) {
    if (links_[id].name == name && !links_[id].is_virtual()) return id;
  }
  return {};
}

JointId Mechanism::find_joint(std::string_view name) const {
  for (JointId id : joints_.keys()) {
    if (joints_[id].name == name) return id;
  }
  return {};
}

/// Appends `child` to the end of the parent's children, so that order of adding is order of siblings.
void Mechanism::hang(LinkId child, LinkId parent, JointId joint) {
  links_[child].parent = parent;
  links_[child].joint = joint;
  Link& on = links_[parent];
  (on.last ? links_[on.last].sibling : on.child) = child;
  on.last = child;
}

LinkId Mechanism::sibling_before(LinkId child) const {
  LinkId before;
  for (LinkId at = links_[links_[child].parent].child; at != child; at = links_[at].sibling) before = at;
  return before;
}

void Mechanism::unhang(LinkId child) {
  Link& on = links_[links_[child].parent];
  const LinkId before = sibling_before(child);
  (before ? links_[before].sibling : on.child) = links_[child].sibling;
  if (on.last == child) on.last = before;
  links_[child].sibling = links_[child].parent = {};
  links_[child].joint = {};
}

}  // namespace karakuri
