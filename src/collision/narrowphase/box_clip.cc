// Clipping of a rectangle to a face of a box, in the frame of that box: (s, t) in the face, h above it.
//   incident corners   c + (+-1) e1 + (+-1) e2                                                        (1)
//   sides              |s| <= r_s,  |t| <= r_t                                                        (2)
// Names, tolerances and the choice of four points are those of patch.cc, where they are explained. Doing it
// in two dimensions, and moving only the points that remain into A's frame, takes half the time.
#include "collision/narrowphase/box_clip.h"

#include <algorithm>
#include <cmath>

namespace karakuri::collision_detail {

namespace {

constexpr double kSnap = 1e-5;         // of the face, as in patch.cc
constexpr double kEqualDepths = 1e-4;  // of the smaller half width, as in patch.cc
constexpr int kMax = 8;                // a rectangle cut by four sides

// Sides of the polygon: 0 to 3 of the incident face, 4 to 7 of the reference.
struct Corner {
  double x[2], h;        // (s, t), height
  std::int8_t from, to;  // the sides that meet here; from < 0: the corner of the incident face at side `to`
  std::int8_t side;      // the side that starts here
};

// The face of the reference box: axis k, s along axis k+1, t along k+2. Sides: 0 +s, 1 +t, 2 -s, 3 -t.
struct Face {
  int k, u, v, positive;
  double r[2];

