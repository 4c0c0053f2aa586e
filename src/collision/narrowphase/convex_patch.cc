// Contacts of two convex shapes A, B from the direction of least separation.
//   n: direction of least separation s, from closed form, GJK or EPA                                    (1)
//   s(m) = -h(m), h(m) = max_A m.a - min_B m.b: separation along any other direction m (2) a face normal m of
//   A or B replaces n when s(m) is as good as s up to a small margin                   (3) patch = supporting
//   face of A along n, clipped with that of B along -n                                (4)
// (3) turns the nearly-right normals of (1) into exact ones, so that flush faces give the same normal from
// step to step. Where no face is perpendicular to n, edges in parallel give a line (two points) and the rest
// one point. Among the axes of two polyhedra, n of (1) is the one that a search over all faces and edge pairs
// would find: the nearest face of A - B is a face of A, of B, or an edge of A against an edge of B.
#include "collision/narrowphase/convex_patch.h"

#include <cmath>

#include "collision/narrowphase/box_box.h"
#include "collision/narrowphase/round_pairs.h"
#include "collision/narrowphase/witness.h"

namespace karakuri::collision_detail {

namespace {

constexpr double kPreferFace = 1e-3;          // of the smaller half width, as for boxes
constexpr double kPreferFaceRelative = 0.05;  // of the separation
constexpr double kPreferA = 1e-4;

double separation_along(const ConvexPair& pair, const Vec3& m) {
  return -difference_support(pair, m).w.dot(m) - pair.a->radius - pair.b->radius;  // (2)
}

double extent_of(const ConvexPair& pair) {
  const double a = pair.a->extent, b = pair.b->extent;  // a triangle has none
  return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b);
}

// The name of the feature of a polygon at a point on it.
std::uint32_t name_at(const FacePolygon& f, const Vec3& p, double tolerance) {
  for (int i = 0; i < f.count; ++i) {
    if ((f.v[i] - p).squaredNorm() <= tolerance * tolerance) return f.vertex[i];
  }
  const int sides = f.count >= 3 ? f.count : f.count - 1;
  for (int i = 0; i < sides; ++i) {
    const Vec3 e = f.v[(i + 1) % f.count] - f.v[i], r = p - f.v[i];
    if (e.cross(r).squaredNorm() <= tolerance * tolerance * e.squaredNorm()) return f.edge[i];
  }
  return f.face;
}

bool pointed(const ConvexView& c) { return c.core == CoreKind::kPoint || c.core == CoreKind::kEllipsoid; }

// The distance with witness points fit for a contact.
ConvexDistance straight(const ConvexPair& pair, const ConvexDistance& d) {
  ConvexDistance s = d;
  if (d.askew > 1e-3 * extent_of(pair)) align_witness(pair, s);
  return s;
}

void add_witness(const ConvexPair& pair, const ConvexDistance& given, const FacePolygon& a,
                 const FacePolygon& b, Patch& patch) {
  const double tolerance = 1e-6 * extent_of(pair);
  const ConvexDistance d = straight(pair, given);
  const PatchPoint point{0.5 * (d.on_a + d.on_b), d.separation,
                         name_at(a, d.on_a - pair.a->radius * d.normal, tolerance),
                         name_at(b, d.on_b + pair.b->radius * d.normal, tolerance)};
  for (int i = 0; i < patch.count;
       ++i) {  // an end of the line, less deep than the point that goes by its name
    PatchPoint& p = patch.points[i];
    if (p.feature_a == point.feature_a && p.feature_b == point.feature_b) return void(p = point);
  }
  patch.add(point);
}

// Reduces a polygon to its side that lies furthest into d, when that side is nearly perpendicular to d.
bool to_leading_side(FacePolygon& f, const Vec3& d) {
  if (f.count < 2) return false;
  int best = 0;
  double most = -1e300;
  for (int i = 0; i < (f.count == 2 ? 1 : f.count); ++i) {
    const double sum = d.dot(f.v[i]) + d.dot(f.v[(i + 1) % f.count]);
    if (sum > most) most = sum, best = i;
  }
  const int j = (best + 1) % f.count;
  const Vec3 v0 = f.v[best], v1 = f.v[j];
  if (std::abs(d.dot(v1 - v0)) > 0.05 * (v1 - v0).norm()) return false;
  const std::uint32_t n0 = f.vertex[best], n1 = f.vertex[j], edge = f.edge[best];
  f.v[0] = v0, f.v[1] = v1, f.vertex[0] = n0, f.vertex[1] = n1;
  f.face = f.edge[0] = f.edge[1] = edge;
  f.count = 2;
  return true;
}

// (3): the normal of A's or B's supporting face, where it separates as well as d does.
bool choose_face(const ConvexPair& pair, const ConvexDistance& d, const FacePolygon& a, const FacePolygon& b,
                 Vec3* normal) {
  const double size = extent_of(pair);
  const double need = d.separation - kPreferFace * size - kPreferFaceRelative * std::abs(d.separation);
  double best = -1e300;
  bool found = false;
  if (a.count >= 3) {
    const double s = separation_along(pair, a.normal);
    if (s >= need) best = s, *normal = a.normal, found = true;
  }
  if (b.count >= 3) {
    const double s = separation_along(pair, -b.normal);
    if (s >= need && s > best + kPreferA * size) *normal = -b.normal, found = true;
  }
  return found;
}

double deepest(const Patch& patch) {
  double least = 1e300;
  for (int i = 0; i < patch.count; ++i) least = std::min(least, patch.points[i].separation);
  return least;
}

void line_or_point(const ConvexPair& pair, const ConvexDistance& d, FacePolygon& a, FacePolygon& b,
                   double margin, Patch& patch) {
  FacePolygon sa = a, sb = b;
  patch.normal = d.normal;
  if (to_leading_side(sa, d.normal) && to_leading_side(sb, -d.normal)) {
    clip_segments(sa, sb, d.normal, pair.a->radius, pair.b->radius, margin, patch);
  }
  const double slack = 1e-6 * extent_of(pair) + 0.01 * std::abs(d.separation);
  if (patch.count == 0 || deepest(patch) > d.separation + slack) {
    patch.normal = d.normal;
    add_witness(pair, d, a, b, patch);
  }
}

}  // namespace

