// A running scene that changes: a new inside is made from the changed scene and given the old one's state.
#include <algorithm>
#include <optional>
#include <string>

#include "core/compose.h"
#include "karakuri/model/reverse.h"
#include "world/impl.h"

namespace karakuri {

namespace {

/// What `old` has and `now` has not, or joins in another way; empty: nothing.
std::string find_missing(const World::Impl& now, const World::Impl& old) {
  for (const LinkEntry& link : old.model.links)
    if (!now.model.find(link.id)) return compose("link '{}' is gone", link.name);
  for (const JointEntry& joint : old.model.joints) {
    const JointEntry* kept = now.model.find(joint.id);
    if (!kept) return compose("joint '{}' is gone", joint.name);
    if (kept->kind != joint.kind || (kept->first_v < 0) != (joint.first_v < 0))
      return compose("joint '{}' was {} and is {}", joint.name, name(joint.kind), name(kept->kind));
    const Joint &a = now.scene.mechanism.joint(joint.id), &b = old.scene.mechanism.joint(joint.id);
    if (a.parent != b.parent || a.child != b.child)
      return compose("joint '{}' joins other links than before", joint.name);
  }
  const auto fewer = [](const char* what, std::size_t is, std::size_t was) {
    return is < was ? compose("there are {} {} where {} were", is, what, was) : std::string();
  };
  for (const std::string& lack :
       {fewer("shapes", now.colliders.size(), old.colliders.size()),
        fewer("loops", now.scene_loops, old.scene_loops),
        fewer("active couplings and tendons", now.model.relations.size(), old.model.relations.size())})
    if (!lack.empty()) return lack;
  return {};
}

/// Joints that were only turned round are those of the scene, whose values may have been edited.
void take_values(const Mechanism& made, std::vector<HungLink>& hung) {
  for (HungLink& h : hung) {
    if (!made.contains(h.id)) continue;
    const Joint& joint = made.joint(h.id);
    if (joint.child == h.joint.child)
      h.joint = joint;
    else if (Result<Joint> turned = reversed(joint); turned.ok())
      h.joint = std::move(*turned);
  }
}

}  // namespace

Scene World::Impl::scene_as_made() const {
  Scene out = scene;
  if (made) out.mechanism = *made;
  out.no_contact.resize(out.no_contact.size() - structure.parted.size());
  return out;
}

Result<std::unique_ptr<World::Impl>> World::Impl::with_structure(
    const world_detail::Structure& wanted) const {
  Scene changed = scene_as_made();
  auto as_made = made ? made : std::make_shared<const Mechanism>(changed.mechanism);
  if (std::vector<Diagnostic> flaws = changed.mechanism.rehang(wanted.hung); !flaws.empty()) return flaws;
  changed.no_contact.insert(changed.no_contact.end(), wanted.parted.begin(), wanted.parted.end());
  Result<Model> compiled = compile(changed.mechanism, gravity);
  if (!compiled.ok()) return compiled.errors();
  std::vector<Diagnostic> flaws;
  world_detail::check_shapes(changed, flaws);
  world_detail::check_no_contact(changed, *compiled, flaws);
  if (!flaws.empty()) return flaws;
  auto out = std::make_unique<Impl>(std::move(changed), std::move(*compiled), given);
  out->made = std::move(as_made);
  out->structure = wanted;
  out->scales = scales;  // of the scene before its trees were changed
  out->scene_hash = scene_hash;
  out->scene_stamp = scene_stamp;
  return out;
}

// ---- in two parts

struct SceneEdit::Impl {
  Scene scene;  // as it was made: snapshots may go back to before joints were cut
  std::function<void(Scene&)> change;
  world_detail::Structure structure;
  WorldSettings given;
  Vec3 gravity;
  std::uint64_t stamp = 0;
  std::optional<World> made;
};

SceneEdit::SceneEdit(const World& world, std::function<void(Scene&)> change)
    : impl_(std::make_unique<Impl>()) {
  const World::Impl& w = *world.impl_;
  *impl_ = {w.scene_as_made(), std::move(change), w.structure, w.given, w.model.gravity, w.scene_stamp, {}};
}
SceneEdit::SceneEdit(SceneEdit&&) noexcept = default;
SceneEdit& SceneEdit::operator=(SceneEdit&&) noexcept = default;
SceneEdit::~SceneEdit() = default;

const World& SceneEdit::world() const { return *impl_->made; }
const std::function<void(Scene&)>& SceneEdit::change() const { return impl_->change; }

std::vector<Diagnostic> SceneEdit::prepare() {
  impl_->change(impl_->scene);
  Result<World> made = World::make(std::move(impl_->scene), impl_->given, impl_->gravity);
  if (!made.ok()) return made.errors();
  if (world_detail::Structure structure = impl_->structure; !structure.hung.empty()) {
    take_values(made->impl_->scene.mechanism, structure.hung);
    Result<std::unique_ptr<World::Impl>> changed = made->impl_->with_structure(structure);
    if (!changed.ok()) return changed.errors();
    made->impl_ = std::move(*changed);
  }
  impl_->made = std::move(*made);
  return {};
}

bool World::fits(const SceneEdit& prepared) const {
  return prepared.impl_->stamp == impl_->scene_stamp && prepared.impl_->structure == impl_->structure;
}

std::vector<Diagnostic> World::edit(SceneEdit&& prepared) {
  SceneEdit::Impl& edit = *prepared.impl_;
  if (!fits(prepared))
    return {{Severity::kError, "edit of the scene", "the scene has changed since the edit was begun",
             "begin it again"}};
  World& made = *edit.made;
  // what was set meanwhile
  if (edit.gravity != impl_->model.gravity) made.set_gravity(impl_->model.gravity);
  if (std::vector<Diagnostic> flaws = made.set_settings(impl_->given); !flaws.empty()) return flaws;
  Impl& fresh = *made.impl_;
  if (const std::string missing = find_missing(fresh, *impl_); !missing.empty())
    return {{Severity::kError, "edit of the scene", missing,
             "an edit may change values and add things; to part links use detach(), for all else make a new "
             "world"}};
  const bool grown = fresh.model.links.size() > impl_->model.links.size();
  fresh.inherit(*impl_);
  for (std::size_t t = 0; t < fresh.trees.size() && !grown; ++t) fresh.wake_tree(static_cast<int>(t));
  impl_ = std::move(made.impl_);
  return {};
}

std::vector<Diagnostic> World::edit(const std::function<void(Scene&)>& change) {
  SceneEdit edit(*this, change);
  if (std::vector<Diagnostic> flaws = edit.prepare(); !flaws.empty()) return flaws;
  return this->edit(std::move(edit));
}

}  // namespace karakuri
