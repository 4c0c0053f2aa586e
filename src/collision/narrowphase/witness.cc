// Where do two shapes touch whose normal n is known? GJK and EPA weigh the vertices of a simplex of A - B; on
// slivers, and where a whole family of simplices is equally near, the weights are rounding. The features of
// A and B themselves are not slivers:
//   F_A = { a in A : n . a >= max_A n . x - delta },  F_B = { b in B : n . b <= min_B n . x + delta } (1) a,
//   b: the middle of the intersection of F_A and F_B seen along n; else their nearest points           (2)
//   on_a, on_b: a and b moved into the supporting planes, at most delta outside the shapes (3)
// With an exact normal delta = 0 would do. A normal that is off by e leaves a gap of about e * size
// between F_A and F_B, which a larger delta closes at a cost of e^2 * size (curved) or e * size (flat). So
// delta grows from the rounding until the gap is no larger than delta itself; the error is the larger of the
// two.
#include "collision/narrowphase/witness.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "collision/narrowphase/support_face.h"

namespace karakuri::collision_detail {

namespace {

constexpr double kSameNormal =
    1e-6;  // [rad] far above the 1e-8 that is missing, below any tilt that is meant

struct Point2 {
  double x, y;
};
Point2 operator-(Point2 a, Point2 b) { return {a.x - b.x, a.y - b.y}; }
Point2 operator+(Point2 a, Point2 b) { return {a.x + b.x, a.y + b.y}; }
Point2 operator*(double s, Point2 a) { return {s * a.x, s * a.y}; }
double dot(Point2 a, Point2 b) { return a.x * b.x + a.y * b.y; }
double cross(Point2 a, Point2 b) { return a.x * b.y - a.y * b.x; }
double norm(Point2 a) { return std::sqrt(dot(a, a)); }

// (1) seen along n: the corners of a convex polygon, counter-clockwise, or one or two points.
struct Region {
  static constexpr int kMax = 64;
  int count = 0;
  Point2 p[kMax];
  bool disc = false;  // the whole disc; the corners are on its rim
  Point2 center{0, 0};
  double radius = 0;

  void add(Point2 q) {
    if (count == kMax) {  // a face with very many corners: every other one will do
      for (int i = 0; i < kMax / 2; ++i) p[i] = p[2 * i];
      count = kMax / 2;
    }
    p[count++] = q;
  }
};

struct View {
  Vec3 n, u, v;  // n: out of the shape
  double most;   // support value along n
  double delta;

