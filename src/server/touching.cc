#include "server/touching.h"

#include <numeric>
#include <unordered_map>

namespace karakuri::server_detail {

namespace {

MaterialId material_of(const World& world, const ColliderInfo& collider) {
  for (const ShapePlacement& placed : world.scene().mechanism.link(collider.link).shapes) {
    if (placed.shape == collider.shape) return placed.material;
  }
  return {};
}

/// Union-find; the first link of a set is its root.
class Sets {
 public:
  explicit Sets(std::span<const LinkId> links) : parent_(links.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (std::size_t i = 0; i < links.size(); ++i) index_[links[i]] = static_cast<std::int32_t>(i);
  }
  std::int32_t root(std::int32_t i) {
    while (at(i) != i) i = at(i) = at(at(i));
    return i;
  }
  /// Links that are not among them, such as the world, join nothing.
  void unite(LinkId a, LinkId b) {
    const auto found_a = index_.find(a), found_b = index_.find(b);
    if (found_a == index_.end() || found_b == index_.end()) return;
    const std::int32_t i = root(found_a->second), j = root(found_b->second);
    at(std::max(i, j)) = std::min(i, j);
  }

 private:
  std::int32_t& at(std::int32_t i) { return parent_[static_cast<std::size_t>(i)]; }
  std::vector<std::int32_t> parent_;
  std::unordered_map<LinkId, std::int32_t> index_;
};

}  // namespace

Surface surface_of(const World& world, const Contact& contact) {
  const ColliderInfo& a = world.colliders()[static_cast<std::size_t>(contact.collider_a)];
  const ColliderInfo& b = world.colliders()[static_cast<std::size_t>(contact.collider_b)];
  if (!world.scene().pairs.empty()) {
    const MaterialId of_a = material_of(world, a), of_b = material_of(world, b);
    for (const SurfacePair& pair : world.scene().pairs) {
      if ((pair.a == of_a && pair.b == of_b) || (pair.a == of_b && pair.b == of_a)) return pair.surface;
    }
  }
  return combine(a.surface, b.surface);
}

std::vector<std::int32_t> islands_of(const World& world, std::span<const LinkId> links) {
  const Mechanism& m = world.scene().mechanism;
  const auto real = [&](LinkId id) {
    return m.contains(id) && m.link(id).is_virtual() ? m.link(id).real : id;
  };
  Sets sets(links);
  for (const LinkId link : links) {
    if (m.contains(link)) sets.unite(link, m.link(link).parent);
  }
  for (std::size_t i = 0; i < world.model().loops.size(); ++i) {
    if (!world.state().loop_closed[i] || !m.contains(world.model().loops[i].joint)) continue;
    const Joint& joint = m.joint(world.model().loops[i].joint);
    sets.unite(real(joint.parent), real(joint.child));
  }
  for (const Attachment& attached : world.attachments())
    sets.unite(attached.joint.parent, attached.joint.child);
  for (const Contact& contact : world.contacts()) sets.unite(contact.link_a, contact.link_b);
  std::vector<std::int32_t> out(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) out[i] = sets.root(static_cast<std::int32_t>(i));
  return out;
}

}  // namespace karakuri::server_detail
