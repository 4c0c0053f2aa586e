// One tree of a mechanism as a mechanism of its own.
#include "karakuri/dynamics/inverse_kinematics.h"

namespace karakuri {

namespace {

void add_children(const Mechanism& whole, LinkId parent, LinkId copy, ExtractedTree& out) {
  for (LinkId child = whole.link(parent).child; child; child = whole.link(child).sibling) {
    const Link& link = whole.link(child);
    if (link.is_virtual()) {
      ++out.loops;
      continue;
    }
    const LinkId own = out.mechanism.add_link(link.name, link.inertia);
    Joint joint = whole.joint(link.joint);
    joint.parent = copy, joint.child = own;
    const Result<JointId> added = out.mechanism.add_joint(std::move(joint));
    if (added.ok()) out.joints.emplace_back(link.joint, *added);
    out.links.emplace_back(child, own);
    add_children(whole, child, own, out);
  }
}

}  // namespace

ExtractedTree extract_tree(const Mechanism& whole, LinkId link) {
  ExtractedTree out;
  if (!whole.contains(link) || link == whole.world()) return out;
  const LinkId root = whole.root_of(link);
  const LinkId own = out.mechanism.add_link(whole.link(root).name, whole.link(root).inertia);
  Joint joint = whole.joint(whole.link(root).joint);
  joint.parent = out.mechanism.world(), joint.child = own;
  const Result<JointId> added = out.mechanism.add_joint(std::move(joint));
  if (added.ok()) out.joints.emplace_back(whole.link(root).joint, *added);
  out.links.emplace_back(root, own);
  add_children(whole, root, own, out);
  return out;
}

}  // namespace karakuri
