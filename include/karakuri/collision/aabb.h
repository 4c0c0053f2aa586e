// Axis-aligned boxes.
#pragma once

#include <limits>

#include "karakuri/spatial/transform.h"

namespace karakuri {

struct Aabb {
  Vec3 lo = Vec3::Constant(std::numeric_limits<double>::infinity());   // [m]
  Vec3 hi = Vec3::Constant(-std::numeric_limits<double>::infinity());  // [m]; lo > hi: empty

  static Aabb of(const Vec3& a, const Vec3& b) { return {a.cwiseMin(b), a.cwiseMax(b)}; }
  static Aabb everything() {
    const double inf = std::numeric_limits<double>::infinity();
    return {Vec3::Constant(-inf), Vec3::Constant(inf)};
  }

  void add(const Vec3& p) { lo = lo.cwiseMin(p), hi = hi.cwiseMax(p); }
  void add(const Aabb& o) { lo = lo.cwiseMin(o.lo), hi = hi.cwiseMax(o.hi); }
  Aabb grown(double by) const { return {lo - Vec3::Constant(by), hi + Vec3::Constant(by)}; }
  bool overlaps(const Aabb& o) const {
    return lo.x() <= o.hi.x() && o.lo.x() <= hi.x() && lo.y() <= o.hi.y() && o.lo.y() <= hi.y() &&
           lo.z() <= o.hi.z() && o.lo.z() <= hi.z();
  }
  bool contains(const Aabb& o) const {
    return lo.x() <= o.lo.x() && lo.y() <= o.lo.y() && lo.z() <= o.lo.z() && o.hi.x() <= hi.x() &&
           o.hi.y() <= hi.y() && o.hi.z() <= hi.z();
  }
  bool empty() const { return lo.x() > hi.x(); }
  Vec3 center() const { return 0.5 * (lo + hi); }
  Vec3 half() const { return 0.5 * (hi - lo); }
  /// Squared distance from a point; zero inside.
  double squared_distance(const Vec3& p) const {
    return (lo - p).cwiseMax(p - hi).cwiseMax(0.0).squaredNorm();
  }
  /// The box around this one after the rigid motion X.
  Aabb transformed(const Transform& X) const {
    const Vec3 c = X * center(), h = X.R.cwiseAbs() * half();
    return {c - h, c + h};
  }
};

}  // namespace karakuri
