// Contact manifolds: what has gone wrong elsewhere must not go wrong here.
#include <gtest/gtest.h>

#include <algorithm>
#include <numbers>
#include <set>

#include "collision/random_shapes.h"
#include "collision/test_meshes.h"
#include "karakuri/collision/narrowphase.h"

namespace karakuri {
namespace {

using namespace testing;

struct Bench {
  CollisionWorkspace ws;
  std::vector<Manifold> out;
  std::vector<Manifold>& operator()(const Shape& a, const Transform& X_WA, const Shape& b,
                                    const Transform& X_WB, double margin = 0.01) {
    out.clear();
    collide(a, X_WA, b, X_WB, {margin}, ws, out);
    return out;
  }
};

Transform at(const Vec3& p, const Vec3& phi = Vec3::Zero()) { return {rotation_exp(phi), p}; }

// Sorted points, for comparing sets.
std::vector<Vec3> positions(const std::vector<Manifold>& ms) {
  std::vector<Vec3> all;
  for (const Manifold& m : ms) {
    for (int i = 0; i < m.count; ++i) all.push_back(m.points[i].position);
  }
  std::sort(all.begin(), all.end(), [](const Vec3& a, const Vec3& b) {
    for (int k = 0; k < 3; ++k) {
      if (std::abs(a[k] - b[k]) > 1e-7) return a[k] < b[k];
    }
    return false;
  });
  return all;
}

std::set<std::uint64_t> ids(const std::vector<Manifold>& ms) {
  std::set<std::uint64_t> all;
  for (const Manifold& m : ms) {
    for (int i = 0; i < m.count; ++i) all.insert(m.points[i].id() * 31 + m.part_a * 7 + m.part_b);
  }
  return all;
}

// Area of the points: of a quadrilateral half the cross product of its diagonals, in whatever order they
// come.
double spanned_area(const Manifold& m) {
  const auto p = [&](int i) { return m.points[i].position; };
  if (m.count < 3) return 0;
  if (m.count == 3) return 0.5 * (p(1) - p(0)).cross(p(2) - p(0)).norm();
  return 0.5 * std::max({(p(1) - p(0)).cross(p(3) - p(2)).norm(), (p(2) - p(0)).cross(p(3) - p(1)).norm(),
                         (p(3) - p(0)).cross(p(2) - p(1)).norm()});
}

// The same cube as five different shapes.
std::vector<std::pair<const char*, Shape>> cubes(const Vec3& h) {
  return {{"box", Shape::box(h)},
          {"hull", box_hull(h)},
          {"mesh", Shape::mesh(box_mesh(h))},
          {"split mesh", Shape::mesh(split_box_mesh(h))},
          {"compound", make_compound({{Shape::box(h), {}}}).value()}};
}

TEST(Manifold, FlushFacesGiveTheFullPatch) {
  Bench collide_pair;
  for (const auto& [name_a, a] : cubes({0.5, 0.5, 0.5})) {
    for (const auto& [name_b, b] : cubes({0.5, 0.5, 0.5})) {
      SCOPED_TRACE(std::string(name_a) + " under " + name_b);
      for (const double gap : {0.0, 0.004, -0.001}) {
        const auto& m = collide_pair(a, at({0, 0, 0}), b, at({0.2, 0.1, 1 + gap}));
        ASSERT_EQ(m.size(), 1u);
        ASSERT_EQ(m[0].count, 4);
        EXPECT_NEAR(m[0].normal.z(), 1, 1e-12);
        for (int i = 0; i < 4; ++i) EXPECT_NEAR(m[0].points[i].separation, gap, 1e-12);
        EXPECT_NEAR(spanned_area(m[0]), 0.8 * 0.9, 1e-9);  // the overlap of the two faces
      }
    }
  }
}

TEST(Manifold, TinyTiltKeepsFourPoints) {
  Bench collide_pair;
  for (const auto& [name_a, a] : cubes({0.5, 0.5, 0.5})) {
    for (const auto& [name_b, b] : cubes({0.5, 0.5, 0.5})) {
      SCOPED_TRACE(std::string(name_a) + " under " + name_b);
      for (const Vec3& phi :
           {Vec3(1e-6, 0, 0), Vec3(0, -1e-6, 0), Vec3(1e-6, 1e-6, 0.3), Vec3(1e-9, 2e-7, 0.7)}) {
        const auto& m = collide_pair(a, at({0, 0, 0}), b, at({0.05, 0.02, 0.9999}, phi));
        ASSERT_EQ(m.size(), 1u) << phi.transpose();
        EXPECT_EQ(m[0].count, 4) << phi.transpose();
        EXPECT_GT(m[0].normal.z(), 1 - 1e-11);
        EXPECT_GT(spanned_area(m[0]),
                  0.55);  // the largest quadrilateral in a regular octagon of width 1 has 0.586
      }
    }
  }
}

TEST(Manifold, EdgeOnEdgeGivesOnePoint) {
  Bench collide_pair;
  const double s = std::numbers::pi / 4, r = std::sqrt(0.5);
  for (const auto& [name_a, a] : cubes({0.5, 0.5, 0.5})) {
    for (const auto& [name_b, b] : cubes({0.5, 0.5, 0.5})) {
      SCOPED_TRACE(std::string(name_a) + " under " + name_b);
      for (const double gap : {0.002, -0.002}) {
        const auto& m = collide_pair(a, at({0, 0, 0}, {s, 0, 0}), b, at({0.1, 0.05, 2 * r + gap}, {0, s, 0}));
        ASSERT_EQ(m.size(), 1u);
        ASSERT_EQ(m[0].count, 1);
        EXPECT_NEAR(m[0].normal.z(), 1, 1e-9);
        EXPECT_NEAR(m[0].points[0].separation, gap, 1e-9);
        EXPECT_LT((m[0].points[0].position - Vec3(0.1, 0, r + gap / 2)).norm(), 0.051);
      }
    }
  }
}

TEST(Manifold, ParallelEdgesGiveALine) {
  Bench collide_pair;
  const double s = std::numbers::pi / 4, r = std::sqrt(0.5);
  const auto& m = collide_pair(Shape::box({0.5, 0.5, 0.5}), at({0, 0, 0}, {s, 0, 0}),
                               Shape::box({0.5, 0.5, 0.5}), at({0.2, 0, 2 * r + 0.001}, {s, 0, 0}));
  ASSERT_EQ(m.size(), 1u);
  EXPECT_EQ(m[0].count, 2);
}

TEST(Manifold, RoundShapesGiveLinesAndPatches) {
  Bench collide_pair;
  const Transform floor = at({0, 0, 0});
  const Vec3 lie(std::numbers::pi / 2, 0, 0);
  const std::vector<std::pair<Shape, const char*>> floors = {{Shape::plane(), "plane"},
                                                             {Shape::box({5, 5, 1}), "box"},
                                                             {box_hull({5, 5, 1}), "hull"},
                                                             {Shape::mesh(slab_mesh(6, 10, 1)), "mesh"}};
  for (const auto& [ground, name] : floors) {
    SCOPED_TRACE(name);
    const double top = ground.kind() == ShapeKind::kBox || ground.kind() == ShapeKind::kHull ? 1 : 0;
    const auto count = [&](const Shape& s, double height, const Vec3& phi) {
      const auto& m = collide_pair(ground, floor, s, at({0.3, 0.2, top + height - 1e-4}, phi));
      if (m.size() != 1) return -static_cast<int>(m.size());
      EXPECT_NEAR(m[0].normal.z(), 1, 1e-9);
      for (int i = 0; i < m[0].count; ++i) EXPECT_NEAR(m[0].points[i].separation, -1e-4, 1e-6);
      return m[0].count;
    };
    EXPECT_EQ(count(Shape::sphere(0.5), 0.5, Vec3::Zero()), 1);
    EXPECT_EQ(count(Shape::ellipsoid({0.5, 0.4, 0.3}), 0.3, Vec3::Zero()), 1);
    EXPECT_EQ(count(Shape::capsule(0.2, 0.5), 0.2, lie), 2);
    EXPECT_EQ(count(Shape::capsule(0.2, 0.5), 0.7, Vec3::Zero()), 1);
    EXPECT_EQ(count(Shape::cylinder(0.2, 0.5), 0.2, lie), 2);
    EXPECT_EQ(count(Shape::cylinder(0.2, 0.5), 0.5, Vec3::Zero()), 4);
    EXPECT_EQ(count(Shape::cone(0.2, 0.5), 0.5, Vec3::Zero()), 4);
    EXPECT_EQ(count(Shape::box({0.2, 0.3, 0.5}), 0.5, Vec3::Zero()), 4);
    EXPECT_EQ(count(box_hull({0.2, 0.3, 0.5}), 0.5, Vec3::Zero()), 4);
  }
}

TEST(Manifold, MeshCubeIsLikeABox) {
  // The contacts of a mesh cube are those of the box, at poses where the box has a face contact or a vertex
  // on a face.
  Random r(3);
  Bench first, second;
  const Vec3 h(0.5, 0.5, 0.5);
  const Shape box = Shape::box(h), meshes[2] = {Shape::mesh(box_mesh(h)), Shape::mesh(split_box_mesh(h))},
              other = Shape::box({0.3, 0.4, 0.2});
  for (int k = 0; k < 1000; ++k) {
    const Shape& mesh = meshes[k % 2];
    const Vec3 p(r.uniform(-0.6, 0.6), r.uniform(-0.6, 0.6), 0.7 + r.uniform(-0.003, 0.003));
    const Transform X = at(p, {0, 0, r.uniform(0, 6)});
    const auto a = positions(first(box, at(Vec3::Zero()), other, X));
    const auto b = positions(second(mesh, at(Vec3::Zero()), other, X));
    ASSERT_EQ(first.out.size(), 1u);
    ASSERT_EQ(second.out.size(), 1u) << k << " p " << p.transpose() << " R\n" << X.R;
    EXPECT_LT((first.out[0].normal - second.out[0].normal).norm(), 1e-9);
    // both patches are reduced to four points, which may differ among equals; their extent may not
    EXPECT_NEAR(spanned_area(first.out[0]), spanned_area(second.out[0]),
                0.2 * spanned_area(first.out[0]) + 1e-9)
        << k;
    if (first.out[0].count < 4) {
      ASSERT_EQ(a.size(), b.size()) << k;
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_LT((a[i] - b[i]).norm(), 1e-7) << k;
    }
  }
}

TEST(Manifold, NothingSnagsOnSeams) {
  // A floor cut into triangles pushes straight up, wherever a body slides over it.
  Random r(4);
  Bench collide_pair;
  const Shape floor = Shape::mesh(slab_mesh(10, 10, 0.5));
  const Shape field =
      Shape::heightfield(make_heightfield(11, 11, 10, 10, std::vector<double>(121, 0.0)).value());
  const std::vector<Shape> bodies = {
      Shape::box({0.3, 0.2, 0.1}),      Shape::sphere(0.3),    Shape::capsule(0.1, 0.3),
      Shape::cylinder(0.2, 0.1),        Shape::cone(0.2, 0.2), box_hull({0.2, 0.2, 0.1}),
      Shape::ellipsoid({0.3, 0.2, 0.1})};
  for (const Shape& ground : {floor, field, Shape::mesh(sheet_mesh(10, 10))}) {
    for (const Shape& body : bodies) {
      SCOPED_TRACE(std::string(to_string(body.kind())) + " on " + to_string(ground.kind()));
      int contacts = 0;
      for (int k = 0; k < 1000; ++k) {
        // sliding slowly along a line that crosses seams of all directions, a little sunk in, sometimes
        // tilted
        Transform X = at({-3 + 0.006 * k, -2 + 0.0037 * k, 0}, {0, 0, 0.002 * k});
        if (k % 3 == 1) X.R = X.R * rotation_exp(0.02 * random_unit(r));
        const double low = support_value(body, X.R.transpose() * -Vec3::UnitZ());
        X.p.z() = low - r.uniform(0, 0.004);
        for (const Manifold& m : collide_pair(ground, at(Vec3::Zero()), body, X)) {
          contacts += m.count;
          ASSERT_GT(m.normal.z(), 1 - 1e-9) << "step " << k << " normal " << m.normal.transpose();
          for (int i = 0; i < m.count; ++i) {
            ASSERT_GT(m.points[i].separation, -0.0041) << "step " << k;
          }
        }
        ASSERT_FALSE(collide_pair.out.empty()) << "step " << k;
      }
      EXPECT_GE(contacts, 1000);
    }
  }
}

TEST(Manifold, CapsulesAreFoundFromTheMarginOn) {
  // short ways out for pairs that are apart must agree with the distance, which does not take them
  Random r(11);
  Bench collide_pair;
  int apart = 0;
  for (int k = 0; k < 3000; ++k) {
    const auto some = [&] {
      const double radius = r.uniform(0.02, 0.3);
      return k % 3 == 0 ? Shape::sphere(radius) : Shape::capsule(radius, r.uniform(0.05, 0.8));
    };
    const Shape a = some(), b = some();
    const Transform X_WA = {random_rotation(r), random_unit(r)};
    const Transform X_WB = {k % 5 == 0 ? X_WA.R : random_rotation(r), r.uniform(0.2, 1.5) * random_unit(r)};
    ClosestPoints nearest;
    ASSERT_TRUE(closest_points(a, X_WA, b, X_WB, collide_pair.ws, nearest));
    if (nearest.separation < 1e-6) continue;
    ++apart;
    EXPECT_TRUE(collide_pair(a, X_WA, b, X_WB, nearest.separation * (1 - 1e-6)).empty()) << k;
    EXPECT_FALSE(collide_pair(a, X_WA, b, X_WB, nearest.separation * (1 + 1e-6)).empty()) << k;
  }
  EXPECT_GT(apart, 500);
}

TEST(Manifold, CapsulesTouchWhereTheyAreNearest) {
  // contacts of capsules go their own way; the distance, which is proved by other tests, does not
  Random r(13);
  Bench collide_pair;
  int points = 0, lines = 0, overlapping = 0;
  for (int k = 0; k < 5000; ++k) {
    const double radius_a = r.uniform(0.02, 0.3), radius_b = r.uniform(0.02, 0.3),
                 half = r.uniform(0.05, 0.8);
    const Shape a = k % 4 == 0 ? Shape::sphere(radius_a) : Shape::capsule(radius_a, half);
    const Shape b = k % 7 == 0 ? Shape::sphere(radius_b) : Shape::capsule(radius_b, r.uniform(0.05, 0.8));
    const Transform X_WA = {random_rotation(r), random_unit(r)};
    const Mat3 tilted = X_WA.R * rotation_exp(r.uniform(0, 0.1) * random_unit(r));
    const Transform X_WB = {k % 5 == 0 ? tilted : random_rotation(r),
                            X_WA.p + r.uniform(0.0, 1.2) * random_unit(r)};
    ClosestPoints nearest;
    ASSERT_TRUE(closest_points(a, X_WA, b, X_WB, collide_pair.ws, nearest));
    const double axes_apart = nearest.separation + radius_a + radius_b;
    if (axes_apart < 1e-3) continue;  // whose direction is rounding
    const auto& found = collide_pair(a, X_WA, b, X_WB, std::max(0.0, nearest.separation) + 0.01);
    ASSERT_EQ(found.size(), 1u) << k;
    const Manifold& m = found[0];
    double least = m.points[0].separation;
    for (int i = 1; i < m.count; ++i) least = std::min(least, m.points[i].separation);
    EXPECT_NEAR(m.normal.dot(nearest.normal), 1, 1e-12) << k;
    const bool line = X_WA.R.col(2).cross(X_WB.R.col(2)).norm() < 0.06;  // or one end of it
    EXPECT_NEAR(least, nearest.separation, !line ? 1e-12 : 0.011 * std::abs(nearest.separation) + 1e-6) << k;
    overlapping += nearest.separation < 0;
    lines += m.count == 2;
    if (line) continue;
    ASSERT_EQ(m.count, 1) << k;
    ++points;
    const Vec3 middle = 0.5 * (nearest.on_a + nearest.on_b);
    EXPECT_LT((m.points[0].position - middle).norm(), 1e-9) << k;
    const bool round = a.kind() == ShapeKind::kSphere || b.kind() == ShapeKind::kSphere;
    const auto expect_name = [&](std::uint32_t found, const Shape& s, const Transform& X, const Vec3& on,
                                 double sign) {
      const double z = (X.inverse() * (on - sign * s.size().x() * m.normal)).z();
      const double from_end = std::abs(std::abs(z) - s.size().z()) / std::min(radius_a, radius_b);
      if (round) {
        EXPECT_EQ(found, feature::kRound) << k;
      } else if (from_end > 1e-5) {
        EXPECT_EQ(found, feature::kEdge | 0) << k;
      } else if (from_end < 1e-7) {  // else rounding decides: an end is told from the edge at 1e-6
        EXPECT_EQ(found, feature::kVertex | (z > 0 ? 1u : 0u)) << k;
      }
    };
    expect_name(m.points[0].feature_a, a, X_WA, nearest.on_a, 1);
    expect_name(m.points[0].feature_b, b, X_WB, nearest.on_b, -1);
  }
  EXPECT_GT(points, 3000);
  EXPECT_GT(lines, 50);
  EXPECT_GT(overlapping, 500);
}

TEST(Manifold, CapsulesOnPlanesTouchWithTheirEnds) {
  Random r(12);
  Bench collide_pair;
  const double margin = 0.05;
  int points = 0;
  for (int k = 0; k < 1000; ++k) {
    const double radius = r.uniform(0.02, 0.3), half = k % 3 == 0 ? 0 : r.uniform(0.05, 0.8);
    const Shape body = half > 0 ? Shape::capsule(radius, half) : Shape::sphere(radius);
    const Transform X_WP = {random_rotation(r), random_unit(r)};
    const Vec3 n = X_WP.R.col(2);
    const Transform X = {random_rotation(r), X_WP.p + random_unit(r) + r.uniform(0, 1) * n};
    std::set<double> expected;
    for (const double end : {-half, half}) {
      const double s = n.dot(X * Vec3(0, 0, end) - X_WP.p) - radius;
      if (s <= margin) expected.insert(s);  // a sphere's two are one
    }
    for (const bool plane_first : {false, true}) {
      const auto& found = plane_first ? collide_pair(Shape::plane(), X_WP, body, X, margin)
                                      : collide_pair(body, X, Shape::plane(), X_WP, margin);
      ASSERT_EQ(found.empty(), expected.empty()) << k;
      if (found.empty()) continue;
      const Manifold& m = found[0];
      ASSERT_EQ(static_cast<std::size_t>(m.count), expected.size());
      EXPECT_LT((m.normal - (plane_first ? n : Vec3(-n))).norm(), 1e-14);
      std::set<double> separations;
      for (int i = 0; i < m.count; ++i) {
        separations.insert(m.points[i].separation);
        // half way between the surfaces
        EXPECT_NEAR(n.dot(m.points[i].position - X_WP.p), 0.5 * m.points[i].separation, 1e-14);
      }
      for (auto e = expected.begin(), s = separations.begin(); e != expected.end(); ++e, ++s)
        EXPECT_NEAR(*s, *e, 1e-14);  // sums of a few numbers of size 1
      points += m.count;
    }
  }
  EXPECT_GT(points, 500);
}

TEST(Manifold, MeshSlidesOverMeshSeams) {
  Bench collide_pair;
  const Shape floor = Shape::mesh(slab_mesh(10, 10, 0.5)),
              body = Shape::mesh(split_box_mesh({0.3, 0.2, 0.1}));
  for (int k = 0; k < 300; ++k) {
    const Transform X = at({-3 + 0.02 * k, -2 + 0.0137 * k, 0.0985}, {0, 0, 0.01 * k});
    const auto& m = collide_pair(floor, at(Vec3::Zero()), body, X);
    ASSERT_EQ(m.size(), 1u) << k;
    EXPECT_GT(m[0].normal.z(), 1 - 1e-9) << k;
    EXPECT_EQ(m[0].count, 4) << k;
    for (int i = 0; i < m[0].count; ++i) EXPECT_NEAR(m[0].points[i].separation, -0.0015, 1e-9) << k;
  }
}

TEST(Manifold, DeepOverlapAndInsideHaveAWayOut) {
  Bench collide_pair;
  for (const auto& [name_a, a] : cubes({1, 1, 1})) {
    for (const auto& [name_b, b] : cubes({0.2, 0.2, 0.2})) {
      SCOPED_TRACE(std::string(name_a) + " around " + name_b);
      // off the centre towards +x: the least way out is there, by 1.2 - 0.5
      const auto& m = collide_pair(a, at(Vec3::Zero()), b, at({0.5, 0.1, -0.05}));
      ASSERT_FALSE(m.empty());
      double deepest = 0;
      // Triangles of a concave mesh each know their own way out of a solid that swallows them; one must be
      // the least.
      const bool by_triangles = b.kind() == ShapeKind::kMesh && !b.as_mesh().hull;
      if (by_triangles) {
        EXPECT_TRUE(
            std::any_of(m.begin(), m.end(), [](const Manifold& k) { return k.normal.x() > 1 - 1e-9; }));
      }
      for (const Manifold& k : m) {
        EXPECT_NEAR(k.normal.norm(), 1, 1e-12);
        for (int i = 0; i < k.count; ++i) {
          EXPECT_TRUE(k.points[i].position.allFinite());
          deepest = std::min(deepest, k.points[i].separation);
        }
        if (!by_triangles) EXPECT_NEAR(k.normal.x(), 1, 1e-9);
      }
      EXPECT_LT(deepest, -0.29);
    }
  }
}

TEST(Manifold, DuplicateVerticesChangeNothing) {
  auto v = box_corners({0.5, 0.5, 0.5});
  auto f = box_triangles();
  std::vector<Vec3> soup;  // every triangle its own vertices, as STL files come
  std::vector<Triangle> loose;
  for (const Triangle& t : f) {
    const int n = static_cast<int>(soup.size());
    for (int k : t) soup.push_back(v[k]);
    loose.push_back({n, n + 1, n + 2});
  }
  const Shape mesh = Shape::mesh(make_mesh(soup, loose).value()),
              hull = Shape::hull(make_convex_hull(soup).value());
  EXPECT_EQ(hull.as_hull().vertex_count, 8);
  EXPECT_EQ(hull.as_hull().faces.size(), 6u);
  Bench first, second;
  const Transform X = at({0.1, 0.2, 0.699});
  const Shape body = Shape::box({0.2, 0.2, 0.2});
  for (const Shape& s : {mesh, hull}) {
    const auto a = positions(first(Shape::box({0.5, 0.5, 0.5}), {}, body, X)),
               b = positions(second(s, {}, body, X));
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_LT((a[i] - b[i]).norm(), 1e-9);
  }
}

TEST(Manifold, NamesDoNotFlicker) {
  // Bodies that rest, trembling by 1e-6, or creep by 1e-5 a step, keep the names of their contacts.
  Random r(5);
  Bench collide_pair;
  struct Case {
    const char* name;
    Shape a, b;
    Transform X;
    Vec3 creep;
    int changes;  // allowed over the whole way
  };
  const Vec3 h(0.5, 0.5, 0.5);
  const double s = std::numbers::pi / 4;
  const std::vector<Case> cases = {
      {"box on box, flush and equal", Shape::box(h), Shape::box(h), at({0, 0, 1}), {0, 0, 0}, 0},
      {"box on box, shifted half", Shape::box(h), Shape::box(h), at({0.5, 0, 1}), {0, 0, 0}, 0},
      {"box on box, turned", Shape::box(h), Shape::box(h), at({0.1, 0, 1}, {0, 0, 0.5}), {0, 0, 0}, 0},
      {"box on box, creeping", Shape::box(h), Shape::box(h), at({0.3, 0.2, 1}), {1e-5, 5e-6, 0}, 0},
      {"box on box, edge on edge",
       Shape::box(h),
       Shape::box(h),
       at({0.1, 0.1, 0.5 + std::sqrt(0.5)}, {s, 0, 0}),
       {0, 0, 0},
       0},
      {"hull on hull", box_hull(h), box_hull(h), at({0, 0, 1}), {0, 0, 0}, 0},
      {"hull on hull, turned", box_hull(h), box_hull(h), at({0.1, 0, 1}, {0, 0, 0.5}), {0, 0, 0}, 0},
      {"box on hull, creeping", Shape::box(h), box_hull(h), at({0.3, 0.2, 1}), {1e-5, 5e-6, 0}, 0},
      {"box on plane", Shape::plane(), Shape::box(h), at({0, 0, 0.5}), {1e-5, 0, 0}, 0},
      {"cylinder on box", Shape::box(h), Shape::cylinder(0.3, 0.4), at({0, 0, 0.9}), {1e-5, 0, 0}, 0},
      {"cylinder lying on box",
       Shape::box(h),
       Shape::cylinder(0.3, 0.4),
       at({0, 0, 0.8}, {2 * s, 0, 0}),
       {1e-5, 0, 0},
       0},
      {"capsule lying on box",
       Shape::box(h),
       Shape::capsule(0.2, 0.3),
       at({0, 0, 0.7}, {2 * s, 0, 0}),
       {1e-5, 0, 0},
       0},
      {"box on mesh cube",
       Shape::mesh(box_mesh(h)),
       Shape::box({0.2, 0.2, 0.2}),
       at({0.2, -0.1, 0.7}),
       {0, 0, 0},
       0},
      {"box on split mesh",
       Shape::mesh(split_box_mesh(h)),
       Shape::box({0.2, 0.2, 0.2}),
       at({0.2, -0.1, 0.7}),
       {0, 0, 0},
       0},
      {"mesh on mesh",
       Shape::mesh(split_box_mesh(h)),
       Shape::mesh(split_box_mesh({0.2, 0.2, 0.2})),
       at({0.2, -0.1, 0.7}),
       {0, 0, 0},
       0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    std::set<std::uint64_t> before;
    int changes = 0, contacts = 0;
    for (int k = 0; k < 1000; ++k) {
      Transform X = c.X;
      X.p += k * c.creep + 1e-6 * random_unit(r);
      X.p.z() -= 1e-4;
      X.R = rotation_exp(1e-6 * random_unit(r)) * X.R;
      const auto now = ids(collide_pair(c.a, at(Vec3::Zero()), c.b, X));
      contacts += static_cast<int>(now.size());
      if (k > 0 && now != before) ++changes;
      before = now;
    }
    EXPECT_LE(changes, c.changes);
    EXPECT_GE(contacts, 1000);
  }
}

TEST(Manifold, SwappedPairIsTheMirrorImage) {
  Random r(6);
  Bench first, second;
  for (int k = 0; k < 3000; ++k) {
    const RandomPair p = random_pair(r, kConvexKinds[r.below(7)], kConvexKinds[r.below(7)]);
    if (p.scale > 20 * p.small) continue;
    const auto& m = first(p.a, p.X_WA, p.b, p.X_WB, 0.01 * p.small);
    const auto& n = second(p.b, p.X_WB, p.a, p.X_WA, 0.01 * p.small);
    if (p.a.kind() == p.b.kind()) continue;  // the order of equals is the caller's
    ASSERT_EQ(m.size(), n.size());
    for (std::size_t i = 0; i < m.size(); ++i) {
      EXPECT_EQ(m[i].count, n[i].count);
      EXPECT_LT((m[i].normal + n[i].normal).norm(), 1e-12);
    }
  }
}

TEST(Manifold, PointsLieBetweenTheSurfaces) {
  // Every contact point is on both shapes up to its separation, and the deepest is as deep as the distance
  // says.
  Random r(8);
  Bench collide_pair;
  CollisionWorkspace ws;
  int seen = 0;
  for (int k = 0; k < 20000; ++k) {
    const RandomPair p = random_pair(r, kConvexKinds[r.below(7)], kConvexKinds[r.below(7)]);
    const double margin = 0.01 * p.small;
    const auto& ms = collide_pair(p.a, p.X_WA, p.b, p.X_WB, margin);
    ClosestPoints c;
    ASSERT_TRUE(closest_points(p.a, p.X_WA, p.b, p.X_WB, ws, c));
    // rounding of tiny on huge decides at the edge of the margin
    if (std::abs(c.separation - margin) < 1e-6 * p.small + 1e-9 * p.scale) continue;
    ASSERT_EQ(ms.empty(), c.separation > margin)
        << k << " " << to_string(p.a.kind()) << "-" << to_string(p.b.kind()) << " " << c.separation;
    if (ms.empty() || c.separation < -0.02 * p.small)
      continue;  // deeper, curved shapes keep only rough points
    ++seen;
    double least = 1e300;
    for (int i = 0; i < ms[0].count; ++i) {
      least = std::min(least, ms[0].points[i].separation);
      ASSERT_LE(ms[0].points[i].separation, margin + 1e-12);
      // 2 %: a face may stand for an edge that is better by a thousandth of the size or a twentieth of the
      // depth
      const double slack = 0.02 * p.small + 0.06 * std::abs(c.separation) + 1e-8 * p.scale;
      EXPECT_LT(outside_by(p.a, p.X_WA.inverse_apply(ms[0].point_on_a(i))), slack)
          << k << " " << to_string(p.a.kind()) << "-" << to_string(p.b.kind());
      EXPECT_LT(outside_by(p.b, p.X_WB.inverse_apply(ms[0].point_on_b(i))), slack)
          << k << " " << to_string(p.a.kind()) << "-" << to_string(p.b.kind()) << ms[0].count << " sep "
          << c.separation << " small " << p.small;
    }
    EXPECT_NEAR(least, c.separation, 3e-3 * p.small + 0.06 * std::abs(c.separation) + 1e-8 * p.scale)
        << k << " " << to_string(p.a.kind()) << "-" << to_string(p.b.kind()) << " scale " << p.scale
        << " small " << p.small;
  }
  EXPECT_GT(seen, 1500);
}

TEST(Manifold, HintsChangeNothing) {
  Random r(9);
  CollisionWorkspace ws;
  std::vector<Manifold> with, without;
  for (int k = 0; k < 300; ++k) {
    RandomPair p = random_pair(r, kConvexKinds[r.below(7)], kConvexKinds[r.below(7)]);
    PairHint hint;
    for (int step = 0; step < 10; ++step) {
      p.X_WB.p += 0.02 * p.small * random_unit(r);
      with.clear(), without.clear();
      collide(p.a, p.X_WA, p.b, p.X_WB, {0.01 * p.small}, ws, with, &hint);
      collide(p.a, p.X_WA, p.b, p.X_WB, {0.01 * p.small}, ws, without);
      ASSERT_EQ(with.size(), without.size());
      for (std::size_t i = 0; i < with.size(); ++i) {
        ASSERT_EQ(with[i].count, without[i].count);
        for (int j = 0; j < with[i].count; ++j) {
          EXPECT_EQ(with[i].points[j].position, without[i].points[j].position);
          EXPECT_EQ(with[i].points[j].separation, without[i].points[j].separation);
        }
      }
    }
  }
}

}  // namespace
}  // namespace karakuri
