#include "karakuri/model/mechanism.h"

#include <fmt/format.h>

namespace karakuri {

namespace {

Diagnostic refused(const Joint& joint, std::string what, std::string remedy) {
  return {Severity::kError, fmt::format("joint '{}'", joint.name), std::move(what), std::move(remedy)};
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
    return refused(joint, fmt::format("its {} names no link of this mechanism", parent ? "child" : "parent"),
                   "use an id that add_link returned, and that was not removed");
  }
  if (parent->is_virtual()) {
    return refused(joint, fmt::format("its parent '{}' is a virtual link", parent->name),
                   "hang it on the real link that this one stands for");
  }
  if (joint.child == world_) {
    return refused(joint, "its child is the world, which cannot move", "swap parent and child");
  }
  if (child->joint) {
    return refused(joint,
                   fmt::format("its child '{}' already hangs on '{}' by joint '{}'", child->name,
                               links_[child->parent].name, joints_[child->joint].name),
                   "a link has one parent: use add_loop to close a loop");
  }
  // a link on which nothing hangs is nobody's ancestor: building a chain from its base needs no walks
  const bool may_cycle = child->child || joint.parent == joint.child;
  for (LinkId up = joint.parent; may_cycle && up; up = links_[up].parent) {
    if (up == joint.child) {
      return refused(joint,
                     fmt::format("it would make a cycle of parents: '{}' hangs on '{}' already", parent->name,
                                 child->name),
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
  joint.child = links_.insert({.name = fmt::format("{}@{}", links_[real].name, joint.name), .real = real});
  const LinkId virtual_link = joint.child;
  Result<JointId> added = add_joint(std::move(joint));
  if (!added) links_.erase(virtual_link);
  return added;
}

Result<JointId> Mechanism::cut(JointId id, const Transform& X_WL) {
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
  unhang(child);
  joints_.erase(id);
  const JointId added = joints_.insert(std::move(free));
  hang(child, world_, added);
  return added;
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

void Mechanism::unhang(LinkId child) {
  Link& on = links_[links_[child].parent];
  LinkId before;
  for (LinkId at = on.child; at != child; at = links_[at].sibling) before = at;
  (before ? links_[before].sibling : on.child) = links_[child].sibling;
  if (on.last == child) on.last = before;
  links_[child].sibling = links_[child].parent = {};
  links_[child].joint = {};
}

}  // namespace karakuri
