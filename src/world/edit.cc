// A running scene that changes: a new inside is made from the changed scene and given the old one's state.
#include "world/impl.h"

namespace karakuri {

namespace {

/// Whether `now` has all that `old` has, joined in the same way.
bool contains_all(const World::Impl& now, const World::Impl& old) {
  for (const LinkEntry& link : old.model.links) {
    if (!now.model.find(link.id)) return false;
  }
  for (const JointEntry& joint : old.model.joints) {
    const JointEntry* kept = now.model.find(joint.id);
    if (!kept || kept->kind != joint.kind || (kept->first_v < 0) != (joint.first_v < 0)) return false;
    const Joint &a = now.scene.mechanism.joint(joint.id), &b = old.scene.mechanism.joint(joint.id);
    if (a.parent != b.parent || a.child != b.child) return false;
  }
  return now.colliders.size() >= old.colliders.size() && now.scene_loops >= old.scene_loops &&
         now.model.relations.size() >= old.model.relations.size();
}

/// The scene with no joint cut.
Scene as_made(const World::Impl& w) {
  Scene scene = w.scene;
  scene.mechanism = *w.original;
  scene.no_contact.resize(scene.no_contact.size() - w.cuts.size());
  return scene;
}

}  // namespace

std::vector<Diagnostic> World::edit(const std::function<void(Scene&)>& change) {
  Scene scene = impl_->scene;
  std::erase_if(scene.initial, [&](const InitialJoint& i) { return !scene.mechanism.contains(i.joint); });
  change(scene);
  Result<World> made = make(std::move(scene), impl_->settings, impl_->model.gravity);
  if (!made.ok()) return made.errors();
  Impl& fresh = *made->impl_;
  if (!contains_all(fresh, *impl_))
    return {{Severity::kError, "scene", "an edit took something away, or changed what is joined to what",
             "make a new world for that"}};
  if (impl_->original) {  // joints were cut, and snapshots may go back to before that
    Scene before = as_made(*impl_);
    change(before);
    fresh.original = std::make_shared<const Mechanism>(before.mechanism);
    Result<World> uncut = make(std::move(before), impl_->settings, impl_->model.gravity);
    if (!uncut.ok()) return uncut.errors();
    fresh.scene_hash = uncut->impl_->scene_hash;
  }
  const bool grown = fresh.model.links.size() > impl_->model.links.size();
  fresh.inherit(*impl_);
  for (std::size_t t = 0; t < fresh.trees.size() && !grown; ++t) fresh.wake_tree(static_cast<int>(t));
  impl_ = std::move(made->impl_);
  return {};
}

}  // namespace karakuri
