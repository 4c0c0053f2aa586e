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

/// A shape between planes along its own axes, grown by a margin: what is outside of one of them is further
/// away than that.
class Slabs {
 public:
  Slabs(const ConvexView& convex, const Transform& X, double margin);
  bool keeps_box(const Vec3& low, const Vec3& high) const;
  bool keeps_triangle(const Vec3& a, const Vec3& b, const Vec3& c) const;

 private:
  Vec3 n_[3];
  double lo_[3], hi_[3];  // lo <= n.x <= hi for each x of the shape
};

/// Directions from corner `k` to its neighbours on the surface, at most `limit`; returns how many.
using NeighborsOf = int (*)(const void* surface, const SurfaceTriangle& t, int k, Vec3* out, int limit);

/// Whether the shape is neither above the triangle's plane by more than the margin nor below it as a whole:
/// only then can they touch. Asks for no sides.
bool meets_plane_of(const SurfaceTriangle& t, const ConvexView& convex, const Transform& X, double margin);

/// Adds the contacts of triangle t (as A) with the convex shape (as B, pose X in the surface's frame) to the
/// clusters. `slabs`: of this shape with this margin.
void triangle_contacts(const SurfaceTriangle& t, const ConvexView& convex, const Transform& X,
                       const Slabs& slabs, double margin, const void* surface, NeighborsOf neighbors,
                       CollisionWorkspace::Impl& ws);

}  // namespace karakuri::collision_detail
