// A convex shape against one triangle of a surface that knows its neighbours.
#pragma once

#include "collision/narrowphase/workspace.h"

namespace karakuri::collision_detail {

/// A triangle with what lies around it, in the surface's frame.
struct SurfaceTriangle {
  Vec3 v[3];
  Vec3 normal;
  Vec3 across[3];  // normal of the face across side i (from corner i to i+1); own normal if open
  double bend[3];  // of side i: positive where the surface bulges [rad]
  bool open[3];    // side i has no neighbour
  std::uint32_t face, edge[3], vertex[3];  // names, without their kinds
  bool two_sided = false;                  // a surface without an inside

  bool flat() const;  // no side bulges: only the face's own normal can push
};

/// Directions from corner `k` to its neighbours on the surface, at most `limit`; returns how many.
using NeighborsOf = int (*)(const void* surface, const SurfaceTriangle& t, int k, Vec3* out, int limit);

/// Adds the contacts of triangle t (as A) with the convex shape (as B, pose X in the surface's frame) to the
/// clusters.
void triangle_contacts(const SurfaceTriangle& t, const ConvexView& convex, const Transform& X, double margin,
                       const void* surface, NeighborsOf neighbors, CollisionWorkspace::Impl& ws);

}  // namespace karakuri::collision_detail
