// Segment a0 + s ea against segment b0 + t eb: minimise |a0 + s ea - b0 - t eb|^2 over the unit square.
//   s = clamp((b f - c e) / (a e - b^2)),  t = (b s + f) / e,  then s again where t left [0, 1]         (1)
//   a = ea.ea, b = ea.eb, c = ea.r, e = eb.eb, f = eb.r, r = a0 - b0
// Lumelsky, Information Processing Letters 21, 1985.
// Point against box, in the box's frame: outside, clamp; inside, the nearest face.                     (2)
// Point against cylinder or cone: the same in the half-plane (rho, z) through the point and the axis, against
// the polygon whose rotation is the solid.                                                                (3)
// Point y against ellipsoid, half axes e0 >= e1 >= e2, y >= 0: the nearest point x has y - x along the
// gradient,
//   x_i = r_i y_i / (t + r_i),  r_i = (e_i / e2)^2,  sum (x_i / e_i)^2 = 1 (4)
// whose left side falls with t > -1. Eberly, "Distance from a point to an ellipse, an ellipsoid, or a
// hyperellipsoid", Geometric Tools 2013. When y2 = 0 the point may lie above the inside of the plane (5).
#include "collision/narrowphase/round_pairs.h"

#include <algorithm>
#include <cmath>

#include "collision/narrowphase/segment_box.h"

