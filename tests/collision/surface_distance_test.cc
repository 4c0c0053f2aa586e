// Distances of planes, heightfields, meshes and compounds, each answer with its proof, and compared with FCL.
//
// Apart by s: the witness points lie in (or on) the shapes, so the distance is at most s; and every triangle
// of the surface is at least s away: two triangles by brute force over sides and corners, a triangle and a
// convex shape by a direction that separates them, wherever it comes from. Overlapping: some triangle is not
// apart, or the inside of the solid holds the other. Depths: of planes and compounds by closed form; of
// meshes and terrains the deepest contact, whose points must lie on the surfaces.
#include <gtest/gtest.h>

#include <map>

#include <fmt/format.h>

#include "collision/fuzz.h"
#include "collision/narrowphase/convex_patch.h"
#include "collision/random_surfaces.h"
#include "karakuri/collision/narrowphase.h"

#ifdef KARAKURI_HAVE_FCL
#include "collision/fcl_oracle.h"
#endif

namespace karakuri {
namespace {

using namespace testing;
using collision_detail::ConvexView;

bool convex_kind(ShapeKind k) { return k <= ShapeKind::kHull; }
bool surface_kind(ShapeKind k) { return k == ShapeKind::kMesh || k == ShapeKind::kHeightfield; }

Shape random_shape(Random& r, ShapeKind k, double size) {
  if (k == ShapeKind::kPlane) return Shape::plane();
  return convex_kind(k) ? random_convex(r, k, size) : pooled_surface(k, size);
}

RandomPair random_surface_pair(Random& r, ShapeKind ka, ShapeKind kb) {
  RandomPair p;
  const double sa = std::pow(10, r.uniform(-3, 3));
  const double sb = r.below(4) ? sa * std::pow(10, r.uniform(-0.5, 0.5)) : std::pow(10, r.uniform(-3, 3));
  p.a = random_shape(r, ka, sa), p.b = random_shape(r, kb, sb);
  const double ra = bounding_radius(p.a), rb = bounding_radius(p.b);
  p.scale = std::isfinite(rb) ? std::max(ra, rb) : ra, p.small = std::isfinite(rb) ? std::min(ra, rb) : ra;
  const bool aligned = r.below(4) == 0;
  if (!aligned) p.X_WA.R = random_rotation(r), p.X_WB.R = random_rotation(r);
  if (r.below(4) == 0) p.X_WB.R = p.X_WA.R * rotation_exp(random_unit(r) * std::pow(10, r.uniform(-9, -3)));
  const Vec3 d = aligned ? Vec3(Vec3::Unit(r.below(3))) : random_unit(r);
  // from one in the other to a little apart; a plane has its surface at its origin
  const double reach = std::isfinite(rb) ? p.scale + p.small : ra;
  p.X_WB.p = reach * r.uniform(0, 1.2) * d;
  return p;
}

// A lower bound of the distance between a convex shape and a triangle, by the best direction at hand.
double triangle_bound(const ConvexView& view, const Shape& s, const Transform& X, const Corners& t,
                      const Vec3& guess, double enough) {
  const auto along = [&](const Vec3& n) {  // n from the shape to the triangle
    const double least = std::min({n.dot(t[0]), n.dot(t[1]), n.dot(t[2])});
    return least - support_value(s, X.R.transpose() * n) - n.dot(X.p);
  };
  const double first = along(guess);
  if (first >= enough) return first;
  const Vec3 own = (t[1] - t[0]).cross(t[2] - t[0]).normalized();
  const double face = std::max(along(own), along(-own));
  if (face >= enough) return face;
  static thread_local collision_detail::EpaBuffer buffer;
  const collision_detail::TriangleCore core(X.inverse_apply(t[0]), X.inverse_apply(t[1]),
                                            X.inverse_apply(t[2]));
  const ConvexView triangle = core.view();
  const auto d = collision_detail::distance_of({&view, &triangle, Transform::identity()}, buffer);
  return std::max({first, face, along(X.R * d.normal)});
}

struct Oracle {
  std::vector<Corners> ta, tb;

