// Segment a0 + s ea against segment b0 + t eb: minimise |a0 + s ea - b0 - t eb|^2 over the unit square.
//   s = clamp((b f - c e) / (a e - b^2)),  t = (b s + f) / e,  then s again where t left [0, 1]         (1)
//   a = ea.ea, b = ea.eb, c = ea.r, e = eb.eb, f = eb.r, r = a0 - b0
// Lumelsky, Information Processing Letters 21, 1985.
// Point against box, in the box's frame: outside, clamp; inside, the nearest face.                     (2)
#include "collision/narrowphase/round_pairs.h"

#include <algorithm>
#include <cmath>

namespace karakuri::collision_detail {

void nearest_on_segments(const Vec3& a0, const Vec3& ea, const Vec3& b0, const Vec3& eb, double* s, double* t) {
  const Vec3 r = a0 - b0;
  const double a = ea.squaredNorm(), e = eb.squaredNorm(), f = eb.dot(r), b = ea.dot(eb), c = ea.dot(r);
  const auto clamp01 = [](double x) { return std::clamp(x, 0.0, 1.0); };
  if (a <= 0 && e <= 0) return void((*s = 0, *t = 0));
  if (a <= 0) return void((*s = 0, *t = clamp01(f / e)));
  if (e <= 0) return void((*t = 0, *s = clamp01(-c / a)));
  const double det = a * e - b * b;
  // Parallel: any s does; the middle of the overlap is the one that moves least from step to step.
  if (det > 1e-14 * a * e) {
    *s = clamp01((b * f - c * e) / det);
  } else {
    const double t0 = -c / a, t1 = t0 + b / a;  // the ends of B, as parameters of A
    *s = clamp01(0.5 * (std::max(0.0, std::min(t0, t1)) + std::min(1.0, std::max(t0, t1))));
  }
  *t = (b * *s + f) / e;  // (1)
  if (*t < 0) {
    *t = 0, *s = clamp01(-c / a);
  } else if (*t > 1) {
    *t = 1, *s = clamp01((b - c) / a);
  }
}

namespace {

// Two points of the cores; when they coincide the normal is `fallback`.
void set_from_points(const ConvexPair& pair, const Vec3& a, const Vec3& b, const Vec3& fallback,
                     ConvexDistance& out) {
  const Vec3 d = b - a;
  const double distance = d.norm();
  out.normal = distance > 0 ? Vec3(d / distance) : fallback;
  out.separation = distance - pair.a->radius - pair.b->radius;
  out.on_a = a + pair.a->radius * out.normal;
  out.on_b = b - pair.b->radius * out.normal;
}

Vec3 segment_half(const ConvexView& c) { return c.core == CoreKind::kSegment ? Vec3(0, 0, c.size.z()) : Vec3::Zero(); }

void segments(const ConvexPair& pair, ConvexDistance& out) {
  const Vec3 ha = segment_half(*pair.a), hb = pair.X_AB.R * segment_half(*pair.b);
  const Vec3 b0 = pair.X_AB.p - hb;
  double s, t;
  nearest_on_segments(-ha, 2 * ha, b0, 2 * hb, &s, &t);
  // Crossing axes: push along the direction across both, which is the least way out of the segments.
  Vec3 fallback = ha.cross(hb);
  if (fallback.squaredNorm() <= 1e-24 * ha.squaredNorm() * hb.squaredNorm()) {
    fallback = ha.squaredNorm() > 0 ? ha.unitOrthogonal() : (hb.squaredNorm() > 0 ? hb.unitOrthogonal() : Vec3::UnitZ());
  }
  set_from_points(pair, -ha + s * 2 * ha, b0 + t * 2 * hb, fallback.normalized(), out);
}

// (2): q a point in the frame of a box with half extents h; n points out of the box.
double point_box(const Vec3& q, const Vec3& h, Vec3* on_box, Vec3* n) {
  *on_box = q.cwiseMax(-h).cwiseMin(h);
  const Vec3 d = q - *on_box;
  const double distance = d.norm();
  if (distance > 0) {
    *n = d / distance;
    return distance;
  }
  const Vec3 depth = h - q.cwiseAbs();
  int axis;
  const double least = depth.minCoeff(&axis);
  *n = Vec3::Zero();
  (*n)[axis] = q[axis] >= 0 ? 1 : -1;
  (*on_box)[axis] = (*n)[axis] * h[axis];
  return -least;
}

}  // namespace

bool closed_form_distance(const ConvexPair& pair, ConvexDistance& out) {
  const CoreKind ka = pair.a->core, kb = pair.b->core;
  if (ka <= CoreKind::kSegment && kb <= CoreKind::kSegment) {
    segments(pair, out);
    return true;
  }
  Vec3 on_box, n;
  if (ka == CoreKind::kPoint && kb == CoreKind::kBox) {
    const double d = point_box(-(pair.X_AB.R.transpose() * pair.X_AB.p), pair.b->size, &on_box, &n);
    out.normal = -(pair.X_AB.R * n);
    out.separation = d - pair.a->radius;
    out.on_a = pair.a->radius * out.normal;
    out.on_b = pair.X_AB * on_box;
    return true;
  }
  if (ka == CoreKind::kBox && kb == CoreKind::kPoint) {
    const double d = point_box(pair.X_AB.p, pair.a->size, &on_box, &n);
    out.normal = n;
    out.separation = d - pair.b->radius;
    out.on_a = on_box;
    out.on_b = pair.X_AB.p - pair.b->radius * n;
    return true;
  }
  return false;
}

}  // namespace karakuri::collision_detail
