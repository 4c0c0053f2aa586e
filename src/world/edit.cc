// A running scene that changes: a new inside is made from the changed scene and given the old one's state.
#include <algorithm>
#include <string>

#include "core/compose.h"
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

/// The scene with its trees as they were made.
Scene as_made(const World::Impl& w) {
  Scene scene = w.scene;
  for (auto undo = w.undos.rbegin(); undo != w.undos.rend(); ++undo) scene.mechanism.undo(undo->mechanism);
  const auto cuts = std::count_if(w.edits.begin(), w.edits.end(), [](const auto& e) { return !e.joins; });
  scene.no_contact.resize(scene.no_contact.size() - static_cast<std::size_t>(cuts));
  return scene;
}

}  // namespace

std::vector<Diagnostic> World::edit(const std::function<void(Scene&)>& change) {
  Scene scene = as_made(*impl_);  // snapshots may go back to before joints were cut
  change(scene);
  Result<World> made = make(std::move(scene), impl_->given, impl_->model.gravity);
  if (!made.ok()) return made.errors();
  Impl& fresh = *made->impl_;
  if (std::vector<Diagnostic> flaws = fresh.change_edits(impl_->edits); !flaws.empty()) return flaws;
  if (const std::string missing = find_missing(fresh, *impl_); !missing.empty())
    return {{Severity::kError, "edit of the scene", missing,
             "an edit may change values and add things; to part links use detach(), for all else make a new "
             "world"}};
  const bool grown = fresh.model.links.size() > impl_->model.links.size();
  fresh.inherit(*impl_);
  for (std::size_t t = 0; t < fresh.trees.size() && !grown; ++t) fresh.wake_tree(static_cast<int>(t));
  impl_ = std::move(made->impl_);
  return {};
}

}  // namespace karakuri
