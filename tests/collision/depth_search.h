// An independent search for the least way out of an overlap: closed-form guesses, then a pattern search.
#pragma once

#include <cmath>
#include <vector>

#include "collision/random_shapes.h"

namespace karakuri::testing {

/// How far B must move along d to part from A: max_A d.x - min_B d.x.
inline double reach_along(const RandomPair& p, const Vec3& d) {
  return support_value(p.a, p.X_WA.R.transpose() * d) + d.dot(p.X_WA.p) +
         support_value(p.b, -(p.X_WB.R.transpose() * d)) - d.dot(p.X_WB.p);
}

/// Normals of the surface that are likely ways out for something small at q, in the shape's frame.
inline std::vector<Vec3> likely_normals(const Shape& s, const Vec3& q) {
  std::vector<Vec3> out;
  const double across = std::hypot(q.x(), q.y());
  const Vec3 radial = across > 0 ? Vec3(q.x() / across, q.y() / across, 0) : Vec3::UnitX(), z = Vec3::UnitZ();
  const Vec3& size = s.size();
  switch (s.kind()) {
    case ShapeKind::kCapsule: return {radial};
    case ShapeKind::kCylinder: return {radial, z, -z};
    case ShapeKind::kCone: return {-z, (2 * size.z() * radial + size.x() * z).normalized()};
    case ShapeKind::kEllipsoid:
      out.push_back((q.cwiseQuotient(size).cwiseQuotient(size) + 1e-12 / size.z() * z).normalized());
      [[fallthrough]];
    case ShapeKind::kBox:
      for (int k = 0; k < 3; ++k) out.push_back(Vec3::Unit(k)), out.push_back(-Vec3::Unit(k));
      return out;
    case ShapeKind::kHull:
      for (const HullFace& f : s.as_hull().faces) out.push_back(f.normal);
      return out;
    default: return {};
  }
}

/// The least reach found from n by steps across it, long ones first.
inline double pattern_search(const RandomPair& p, Vec3 n, Random& r) {
  double least = reach_along(p, n), step = 0.1;
  for (int k = 0; k < 60 && step > 1e-9; ++k) {
    const Vec3 u = n.unitOrthogonal(), v = n.cross(u);
    const double first = r.uniform(0, 2 * std::numbers::pi);
    bool better = false;
    for (int j = 0; j < 4 && !better; ++j) {
      const double angle = first + j * std::numbers::pi / 2;
      const Vec3 m = (n + step * (std::cos(angle) * u + std::sin(angle) * v)).normalized();
      const double reach = reach_along(p, m);
      if (reach < least) least = reach, n = m, better = true;
    }
    step *= better ? 1.5 : 0.4;
  }
  return least;
}

/// The least reach found anywhere: from the normal claimed, and from the best of the likely ones.
inline double least_reach(const RandomPair& p, const Vec3& claimed, Random& r) {
  double least = 1e300;
  Vec3 best = claimed;
  const auto offer = [&](const Vec3& n) {
    const double reach = reach_along(p, n);
    if (reach < least) least = reach, best = n;
  };
  for (const Vec3& n : likely_normals(p.a, p.X_WA.inverse_apply(p.X_WB.p))) offer(p.X_WA.R * n);
  for (const Vec3& n : likely_normals(p.b, p.X_WB.inverse_apply(p.X_WA.p))) offer(-(p.X_WB.R * n));
  return std::min(pattern_search(p, best, r), pattern_search(p, claimed, r));
}

}  // namespace karakuri::testing