  Face(const Vec3& half, int axis, bool plus)
      : k(axis),
        u(axis == 2 ? 0 : axis + 1),
        v(axis == 0 ? 2 : axis - 1),
        positive(plus),
        r{half[u], half[v]} {}
  int corner(bool s, bool t) const { return positive << k | s << u | t << v; }
  std::uint32_t edge(int side) const {
    const bool plus = side < 2;
    return (side & 1) == 0 ? box_edge(corner(plus, false), corner(plus, true))
                           : box_edge(corner(false, plus), corner(true, plus));
  }
  std::uint32_t vertex(int i, int j) const {  // between two sides
    const int s = (i & 1) == 0 ? i : j, t = (i & 1) == 0 ? j : i;
    if ((i ^ j) % 2 == 0) return edge(i);  // opposite sides, after thin cuts
    return feature::kVertex | static_cast<std::uint32_t>(corner(s < 2, t < 2));
  }
  std::uint32_t name() const { return feature::kFace | static_cast<std::uint32_t>(2 * k + positive); }
};

struct Polygon {
  Corner v[kMax + 1];
  int count = 0;
};

// The face of the other box, for names.
struct Incident {
  int corner[4];
  std::uint32_t face;
  std::uint32_t edge(int i) const { return box_edge(corner[i], corner[(i + 1) & 3]); }
};

// (1): the face of a box (half extents b, rotation R and centre c in the reference's frame) that looks most
// against the reference's.
Incident incident(const Face& f, const Vec3& b, const Mat3& R, const Vec3& c, double top, Polygon& out) {
  int k;
  R.row(f.k).cwiseAbs().maxCoeff(&k);
  const double sense = f.positive ? 1 : -1;
  const bool plus = sense * R(f.k, k) < 0;
  const int u = k == 2 ? 0 : k + 1, v = k == 0 ? 2 : k - 1;
  const auto local = [&](int axis, double length, double* to) {
    to[0] = length * R(f.u, axis), to[1] = length * R(f.v, axis), to[2] = sense * length * R(f.k, axis);
  };
  double e0[3], e1[3], e2[3];
  local(k, plus ? b[k] : -b[k], e0), local(u, b[u], e1), local(v, b[v], e2);
  const double center[3] = {c[f.u] + e0[0], c[f.v] + e0[1], sense * c[f.k] - top + e0[2]};
  const auto set = [&](int i, double a, double d) {
    out.v[i] = {{center[0] + a * e1[0] + d * e2[0], center[1] + a * e1[1] + d * e2[1]},
                center[2] + a * e1[2] + d * e2[2],
                -1,
                static_cast<std::int8_t>(i),
                static_cast<std::int8_t>(i)};
  };
  set(0, 1, 1), set(1, -1, 1), set(2, -1, -1), set(3, 1, -1);
  out.count = 4;
  const int base = plus << k;
  return {{base | 1 << u | 1 << v, base | 1 << v, base, base | 1 << u},
          feature::kFace | static_cast<std::uint32_t>(2 * k + plus)};
}

// Which features meet in a corner: of the reference, of the incident box.
void name(const Corner& c, const Face& f, const Incident& inc, std::uint32_t* ref, std::uint32_t* other) {
  if (c.from < 0) {
    *ref = f.name(), *other = feature::kVertex | static_cast<std::uint32_t>(inc.corner[c.to]);
  } else if (c.from < 4) {
    *ref = f.edge(c.to - 4), *other = inc.edge(c.from);
  } else {
    *ref = f.vertex(c.from - 4, c.to - 4), *other = inc.face;
  }
}

// (2), one side; the rules for corners within the snap are those of clip_side in patch.cc.
void clip(const Polygon& in, const double* d, int side, double snap, Polygon& out) {
  const auto along = static_cast<std::int8_t>(side + 4);
  int n = 0;
  for (int i = 0; i < in.count && n < kMax; ++i) {
    const int j = i + 1 < in.count ? i + 1 : 0;
    const Corner &a = in.v[i], &b = in.v[j];
    const bool a_in = d[i] <= snap, b_in = d[j] <= snap;
    if (a_in) out.v[n++] = a;
    if (a_in == b_in || (b_in && d[j] >= 0)) continue;  // b itself stands for the crossing
    if (a_in && d[i] >= 0) {                            // so does a
      out.v[n - 1].side = along;
      continue;
    }
    const double w = d[i] / (d[i] - d[j]);
    out.v[n++] = {{a.x[0] + w * (b.x[0] - a.x[0]), a.x[1] + w * (b.x[1] - a.x[1])},
                  a.h + w * (b.h - a.h),
                  a.side,
                  along,
                  a_in ? along : a.side};
  }
  out.count = n;
}

Polygon& clip_all(Polygon buffer[2], const Face& f) {
  const double snap = kSnap * 2 * std::max(f.r[0], f.r[1]);
  int now = 0;
  for (int side = 0; side < 4 && buffer[now].count > 0; ++side) {
    const int axis = side & 1;
    const double sign = side < 2 ? 1 : -1;
    double d[kMax + 1], most = -1e300;
    for (int i = 0; i < buffer[now].count; ++i) {
      d[i] = sign * buffer[now].v[i].x[axis] - f.r[axis];
      most = std::max(most, d[i]);
    }
    if (most <= snap) continue;
    clip(buffer[now], d, side, snap, buffer[1 - now]);
    now = 1 - now;
  }
  return buffer[now];
}

// Four of more points: see reduce in patch.cc. n: in the frame of the reference.
void choose(Polygon& p, const Face& f, const Vec3& n, double scale) {
  const Vec3 across = n.unitOrthogonal(), skew = across + 0.618 * n.cross(across);
  const double skew_s = skew[f.u], skew_t = skew[f.v];
  int chosen[4] = {-1, -1, -1, -1};
  const auto pick = [&](int slot, auto&& score) {
    double best = -1e300;
    for (int i = 0; i < p.count; ++i) {
      if (i == chosen[0] || i == chosen[1] || i == chosen[2]) continue;
      const double value = score(p.v[i]);
      if (value > best) best = value, chosen[slot] = i;
    }
  };
  double least = 1e300;
  for (int i = 0; i < p.count; ++i) least = std::min(least, p.v[i].h);
  const double slack = least + kEqualDepths * scale;
  pick(0, [&](const Corner& c) { return c.h <= slack ? skew_s * c.x[0] + skew_t * c.x[1] : -1e299; });
  const double a0 = p.v[chosen[0]].x[0], a1 = p.v[chosen[0]].x[1];
  pick(1, [&](const Corner& c) { return (c.x[0] - a0) * (c.x[0] - a0) + (c.x[1] - a1) * (c.x[1] - a1); });
  const double b0 = p.v[chosen[1]].x[0] - a0, b1 = p.v[chosen[1]].x[1] - a1;
  const auto left = [&](const Corner& c) { return b0 * (c.x[1] - a1) - b1 * (c.x[0] - a0); };
  pick(2, [&](const Corner& c) { return std::abs(left(c)); });
  const double turn = left(p.v[chosen[2]]) >= 0 ? 1 : -1;
  pick(3, [&](const Corner& c) {
    double gain = -1e298;
    for (int k = 0; k < 3; ++k) {
      const Corner &from = p.v[chosen[k]], &to = p.v[chosen[k == 2 ? 0 : k + 1]];
      const double s0 = to.x[0] - from.x[0], s1 = to.x[1] - from.x[1];
      gain = std::max(gain, -turn * (s0 * (c.x[1] - from.x[1]) - s1 * (c.x[0] - from.x[0])));
    }
    return gain;
  });
  std::sort(chosen, chosen + 4);
  for (int k = 0; k < 4; ++k) p.v[k] = p.v[chosen[k]];
  p.count = 4;
}

}  // namespace

void clip_boxes(const ConvexPair& pair, const BoxSeparation& s, double margin, Patch& patch) {
  const bool ref_a = s.kind == BoxAxis::kFaceA;
  const Transform& X = pair.X_AB;
  const Vec3 &r = ref_a ? pair.a->size : pair.b->size, &b = ref_a ? pair.b->size : pair.a->size;
  const int axis = ref_a ? s.i : s.j;
  // the normal runs along the axis, from A to B
  const bool plus = ref_a ? s.normal[axis] > 0 : X.R.col(axis).dot(s.normal) < 0;
  const Face f(r, axis, plus);
  Polygon buffer[2];
  const Incident inc = ref_a ? incident(f, b, X.R, X.p, r[axis], buffer[0])
                             : incident(f, b, X.R.transpose(), -(X.R.transpose() * X.p), r[axis], buffer[0]);
  Polygon& p = clip_all(buffer, f);
  int n = 0;
  for (int i = 0; i < p.count; ++i) {
    if (p.v[i].h <= margin) p.v[n++] = p.v[i];
  }
  p.count = n;
  if (n > Manifold::kMaxPoints) {
    choose(p, f, ref_a ? s.normal : Vec3(X.R.transpose() * s.normal),
           std::min(pair.a->extent, pair.b->extent));
  }
  patch.normal = s.normal;
  for (int i = 0; i < p.count; ++i) {
    const Corner& c = p.v[i];
    Vec3 q;
    q[f.u] = c.x[0], q[f.v] = c.x[1], q[f.k] = (plus ? 1 : -1) * (r[axis] + 0.5 * c.h);
    std::uint32_t of_ref, of_inc;
    name(c, f, inc, &of_ref, &of_inc);
    patch.add({ref_a ? q : Vec3(X * q), c.h, ref_a ? of_ref : of_inc, ref_a ? of_inc : of_ref});
  }
}

}  // namespace karakuri::collision_detail
