// Values of a running scene: a new inside is made from the changed scene and given the old one's state.
#include "world/impl.h"

namespace karakuri {

namespace {

/// Whether all that a snapshot holds means the same in both.
bool same_structure(const World::Impl& a, const World::Impl& b) {
  const Model &m = a.model, &n = b.model;
  if (m.bodies.size() != n.bodies.size() || m.links.size() != n.links.size() ||
      m.joints.size() != n.joints.size() || a.scene_loops != b.scene_loops ||
      m.relations.size() != n.relations.size() || a.colliders.size() != b.colliders.size())
    return false;
  for (std::size_t i = 0; i < m.bodies.size(); ++i)
    if (m.bodies[i].kind != n.bodies[i].kind || m.bodies[i].parent != n.bodies[i].parent) return false;
  for (std::size_t i = 0; i < m.links.size(); ++i)
    if (m.links[i].id != n.links[i].id) return false;
  for (std::size_t i = 0; i < m.joints.size(); ++i)
    if (m.joints[i].id != n.joints[i].id) return false;
  for (std::size_t i = 0; i < a.collider_infos.size(); ++i)
    if (a.collider_infos[i].link != b.collider_infos[i].link) return false;
  return true;
}

}  // namespace

std::vector<Diagnostic> World::edit(const std::function<void(Scene&)>& change) {
  Scene scene = impl_->scene;
  change(scene);
  Result<World> made = make(std::move(scene), impl_->settings, impl_->model.gravity);
  if (!made.ok()) return made.errors();
  Impl& fresh = *made->impl_;
  if (!same_structure(*impl_, fresh)) {
    return {{Severity::kError, "scene", "an edit changed what is joined to what, or the number of shapes",
             "make a new world for that"}};
  }
  fresh.hooks = std::move(impl_->hooks);
  fresh.replace(world_detail::Persistent(*impl_));  // with what was attached since
  for (std::size_t t = 0; t < fresh.trees.size(); ++t) fresh.wake_tree(static_cast<int>(t));
  impl_ = std::move(made->impl_);
  return {};
}

}  // namespace karakuri
