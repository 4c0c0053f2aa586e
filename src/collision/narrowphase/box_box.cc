// Separating axes of boxes A (half extents a) and B (b, pose R, t in A's frame); Gottschalk, Lin, Manocha,
// SIGGRAPH 1996, section 5.
//   A's face i:    |t_i| - a_i - sum_j |R_ij| b_j                                                        (1)
//   B's face j:    |R_j . t| - b_j - sum_i |R_ij| a_i                                                    (2)
//   edges i, j:    (|t . L| - ra - rb) / |L|,  L = e_i x R_j,  |L|^2 = 1 - R_ij^2                        (3)
// The largest is the separation (when positive a lower bound of the distance, when negative the depth).
// A face is kept unless an edge pair is better by a clear margin: contacts of a face come as a patch, those
// of edges as one point, and a body must not rock between the two.
#include "collision/narrowphase/box_box.h"

#include <cmath>

#include "collision/narrowphase/box_clip.h"
#include "collision/narrowphase/convex_patch.h"
#include "collision/narrowphase/round_pairs.h"

namespace karakuri::collision_detail {

namespace {

// of the smaller half width [1]; far above the 1e-6 by which resting boxes tremble, far below what is seen
constexpr double kPreferA = 1e-4;
constexpr double kPreferFace = 1e-3;
constexpr double kPreferFaceRelative = 0.05;  // of the depth
// Edges closer to parallel than 1e-3 rad bring no axis that the faces lack.
constexpr double kParallel2 = 1e-6;

}  // namespace

bool separate_boxes(const Vec3& a, const Vec3& b, const Transform& X, double limit, BoxSeparation& out) {
  const Mat3& R = X.R;
  const Vec3& t = X.p;
  const Mat3 Q = R.cwiseAbs();
  const Vec3 tb = R.transpose() * t;
  const Vec3 sa = t.cwiseAbs() - a - Q * b;  // (1)
  int i, j;
  const double face_a = sa.maxCoeff(&i);
  const auto set_face_a = [&] {
    out = {BoxAxis::kFaceA, i, 0, face_a, Vec3::Zero()};
    out.normal[i] = t[i] >= 0 ? 1 : -1;
  };
  if (face_a > limit) return set_face_a(), false;
  const Vec3 sb = tb.cwiseAbs() - b - Q.transpose() * a;  // (2)
  const double face_b = sb.maxCoeff(&j);
  const auto set_face_b = [&] {
    out = {BoxAxis::kFaceB, 0, j, face_b, R.col(j) * (tb[j] >= 0 ? 1.0 : -1.0)};
  };
  if (face_b > limit) return set_face_b(), false;
  const double size = std::min(a.minCoeff(), b.minCoeff());
  const double face = std::max(face_a, face_b);
  // An edge axis must beat this; (3) is first compared in squares, which spares most roots.
  const double need = face + kPreferFace * size + kPreferFaceRelative * std::abs(face);
  double best = need;
  int ei = -1, ej = -1;
  for (int p = 0; p < 3; ++p) {
    const int p1 = p == 2 ? 0 : p + 1, p2 = p == 0 ? 2 : p - 1;
    for (int q = 0; q < 3; ++q) {
      const int q1 = q == 2 ? 0 : q + 1, q2 = q == 0 ? 2 : q - 1;
      const double gap = std::abs(t[p2] * R(p1, q) - t[p1] * R(p2, q)) - a[p1] * Q(p2, q) - a[p2] * Q(p1, q) -
                         b[q1] * Q(p, q2) - b[q2] * Q(p, q1);
      const double l2 = 1 - R(p, q) * R(p, q);
      if (l2 < kParallel2) continue;
      if (gap < 0 && best < 0 && gap * gap >= best * best * l2) continue;
      const double s = gap / std::sqrt(l2);  // (3)
      if (s > best) best = s, ei = p, ej = q;
    }
  }
  if (ei < 0) {
    if (face_b > face_a + kPreferA * size)
      set_face_b();
    else
      set_face_a();
    return true;
  }
  Vec3 L = Vec3::Unit(ei).cross(R.col(ej)).normalized();
  if (L.dot(t) < 0) L = -L;
  out = {BoxAxis::kEdges, ei, ej, best, L};
  return best <= limit;
}

namespace {

// The edge of a box along `axis` that lies furthest into d (box frame): its middle and its name.
Vec3 edge_middle(const Vec3& half, int axis, const Vec3& d, std::uint32_t* name) {
  Vec3 m = Vec3::Zero();
  int corner = 0;
  for (int k = 0; k < 3; ++k) {
    if (k == axis) continue;
    m[k] = d[k] >= 0 ? half[k] : -half[k];
    corner |= (d[k] >= 0) << k;
  }
  *name = box_edge(corner, corner | 1 << axis);
  return m;
}

// One point between two edges. False when the lines meet outside the edges.
bool edge_point(const ConvexPair& pair, const BoxSeparation& s, Patch& patch) {
  const Vec3 &a = pair.a->size, &b = pair.b->size;
  const Mat3& R = pair.X_AB.R;
  std::uint32_t name_a, name_b;
  const Vec3 ma = edge_middle(a, s.i, s.normal, &name_a);
  const Vec3 mb = pair.X_AB * edge_middle(b, s.j, R.transpose() * -s.normal, &name_b);
  const Vec3 ea = Vec3::Unit(s.i), eb = R.col(s.j), r = ma - mb;
  const double c = ea.dot(eb), det = 1 - c * c;
  const double u = (c * eb.dot(r) - ea.dot(r)) / det, v = (eb.dot(r) - c * ea.dot(r)) / det;
  const double slack = 1 + 1e-9;
  if (std::abs(u) > slack * a[s.i] || std::abs(v) > slack * b[s.j]) return false;
  patch.normal = s.normal;
  patch.add({0.5 * (ma + u * ea + mb + v * eb), s.separation, name_a, name_b});
  return true;
}

}  // namespace

void box_box_patch(const ConvexPair& pair, double margin, EpaBuffer& buffer, Patch& patch, PairHint* hint) {
  BoxSeparation s;
  if (!separate_boxes(pair.a->size, pair.b->size, pair.X_AB, margin, s)) {
    if (hint) hint->axis = s.normal;
    return;
  }
  if (s.kind == BoxAxis::kEdges) {
    if (edge_point(pair, s, patch)) return;
  } else {
    clip_boxes(pair, s, margin, patch);
    if (patch.count > 0) return;
  }
  // Near a corner or an edge of both: the axis separates, but what is nearest lies elsewhere.
  general_patch(pair, margin, buffer, patch, hint);
}

}  // namespace karakuri::collision_detail
