// Random shapes and poses, chosen to be nasty, and support functions written independently of the library's.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "karakuri/collision/shape.h"
#include "karakuri/core/random.h"
#include "karakuri/spatial/rotation.h"

namespace karakuri::testing {

inline Vec3 random_unit(Random& r) {
  Vec3 v;
  do v = Vec3{r.normal(), r.normal(), r.normal()};  // in this order, whichever the compiler
  while (v.norm() < 1e-6);
  return v.normalized();
}
inline Mat3 random_rotation(Random& r) {
  return rotation_exp(random_unit(r) * r.uniform(0, std::numbers::pi));
}
inline std::vector<Vec3> random_cloud(Random& r, int count, double size) {
  std::vector<Vec3> p;
  for (int i = 0; i < count; ++i) p.push_back(size * random_unit(r) * (i % 3 ? 1.0 : r.uniform(0.3, 1)));
  return p;
}

inline constexpr ShapeKind kConvexKinds[] = {ShapeKind::kSphere,   ShapeKind::kCapsule, ShapeKind::kBox,
                                             ShapeKind::kCylinder, ShapeKind::kCone,    ShapeKind::kEllipsoid,
                                             ShapeKind::kHull};

/// One of 256 hulls of 4 to 32 vertices, the nearest in size: making one anew costs a hundred times the test
/// itself.
inline const Shape& pooled_hull(double size) {
  static const std::vector<Shape> pool = [] {
    Random r(99);
    std::vector<Shape> all;
    for (int i = 0; i < 256; ++i) {
      all.push_back(Shape::hull(
          make_convex_hull(random_cloud(r, 8 + r.below(25), std::pow(10, i / 32.0 - 4))).value()));
    }
    return all;
  }();
  const double at = std::round(32 * (std::log10(size) + 4));
  return pool[static_cast<std::size_t>(std::clamp(at, 0.0, 255.0))];
}

/// Sizes within a factor of five of `size`.
inline Shape random_convex(Random& r, ShapeKind kind, double size) {
  const auto s = [&] { return size * std::pow(5, r.uniform(-0.5, 0.5)); };
  switch (kind) {
    case ShapeKind::kSphere: return Shape::sphere(s());
    case ShapeKind::kCapsule: return Shape::capsule(s(), s());
    case ShapeKind::kBox: return Shape::box({s(), s(), s()});
    case ShapeKind::kCylinder: return Shape::cylinder(s(), s());
    case ShapeKind::kCone: return Shape::cone(s(), s());
    case ShapeKind::kEllipsoid: return Shape::ellipsoid({s(), s(), s()});
    default: return pooled_hull(size);
  }
}

/// max over the shape of d . x, in its own frame; d unit.
inline double support_value(const Shape& shape, const Vec3& d) {
  const Vec3& s = shape.size();
  const double across = std::hypot(d.x(), d.y());
  switch (shape.kind()) {
    case ShapeKind::kSphere: return s.x();
    case ShapeKind::kCapsule: return s.x() + s.z() * std::abs(d.z());
    case ShapeKind::kBox: return d.cwiseAbs().dot(s);
    case ShapeKind::kCylinder: return s.x() * across + s.z() * std::abs(d.z());
    case ShapeKind::kCone: return std::max(s.z() * d.z(), s.x() * across - s.z() * d.z());
    case ShapeKind::kEllipsoid: return d.cwiseProduct(s).norm();
    default: {
      double best = -1e300;
      for (int i = 0; i < shape.as_hull().vertex_count; ++i)
        best = std::max(best, d.dot(shape.as_hull().vertex(i)));
      return best;
    }
  }
}

/// How far a point is outside the shape, in its own frame; a lower bound that is zero only inside.
inline double outside_by(const Shape& shape, const Vec3& p) {
  const Vec3& s = shape.size();
  const double across = std::hypot(p.x(), p.y());
  switch (shape.kind()) {
    case ShapeKind::kSphere: return p.norm() - s.x();
    case ShapeKind::kCapsule: return std::hypot(across, p.z() - std::clamp(p.z(), -s.z(), s.z())) - s.x();
    case ShapeKind::kBox: return (p.cwiseAbs() - s).maxCoeff();
    case ShapeKind::kCylinder: return std::max(across - s.x(), std::abs(p.z()) - s.z());
    case ShapeKind::kCone: {
      const double slant = std::hypot(s.x(), 2 * s.z());  // side: (2h across + r (z - h)) / slant <= 0
      return std::max((2 * s.z() * across + s.x() * (p.z() - s.z())) / slant, -s.z() - p.z());
    }
    case ShapeKind::kEllipsoid: {
      const double k = p.cwiseQuotient(s).norm();
      return (k - 1) * s.minCoeff();
    }
    default: {
      double worst = -1e300;
      for (const HullFace& f : shape.as_hull().faces) worst = std::max(worst, f.normal.dot(p) - f.offset);
      return worst;
    }
  }
}

struct RandomPair {
  Shape a, b;
  Transform X_WA, X_WB;
  double scale = 0;  // of the larger, of coordinates and rounding
  double small = 0;  // of the smaller
};

/// Sizes 1e-3 to 1e3; poses apart, touching, deep, aligned within 1e-9 to 1e-3 rad, or exactly degenerate.
inline RandomPair random_pair(Random& r, ShapeKind ka, ShapeKind kb) {
  RandomPair p;
  const double sa = std::pow(10, r.uniform(-3, 3));
  // mostly of about one size, sometimes tiny against huge
  const double sb = r.below(4) ? sa * std::pow(10, r.uniform(-0.5, 0.5)) : std::pow(10, r.uniform(-3, 3));
  p.a = random_convex(r, ka, sa), p.b = random_convex(r, kb, sb);
  p.scale = std::max(bounding_radius(p.a), bounding_radius(p.b));
  p.small = std::min(bounding_radius(p.a), bounding_radius(p.b));
  const int style = r.below(6);
  const auto quarter_turns = [&] {
    Mat3 R = Mat3::Identity();
    for (int k = 0; k < 3; ++k) {
      const Vec3 phi = Vec3::Unit(r.below(3)) * (std::numbers::pi / 2);
      R = R * rotation_exp(phi);
    }
    for (int i = 0; i < 9; ++i) R.data()[i] = std::round(R.data()[i]);
    return R;
  };
  if (style < 3) {  // general
    p.X_WA.R = random_rotation(r), p.X_WB.R = random_rotation(r);
  } else if (style < 5) {  // nearly parallel faces
    p.X_WA.R = style == 3 ? Mat3(Mat3::Identity()) : random_rotation(r);
    p.X_WB.R = p.X_WA.R * quarter_turns() * rotation_exp(random_unit(r) * std::pow(10, r.uniform(-9, -3)));
  } else {  // degenerate: exactly aligned
    p.X_WB.R = quarter_turns();
  }
  const Vec3 d = style == 5 ? Vec3(Vec3::Unit(r.below(3)))
                            : (style == 3 ? (Vec3::Unit(r.below(3)) + 0.1 * random_unit(r)).normalized()
                                          : random_unit(r));
  const double reach =
      support_value(p.a, p.X_WA.R.transpose() * d) + support_value(p.b, -(p.X_WB.R.transpose() * d));
  double gap = 0;
  switch (r.below(5)) {
    case 0: gap = 0; break;                                           // touching
    case 1: gap = p.small * std::pow(10, r.uniform(-9, 0)); break;    // apart
    case 2: gap = -p.small * std::pow(10, r.uniform(-9, -1)); break;  // shallow
    case 3: gap = -reach * r.uniform(0, 1); break;                    // deep
    default: gap = r.below(8) ? -reach * r.uniform(0.9, 1) : -reach;  // centre in centre
  }
  p.X_WB.p = (reach + gap) * d;
  return p;
}

}  // namespace karakuri::testing
