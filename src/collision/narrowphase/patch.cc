// Sutherland and Hodgman's clipping (Comm. ACM 17(1), 1974) in coordinates (s, t, h) of the reference face:
// s, t in its plane, h above it.
//   side i of the reference:   m_i . (s, t) <= c_i                                            (1)
//   separation of a point      h - (radii)                                                    (2)
// Every corner of the result is named by what makes it:
//   corner of the incident face within the sides     (reference face, incident corner)         (3)
//   incident edge across a side of the reference     (reference edge, incident edge)           (4)
//   corner of the reference within the incident      (reference corner, incident face)         (5)
// The names do not depend on which of the two faces served as the reference.
#include "collision/narrowphase/patch.h"

#include <algorithm>
#include <cmath>

namespace karakuri::collision_detail {

namespace {

// A face counts as perpendicular to the normal within acos(1 - 1e-6) = 1.4 mrad: distances of curved shapes
// are known to 1e-9 relative, which leaves about 1e-4 rad in the normal.
constexpr double kAligned = 1 - 1e-6;
// Points this far outside a side, relative to the face, still count as inside, so that equal faces laid flush
// keep their corners whatever the rounding says.
constexpr double kSnap = 1e-5;

struct ClipVertex {
  double s, t, h;
  std::uint32_t ref, inc;  // names of the features that meet here
  std::uint32_t side;      // name of the polygon's side that starts here
  int ref_side;            // which reference side that is, or -1: a side of the incident face
};

struct Clipper {
  ClipVertex buffer[2][FacePolygon::kMax * 2 + 4];
  int count = 0, now = 0;
};

struct Side {
  double ms, mt, c;
  double at(const ClipVertex& v) const { return ms * v.s + mt * v.t - c; }
};

// Name of the corner between two sides of the reference, which need not be neighbours after thin cuts.
std::uint32_t corner_name(const FacePolygon& ref, int i, int j) {
  if ((i + 1) % ref.count == j) return ref.vertex[j];
  if ((j + 1) % ref.count == i) return ref.vertex[i];
  return ref.edge[i];
}

ClipVertex crossing(const ClipVertex& from, const ClipVertex& to, double d0, double d1,
                    const FacePolygon& ref, int side, const FacePolygon& inc) {
  const double u = d0 / (d0 - d1);
  ClipVertex v;
  v.s = from.s + u * (to.s - from.s);
  v.t = from.t + u * (to.t - from.t);
  v.h = from.h + u * (to.h - from.h);
  if (from.ref_side < 0) {
    v.ref = ref.edge[side], v.inc = from.side;  // (4)
  } else {
    v.ref = corner_name(ref, from.ref_side, side), v.inc = inc.face;  // (5)
  }
  return v;
}

void clip_side(Clipper& k, const Side& side, int index, const FacePolygon& ref, const FacePolygon& inc,
               double snap) {
  const ClipVertex* in = k.buffer[k.now];
  double d[FacePolygon::kMax * 2 + 4];
  bool any_out = false;
  for (int i = 0; i < k.count; ++i) d[i] = side.at(in[i]), any_out |= d[i] > snap;
  if (!any_out) return;
  ClipVertex* out = k.buffer[1 - k.now];
  int n = 0;
  for (int i = 0; i < k.count; ++i) {
    const int j = i + 1 < k.count ? i + 1 : 0;
    const ClipVertex& a = in[i];
    const bool a_in = d[i] <= snap, b_in = d[j] <= snap;
    if (a_in) out[n++] = a;
    if (a_in == b_in) continue;
    if (b_in && d[j] >= 0) continue;  // b itself stands for the crossing
    if (a_in && d[i] >= 0) {          // so does a; the polygon goes on along the reference's side
      out[n - 1].side = ref.edge[index], out[n - 1].ref_side = index;
      continue;
    }
    ClipVertex& v = out[n++];
    v = crossing(a, in[j], d[i], d[j], ref, index, inc);
    v.side = a_in ? ref.edge[index] : a.side;
    v.ref_side = a_in ? index : a.ref_side;
  }
  k.count = n;
  k.now = 1 - k.now;
}

struct Frame {
  Vec3 origin, s, t, n;
  Frame(const FacePolygon& ref) : origin(ref.v[0]), n(ref.normal) {
    const Vec3 e = ref.v[1] - ref.v[0];
    s = e / (ref.rectangle ? ref.side[0] : e.norm());
    t = n.cross(s);
  }
  Vec3 local(const Vec3& p) const {
    const Vec3 q = p - origin;
    return {q.dot(s), q.dot(t), q.dot(n)};
  }
};

int make_sides(const FacePolygon& ref, const Frame& f, Side* sides, double* size) {
  if (ref.rectangle) {
    sides[0] = {0, -1, 0}, sides[1] = {1, 0, ref.side[0]}, sides[2] = {0, 1, ref.side[1]},
    sides[3] = {-1, 0, 0};
    *size = std::max(ref.side[0], ref.side[1]);
    return 4;
  }
  double s[FacePolygon::kMax], t[FacePolygon::kMax];
  *size = 0;
  for (int i = 0; i < ref.count; ++i) {
    const Vec3 q = f.local(ref.v[i]);
    s[i] = q.x(), t[i] = q.y();
    *size = std::max({*size, std::abs(s[i]), std::abs(t[i])});
  }
  for (int i = 0; i < ref.count; ++i) {
    const int j = i + 1 < ref.count ? i + 1 : 0;
    const double ds = s[j] - s[i], dt = t[j] - t[i];
    const double length = std::sqrt(ds * ds + dt * dt), inv = length > 0 ? 1 / length : 0;
    sides[i] = {dt * inv, -ds * inv, (dt * s[i] - ds * t[i]) * inv};
  }
  return ref.count;
}

// A segment against the sides (Cyrus-Beck). Returns the number of points, 0 or 2.
int clip_segment(Clipper& k, const Side* sides, int side_count, const FacePolygon& ref,
                 const FacePolygon& inc, double snap) {
  const ClipVertex a = k.buffer[0][0], b = k.buffer[0][1];
  double enter = 0, leave = 1;
  int enter_side = -1, leave_side = -1;
  for (int i = 0; i < side_count; ++i) {
    const double da = sides[i].at(a), db = sides[i].at(b);
    if (da > snap && db > snap) return 0;
    if (da > snap && da / (da - db) > enter) enter = da / (da - db), enter_side = i;
    if (db > snap && da / (da - db) < leave) leave = da / (da - db), leave_side = i;
  }
  if (enter > leave) return 0;
  const auto at = [&](double u, int side) {
    if (side < 0) return u == 0 ? a : b;
    ClipVertex v = a;
    v.s += u * (b.s - a.s), v.t += u * (b.t - a.t), v.h += u * (b.h - a.h);
    v.ref = ref.edge[side], v.inc = inc.face;
    return v;
  };
  k.buffer[0][0] = at(enter, enter_side);
  k.buffer[0][1] = at(leave, leave_side);
  return 2;
}

}  // namespace

bool clip_faces(const FacePolygon& a, const FacePolygon& b, const Vec3& n, double radius_a, double radius_b,
                double margin, Patch& patch) {
  const double align_a = a.count >= 3 ? a.normal.dot(n) : -1, align_b = b.count >= 3 ? -b.normal.dot(n) : -1;
  if (std::max(align_a, align_b) < kAligned) return false;
  // Between equals A serves, and a polygon rather than a disc, whose rim is then exact.
  const bool use_a = align_a >= kAligned && (align_a >= align_b - 1e-9) && !(a.round && align_b >= kAligned);
  const FacePolygon &ref = use_a ? a : b, &inc = use_a ? b : a;
  const Frame f(ref);
  Side sides[FacePolygon::kMax];
  double size;
  const int side_count = make_sides(ref, f, sides, &size);
  Clipper k;
  k.count = inc.count;
  for (int i = 0; i < inc.count; ++i) {
    const Vec3 q = f.local(inc.v[i]);
    k.buffer[0][i] = {q.x(), q.y(), q.z(), ref.face, inc.vertex[i], inc.edge[i], -1};  // (3)
  }
  const double snap = kSnap * size;
  if (inc.count == 2) {
    k.count = clip_segment(k, sides, side_count, ref, inc, snap);
  } else if (inc.count == 1) {
    for (int i = 0; i < side_count && k.count; ++i) k.count = sides[i].at(k.buffer[0][0]) <= snap;
  } else {
    for (int i = 0; i < side_count && k.count; ++i) clip_side(k, sides[i], i, ref, inc, snap);
  }
  patch.normal = use_a ? ref.normal : Vec3(-ref.normal);
  const double radius_ref = use_a ? radius_a : radius_b, radius_inc = use_a ? radius_b : radius_a;
  for (int i = 0; i < k.count; ++i) {
    const ClipVertex& v = k.buffer[k.now][i];
    const double separation = v.h - radius_ref - radius_inc;  // (2)
    if (separation > margin) continue;
    const Vec3 p = f.origin + v.s * f.s + v.t * f.t + 0.5 * (v.h + radius_ref - radius_inc) * f.n;
    patch.add({p, separation, use_a ? v.ref : v.inc, use_a ? v.inc : v.ref});
  }
  return true;
}

bool clip_segments(const FacePolygon& a, const FacePolygon& b, const Vec3& n, double radius_a,
                   double radius_b, double margin, Patch& patch) {
  const Vec3 ea = a.v[1] - a.v[0], eb = b.v[1] - b.v[0];
  const double la = ea.norm(), lb = eb.norm();
  constexpr double kParallel = 0.05;  // sine; crossing sharper, the segments meet in one point
  if (ea.cross(eb).norm() > kParallel * la * lb) return false;
  if (!(la > 0) || !(lb > 0)) return false;
  const Vec3 u = ea / la;
  const double tb0 = u.dot(b.v[0] - a.v[0]), tb1 = u.dot(b.v[1] - a.v[0]);
  const int b_low = tb0 <= tb1 ? 0 : 1;
  const double b_lo = std::min(tb0, tb1), b_hi = std::max(tb0, tb1);
  const double lo = std::max(0.0, b_lo), hi = std::min(la, b_hi);
  if (lo > hi || b_hi - b_lo <= 0) return false;
  patch.normal = n;
  for (int end = 0; end < 2; ++end) {
    const double t = end ? hi : lo;
    const Vec3 pa = a.v[0] + t * u;
    const Vec3 pb = b.v[b_low] + (b.v[1 - b_low] - b.v[b_low]) * ((t - b_lo) / (b_hi - b_lo));
    const double gap = n.dot(pb - pa), separation = gap - radius_a - radius_b;
    if (separation > margin) continue;
    const bool end_of_a = t == (end ? la : 0.0);
    const std::uint32_t fa = end_of_a ? a.vertex[end] : a.face;
    const std::uint32_t fb = end_of_a ? b.face : b.vertex[end ? 1 - b_low : b_low];
    // the ends of a segment against the middle of the other: name both by which end it is
    patch.add({pa + 0.5 * (pb - pa) + 0.5 * (radius_a - radius_b) * n, separation, fa, fb});
  }
  return true;
}

void reduce(Patch& patch, double scale) {
  if (patch.count <= Manifold::kMaxPoints) return;
  PatchPoint* p = patch.points;
  const int n = patch.count;
  // A skew direction in the plane: square patches then have no ties.
  const Vec3 u = patch.normal.unitOrthogonal(), skew = u + 0.618 * patch.normal.cross(u);
  double least = p[0].separation;
  for (int i = 1; i < n; ++i) least = std::min(least, p[i].separation);
  const double slack = 1e-4 * scale;
  int chosen[4] = {-1, -1, -1, -1};
  const auto pick = [&](int slot, auto&& score) {
    double best = -1e300;
    for (int i = 0; i < n; ++i) {
      if (i == chosen[0] || i == chosen[1] || i == chosen[2]) continue;
      const double value = score(i);
      if (value > best) best = value, chosen[slot] = i;
    }
  };
  pick(0, [&](int i) { return p[i].separation <= least + slack ? skew.dot(p[i].position) : -1e299; });
  const Vec3 a = p[chosen[0]].position;
  pick(1, [&](int i) { return (p[i].position - a).squaredNorm(); });
  const Vec3 ab = p[chosen[1]].position - a, across = patch.normal.cross(ab);
  pick(2, [&](int i) { return std::abs(across.dot(p[i].position - a)); });
  // the fourth adds most outside the triangle: furthest beyond any of its sides
  const Vec3 c = p[chosen[2]].position;
  const double turn = across.dot(c - a) >= 0 ? 1 : -1;
  const Vec3 corner[3] = {a, a + ab, c};
  pick(3, [&](int i) {
    double gain = -1e298;
    for (int k = 0; k < 3; ++k) {
      const Vec3 side = corner[(k + 1) % 3] - corner[k];
      gain = std::max(gain, -turn * patch.normal.cross(side).dot(p[i].position - corner[k]));
    }
    return gain;
  });
  // in the order of the candidates, so that the order does not depend on the choice
  std::sort(chosen, chosen + 4);
  for (int k = 0; k < 4; ++k) p[k] = p[chosen[k]];
  patch.count = 4;
}

void emit(const Patch& patch, const Transform& X, Manifold& out) {
  out.normal = X.R * patch.normal;
  out.count = std::min(patch.count, Manifold::kMaxPoints);
  for (int i = 0; i < out.count; ++i) {
    const PatchPoint& p = patch.points[i];
    out.points[i] = {X * p.position, p.separation, p.feature_a, p.feature_b};
  }
}

}  // namespace karakuri::collision_detail
