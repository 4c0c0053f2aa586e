// Distances and depths of convex pairs. Every answer must carry its own proof, and is compared with FCL.
//
// Apart by s: the witness points lie in the shapes (so the distance is at most s) and the planes through them
// across the normal separate the shapes (so it is at least s). Overlapping by s: moving by s along the normal
// parts them (at most s), and no direction tried does with less: around the normal, at random, by a search of
// its own (depth_search.h), all axes of polyhedra, and FCL's.
#include <gtest/gtest.h>

#include <map>

#include <fmt/format.h>

#include "collision/depth_search.h"
#include "collision/fuzz.h"
#include "collision/hull_sat.h"
#include "karakuri/collision/narrowphase.h"

#ifdef KARAKURI_HAVE_FCL
#include "collision/fcl_oracle.h"
#endif

namespace karakuri {
namespace {

using namespace testing;

bool curved(ShapeKind k) {
  return k == ShapeKind::kCylinder || k == ShapeKind::kCone || k == ShapeKind::kEllipsoid;
}

struct Tolerance {
  double separation;  // between the separation, its proof from below and that from above [m]
  double point;       // of the witness points outside the shapes [m]
  double askew;       // of b - a from separation * normal [m]
};

// Coordinates carry 1e-16 of the scale; some thousand operations leave 1e-11 at worst. A nearest point of a
// curved shape is where a squared distance is least, and so known to the root of the rounding, 1.5e-8 rad,
// seen over a lever of up to twice the scale: 4e-8. EPA stops at 1e-9 of the depth, which leaves the normal
// of an ellipsoid right to the root of that, 3e-5 rad, and its points right to as much of its size; where the
// polytope is full, the search that follows is good to 1e-6 of the depth. Two faces tilted by less than 1e-6
// have points across from each other up to that tilt times their size.
Tolerance tolerance(const RandomPair& p, double s) {
  const bool round = curved(p.a.kind()) || curved(p.b.kind());
  const double least = (round ? 4e-8 : 1e-11) * p.scale;
  if (s > 0) return {least, least, least};
  const double point = least + (round ? 2e-4 : 0) * p.small + 1e-6 * p.scale;
  return {least + (round ? 1e-6 : 1e-9) * -s, point, point + (round ? 1e-4 : 0) * p.scale};
}

std::string describe(const RandomPair& p, const ClosestPoints& c, int index) {
  return fmt::format("pair {} {}-{} scale {:g} small {:g}: separation {:.9g} normal ({:g},{:g},{:g})", index,
                     to_string(p.a.kind()), to_string(p.b.kind()), p.scale, p.small, c.separation,
                     c.normal.x(), c.normal.y(), c.normal.z());
}

// Empty when the answer is proved right.
std::string refute(const RandomPair& p, const ClosestPoints& c, Random& r, const std::vector<Vec3>& more) {
  if (!std::isfinite(c.separation) || !c.normal.allFinite() || !c.on_a.allFinite() || !c.on_b.allFinite())
    return "not finite";
  if (std::abs(c.normal.norm() - 1) > 1e-9) return "normal not unit";
  const Tolerance tol = tolerance(p, c.separation);
  const double along = -reach_along(p, c.normal);
  if (std::abs(along - c.separation) > tol.separation)
    return fmt::format("the normal separates by {:.9g}", along);
  const double out_a = outside_by(p.a, p.X_WA.inverse_apply(c.on_a));
  const double out_b = outside_by(p.b, p.X_WB.inverse_apply(c.on_b));
  if (out_a > tol.point || out_b > tol.point)
    return fmt::format("witness outside by {:g}, {:g}", out_a, out_b);
  const Vec3 between = c.on_b - c.on_a;
  if (c.separation > 0) {
    return between.norm() > c.separation + tol.separation ? "witnesses are not nearest" : "";
  }
  const double askew = (between - c.separation * c.normal).norm();
  if (askew > tol.askew) return fmt::format("witnesses are askew by {:g}", askew);
  const auto better = [&](double reach) { return reach < -c.separation - tol.separation; };
  for (int k = 0; k < 24; ++k) {
    const Vec3 d =
        k < 12 ? random_unit(r) : (c.normal + std::pow(10, -1 - k % 4) * random_unit(r)).normalized();
    if (better(reach_along(p, d))) return fmt::format("direction {} needs only {:.9g}", k, reach_along(p, d));
  }
  if (kSanitized) return "";
  const double found = least_reach(p, c.normal, r);
  if (better(found)) return fmt::format("a search needs only {:.9g}", found);
  for (const Vec3& d : more) {
    if (better(reach_along(p, d))) return fmt::format("an axis needs only {:.9g}", reach_along(p, d));
  }
  return "";
}

// All axes of two polyhedra.
std::vector<Vec3> separating_axes(const RandomPair& p) {
  std::vector<Vec3> axes, edges[2];
  const auto add = [&](const Shape& s, const Mat3& R, std::vector<Vec3>& e) {
    if (s.kind() == ShapeKind::kBox) {
      for (int k = 0; k < 3; ++k) axes.push_back(R.col(k)), axes.push_back(-R.col(k)), e.push_back(R.col(k));
    } else {
      const ConvexHull& h = s.as_hull();
      for (const HullFace& f : h.faces) axes.push_back(R * f.normal), axes.push_back(-(R * f.normal));
      for (int i = 0; i < static_cast<int>(h.origin.size()); ++i) {
        if (i < h.twin[i])
          e.push_back(R * (h.vertex(h.origin[h.twin[i]]) - h.vertex(h.origin[i])).normalized());
      }
    }
  };
  add(p.a, p.X_WA.R, edges[0]), add(p.b, p.X_WB.R, edges[1]);
  for (const Vec3& u : edges[0]) {
    for (const Vec3& v : edges[1]) {
      const Vec3 n = u.cross(v);
      if (n.norm() < 1e-9) continue;
      axes.push_back(n.normalized()), axes.push_back(-n.normalized());
    }
  }
  return axes;
}

class ConvexPairs : public ::testing::TestWithParam<std::pair<int, int>> {};

TEST_P(ConvexPairs, DistanceAndDepthAreProved) {
  const ShapeKind ka = kConvexKinds[GetParam().first], kb = kConvexKinds[GetParam().second];
  Random r(1000 + 31 * GetParam().first + GetParam().second), directions(7);
  CollisionWorkspace ws;
  const int n = fuzz_pairs(1500);
  std::vector<Manifold> manifolds;
  std::map<std::string, int> notes;
  int failures = 0;
  const auto polyhedral = [](ShapeKind k) { return k == ShapeKind::kBox || k == ShapeKind::kHull; };
  for (int i = 0; i < n && failures < 5; ++i) {
    const RandomPair p = random_pair(r, ka, kb);
    ClosestPoints c;
    ASSERT_TRUE(closest_points(p.a, p.X_WA, p.b, p.X_WB, ws, c));
    std::vector<Vec3> more;
    // thousands of axes each: every 16th pair
    if (polyhedral(ka) && polyhedral(kb) && i % 16 == 0) more = separating_axes(p);
#ifdef KARAKURI_HAVE_FCL
    const FclAnswer fcl = kSanitized ? FclAnswer{} : fcl_distance(p.a, p.X_WA, p.b, p.X_WB);
    if (fcl.known && c.separation < 0) more.push_back(fcl.normal), more.push_back(-fcl.normal);
    const double tol = tolerance(p, c.separation).separation + 2e-6 * (1 + p.scale) +
                       1e-3 * std::abs(c.separation);  // FCL stops at 1e-6 m
    ++notes[!fcl.known ? "FCL gives no answer"
            : (fcl.separation > 0) != (c.separation > 0) && std::abs(c.separation) > tol
                ? "FCL disagrees on overlap"
            : std::abs(fcl.separation - c.separation) <= tol ? "agrees with FCL"
            : c.separation > 0                               ? "FCL's distance is off"
            : fcl.separation < c.separation                  ? "FCL's depth is larger"
                                                             : "FCL's depth is smaller"];
#endif
    const std::string fault = refute(p, c, directions, more) + manifold_fault(p, ws, manifolds);
    if (fault.empty()) continue;
    ADD_FAILURE() << describe(p, c, i) << ": " << fault;
    ++failures;
  }
  for (const auto& [note, count] : notes) RecordProperty(note, count);
  if (std::getenv("KARAKURI_FUZZ_PAIRS")) {
    std::string line = fmt::format("{}-{}:", to_string(ka), to_string(kb));
    for (const auto& [note, count] : notes) line += fmt::format(" {} {};", count, note);
    fmt::print("{}\n", line);
  }
}

// The axis that GJK and EPA find is the one that a search over all faces and pairs of edges finds.
TEST(Distance, HullDepthsAreThoseOfSeparatingAxes) {
  Random r(77);
  CollisionWorkspace ws;
  int overlapping = 0;
  for (int i = 0; i < 4000; ++i) {
    const RandomPair p = random_pair(r, ShapeKind::kHull, ShapeKind::kHull);
    ClosestPoints c;
    ASSERT_TRUE(closest_points(p.a, p.X_WA, p.b, p.X_WB, ws, c));
    const double axes = hull_sat(p);
    if (c.separation >= 0) {
      EXPECT_LE(axes, c.separation + 1e-11 * p.scale)
          << i;  // corners may be further apart than any axis says
      continue;
    }
    ++overlapping;
    EXPECT_NEAR(axes, c.separation, 1e-11 * p.scale + 1e-9 * -c.separation) << i;
  }
  EXPECT_GT(overlapping, 1000);
}

// Pairs of the generator above that once were answered wrongly: witness points from slivers of GJK and EPA,
// and ways out through a cylinder's end, a cone's side or an ellipsoid that a full polytope had not found.
TEST(Distance, PairsThatOnceFailed) {
  struct Case {
    int a, b, index;
  };
  CollisionWorkspace ws;
  Random directions(7);
  for (const Case& k : {Case{2, 3, 97321},
                        {2, 5, 140055},
                        {3, 2, 166301},
                        {3, 2, 177981},
                        {3, 2, 195805},
                        {4, 2, 16784},
                        {4, 2, 130144},
                        {2, 6, 196832},
                        {3, 1, 18175},
                        {3, 6, 125831},
                        {3, 6, 52581},
                        {2, 4, 18479},
                        {4, 1, 17766},
                        {0, 5, 147170},
                        {5, 0, 138885}}) {
    Random r(1000 + 31 * k.a + k.b);
    RandomPair p;
    for (int i = 0; i <= k.index; ++i) p = random_pair(r, kConvexKinds[k.a], kConvexKinds[k.b]);
    ClosestPoints c;
    ASSERT_TRUE(closest_points(p.a, p.X_WA, p.b, p.X_WB, ws, c));
    EXPECT_EQ(refute(p, c, directions, {}), "") << describe(p, c, k.index);
  }
}

std::vector<std::pair<int, int>> all_pairs() {
  std::vector<std::pair<int, int>> all;
  for (int i = 0; i < 7; ++i) {
    for (int j = 0; j < 7; ++j) all.push_back({i, j});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Fuzz, ConvexPairs, ::testing::ValuesIn(all_pairs()), [](const auto& info) {
  return std::string(to_string(kConvexKinds[info.param.first])) + "_" +
         to_string(kConvexKinds[info.param.second]);
});

}  // namespace
}  // namespace karakuri
