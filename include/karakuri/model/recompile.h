// A model follows an edit of its mechanism: only the trees that the edit has touched are compiled, all others
// keep their numbers, moved to where they stand now.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "karakuri/model/model.h"

namespace karakuri {

/// A child of the world that an edit has changed (with all that hangs on it), taken away or put in place.
struct TouchedRoot {
  LinkId before, after;  // the same where it stays; none: it was not there, or is not any more
};

/// What became of the arrays: of each, `before` elements from `first` on were replaced by `after` others.
struct Splice {
  struct Block {
    std::int64_t first, before, after;
  };
  std::array<std::vector<Block>, kAxisCount> blocks;  // ascending; `first` in the old numbers
  std::vector<LinkEntry> old_links;                   // of what was touched, with their old numbers
  std::vector<JointEntry> old_joints;
  std::vector<std::int32_t> links, joints;  // in the model now, of what was compiled
  int compiled_bodies = 0;

  std::span<const Block> of(Axis axis) const { return blocks[static_cast<int>(axis)]; }
  /// New number of what had an old one; -1 where it was replaced.
  std::int64_t moved(Axis axis, std::int64_t old) const;
  /// Of what was replaced: how many such are before it, as in what apply() gives.
  std::int64_t replaced(Axis axis, std::int64_t old) const;
  /// Makes an array of the world follow. @param replaced Out: what was replaced, in order.
  template <class T>
  void apply(Axis axis, std::vector<T>& values, const T& fill, std::vector<T>* replaced = nullptr) const;
};

/// Makes `model` what compile() would make of `mechanism`, to the bit, where it was that before an edit of
/// `touched`. Loops that are not of the mechanism must not be in it. Or what is wrong with the touched trees,
/// and nothing changes.
Result<Splice> recompile(const Mechanism& mechanism, std::span<const TouchedRoot> touched, Model& model);

template <class T>
void Splice::apply(Axis axis, std::vector<T>& values, const T& fill, std::vector<T>* replaced) const {
  for (const Block& b : of(axis))
    if (replaced)
      replaced->insert(replaced->end(), values.begin() + b.first, values.begin() + b.first + b.before);
  const std::span<const Block> all = of(axis);
  for (auto b = all.rbegin(); b != all.rend(); ++b) {  // from the end, where first is still right
    const auto at = values.begin() + b->first;
    const std::int64_t kept = std::min(b->before, b->after);
    std::fill_n(at, kept, fill);
    if (b->after < b->before)
      values.erase(at + kept, at + b->before);
    else
      values.insert(at + kept, static_cast<std::size_t>(b->after - kept), fill);
  }
}

}  // namespace karakuri
