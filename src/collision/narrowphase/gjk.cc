// Distance of the origin from the difference A - B = { a - b }.
//   v_k = nearest point of the simplex W_k to the origin                                        (1)
//   w_k = support_{A-B}(-v_k)                                                                   (2)
//   |v_k|^2 - v_k . w_k <= eps |v_k|^2  =>  |v_k| is the distance up to eps/2 relative           (3)
//   v_k . w_k / |v_k| is a lower bound of the distance                                          (4)
//   W_{k+1} = the vertices of the smallest face of W_k + w_k that holds v_{k+1}                  (5)
// Gilbert, Johnson, Keerthi, IEEE J. Robotics and Automation 4(2), 1988; (3), (4): van den Bergen, J.
// Graphics Tools 4(2), 1999. (1) is solved by the regions of segment and triangle; for a tetrahedron every
// face that has the origin on its outer side is tried and the nearest answer kept: when rounding makes two
// regions claim the origin, or none, the smallest distance is still the right one. Johnson's determinants
// lose this on flat simplices.
#include "collision/narrowphase/gjk.h"

#include <cmath>

namespace karakuri::collision_detail {

namespace {

constexpr int kMaxIterations = 200;
constexpr int kMaxStalls = 4;
constexpr double kRounding = 1e-14;  // of a squared distance
constexpr double kRelative = 1e-11;  // (3)
constexpr double kTouching = 1e-13;  // of the scale: below, the distance is rounding

struct Nearest {
  double weight[4];
  int index[4];
  int count = 0;
  Vec3 point;
};

Nearest one(int i, const Vec3& p) { return {{1, 0, 0, 0}, {i, 0, 0, 0}, 1, p}; }

Nearest segment(const Simplex& s, int i, int j) {
  const Vec3 &a = s.v[i].w, &b = s.v[j].w;
  const Vec3 ab = b - a;
  const double t = -a.dot(ab), length2 = ab.squaredNorm();
  if (t <= 0) return one(i, a);
  if (t >= length2) return one(j, b);
  const double u = t / length2;
  return {{1 - u, u, 0, 0}, {i, j, 0, 0}, 2, a + u * ab};
}

const Nearest& nearer(const Nearest& a, const Nearest& b) {
  return b.point.squaredNorm() < a.point.squaredNorm() ? b : a;
}

Nearest triangle(const Simplex& s, int i, int j, int k) {
  const Vec3 &a = s.v[i].w, &b = s.v[j].w, &c = s.v[k].w;
  const Vec3 ab = b - a, ac = c - a, n = ab.cross(ac);
  const double n2 = n.squaredNorm();
  // barycentric coordinates of the origin's foot, times |n|^2
  const double wa = b.cross(c).dot(n), wb = c.cross(a).dot(n), wc = a.cross(b).dot(n);
  if (n2 > 0 && wa > 0 && wb > 0 && wc > 0) {
    const double inv = 1 / (wa + wb + wc);
    // along the normal: more exact than the weighted sum when the origin is near
    return {{wa * inv, wb * inv, wc * inv, 0}, {i, j, k, 0}, 3, n * (a.dot(n) / n2)};
  }
  Nearest best = segment(s, i, j);
  if (wb <= 0 || n2 <= 0) best = nearer(best, segment(s, i, k));
  if (wa <= 0 || n2 <= 0) best = nearer(best, segment(s, j, k));
  return best;
}

// True when the origin is on the other side of the face than the fourth vertex (or the four are flat).
bool outside(const Simplex& s, int i, int j, int k, int fourth) {
  const Vec3& a = s.v[i].w;
  const Vec3 n = (s.v[j].w - a).cross(s.v[k].w - a);
  const double origin = -a.dot(n), other = (s.v[fourth].w - a).dot(n);
  return other == 0 || origin * other < 0;
}

bool tetrahedron(const Simplex& s, Nearest& best) {
  static constexpr int kFaces[4][4] = {{0, 1, 3, 2}, {1, 2, 3, 0}, {2, 0, 3, 1}, {0, 1, 2, 3}};
  best.count = 0;
  for (const auto& f : kFaces) {
    if (!outside(s, f[0], f[1], f[2], f[3])) continue;
    const Nearest n = triangle(s, f[0], f[1], f[2]);
    if (best.count == 0 || n.point.squaredNorm() < best.point.squaredNorm()) best = n;
  }
  return best.count == 0;  // inside
}

// (1), (5). True when the origin is inside.
bool reduce(Simplex& s, Vec3& v) {
  Nearest n;
  switch (s.count) {
    case 1: n = one(0, s.v[0].w); break;
    case 2: n = segment(s, 0, 1); break;
    case 3: n = triangle(s, 0, 1, 2); break;
    default:
      if (tetrahedron(s, n)) return true;
  }
  Simplex r;
  r.count = n.count;
  for (int i = 0; i < n.count; ++i) r.v[i] = s.v[n.index[i]], r.weight[i] = n.weight[i];
  s = r;
  v = n.point;
  return false;
}

bool known(const Simplex& s, const DifferenceVertex& w) {
  for (int i = 0; i < s.count; ++i) {
    if (s.v[i].same_as(w)) return true;
  }
  return false;
}

}  // namespace

GjkResult gjk(const ConvexPair& pair, const Vec3& first, double limit) {
  GjkResult r;
  Vec3 v = first;
  if (!(v.squaredNorm() > 0)) v = pair.a->center - pair.X_AB * pair.b->center;
  if (!(v.squaredNorm() > 0)) v = Vec3::UnitX();
  double v2 = std::numeric_limits<double>::infinity();  // no distance is known yet
  Simplex s;
  int stalls = 0;
  for (r.iterations = 1; r.iterations <= kMaxIterations; ++r.iterations) {
    const DifferenceVertex w = difference_support(pair, -v);  // (2)
    r.scale = std::max(r.scale, w.w.squaredNorm());
    const double vw = v.dot(w.w);
    if (vw > 0 && vw * vw > limit * limit * v.squaredNorm()) {  // (4)
      r.state = GjkState::kBeyondLimit;
      r.distance = vw / v.norm();
      r.nearest = v;
      r.scale = std::sqrt(r.scale);
      return r;
    }
    if (v2 - vw <= kRelative * v2 && v2 < std::numeric_limits<double>::infinity()) break;  // (3)
    if (known(r.simplex, w)) break;
    s = r.simplex;
    s.v[s.count++] = w;
    Vec3 next;
    if (reduce(s, next)) {
      r.simplex = s;
      r.state = GjkState::kOverlap;
      r.scale = std::sqrt(r.scale);
      return r;
    }
    const double next2 = next.squaredNorm();
    // Rounding: no further progress is possible. Where shapes are almost parallel, though, the distance may
    // stay the same but for rounding while the simplex goes on turning to where it is less.
    if (next2 >= v2 && (next2 > (1 + kRounding) * v2 || ++stalls > kMaxStalls)) break;
    r.simplex = s;
    v = next, v2 = next2;
    if (v2 <= kTouching * kTouching * r.scale) break;
  }
  r.scale = std::sqrt(r.scale);
  r.nearest = v;
  r.distance = std::sqrt(v2);
  r.state = r.distance <= kTouching * r.scale ? GjkState::kOverlap : GjkState::kApart;
  return r;
}

}  // namespace karakuri::collision_detail
