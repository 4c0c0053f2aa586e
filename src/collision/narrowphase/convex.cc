#include "collision/narrowphase/convex.h"

#include <cmath>

namespace karakuri::collision_detail {

namespace {

using Lane = double __attribute__((vector_size(32)));
using LaneIndex = long long __attribute__((vector_size(32)));

// Four vertices at a time. The lowest index wins among equals, so that the answer does not depend on the
// width.
int argmax_dot(const ConvexView& c, const Vec3& d) {
  const Lane dx = {d.x(), d.x(), d.x(), d.x()}, dy = {d.y(), d.y(), d.y(), d.y()},
             dz = {d.z(), d.z(), d.z(), d.z()};
  Lane best = {-1e300, -1e300, -1e300, -1e300};
  LaneIndex best_at = {0, 0, 0, 0}, at = {0, 1, 2, 3};
  const LaneIndex four = {4, 4, 4, 4};
  for (int i = 0; i < c.count; i += 4) {
    Lane x, y, z;
    __builtin_memcpy(&x, c.x + i, 32);
    __builtin_memcpy(&y, c.y + i, 32);
    __builtin_memcpy(&z, c.z + i, 32);
    const Lane dot = dx * x + dy * y + dz * z;
    const LaneIndex more = dot > best;
    best = more ? dot : best;
    best_at = more ? at : best_at;
    at += four;
  }
  int lane = 0;
  for (int k = 1; k < 4; ++k) {
    if (best[k] > best[lane] || (best[k] == best[lane] && best_at[k] < best_at[lane])) lane = k;
  }
  const int i = static_cast<int>(best_at[lane]);
  return i < c.count ? i : 0;  // padding copies vertex 0
}

// Climbs along edges; on a convex polyhedron a local maximum is the maximum.
int climb(const ConvexHull& h, const Vec3& d) {
  int at = 0;
  double best = d.dot(h.vertex(0));
  for (bool moved = true; moved;) {
    moved = false;
    for (int k = h.neighbor_first[at], end = h.neighbor_first[at + 1]; k < end; ++k) {
      const double value = d.dot(h.vertex(h.neighbors[k]));
      if (value > best) best = value, at = h.neighbors[k], moved = true, end = 0;
    }
  }
  return at;
}

}  // namespace

SupportPoint support_points(const ConvexView& c, const Vec3& d) {
  const int i = c.count > 200 ? climb(*c.hull, d) : argmax_dot(c, d);
  return {Vec3(c.x[i], c.y[i], c.z[i]), i};
}

SupportPoint support_round(const ConvexView& c, const Vec3& d) {
  if (c.core == CoreKind::kEllipsoid) {
    const Vec3 s = c.size.cwiseProduct(d);
    const double n = s.norm();
    return {n > 0 ? Vec3(c.size.cwiseProduct(s) / n) : Vec3(0, 0, c.size.z()), -1};
  }
  const double across = std::sqrt(d.x() * d.x() + d.y() * d.y()), h = c.size.z();
  // On the axis every rim point is as good; a fixed one keeps the answer a point of the rim.
  const double s = across > 0 ? c.size.x() / across : 0;
  const Vec3 rim(across > 0 ? s * d.x() : c.size.x(), s * d.y(), 0);
  if (c.core == CoreKind::kCylinder) return {rim + Vec3(0, 0, d.z() >= 0 ? h : -h), -1};
  // cone: the tip against the rim of the base
  if (2 * h * d.z() >= c.size.x() * across) return {Vec3(0, 0, h), -1};
  return {rim - Vec3(0, 0, h), -1};
}

ConvexView convex_view(const Shape& shape) {
  ConvexView c;
  c.size = shape.size();
  c.extent = c.size.minCoeff();
  switch (shape.kind()) {
    case ShapeKind::kSphere: c.core = CoreKind::kPoint, c.radius = c.size.x(); break;
    case ShapeKind::kCapsule: c.core = CoreKind::kSegment, c.radius = c.size.x(), c.extent = c.radius; break;
    case ShapeKind::kBox: c.core = CoreKind::kBox; break;
    case ShapeKind::kCylinder: c.core = CoreKind::kCylinder; break;
    case ShapeKind::kCone:
      c.core = CoreKind::kCone;
      c.center = Vec3(0, 0, -0.5 * c.size.z());
      break;
    case ShapeKind::kEllipsoid: c.core = CoreKind::kEllipsoid; break;
    default: {
      const ConvexHull& h = shape.kind() == ShapeKind::kMesh ? *shape.as_mesh().hull : shape.as_hull();
      c.core = CoreKind::kPoints;
      c.x = h.x.data(), c.y = h.y.data(), c.z = h.z.data();
      c.count = h.vertex_count;
      c.hull = &h;
      c.extent = h.bounds.half().minCoeff();
      c.center = h.solid.com;
    }
  }
  return c;
}

ConvexView TriangleCore::view() const {
  ConvexView c;
  c.core = CoreKind::kPoints;
  c.x = x, c.y = y, c.z = z;
  c.count = 3;
  c.center = Vec3(x[0] + x[1] + x[2], y[0] + y[1] + y[2], z[0] + z[1] + z[2]) / 3;
  return c;
}

}  // namespace karakuri::collision_detail