  void offer(const Vec3& x, Region& out) const {
    // 1e-3: the ring's last points are placed at delta exactly
    if (n.dot(x) >= most - 1.001 * delta) out.add({u.dot(x), v.dot(x)});
  }
};

// A ring about the shape's z axis: the points within delta, or all of them. d: n in the shape's frame.
void offer_ring(double radius, double z, const Transform& X, const Vec3& d, const View& view, Region& out) {
  const double drop = radius * std::hypot(d.x(), d.y());  // height lost at a right angle from the support
  const bool whole = 2 * drop <= view.delta;
  const double spread = whole ? std::numbers::pi : std::acos(std::max(-1.0, 1 - view.delta / drop));
  const double first = whole ? 0 : std::atan2(d.y(), d.x());
  const int half = whole ? 8 : 4, before = out.count;
  for (int k = -half; k <= half - (whole ? 1 : 0); ++k) {
    const double angle = first + spread * k / half;
    view.offer(X * Vec3(radius * std::cos(angle), radius * std::sin(angle), z), out);
  }
  if (!whole || before != 0 || out.count != 2 * half) return;
  const Vec3 c = X * Vec3(0, 0, z);
  out.disc = true, out.center = {view.u.dot(c), view.v.dot(c)}, out.radius = radius;
}

void offer_ellipsoid(const ConvexView& c, const Transform& X, const View& view, Region& out) {
  // a point at height delta below the support is where the normal has turned by sqrt(2 delta / size)
  const double tilt = std::sqrt(view.delta / c.size.maxCoeff());
  view.offer(X * support(c, X.R.transpose() * view.n).p, out);
  for (int k = 0; k < 8 && tilt > 0; ++k) {
    const double angle = k * std::numbers::pi / 4;
    const Vec3 d = view.n + tilt * (std::cos(angle) * view.u + std::sin(angle) * view.v);
    view.offer(X * support(c, X.R.transpose() * d).p, out);
  }
}

// Andrew's monotone chain (Information Processing Letters 9(5), 1979).
void to_hull(Region& r) {
  std::sort(r.p, r.p + r.count, [](Point2 a, Point2 b) { return a.x < b.x || (a.x == b.x && a.y < b.y); });
  Point2 chain[2 * Region::kMax];
  int k = 0;
  const auto push = [&](Point2 q, int least) {
    while (k > least && cross(chain[k - 1] - chain[k - 2], q - chain[k - 2]) <= 0) --k;
    chain[k++] = q;
  };
  for (int i = 0; i < r.count; ++i) push(r.p[i], 1);
  for (int i = r.count - 2, lower = k; i >= 0; --i) push(r.p[i], lower);
  r.count = std::min(r.count, std::max(1, k - 1));
  std::copy_n(chain, r.count, r.p);
}

void collect(const ConvexView& c, const Transform& X, const View& view, Region& out) {
  const Vec3 d = X.R.transpose() * view.n;
  out.count = 0, out.disc = false;
  switch (c.core) {
    case CoreKind::kPoint: view.offer(X.p, out); break;
    case CoreKind::kSegment:
      for (const double z : {-c.size.z(), c.size.z()}) view.offer(X * Vec3(0, 0, z), out);
      break;
    case CoreKind::kBox:
      for (int i = 0; i < 8; ++i) {
        const Vec3 sign(i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? 1 : -1);
        view.offer(X * c.size.cwiseProduct(sign), out);
      }
      break;
    case CoreKind::kPoints:
      for (int i = 0; i < c.count; ++i) view.offer(X * Vec3(c.x[i], c.y[i], c.z[i]), out);
      break;
    case CoreKind::kCylinder:
      offer_ring(c.size.x(), c.size.z(), X, d, view, out);
      offer_ring(c.size.x(), -c.size.z(), X, d, view, out);
      break;
    case CoreKind::kCone:
      offer_ring(c.size.x(), -c.size.z(), X, d, view, out);
      view.offer(X * Vec3(0, 0, c.size.z()), out);
      break;
    case CoreKind::kEllipsoid: offer_ellipsoid(c, X, view, out); break;
  }
  out.disc = out.disc && out.count == 16;  // the tip, or the other end, is not in it
  if (out.count > 1) to_hull(out);
}

bool holds(const Region& r, Point2 q) {
  if (r.disc) return norm(q - r.center) <= r.radius;
  if (r.count < 3) return false;
  for (int i = 0; i < r.count; ++i) {
    const Point2 a = r.p[i], b = r.p[i + 1 < r.count ? i + 1 : 0];
    if (cross(b - a, q - a) < 0) return false;
  }
  return true;
}

Point2 nearest_on(const Region& r, Point2 q) {
  if (holds(r, q)) return q;
  if (r.disc) return r.center + (r.radius / norm(q - r.center)) * (q - r.center);
  Point2 best = r.p[0];
  for (int i = 0; i < (r.count < 3 ? r.count - 1 : r.count); ++i) {
    const Point2 a = r.p[i], e = r.p[i + 1 < r.count ? i + 1 : 0] - a;
    const double l2 = dot(e, e), t = l2 > 0 ? std::clamp(dot(q - a, e) / l2, 0.0, 1.0) : 0;
    if (norm(a + t * e - q) < norm(best - q)) best = a + t * e;
  }
  return best;
}

struct Match {
  Point2 a, b;
  double gap = 1e300;
  Point2 sum{0, 0};  // of the common points met
  int common = 0;

