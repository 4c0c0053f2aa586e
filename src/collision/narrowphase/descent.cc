// Curved shapes with a whole family of nearest points (a point on the axis of a cylinder) exhaust the
// polytope of EPA before it is fine enough, and shapes that all but touch leave GJK no difference vector to
// take the normal from. Then the reach h(n) = n . w(n), w the support point of A - B, is followed downhill on
// the unit sphere:
//   gradient of h along the sphere: g = w - (n . w) n                                                    (1)
// h has kinks (a cylinder's side, a box's face), across which plain descent would zigzag. A step of twice the
// accepted length lies beyond the kink; the shortest combination of the gradients on both sides points along
// it:
//   g'' = l g + (1 - l) g',  l = clamp(g' . (g' - g) / |g' - g|^2)                                        (2)
// The sides of cylinders and cones are kinks that are circles, with one normal per azimuth p, and h is
// searched along them in one dimension:
//   n(p) = (c cos p, c sin p, s),  c = 1, s = 0 (cylinder) or (c, s) ~ (2 half height, radius) (cone)     (3)
#include "collision/narrowphase/descent.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace karakuri::collision_detail {

namespace {

struct Descent {
  const ConvexPair& pair;
  Vec3 n;
  double h;
  DifferenceVertex w;

  Vec3 tangent(const Vec3& v) const { return v - n.dot(v) * n; }
  Vec3 turned(const Vec3& g, double angle) const {
    return (std::cos(angle) * n - std::sin(angle) * g.normalized()).normalized();
  }
  // Moves against g by the largest of a few angles that helps; returns it, or 0.
  double step(const Vec3& g, double angle) {
    if (!(g.squaredNorm() > 0)) return 0;
    for (; angle > 1e-11; angle *= 0.2) {
      const Vec3 m = turned(g, angle);
      const DifferenceVertex v = difference_support(pair, m);
      if (m.dot(v.w) >= h) continue;
      n = m, h = m.dot(v.w), w = v;
      return angle;
    }
    return 0;
  }
};

}  // namespace

void descend(const ConvexPair& pair, double angle, ConvexDistance& out, double* depth) {
  Descent d{pair, out.normal, *depth, difference_support(pair, out.normal)};
  const double first = angle;
  for (int k = 0; k < 25; ++k) {
    const Vec3 g = d.tangent(d.w.w);  // (1)
    const double moved = d.step(g, angle);
    const Vec3 here = d.tangent(d.w.w);
    const Vec3 there = d.tangent(difference_support(pair, d.turned(here, std::max(2 * moved, 1e-9))).w);
    const Vec3 between = there - here;
    double along = 0;
    if (between.squaredNorm() > 0) {
      const double l = std::clamp(there.dot(between) / between.squaredNorm(), 0.0, 1.0);
      along = d.step(l * here + (1 - l) * there, angle);  // (2)
    }
    if (moved == 0 && along == 0) break;
    angle = std::min(first, 5 * std::max(moved, along));
  }
  if (d.h >= *depth) return;
  out.normal = d.n;
  out.on_a = d.w.a, out.on_b = d.w.b;
  *depth = d.h;
}

namespace {

// (3) of one of the shapes, as directions of A - B in A's frame.
struct Ring {
  const ConvexPair& pair;
  bool of_b;
  double c = 1, s = 0;

  Ring(const ConvexPair& p, bool b) : pair(p), of_b(b) {
    const ConvexView& view = b ? *p.b : *p.a;
    if (view.core != CoreKind::kCone) return;
    const double slant = std::hypot(2 * view.size.z(), view.size.x());
    c = 2 * view.size.z() / slant, s = view.size.x() / slant;
  }
  Vec3 normal(double p) const {
    const Vec3 n(c * std::cos(p), c * std::sin(p), s);
    return of_b ? Vec3(-(pair.X_AB.R * n)) : n;
  }
  double reach(double p) const {
    const Vec3 n = normal(p);
    return difference_support(pair, n).w.dot(n);
  }
};

// The least of a function with one valley in [lo, hi], by golden section.
double least_between(const Ring& ring, double lo, double hi) {
  constexpr double kGolden = 0.6180339887498949;
  double a = hi - kGolden * (hi - lo), b = lo + kGolden * (hi - lo), ha = ring.reach(a), hb = ring.reach(b);
  for (int k = 0; k < 40; ++k) {
    if (ha < hb) {
      hi = b, b = a, hb = ha, a = hi - kGolden * (hi - lo), ha = ring.reach(a);
    } else {
      lo = a, a = b, ha = hb, b = lo + kGolden * (hi - lo), hb = ring.reach(b);
    }
  }
  return ha < hb ? a : b;
}

// Descends from n and keeps the result if it is better.
void try_from(const ConvexPair& pair, const Vec3& n, double angle, ConvexDistance& out, double* depth) {
  ConvexDistance other;
  other.normal = n;
  const DifferenceVertex w = difference_support(pair, n);
  other.on_a = w.a, other.on_b = w.b;
  double reach = w.w.dot(n);
  if (reach > 1.05 * *depth) return;
  descend(pair, angle, other, &reach);
  if (reach >= *depth) return;
  *depth = reach;
  out.normal = other.normal, out.on_a = other.on_a, out.on_b = other.on_b;
}

void search_ring(const Ring& ring, ConvexDistance& out, double* depth) {
  constexpr int kSamples = 32;
  constexpr double kStep = 2 * std::numbers::pi / kSamples;
  double h[kSamples];
  for (int k = 0; k < kSamples; ++k) h[k] = ring.reach(k * kStep);
  for (int k = 0; k < kSamples; ++k) {  // every valley that might hold something better
    if (h[k] > h[(k + 1) % kSamples] || h[k] > h[(k + kSamples - 1) % kSamples]) continue;
    if (h[k] > 1.05 * *depth) continue;
    const Vec3 n = ring.normal(least_between(ring, (k - 1) * kStep, (k + 1) * kStep));
    try_from(ring.pair, n, 1e-3, out, depth);
  }
}

// The flat faces of A, or of B.
void search_faces(const ConvexPair& pair, bool of_b, ConvexDistance& out, double* depth) {
  const ConvexView& c = of_b ? *pair.b : *pair.a;
  const auto offer = [&](const Vec3& n) {
    try_from(pair, of_b ? Vec3(-(pair.X_AB.R * n)) : n, 1e-3, out, depth);
  };
  if (c.core == CoreKind::kBox) {
    for (int k = 0; k < 3; ++k) offer(Vec3::Unit(k)), offer(-Vec3::Unit(k));
  } else if (c.core == CoreKind::kCylinder || c.core == CoreKind::kCone) {
    offer(-Vec3::UnitZ());
    if (c.core == CoreKind::kCylinder) offer(Vec3::UnitZ());
  } else if (c.hull) {
    for (const HullFace& f : c.hull->faces) offer(f.normal);
  }
}

bool has_ring(const ConvexView& c) { return c.core == CoreKind::kCylinder || c.core == CoreKind::kCone; }

}  // namespace

void search_features(const ConvexPair& pair, ConvexDistance& out, double* depth) {
  search_faces(pair, false, out, depth);
  search_faces(pair, true, out, depth);
  if (has_ring(*pair.a)) search_ring(Ring(pair, false), out, depth);
  if (has_ring(*pair.b)) search_ring(Ring(pair, true), out, depth);
}

}  // namespace karakuri::collision_detail