ConvexDistance distance_of(const ConvexPair& pair, EpaBuffer& buffer, double limit) {
  ConvexDistance d;
  if (closed_form_distance(pair, d)) return d;
  return convex_distance(pair, buffer, Vec3::Zero(), limit);
}

void general_patch(const ConvexPair& pair, double margin, EpaBuffer& buffer, Patch& patch, PairHint* hint) {
  const ConvexDistance d = distance_of(pair, buffer, margin);  // (1)
  if (!(d.separation <= margin)) {
    if (hint) hint->axis = d.normal;
    return;
  }
  patch_at(pair, d, margin, patch);
}

void patch_at(const ConvexPair& pair, const ConvexDistance& d, double margin, Patch& patch) {
  if (pointed(*pair.a) || pointed(*pair.b)) {
    patch.normal = d.normal;
    const ConvexDistance s = straight(pair, d);
    patch.add({0.5 * (s.on_a + s.on_b), d.separation, feature::kRound, feature::kRound});
    return;
  }
  FacePolygon a, b;
  support_face(*pair.a, Transform::identity(), d.normal, a);
  support_face(*pair.b, pair.X_AB, -d.normal, b);
  Vec3 n;
  if (choose_face(pair, d, a, b, &n)) {
    if (n.dot(d.normal) < 1 - 1e-12) {  // the other's supporting face may be another one now
      support_face(*pair.a, Transform::identity(), n, a);
      support_face(*pair.b, pair.X_AB, -n, b);
    }
    clip_faces(a, b, n, pair.a->radius, pair.b->radius, margin, patch);  // (4)
    const double slack = kPreferFace * extent_of(pair) + kPreferFaceRelative * std::abs(d.separation);
    if (patch.count > 0 && deepest(patch) <= d.separation + slack) return reduce(patch, extent_of(pair));
    patch.count = 0;
  }
  line_or_point(pair, d, a, b, margin, patch);
}

void convex_patch(const ConvexPair& pair, double margin, EpaBuffer& buffer, Patch& patch, PairHint* hint) {
  patch.count = 0;
  // The slack keeps the hint from deciding what rounding would decide otherwise without it.
  if (hint && hint->axis.squaredNorm() > 0 &&
      separation_along(pair, hint->axis) > margin + 1e-9 * (extent_of(pair) + margin)) {
    return;
  }
  if (pair.a->core == CoreKind::kBox && pair.b->core == CoreKind::kBox) {
    return box_box_patch(pair, margin, buffer, patch, hint);
  }
  general_patch(pair, margin, buffer, patch, hint);
}

}  // namespace karakuri::collision_detail