  void offer(Point2 on_a, Point2 on_b) {
    const double g = norm(on_b - on_a);
    if (g == 0) sum = sum + on_a, ++common;
    if (g < gap) gap = g, a = on_a, b = on_b;
  }
};

void offer_crossings(const Region& ra, const Region& rb, Match& m) {
  const int na = ra.count < 3 ? ra.count - 1 : ra.count, nb = rb.count < 3 ? rb.count - 1 : rb.count;
  for (int i = 0; i < na; ++i) {
    const Point2 a = ra.p[i], ea = ra.p[i + 1 < ra.count ? i + 1 : 0] - a;
    for (int j = 0; j < nb; ++j) {
      const Point2 b = rb.p[j], eb = rb.p[j + 1 < rb.count ? j + 1 : 0] - b;
      const double det = cross(ea, eb);
      if (det == 0) continue;
      const double s = cross(b - a, eb) / det, t = cross(b - a, ea) / det;
      if (s >= 0 && s <= 1 && t >= 0 && t <= 1) m.offer(a + s * ea, a + s * ea);
    }
  }
}

// (2): the corners of the intersection are corners of one region in the other, and crossings.
Match match(const Region& ra, const Region& rb) {
  Match m;
  for (int i = 0; i < ra.count; ++i) m.offer(ra.p[i], nearest_on(rb, ra.p[i]));
  for (int i = 0; i < rb.count; ++i) m.offer(nearest_on(ra, rb.p[i]), rb.p[i]);
  offer_crossings(ra, rb, m);
  if (ra.disc) {
    const Point2 q = nearest_on(rb, ra.center);
    m.offer(nearest_on(ra, q), q);
  }
  if (rb.disc) {
    const Point2 q = nearest_on(ra, rb.center);
    m.offer(q, nearest_on(rb, q));
  }
  if (m.common > 0) m.a = m.b = (1.0 / m.common) * m.sum, m.gap = 0;
  return m;
}

// The exact normals that a shape has to offer near d (its own frame): at most two.
int exact_normals(const ConvexView& c, const Vec3& d, Vec3 out[2]) {
  const double across = std::hypot(d.x(), d.y());
  const Vec3 radial = across > 0 ? Vec3(d.x() / across, d.y() / across, 0) : Vec3::UnitX();
  const Vec3 axis(0, 0, d.z() >= 0 ? 1 : -1);
  switch (c.core) {
    case CoreKind::kSegment: return out[0] = radial, 1;
    case CoreKind::kBox: {
      int k;
      d.cwiseAbs().maxCoeff(&k);
      return out[0] = Vec3::Unit(k) * (d[k] >= 0 ? 1.0 : -1.0), 1;
    }
    case CoreKind::kCylinder: return out[0] = axis, out[1] = radial, 2;
    case CoreKind::kCone:
      out[0] = -Vec3::UnitZ();
      out[1] = (2 * c.size.z() * radial + c.size.x() * Vec3::UnitZ()).normalized();
      return 2;
    case CoreKind::kPoints: {
      FacePolygon face;
      support_face(c, Transform::identity(), d, face);
      return out[0] = face.normal, 1;
    }
    default: return 0;
  }
}

double separation_along(const ConvexPair& pair, const Vec3& n) {
  return -difference_support(pair, n).w.dot(n) - pair.a->radius - pair.b->radius;
}

}  // namespace

void sharpen_normal(const ConvexPair& pair, ConvexDistance& d) {
  Vec3 offers[4];
  const int of_a = exact_normals(*pair.a, d.normal, offers);
  const int all = of_a + exact_normals(*pair.b, pair.X_AB.R.transpose() * -d.normal, offers + of_a);
  Vec3 best = d.normal;
  double most = separation_along(pair, best);
  for (int i = 0; i < all; ++i) {
    const Vec3 n = i < of_a ? offers[i] : Vec3(-(pair.X_AB.R * offers[i]));
    if ((n - d.normal).squaredNorm() > kSameNormal * kSameNormal) continue;
    const double s = separation_along(pair, n);
    if (s > most) most = s, best = n;
  }
  if (best == d.normal) return;
  d.normal = best;
  if (d.separation > 0) return;  // the points, and so the distance, are exact already
  d.separation = std::min(0.0, most);
  d.askew = std::max(d.askew, (d.on_b - d.on_a - d.separation * best).norm());
}

void align_witness(const ConvexPair& pair, ConvexDistance& d) {
  const Vec3 n = d.normal, u = n.unitOrthogonal(), v = n.cross(u);
  int index;
  const double top = n.dot(support(*pair.a, n).p), bottom = n.dot(pair.support_b(-n, &index));
  const double scale = pair.a->size.maxCoeff() + pair.b->size.maxCoeff() + pair.X_AB.p.norm() +
                       std::abs(top) + std::abs(bottom);
  double best = d.askew;
  if (!(best > 1e-13 * scale)) return;
  Region ra, rb;
  for (double delta = 1e-15 * scale; delta < best; delta *= 30) {
    collect(*pair.a, Transform::identity(), {n, u, v, top, delta}, ra);
    collect(*pair.b, pair.X_AB, {-n, u, v, -bottom, delta}, rb);
    if (ra.count == 0 || rb.count == 0) continue;
    const Match m = match(ra, rb);
    const double error = std::max(m.gap, delta);
    if (error < best) {
      best = d.askew = error;
      d.on_a = m.a.x * u + m.a.y * v + (top + pair.a->radius) * n;  // (3)
      d.on_b = m.b.x * u + m.b.y * v + (bottom - pair.b->radius) * n;
    }
    if (m.gap <= delta) return;
  }
}

}  // namespace karakuri::collision_detail
