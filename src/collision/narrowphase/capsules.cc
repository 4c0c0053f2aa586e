#include "collision/narrowphase/capsules.h"

#include <algorithm>
#include <cmath>

#include "collision/narrowphase/round_pairs.h"

namespace karakuri::collision_detail {

namespace {

/// The axis of a capsule.
struct Axis {
  Vec3 middle, half;  // half: from the middle to the second end
  double radius;
  bool sphere;

  Axis(const Shape& s, const Transform& X)
      : middle(X.p),
        half(s.kind() == ShapeKind::kCapsule ? Vec3(s.size().z() * X.R.col(2)) : Vec3::Zero()),
        radius(s.size().x()),
        sphere(s.kind() == ShapeKind::kSphere) {}

  Vec3 at(double t) const { return middle + (2 * t - 1) * half; }

  /// Name of the point at t of the axis, as in support_face().
  std::uint32_t name_at(double t, double tolerance) const {
    const double length2 = 4 * half.squaredNorm();
    if (t * t * length2 <= tolerance * tolerance) return feature::kVertex | 0;
    if ((1 - t) * (1 - t) * length2 <= tolerance * tolerance) return feature::kVertex | 1;
    return feature::kEdge | 0;
  }
};

/// Whether capsules are further apart than `reach`, between their axes, along the line of their middles, d:
///   |d| - |d.ha| / |d| - |d.hb| / |d| > reach
/// True for most pairs that are apart, at a tenth of the cost of their distance.
bool clearly_apart(const Axis& a, const Axis& b, double reach) {
  const Vec3 d = b.middle - a.middle;
  const double d2 = d.squaredNorm(), left = d2 - std::abs(d.dot(a.half)) - std::abs(d.dot(b.half));
  const double slack = 1e-9 * reach;  // what rounding would decide is left to the distance
  return left > 0 && left * left > (reach + slack) * (reach + slack) * d2;
}

/// Whether axes may touch along a line: nearly parallel, with a margin to what clip_segments() takes for it.
bool are_parallel(const Axis& a, const Axis& b) {
  constexpr double kParallel = 0.06;  // sine
  return a.half.cross(b.half).squaredNorm() <=
         kParallel * kParallel * a.half.squaredNorm() * b.half.squaredNorm();
}

}  // namespace

bool collide_capsules(const Shape& shape_a, const Transform& X_WA, const Shape& shape_b,
                      const Transform& X_WB, double margin, std::vector<Manifold>& out) {
  const Axis a(shape_a, X_WA), b(shape_b, X_WB);
  const double radii = a.radius + b.radius;
  if (clearly_apart(a, b, radii + margin)) return true;
  const bool point = a.sphere || b.sphere;
  double s, t;
  nearest_on_segments(a.middle - a.half, 2 * a.half, b.middle - b.half, 2 * b.half, &s, &t);
  const Vec3 on_a = a.at(s), on_b = b.at(t), d = on_b - on_a;
  const double distance = d.norm();
  constexpr double kCrossing = 1e-2;  // of the radii: less has lost digits of its direction
  if (!(distance > kCrossing * radii)) return false;
  if (distance - radii > margin) return true;
  if (!point && are_parallel(a, b)) return false;
  Manifold& m = out.emplace_back();
  const double tolerance = 1e-6 * std::min(a.radius, b.radius);
  m.normal = d / distance;
  m.count = 1;
  m.points[0] = {0.5 * (on_a + on_b + (a.radius - b.radius) * m.normal), distance - radii,
                 point ? feature::kRound : a.name_at(s, tolerance),
                 point ? feature::kRound : b.name_at(t, tolerance)};
  return true;
}

// The ends of the axis that are near enough. Names as those of support_face().
void collide_capsule_plane(const Shape& shape, const Transform& X, const Transform& X_WP, double margin,
                           std::vector<Manifold>& out) {
  const Axis a(shape, X);
  const Vec3 n = X_WP.R.col(2);
  const double middle = n.dot(a.middle - X_WP.p) - a.radius, slope = n.dot(a.half);
  if (middle - std::abs(slope) > margin) return;
  Manifold& m = out.emplace_back();
  m.normal = -n;
  for (std::uint32_t end = 0; end < (a.sphere ? 1u : 2u); ++end) {
    const double sign = end == 0 ? -1 : 1, s = middle + sign * slope;
    if (s > margin) continue;
    m.points[m.count++] = {a.middle + sign * a.half - (a.radius + 0.5 * s) * n, s,
                           a.sphere ? feature::kRound : feature::kVertex | end, feature::kFace};
  }
}

}  // namespace karakuri::collision_detail
