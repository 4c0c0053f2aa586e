// What is simulated, as an editable tree of links and joints.
//
// Links know their parent, first child, next sibling and real link (Nakamura & Yamane's four pointers, as
// ids). A loop is cut at one of its joints: the joint's child is then a *virtual* link, a massless copy whose
// `real` names the link that the loop closes on. So every joint has exactly one child, the tree never has
// cycles, and closing or opening a loop never turns parents into children.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "karakuri/core/diagnostic.h"
#include "karakuri/model/ids.h"
#include "karakuri/model/joint.h"
#include "karakuri/model/material.h"
#include "karakuri/spatial/inertia.h"

namespace karakuri {

/// A shape fixed to a link.
struct ShapePlacement {
  ShapeId shape;
  Transform X_LS;       // pose in the link frame
  MaterialId material;  // none: Surface{}
  // Which shapes it meets: two of one group always if it is positive, never if it is negative; else each must
  // have a bit of its category in the other's mask. A mask of 0: it is there to be seen only.
  std::uint32_t category = 1;
  std::uint32_t mask = ~0u;
  std::int32_t group = 0;
};

struct Link {
  std::string name;
  Inertia inertia;  // in the link frame
  std::vector<ShapePlacement> shapes;

  // Kept by Mechanism; none where there is no such link.
  LinkId parent;   // where the joint hangs
  LinkId child;    // the first of those that hang here
  LinkId last;     // the last of those that hang here
  LinkId sibling;  // the next with the same parent
  LinkId real;     // of a virtual link: the link it stands for
  JointId joint;   // to the parent

  bool is_virtual() const { return static_cast<bool>(real); }
};

class Mechanism {
 public:
  Mechanism();

  /// The immovable link that everything stands on.
  LinkId world() const { return world_; }

  /// A link that hangs nowhere yet.
  LinkId add_link(std::string name, const Inertia& inertia);
  /// Hangs `joint.child` on `joint.parent`. Refused, with the names, when an id is dead, the child already
  /// hangs elsewhere, or a cycle of parents would arise.
  Result<JointId> add_joint(Joint joint);
  /// Closes a loop: `joint.child` names the real link; the joint is hung on `joint.parent` with a new virtual
  /// link. Any two links may be joined, also of different trees, in any number.
  Result<JointId> add_loop(Joint joint);
  /// Parts a link from its parent, with all that hangs on it: it hangs on the world by a free joint from then
  /// on, neutral at X_WL, that takes over the name. Loops stay. Refused where the joint closes a loop or is
  /// free already. The id of the old joint is dead, that of the new one is returned.
  Result<JointId> cut(JointId joint, const Transform& X_WL);
  /// A link with a free joint to the world, at X_WL. The joint gets the link's name; its frame M lies in the
  /// centre of mass, so that free flight is integrated exactly along a straight line or parabola.
  LinkId add_free_link(std::string name, const Inertia& inertia, const Transform& X_WL);
  MaterialId add_material(Material material);

  bool contains(LinkId id) const { return links_.contains(id); }
  bool contains(JointId id) const { return joints_.contains(id); }

  /// Values may be edited freely; the tree only through the functions above. @pre contains(id)
  Link& link(LinkId id) { return links_[id]; }
  const Link& link(LinkId id) const { return links_[id]; }
  Joint& joint(JointId id) { return joints_[id]; }
  const Joint& joint(JointId id) const { return joints_[id]; }
  const Material* material(MaterialId id) const { return materials_.find(id); }

  /// In the order of their slots.
  std::vector<LinkId> link_ids() const { return links_.keys(); }
  std::vector<JointId> joint_ids() const { return joints_.keys(); }
  std::vector<MaterialId> material_ids() const { return materials_.keys(); }

  /// None when there is no such name; virtual links are not found by name.
  LinkId find_link(std::string_view name) const;
  JointId find_joint(std::string_view name) const;

 private:
  void hang(LinkId child, LinkId parent, JointId joint);
  void unhang(LinkId child);

  SlotMap<LinkTag, Link> links_;
  SlotMap<JointTag, Joint> joints_;
  SlotMap<MaterialTag, Material> materials_;
  LinkId world_;
};

/// All that is wrong with the values and names in `mechanism`; empty when it can be compiled. Each finding
/// names the link or joint and the remedy.
std::vector<Diagnostic> find_flaws(const Mechanism& mechanism);
/// Of one joint's own values.
std::vector<Diagnostic> find_flaws(const Joint& joint);

}  // namespace karakuri