  double lower_bound(const RandomPair& p, const ClosestPoints& c) {
    const double enough = c.separation * (1 - 1e-12);
    double least = 1e300;
    if (surface_kind(p.a.kind())) {  // both are
      triangles_of(p.a, p.X_WA, ta), triangles_of(p.b, p.X_WB, tb);
      for (const Corners& s : ta) {
        for (const Corners& t : tb) least = std::min(least, triangle_triangle(s, t));
      }
      return least;
    }
    triangles_of(p.b, p.X_WB, tb);
    const ConvexView view = collision_detail::convex_view(p.a);
    for (const Corners& t : tb)
      least = std::min(least, triangle_bound(view, p.a, p.X_WA, t, c.normal, enough));
    return least;
  }
  bool below(const Heightfield& f, const Vec3& p) const {
    const double x = (p.x() - f.x0) / f.dx, y = (p.y() - f.y0) / f.dy;
    if (x < 0 || y < 0 || x > f.cell_columns() || y > f.cell_rows()) return false;
    const int i = std::min(static_cast<int>(x), f.cell_columns() - 1),
              j = std::min(static_cast<int>(y), f.cell_rows() - 1);
    const double u = x - i, v = y - j, z00 = f.vertex(i, j).z(), z11 = f.vertex(i + 1, j + 1).z();
    const double z = v > u ? z00 + v * (f.vertex(i, j + 1).z() - z00) + u * (z11 - f.vertex(i, j + 1).z())
                           : z00 + u * (f.vertex(i + 1, j).z() - z00) + v * (z11 - f.vertex(i + 1, j).z());
    return p.z() < z;
  }
  // True when a point of `s` near its origin is inside the solid `other`. Beyond the rim of a terrain there
  // is no inside, and a body may hang there below it; `surely`: all of the body is within the rim.
  bool inside(const Shape& s, const Transform& X_WS, const Shape& other, const Transform& X_WO,
              const std::vector<Corners>& surface, bool surely) const {
    const Vec3 p = X_WS * (s.kind() == ShapeKind::kMesh ? s.as_mesh().vertices[0]
                           : convex_kind(s.kind())      ? collision_detail::convex_view(s).center
                                                        : s.as_heightfield().vertex(0, 0));
    if (other.kind() == ShapeKind::kHeightfield) {
      const Vec3 q = X_WO.inverse_apply(X_WS.p);
      const Aabb rim = other.as_heightfield().bounds.grown(-bounding_radius(s));
      const bool over = q.x() > rim.lo.x() && q.x() < rim.hi.x() && q.y() > rim.lo.y() && q.y() < rim.hi.y();
      return (over || !surely) && below(other.as_heightfield(), X_WO.inverse_apply(p));
    }
    return other.kind() == ShapeKind::kMesh && winding(surface, p) > 0.5;
  }
};

double on_surface(const Shape& s, const Transform& X, const std::vector<Corners>& triangles, const Vec3& p) {
  if (convex_kind(s.kind())) return outside_by(s, X.inverse_apply(p));
  double least = 1e300;
  for (const Corners& t : triangles) {
    const Vec3 n = (t[1] - t[0]).cross(t[2] - t[0]).normalized();
    if (over_triangle(p, t, n)) least = std::min(least, std::abs(n.dot(p - t[0])));
    for (int k = 0; k < 3; ++k) least = std::min(least, point_segment(p, t[k], t[(k + 1) % 3]));
  }
  return least;
}

double tolerance(const RandomPair& p) {
  const auto curved = [](ShapeKind k) { return k >= ShapeKind::kCylinder && k <= ShapeKind::kEllipsoid; };
  return (curved(p.a.kind()) ? 4e-8 : 1e-10) * p.scale;  // as in distance_test.cc; GJK may stop at 1e-11 of s
}

// Planes: the support function is the answer.
std::string refute_plane(const RandomPair& p, const ClosestPoints& c) {
  const Vec3 n = p.X_WB.R.col(2);
  double lowest = 1e300;
  if (convex_kind(p.a.kind())) {
    lowest = n.dot(p.X_WA.p) - support_value(p.a, p.X_WA.R.transpose() * -n);
  } else {
    std::vector<Corners> t;
    triangles_of(p.a, p.X_WA, t);
    for (const Corners& k : t)
      for (const Vec3& v : k) lowest = std::min(lowest, n.dot(v));
  }
  const double s = lowest - n.dot(p.X_WB.p);
  if (std::abs(s - c.separation) > 1e-13 * (p.scale + p.X_WB.p.norm()))
    return fmt::format("should be {:.9g}", s);
  return (c.normal + n).norm() < 1e-12 ? "" : "normal";
}

std::string refute(const RandomPair& p, const ClosestPoints& c, Oracle& oracle) {
  if (!std::isfinite(c.separation) || !c.normal.allFinite() || !c.on_a.allFinite() || !c.on_b.allFinite())
    return "not finite";
  if (std::abs(c.normal.norm() - 1) > 1e-9) return "normal not unit";
  if (p.b.kind() == ShapeKind::kPlane) return refute_plane(p, c);
  if (kSanitized) return "";
  const double tol = tolerance(p);
  const double bound = oracle.lower_bound(p, c);
  const auto inside = [&](bool surely) {
    return oracle.inside(p.a, p.X_WA, p.b, p.X_WB, oracle.tb, surely) ||
           oracle.inside(p.b, p.X_WB, p.a, p.X_WA, oracle.ta, surely);
  };
  if (c.separation <= tol) {
    return bound > 2 * tol && !inside(false) ? fmt::format("the surfaces are {:.9g} apart", bound) : "";
  }
  if (inside(true)) return "one is inside the other";
  if (std::abs(bound - c.separation) > tol) return fmt::format("triangles are {:.9g} apart", bound);
  const double out_a = on_surface(p.a, p.X_WA, oracle.ta, c.on_a),
               out_b = on_surface(p.b, p.X_WB, oracle.tb, c.on_b);
  if (out_a > tol || out_b > tol) return fmt::format("witness outside by {:g}, {:g}", out_a, out_b);
  if ((c.on_b - c.on_a).norm() > c.separation + tol) return "witnesses are not nearest";
  // GJK ends where v^2 - v.w <= 1e-11 v^2, at an angle of 3.2e-6 rad at worst
  const double askew = (c.on_b - c.on_a - c.separation * c.normal).norm();
  return askew > tol + 4e-6 * c.separation ? "normal askew" : "";
}

// Compounds: the nearest of the parts, whose answers have proofs of their own.
std::string refute_compound(const RandomPair& p, const ClosestPoints& c, CollisionWorkspace& ws) {
  double least = 1e300;
  for (const Compound::Part& part : p.b.as_compound().parts) {
    ClosestPoints k;
    if (closest_points(p.a, p.X_WA, part.shape, p.X_WB * part.pose, ws, k))
      least = std::min(least, k.separation);
  }
  // asked the other way round, the same pair is computed in another frame
  const double tol = 4e-8 * p.scale + 1e-6 * std::abs(least);
  if (p.a.kind() == ShapeKind::kMesh && least < 0) return c.separation < 0 ? "" : "should overlap";
  return std::abs(least - c.separation) <= tol ? "" : fmt::format("a part is at {:.9g}", least);
}

// The depth of a solid made of triangles is that of its deepest contact, which among several equal faces is a
// matter of rounding; only the sign must agree.
bool same_when_turned(const RandomPair& p, const ClosestPoints& c, const ClosestPoints& back) {
  const double tol = 4e-8 * p.scale;
  if (c.separation <= tol && (surface_kind(p.a.kind()) || surface_kind(p.b.kind())))
    return back.separation <= 2 * tol;
  return std::abs(back.separation - c.separation) <= tol + 1e-6 * std::abs(c.separation);
}

class SurfacePairs : public ::testing::TestWithParam<std::pair<ShapeKind, ShapeKind>> {};

TEST_P(SurfacePairs, DistanceIsProved) {
  const auto [ka, kb] = GetParam();
  Random r(5000 + 31 * static_cast<int>(ka) + static_cast<int>(kb));
  CollisionWorkspace ws;
  Oracle oracle;
  std::vector<Manifold> manifolds;
  std::map<std::string, int> notes;
  int failures = 0;
  for (int i = 0, n = fuzz_pairs(400); i < n && failures < 5; ++i) {
    const RandomPair p = random_surface_pair(r, ka, kb);
    ClosestPoints c, back;
    ASSERT_TRUE(closest_points(p.a, p.X_WA, p.b, p.X_WB, ws, c));
    ASSERT_TRUE(closest_points(p.b, p.X_WB, p.a, p.X_WA, ws, back));
    std::string fault = kb == ShapeKind::kCompound ? refute_compound(p, c, ws) : refute(p, c, oracle);
    if (!same_when_turned(p, c, back)) fault += fmt::format(" turned round {:.9g}", back.separation);
    fault += manifold_fault(p, ws, manifolds);
    ++notes[c.separation > 0 ? "apart" : "overlapping"];
#ifdef KARAKURI_HAVE_FCL
    if (kb != ShapeKind::kCompound && !kSanitized) {
      const FclAnswer fcl = fcl_distance(p.a, p.X_WA, p.b, p.X_WB);
      // FCL stops at 1e-6 m; a mesh is a surface to it, without an inside or a depth
      const double tol = tolerance(p) + 2e-6 * (1 + p.scale);
      const bool depth = kb == ShapeKind::kPlane && convex_kind(ka);
      ++notes[!fcl.known ? "FCL gives no answer"
              : (fcl.separation > 0) != (c.separation > 0) && std::abs(c.separation) > tol
                  ? "FCL differs on overlap"
              : c.separation <= 0 && !depth                    ? "FCL agrees on overlap"
              : std::abs(fcl.separation - c.separation) <= tol ? "agrees with FCL"
                                                               : "FCL's distance is off"];
    }
#endif
    if (fault.empty()) continue;
    ADD_FAILURE() << fmt::format("pair {} {}-{} scale {:g} small {:g}: separation {:.9g}: ", i, to_string(ka),
                                 to_string(kb), p.scale, p.small, c.separation)
                  << fault;
    ++failures;
  }
  std::string line = fmt::format("{}-{}:", to_string(ka), to_string(kb));
  for (const auto& [note, count] : notes) {
    RecordProperty(note, count);
    line += fmt::format(" {} {};", count, note);
  }
  if (std::getenv("KARAKURI_FUZZ_PAIRS")) fmt::print("{}\n", line);
}

std::vector<std::pair<ShapeKind, ShapeKind>> all_pairs() {
  std::vector<std::pair<ShapeKind, ShapeKind>> all;
  for (const ShapeKind b :
       {ShapeKind::kPlane, ShapeKind::kHeightfield, ShapeKind::kMesh, ShapeKind::kCompound}) {
    for (const ShapeKind a : kConvexKinds) all.push_back({a, b});
  }
  all.push_back({ShapeKind::kMesh, ShapeKind::kPlane});
  all.push_back({ShapeKind::kMesh, ShapeKind::kHeightfield});
  all.push_back({ShapeKind::kMesh, ShapeKind::kMesh});
  all.push_back({ShapeKind::kMesh, ShapeKind::kCompound});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Fuzz, SurfacePairs, ::testing::ValuesIn(all_pairs()), [](const auto& info) {
  return std::string(to_string(info.param.first)) + "_" + to_string(info.param.second);
});

}  // namespace
}  // namespace karakuri
