// One view of every convex shape: a core with a support function, swept by a radius.
//   support(d) = argmax { d . x : x in core }                                             (1)
// A sphere is a point with a radius, a capsule a segment with a radius; the others have radius 0.
#pragma once

#include <cstdint>

#include "karakuri/collision/shape.h"

namespace karakuri::collision_detail {

enum class CoreKind : std::uint8_t { kPoint, kSegment, kBox, kCylinder, kCone, kEllipsoid, kPoints };

struct ConvexView {
  CoreKind core = CoreKind::kPoint;
  double radius = 0;
  Vec3 size = Vec3::Zero();                               // as in Shape
  const double *x = nullptr, *y = nullptr, *z = nullptr;  // kPoints: padded to a multiple of four
  int count = 0;
  const ConvexHull* hull = nullptr;  // kPoints of a hull; null for a triangle
  double extent = 0;                 // smallest half width: the scale of tolerances [m]
  Vec3 center = Vec3::Zero();        // some inner point

  bool polyhedral() const { return core == CoreKind::kBox || core == CoreKind::kPoints; }
};

/// A shape that is convex by its kind, or a mesh that happens to be.
inline bool has_convex_view(const Shape& s) {
  return s.convex() || (s.kind() == ShapeKind::kMesh && s.as_mesh().hull != nullptr);
}
/// @pre has_convex_view(shape)
ConvexView convex_view(const Shape& shape);

/// Storage for a triangle seen as a convex shape.
struct TriangleCore {
  double x[4], y[4], z[4];
  TriangleCore(const Vec3& a, const Vec3& b, const Vec3& c)
      : x{a.x(), b.x(), c.x(), a.x()}, y{a.y(), b.y(), c.y(), a.y()}, z{a.z(), b.z(), c.z(), a.z()} {}
  ConvexView view() const;
};

struct SupportPoint {
  Vec3 p;
  int index;  // vertex, or -1 on a curved surface
};
SupportPoint support_points(const ConvexView& c, const Vec3& d);
SupportPoint support_round(const ConvexView& c, const Vec3& d);

/// (1), in the shape's frame; d need not be unit, must not be zero.
inline SupportPoint support(const ConvexView& c, const Vec3& d) {
  switch (c.core) {
    case CoreKind::kPoint: return {Vec3::Zero(), 0};
    case CoreKind::kSegment: return {Vec3(0, 0, d.z() >= 0 ? c.size.z() : -c.size.z()), d.z() >= 0};
    case CoreKind::kBox: {
      const int sx = d.x() >= 0, sy = d.y() >= 0, sz = d.z() >= 0;
      return {
          Vec3(sx ? c.size.x() : -c.size.x(), sy ? c.size.y() : -c.size.y(), sz ? c.size.z() : -c.size.z()),
          sx | sy << 1 | sz << 2};
    }
    case CoreKind::kPoints: return support_points(c, d);
    default: return support_round(c, d);
  }
}

/// Two convex shapes, B's pose being given in A's frame; everything is computed in A's frame.
struct ConvexPair {
  const ConvexView* a;
  const ConvexView* b;
  Transform X_AB;

  Vec3 support_b(const Vec3& d, int* index) const {
    const SupportPoint s = support(*b, X_AB.R.transpose() * d);
    *index = s.index;
    return X_AB * s.p;
  }
};

/// A vertex of the difference A - B with the points it comes from.
struct DifferenceVertex {
  Vec3 w, a, b;  // w = a - b
  int ia = -1, ib = -1;

  bool same_as(const DifferenceVertex& o) const {
    return ia >= 0 && ib >= 0 ? ia == o.ia && ib == o.ib : w == o.w;
  }
};
inline DifferenceVertex difference_support(const ConvexPair& pair, const Vec3& d) {
  DifferenceVertex v;
  const SupportPoint s = support(*pair.a, d);
  v.a = s.p, v.ia = s.index;
  v.b = pair.support_b(-d, &v.ib);
  v.w = v.a - v.b;
  return v;
}

/// Result of GJK and EPA on a pair, in A's frame.
struct ConvexDistance {
  double separation = 0;  // of the shapes with their radii; negative: minus the depth
  Vec3 normal = Vec3::UnitZ();
  Vec3 on_a = Vec3::Zero(), on_b = Vec3::Zero();
  // How far the witness points are from lying across from each other, or outside the shapes [m]; where it
  // matters, align_witness sets them right.
  double askew = 0;
  int iterations = 0;
};

}  // namespace karakuri::collision_detail
