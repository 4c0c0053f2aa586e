// Contacts and distances between two shapes.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "karakuri/collision/contact.h"
#include "karakuri/collision/shape.h"

namespace karakuri {

/// Scratch memory; grows on first use, then is used again. One per thread.
class CollisionWorkspace {
 public:
  CollisionWorkspace();
  ~CollisionWorkspace();
  CollisionWorkspace(CollisionWorkspace&&) noexcept;
  CollisionWorkspace& operator=(CollisionWorkspace&&) noexcept;

  struct Impl;
  Impl& impl() { return *impl_; }

  /// What the last pair has cost, in multiplications, about; counted for meshes, terrain and compounds alone.
  double work() const;
  /// Whether that pair was too much for CollideOptions::max_work.
  bool cut() const;

 private:
  std::unique_ptr<Impl> impl_;
};

struct CollideOptions {
  double margin = 0;  // contacts are reported from this separation on, before they touch [m]
  /// Of meshes, terrain and compounds no more than this is looked at, twice, in multiplications, about. Where
  /// more is near, what is found is what an even spread of it shows, the deepest parts of it before others.
  double max_work = std::numeric_limits<double>::infinity();
};

/// Appends the contact manifolds of the pair to `out`; the normal points from A to B. Pairs of which neither
/// can move against the other (plane, heightfield among themselves) have none.
/// @param hint  May be null; see PairHint.
/// Never allocates once `ws` and `out` have grown to what the scene needs.
void collide(const Shape& a, const Transform& X_WA, const Shape& b, const Transform& X_WB,
             const CollideOptions& options, CollisionWorkspace& ws, std::vector<Manifold>& out,
             PairHint* hint = nullptr);

/// Whether a shape may have more near another than CollideOptions::max_work: a mesh that is not convex,
/// terrain, a compound.
bool has_many_parts(const Shape& shape);

/// Signed distance with witness points. Between two solids that overlap, the depth is the least translation
/// that parts them when both are convex; for meshes and heightfields it is that of the deepest contact.
/// False for pairs of planes and heightfields among themselves, which have no answer.
bool closest_points(const Shape& a, const Transform& X_WA, const Shape& b, const Transform& X_WB,
                    CollisionWorkspace& ws, ClosestPoints& out);

/// True when the shapes share a point.
bool overlap(const Shape& a, const Transform& X_WA, const Shape& b, const Transform& X_WB,
             CollisionWorkspace& ws);

}  // namespace karakuri
