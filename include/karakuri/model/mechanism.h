// What is simulated, as an editable tree of links and joints.
//
// Links know their parent, first child, next sibling and real link (Nakamura & Yamane's four pointers, as
// ids). A loop is cut at one of its joints: the joint's child is then a *virtual* link, a massless copy whose
// `real` names the link that the loop closes on. So every joint has exactly one child, the tree never has
// cycles, and closing or opening a loop never turns parents into children.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "karakuri/core/diagnostic.h"
#include "karakuri/model/coupling.h"
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

/// What an edit of the tree has changed, as it was before.
struct MechanismUndo {
  struct Place {
    LinkId link, parent, child, last, sibling;
    JointId joint;
  };
  std::vector<Place> places;
  std::vector<std::pair<JointId, Joint>> joints;
  bool has_relations = false;  // where any was changed, all
  std::vector<Coupling> couplings;
  std::vector<FixedTendon> tendons;
};

/// A link, which is joint.child, and the joint that it hangs by.
struct HungLink {
  JointId id;
  Joint joint;
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
  Result<JointId> cut(JointId joint, const Transform& X_WL, MechanismUndo* undo = nullptr);
  /// Makes a tree that hangs on the world by a free joint part of another: `joint.child`, any of its links,
  /// hangs on `joint.parent` from then on, the joints between it and the old root are turned round (keeping
  /// their ids and names), and the free joint is gone. Refused where one of those cannot be turned round.
  Result<JointId> graft(Joint joint, MechanismUndo* undo = nullptr);
  /// What any row of cut() and graft() has come to, at once: takes these links down, and hangs them by these
  /// joints in this order, ids and all. Couplings and tendons follow. Or what is wrong, and nothing changes.
  std::vector<Diagnostic> rehang(std::span<const HungLink> hung);
  /// Takes an edit back, ids and all. The last one first.
  void undo(const MechanismUndo& edit);
  /// A link with a free joint to the world, at X_WL. The joint gets the link's name; its frame M lies in the
  /// centre of mass, so that free flight is integrated exactly along a straight line or parabola.
  LinkId add_free_link(std::string name, const Inertia& inertia, const Transform& X_WL);
  MaterialId add_material(Material material);
  /// Joints that follow others, and sums of joints. What names a joint that is cut goes with it.
  void add_coupling(Coupling coupling) { couplings_.push_back(std::move(coupling)); }
  void add_tendon(FixedTendon tendon) { tendons_.push_back(std::move(tendon)); }

  /// The child of the world that a link hangs on, or is.  @pre contains(id), not the world
  LinkId root_of(LinkId id) const {
    while (links_[id].parent != world_) id = links_[id].parent;
    return id;
  }
  bool contains(LinkId id) const { return links_.contains(id); }
  bool contains(JointId id) const { return joints_.contains(id); }

  /// Values may be edited freely; the tree only through the functions above. @pre contains(id)
  Link& link(LinkId id) { return links_[id]; }
  const Link& link(LinkId id) const { return links_[id]; }
  Joint& joint(JointId id) { return joints_[id]; }
  const Joint& joint(JointId id) const { return joints_[id]; }
  const Material* material(MaterialId id) const { return materials_.find(id); }
  std::vector<Coupling>& couplings() { return couplings_; }
  const std::vector<Coupling>& couplings() const { return couplings_; }
  std::vector<FixedTendon>& tendons() { return tendons_; }
  const std::vector<FixedTendon>& tendons() const { return tendons_; }

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
  std::vector<Diagnostic> flaws_of_graft(const Joint& joint) const;
  Result<std::vector<Joint>> turned_path(LinkId child) const;
  void swap_tendon_dofs(std::span<const JointId> ids, MechanismUndo& undo);
  std::string flaw_of_rehanging(std::span<const HungLink> hung) const;
  void drop_dead_relations();
  LinkId sibling_before(LinkId child) const;  // none: it is the first
  void save_place(LinkId link, MechanismUndo& undo) const;
  void save_hanging(LinkId child, MechanismUndo& undo) const;  // what unhang() changes
  void save_relations(MechanismUndo& undo) const;

  SlotMap<LinkTag, Link> links_;
  SlotMap<JointTag, Joint> joints_;
  SlotMap<MaterialTag, Material> materials_;
  std::vector<Coupling> couplings_;
  std::vector<FixedTendon> tendons_;
  LinkId world_;
};

/// All that is wrong with the values and names in `mechanism`; empty when it can be compiled. Each finding
/// names the link or joint and the remedy.
std::vector<Diagnostic> find_flaws(const Mechanism& mechanism);
/// Of one joint's own values.
std::vector<Diagnostic> find_flaws(const Joint& joint);

}  // namespace karakuri