namespace karakuri::collision_detail {

void nearest_on_segments(const Vec3& a0, const Vec3& ea, const Vec3& b0, const Vec3& eb, double* s,
                         double* t) {
  const Vec3 r = a0 - b0;
  const double a = ea.squaredNorm(), e = eb.squaredNorm(), f = eb.dot(r), b = ea.dot(eb), c = ea.dot(r);
  const auto clamp01 = [](double x) { return std::clamp(x, 0.0, 1.0); };
  if (a <= 0 && e <= 0) return void((*s = 0, *t = 0));
  if (a <= 0) return void((*s = 0, *t = clamp01(f / e)));
  if (e <= 0) return void((*t = 0, *s = clamp01(-c / a)));
  const double det = a * e - b * b;
  const auto from_s = [&](double u) { return clamp01((b * u + f) / e); };  // (1)
  const auto from_t = [&](double v) { return clamp01((b * v - c) / a); };
  constexpr double kAskew = 1e-2;  // squared sine: at such an angle no digits are lost
  if (det > kAskew * a * e) {
    *s = clamp01((b * f - c * e) / det);
    const double free = (b * *s + f) / e;
    *t = clamp01(free);
    if (free != *t) *s = from_t(*t);
    return;
  }
  // Parallel: many points are as near; the middle of the overlap is the one that moves least from step to
  // step.
  const double t0 = -c / a, t1 = t0 + b / a;  // the ends of B, as parameters of A
  const double middle = clamp01(0.5 * (std::max(0.0, std::min(t0, t1)) + std::min(1.0, std::max(t0, t1))));
  const double inside = det > 1e-15 * a * e ? clamp01((b * f - c * e) / det) : middle;
  // Projecting to and fro leaves a difference that is square to both, even where det has lost its digits.
  *s = from_t(from_s(inside)), *t = from_s(*s);
  double least = (r + *s * ea - *t * eb).squaredNorm() * (1 - 1e-14);
  const auto consider = [&](double u, double v) {
    const double d2 = (r + u * ea - v * eb).squaredNorm();
    if (d2 < least) least = d2, *s = u, *t = v;
  };
  consider(0, from_s(0)), consider(1, from_s(1)), consider(from_t(0), 0), consider(from_t(1), 1);
}

namespace {

// Two points of the cores; when they coincide the normal is `fallback`.
void set_from_points(const ConvexPair& pair, const Vec3& a, const Vec3& b, const Vec3& fallback,
                     ConvexDistance& out) {
  const Vec3 d = b - a;
  double distance = d.norm();
  // below rounding the difference has no direction
  const double rounding = 1e-13 * (pair.X_AB.p.norm() + pair.a->size.z() + pair.b->size.z());
  if (distance <= rounding) distance = 0;
  out.normal = distance > 0 ? Vec3(d / distance) : fallback;
  out.separation = distance - pair.a->radius - pair.b->radius;
  out.on_a = a + pair.a->radius * out.normal;
  out.on_b = b - pair.b->radius * out.normal;
}

Vec3 segment_half(const ConvexView& c) {
  return c.core == CoreKind::kSegment ? Vec3(0, 0, c.size.z()) : Vec3::Zero();
}

void segments(const ConvexPair& pair, ConvexDistance& out) {
  const Vec3 ha = segment_half(*pair.a), hb = pair.X_AB.R * segment_half(*pair.b);
  const Vec3 b0 = pair.X_AB.p - hb;
  double s, t;
  nearest_on_segments(-ha, 2 * ha, b0, 2 * hb, &s, &t);
  // Crossing axes: push along the direction across both, which is the least way out of the segments.
  Vec3 fallback = ha.cross(hb);
  if (fallback.squaredNorm() <= 1e-24 * ha.squaredNorm() * hb.squaredNorm()) {
    fallback = ha.squaredNorm() > 0 ? ha.unitOrthogonal()
                                    : (hb.squaredNorm() > 0 ? hb.unitOrthogonal() : Vec3::UnitZ());
  }
  const Vec3 a = -ha + s * 2 * ha, b = b0 + t * 2 * hb;
  set_from_points(pair, a, b, fallback.normalized(), out);
  // Short differences are spoiled by rounding. Along any n the segments are n.p - |n.ha| - |n.hb| apart, p
  // being the difference of their middles; across both that is |n.p|, and when it is more than along the
  // difference, it is right.
  const double radii = pair.a->radius + pair.b->radius;
  const Vec3 across = fallback.normalized();
  const Vec3& p = pair.X_AB.p;
  const double along = out.normal.dot(p) - std::abs(out.normal.dot(ha)) - std::abs(out.normal.dot(hb));
  const double best = std::abs(across.dot(p)) - std::abs(across.dot(ha)) - std::abs(across.dot(hb));
  if (best <= along) return;
  out.normal = across.dot(p) >= 0 ? across : Vec3(-across);
  out.separation = best - radii;
  out.on_a = a + pair.a->radius * out.normal;
  out.on_b = b - pair.b->radius * out.normal;
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

// (3): corners of the outer boundary in (rho, z), outward on the right going along.
double point_solid_of_revolution(const Vec3& q, const double (*corner)[2], int count, Vec3* on_solid,
                                 Vec3* n) {
  const double rho = std::hypot(q.x(), q.y());
  const Vec3 out = rho > 0 ? Vec3(q.x() / rho, q.y() / rho, 0) : Vec3::UnitX();
  double best = 1e300, at_rho = 0, at_z = 0, n_rho = 1, n_z = 0;
  bool inside = true;
  for (int i = 0; i + 1 < count; ++i) {
    const double er = corner[i + 1][0] - corner[i][0], ez = corner[i + 1][1] - corner[i][1];
    const double l2 = er * er + ez * ez, dr = rho - corner[i][0], dz = q.z() - corner[i][1];
    const double u = std::clamp((dr * er + dz * ez) / l2, 0.0, 1.0);
    const double fr = corner[i][0] + u * er, fz = corner[i][1] + u * ez;
    const double d = std::hypot(rho - fr, q.z() - fz), side = (dr * ez - dz * er) / std::sqrt(l2);
    if (side > 0) inside = false;
    if (d >= best) continue;
    best = d, at_rho = fr, at_z = fz;
    n_rho = ez / std::sqrt(l2), n_z = -er / std::sqrt(l2);
  }
  if (!inside && best > 0) n_rho = (rho - at_rho) / best, n_z = (q.z() - at_z) / best;
  *n = n_rho * out + Vec3(0, 0, n_z);
  *on_solid = at_rho * out + Vec3(0, 0, at_z);
  return inside ? -best : best;
}

// (4) by bisection; e[k] is the smallest half axis and y[k] > 0.
Vec3 nearest_on_ellipsoid(const Vec3& e, const Vec3& y, int k) {
  const Vec3 root = e / e[k], r = root.cwiseProduct(root), z = y.cwiseQuotient(e), n = r.cwiseProduct(z);
  const bool inside = z.squaredNorm() < 1;
  double lo = z[k] - 1, hi = inside ? 0 : n.norm() - 1, t = hi;
  for (int i = 0; i < 200; ++i) {
    t = 0.5 * (lo + hi);
    if (t == lo || t == hi) break;
    const double g = (n.array() / (r.array() + t)).matrix().squaredNorm() - 1;
    (g > 0 ? lo : hi) = t;
  }
  return r.cwiseProduct(y).array() / (r.array() + t);
}

// The same for a point in the plane across the smallest half axis k. (5)
Vec3 nearest_from_plane(const Vec3& e, const Vec3& y, int k) {
  const int i = (k + 1) % 3, j = (k + 2) % 3;
  const double di = e[i] * e[i] - e[k] * e[k], dj = e[j] * e[j] - e[k] * e[k];
  Vec3 x = Vec3::Zero();
  if (e[i] * y[i] < di && e[j] * y[j] < dj) {
    const double u = e[i] * y[i] / di, v = e[j] * y[j] / dj, w = 1 - u * u - v * v;
    if (w > 0) {
      x[i] = e[i] * u, x[j] = e[j] * v, x[k] = e[k] * std::sqrt(w);
      return x;
    }
  }
  const int small = e[i] <= e[j] ? i : j, large = e[i] <= e[j] ? j : i;
  if (y[small] > 1e-14 * e[small]) {
    Vec3 flat = e;
    flat[k] = e[small];  // takes no part: y[k] = 0
    return nearest_on_ellipsoid(flat, y, small);
  }
  const double d = e[large] * e[large] - e[small] * e[small];
  const double u = e[large] * y[large] < d ? e[large] * y[large] / d : 1;
  x[large] = e[large] * u, x[small] = e[small] * std::sqrt(std::max(0.0, 1 - u * u));
  return x;
}

double point_ellipsoid(const Vec3& q, const Vec3& e, Vec3* on, Vec3* n) {
  int k;
  e.minCoeff(&k);
  Vec3 y = q.cwiseAbs();
  if (y[k] <= 1e-14 * e[k]) y[k] = 0;  // the root of (4) would drown in rounding
  const Vec3 x = y[k] > 0 ? nearest_on_ellipsoid(e, y, k) : nearest_from_plane(e, y, k);
  for (int i = 0; i < 3; ++i) (*on)[i] = q[i] >= 0 ? x[i] : -x[i];
  *n = on->cwiseQuotient(e).cwiseQuotient(e).normalized();
  return n->dot(q - *on);
}

double point_core(const Vec3& q, const ConvexView& c, Vec3* on, Vec3* n) {
  const double r = c.size.x(), h = c.size.z();
  if (c.core == CoreKind::kEllipsoid) return point_ellipsoid(q, c.size, on, n);
  if (c.core == CoreKind::kBox) return point_box(q, c.size, on, n);
  if (c.core == CoreKind::kCylinder) {
    const double corners[4][2] = {{0, -h}, {r, -h}, {r, h}, {0, h}};
    return point_solid_of_revolution(q, corners, 4, on, n);
  }
  const double corners[3][2] = {{0, -h}, {r, -h}, {0, h}};
  return point_solid_of_revolution(q, corners, 3, on, n);
}

bool has_point_form(CoreKind k) { return k >= CoreKind::kBox && k <= CoreKind::kEllipsoid; }

}  // namespace

namespace {

// A segment core against a box core; flip: the box is A.
void segment_against_box(const ConvexPair& pair, bool flip, ConvexDistance& out) {
  const Transform& X = pair.X_AB;
  const double length = flip ? pair.b->size.z() : pair.a->size.z();
  if (flip) {
    segment_box(X.p, X.R.col(2) * length, pair.a->size, out);
    std::swap(out.on_a, out.on_b);
    out.on_b -= pair.b->radius * out.normal;
    out.separation -= pair.b->radius;
    return;
  }
  segment_box(-(X.R.transpose() * X.p), X.R.row(2).transpose() * length, pair.b->size, out);
  out.normal = -(X.R * out.normal);
  out.on_b = X * out.on_b;
  out.on_a = X * out.on_a + pair.a->radius * out.normal;
  out.separation -= pair.a->radius;
}

}  // namespace

bool closed_form_distance(const ConvexPair& pair, ConvexDistance& out) {
  const CoreKind ka = pair.a->core, kb = pair.b->core;
  if (ka <= CoreKind::kSegment && kb <= CoreKind::kSegment) {
    segments(pair, out);
    return true;
  }
  if (ka == CoreKind::kSegment && kb == CoreKind::kBox) return segment_against_box(pair, false, out), true;
  if (ka == CoreKind::kBox && kb == CoreKind::kSegment) return segment_against_box(pair, true, out), true;
  Vec3 on_box, n;
  if (ka == CoreKind::kPoint && has_point_form(kb)) {
    const double d = point_core(-(pair.X_AB.R.transpose() * pair.X_AB.p), *pair.b, &on_box, &n);
    out.normal = -(pair.X_AB.R * n);
    out.separation = d - pair.a->radius;
    out.on_a = pair.a->radius * out.normal;
    out.on_b = pair.X_AB * on_box;
    return true;
  }
  if (has_point_form(ka) && kb == CoreKind::kPoint) {
    const double d = point_core(pair.X_AB.p, *pair.a, &on_box, &n);
    out.normal = n;
    out.separation = d - pair.b->radius;
    out.on_a = on_box;
    out.on_b = pair.X_AB.p - pair.b->radius * n;
    return true;
  }
  return false;
}

}  // namespace karakuri::collision_detail
