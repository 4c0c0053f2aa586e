// Contacts and distances between two shapes.
#pragma once

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

 private:
  std::unique_ptr<Impl> impl_;
};

struct CollideOptions {
  double margin = 0;  // contacts are reported from this separation on, before they touch [m]
};

/// Appends the contact manifolds of the pair to `out`; the normal points from A to B. Pairs of which neither
/// can move against the other (plane, heightfield among themselves) have none.
/// @param hint  May be null; see PairHint.
/// Never allocates once `ws` and `out` have grown to what the scene needs.
void collide(const Shape& a, const Transform& X_WA, const Shape& b, const Transform& X_WB,
             const CollideOptions& options, CollisionWorkspace& ws, std::vector<Manifold>& out,
             PairHint* hint = nullptr);

/// Signed distance with witness points. Between two solids that overlap, the depth is the least translation
/// that parts them when both are convex; for meshes and heightfields it is that of the deepest contact.
/// False for pairs of planes and heightfields among themselves, which have no answer.
bool closest_points(const Shape& a, const Transform& X_WA, const Shape& b, const Transform& X_WB,
                    CollisionWorkspace& ws, ClosestPoints& out);

/// True when the shapes share a point.
bool overlap(const Shape& a, const Transform& X_WA, const Shape& b, const Transform& X_WB,
             CollisionWorkspace& ws);

}  // namespace karakuri
