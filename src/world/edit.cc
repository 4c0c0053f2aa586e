// Values of a running scene: a new inside is made from the changed scene and given the old one's state.
#include "world/impl.h"

namespace karakuri {

namespace {

/// Whether all that a snapshot holds means the same in both.
bool same_structure(const World::Impl& a, const World::Impl& b) {
  const Model &m = a.model, &n = b.model;
  if (m.bodies.size() != n.bodies.size() || m.links.size() != n.links.size() ||
      m.joints.size() != n.joints.size() || m.loops.size() != n.loops.size() ||
      a.colliders.size() != b.colliders.size())
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

/// Whether `now` has all that `old` has, of the same kind.
bool contains_all(const World::Impl& now, const World::Impl& old) {
  for (const LinkEntry& link : old.model.links)
    if (!now.model.find(link.id)) return false;
  for (const JointEntry& joint : old.model.joints) {
    const JointEntry* kept = now.model.find(joint.id);
    if (!kept || kept->kind != joint.kind || (kept->first_v < 0) != (joint.first_v < 0)) return false;
  }
  return now.colliders.size() >= old.colliders.size() && now.scene_loops >= old.scene_loops;
}

}  // namespace

std::vector<Diagnostic> World::extend(const std::function<void(Scene&)>& change) {
  Scene scene = impl_->scene;
  std::erase_if(scene.initial, [&](const InitialJoint& i) { return !scene.mechanism.contains(i.joint); });
  change(scene);
  Result<World> made = make(std::move(scene), impl_->settings, impl_->model.gravity);
  if (!made.ok()) return made.errors();
  Impl& fresh = *made->impl_;
  if (!contains_all(fresh, *impl_))
    return {{Severity::kError, "scene", "something of the scene was taken away or changed its kind",
             "only add, or make a new world"}};
  if (impl_->original) {  // of before joints were cut: snapshots may go back there
    Scene before = impl_->scene;
    before.mechanism = *impl_->original;
    before.no_contact.resize(before.no_contact.size() - impl_->cuts.size());
    change(before);
    fresh.original = std::make_shared<const Mechanism>(before.mechanism);
    Result<World> uncut = make(std::move(before), impl_->settings, impl_->model.gravity);
    if (!uncut.ok()) return uncut.errors();
    fresh.scene_hash = uncut->impl_->scene_hash;
  }
  fresh.inherit(*impl_);
  impl_ = std::move(made->impl_);
  return {};
}

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
  static_cast<world_detail::Persistent&>(fresh) = static_cast<world_detail::Persistent&>(*impl_);
  fresh.hooks = std::move(impl_->hooks);
  fresh.after_restore();
  for (std::size_t t = 0; t < fresh.trees.size(); ++t) fresh.wake_tree(static_cast<int>(t));
  impl_ = std::move(made->impl_);
  return {};
}

}  // namespace karakuri
