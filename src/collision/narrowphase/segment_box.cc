// Apart: the squared distance of the point p + t d from the box,
//   f(t) = sum_i max(|p_i + t d_i| - h_i, 0)^2,                                                        (1)
// is convex and piecewise quadratic; f' is piecewise linear and never falls. Its kinks are where a coordinate
// enters or leaves the box, t = (+-h_i - p_i) / d_i. Between the last kink (or end) with f' < 0 and the first
// with f' > 0 there is none, so the root follows by one interpolation.                               (2)
// Overlapping, or touching to rounding: box + (-segment) is a polytope whose faces are those of the box, and
// edges of the box against the segment:
//   s(n) = |n . p| - |n . d| - sum_i |n_i| h_i,  n = e_i  or  n ~ e_i x d                              (3)
// and the largest s is minus the depth.
#include "collision/narrowphase/segment_box.h"

#include <algorithm>
#include <cmath>

namespace karakuri::collision_detail {

namespace {

double slope(const Vec3& p, const Vec3& d, const Vec3& h, double t) {  // f' / 2
  const Vec3 q = p + t * d;
  return (q - q.cwiseMax(-h).cwiseMin(h)).dot(d);
}

// (2)
double nearest_parameter(const Vec3& p, const Vec3& d, const Vec3& h) {
  double lo = -1, hi = 1, at_lo = slope(p, d, h, lo), at_hi = slope(p, d, h, hi);
  if (at_lo >= 0 && at_hi > 0) return lo;
  if (at_hi <= 0 && at_lo < 0) return hi;
  double flat_lo = 2, flat_hi = -2;  // where f' = 0
  const auto look = [&](double t) {
    if (!(t > lo && t < hi)) return;
    const double g = slope(p, d, h, t);
    if (g < 0) lo = t, at_lo = g;
    if (g > 0) hi = t, at_hi = g;
    if (g == 0) flat_lo = std::min(flat_lo, t), flat_hi = std::max(flat_hi, t);
  };
  if (at_lo == 0) flat_lo = std::min(flat_lo, lo), flat_hi = std::max(flat_hi, lo);
  if (at_hi == 0) flat_lo = std::min(flat_lo, hi), flat_hi = std::max(flat_hi, hi);
  for (int i = 0; i < 3; ++i) {
    if (d[i] == 0) continue;
    look((h[i] - p[i]) / d[i]), look((-h[i] - p[i]) / d[i]);
  }
  if (flat_lo <= flat_hi) return 0.5 * (flat_lo + flat_hi);  // the middle of the part that is as near
  return at_hi > at_lo ? lo - at_lo * (hi - lo) / (at_hi - at_lo) : lo;
}

// (3) along unit n.
double separation(const Vec3& n, const Vec3& p, const Vec3& d, const Vec3& h) {
  return std::abs(n.dot(p)) - std::abs(n.dot(d)) - n.cwiseAbs().dot(h);
}

double best_axis(const Vec3& p, const Vec3& d, const Vec3& h, Vec3* normal) {
  double best = -1e300;
  const auto offer = [&](const Vec3& n) {
    const double s = separation(n, p, d, h);
    if (s > best) best = s, *normal = n.dot(p) >= 0 ? n : Vec3(-n);
  };
  for (int i = 0; i < 3; ++i) offer(Vec3::Unit(i));
  for (int i = 0; i < 3; ++i) {
    const Vec3 n = Vec3::Unit(i).cross(d);
    const double length = n.norm();
    if (length > 1e-9 * d.norm()) offer(n / length);
  }
  return best;
}

}  // namespace

void segment_box(const Vec3& p, const Vec3& d, const Vec3& h, ConvexDistance& out) {
  const double t = nearest_parameter(p, d, h);
  out.on_a = p + t * d;
  out.on_b = out.on_a.cwiseMax(-h).cwiseMin(h);
  const Vec3 between = out.on_a - out.on_b;
  const double distance = between.norm(), scale = p.norm() + d.norm() + h.norm();
  out.separation = distance;
  out.askew = 0;
  if (distance > 1e-6 * scale) {
    out.normal = between / distance;
    return;
  }
  // what is so short has lost its direction
  Vec3 n;
  const double s = best_axis(p, d, h, &n);
  if (distance > 1e-14 * scale) {
    out.normal = between / distance;
    if (separation(out.normal, p, d, h) < s) out.normal = n;
    return;
  }
  out.normal = n;
  out.separation = std::min(s, 0.0);
  const double end = n.dot(d) > 0 ? -1 : 1;
  out.on_a = p + end * d;
  for (int i = 0; i < 3; ++i) out.on_b[i] = n[i] >= 0 ? h[i] : -h[i];
  out.askew = (out.on_a - out.on_b - out.separation * n).norm();
}

}  // namespace karakuri::collision_detail
