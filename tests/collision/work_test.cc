// What lies deep in each other: contacts are found within CollideOptions::max_work, whatever the shapes are
// made of.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "collision/random_shapes.h"
#include "collision/test_meshes.h"
#include "karakuri/collision/narrowphase.h"

namespace karakuri {
namespace {

using namespace testing;

/// Subdivided octahedron: 8 * 4^levels triangles, corners on the sphere; a groove where x > 0 keeps it from
/// being convex.
Mesh ball_mesh(int levels, double radius) {
  std::vector<Vec3> v = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
  std::vector<Triangle> f = {{0, 2, 4}, {2, 1, 4}, {1, 3, 4}, {3, 0, 4},
                             {2, 0, 5}, {1, 2, 5}, {3, 1, 5}, {0, 3, 5}};
  for (int level = 0; level < levels; ++level) {
    std::map<std::pair<int, int>, int> middles;
    const auto middle = [&](int a, int b) {
      const auto [at, is_new] = middles.try_emplace(std::minmax(a, b), static_cast<int>(v.size()));
      if (is_new) v.push_back((v[a] + v[b]).normalized());
      return at->second;
    };
    std::vector<Triangle> finer;
    for (const Triangle& t : f) {
      const int a = middle(t[0], t[1]), b = middle(t[1], t[2]), c = middle(t[2], t[0]);
      finer.insert(finer.end(), {{t[0], a, c}, {a, t[1], b}, {c, b, t[2]}, {a, b, c}});
    }
    f = std::move(finer);
  }
  for (Vec3& p : v) {
    const bool groove = p.x() > 0.9;
    p *= radius * (groove ? 0.98 : 1);
  }
  return make_mesh(v, f).value();
}

/// A terrain of waves of 5 cm, `n` cells of 2 cm in a row.
Shape waves(int n) {
  std::vector<double> heights;
  for (int i = 0; i < (n + 1) * (n + 1); ++i)
    heights.push_back(0.05 * std::sin(0.3 * (i % (n + 1))) * std::cos(0.2 * (i / (n + 1))));  // NOLINT
  return Shape::heightfield(make_heightfield(n + 1, n + 1, 0.02 * n, 0.02 * n, std::move(heights)).value());
}

double least_of(const std::vector<Manifold>& all) {
  double least = 1e300;
  for (const Manifold& m : all)
    for (int k = 0; k < m.count; ++k) least = std::min(least, m.points[k].separation);
  return least;
}

struct Found {
  std::vector<Manifold> manifolds;
  double work = 0;
  bool cut = false;
};

Found look(const Shape& a, const Transform& X_A, const Shape& b, const Transform& X_B, double max_work) {
  static CollisionWorkspace ws;
  Found out;
  collide(a, X_A, b, X_B, {.max_work = max_work}, ws, out.manifolds);
  out.work = ws.work();
  out.cut = ws.cut();
  return out;
}

constexpr double kMost = 2e6;
// Two attempts, of which the second has parts that may each go over their share by one thing looked at, and
// always looks at some things.
constexpr double kAllowed = 4 * kMost;

TEST(Work, ABoxSunkIntoFineTerrainIsLiftedAllTheSame) {
  const Shape field = waves(600), box = Shape::box(Vec3(5, 5, 1));
  Random r(1);
  for (int trial = 0; trial < 3; ++trial) {
    const Transform X{rotation_exp(0.02 * random_unit(r)), Vec3(r.uniform(-1, 1), r.uniform(-1, 1), 0.2)};
    const Found found = look(box, X, field, {}, kMost);
    EXPECT_TRUE(found.cut);
    EXPECT_LT(found.work, kAllowed);
    ASSERT_FALSE(found.manifolds.empty());
    // its bottom is 0.8 below the middle of the waves: no less deep than its lowest parts are, nor deeper
    // than by all triangles
    EXPECT_LT(least_of(found.manifolds), -0.75);
    const Found all = look(box, X, field, {}, std::numeric_limits<double>::infinity());
    EXPECT_GE(least_of(found.manifolds), least_of(all.manifolds) - 1e-9);
    EXPECT_LT(least_of(found.manifolds), 0.8 * least_of(all.manifolds));
    Vec3 mean = Vec3::Zero();
    for (const Manifold& m : found.manifolds) mean += m.normal * m.count;
    EXPECT_LT(mean.normalized().z(), -0.8) << "the box is pushed up";
  }
}

TEST(Work, MeshesDeepInEachOtherArePartedWithinIt) {
  const Shape ball = Shape::mesh(ball_mesh(6, 1));  // 32 768 triangles
  const Shape box = Shape::mesh(split_box_mesh(Vec3(1.5, 1.5, 0.5)));
  for (const Shape* other : {&ball, &box}) {
    const Vec3 apart(0, 0, other == &ball ? 1.6 : 1.2);
    const Found found = look(ball, {}, *other, Transform::translation(apart), kMost);
    EXPECT_TRUE(found.cut);
    EXPECT_LT(found.work, kAllowed);
    ASSERT_FALSE(found.manifolds.empty());
    double up = 0;
    for (const Manifold& m : found.manifolds) up += m.normal.z() * m.count;
    EXPECT_GT(up, 0) << "the other is pushed up";
    // 0.4 and 0.3 deep
    EXPECT_LT(least_of(found.manifolds), -0.2);
    EXPECT_GT(least_of(found.manifolds), -0.6);
  }
}

/// Of the middle of a ball all of it is equally near: what searches for the nearest point looks at
/// everything, for each vertex.
TEST(Work, ABallInTheMiddleOfAnotherIsBounded) {
  const Shape large = Shape::mesh(ball_mesh(6, 1)), small = Shape::mesh(ball_mesh(6, 1e-3));
  const Found found = look(large, {}, small, Transform::translation(Vec3(1e-5, 0, 0)), kMost);
  EXPECT_TRUE(found.cut);
  EXPECT_LT(found.work, kAllowed);
}

TEST(Work, ConvexShapesAndMeshesLikewise) {
  const Shape ball = Shape::mesh(ball_mesh(6, 1)), sphere = Shape::sphere(1), field = waves(300);
  const Found in_ball = look(sphere, Transform::translation(Vec3(0, 0, 1.5)), ball, {}, kMost);
  EXPECT_LT(in_ball.work, kAllowed);
  ASSERT_FALSE(in_ball.manifolds.empty());
  EXPECT_LT(least_of(in_ball.manifolds), -0.3);  // 0.5 deep
  const Found on_field = look(ball, Transform::translation(Vec3(0, 0, 0.5)), field, {}, kMost);
  EXPECT_LT(on_field.work, kAllowed);
  ASSERT_FALSE(on_field.manifolds.empty());
  EXPECT_LT(least_of(on_field.manifolds), -0.3);  // likewise
}

TEST(Work, CompoundsOfManyPartsLikewise) {
  std::vector<ShapeAt> parts;
  for (int i = 0; i < 2000; ++i) {
    const double a = 0.1 * i;
    parts.push_back({Shape::sphere(0.5), Transform::translation(Vec3(std::cos(a), std::sin(a), 1e-4 * i))});
  }
  const Shape many = make_compound(parts).value();
  const Found found = look(many, {}, many, Transform::translation(Vec3(0, 0, 0.3)), kMost);
  EXPECT_TRUE(found.cut);
  EXPECT_LT(found.work, kAllowed);
  EXPECT_FALSE(found.manifolds.empty());
}

bool same(const std::vector<Manifold>& a, const std::vector<Manifold>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].count != b[i].count || a[i].normal != b[i].normal) return false;
    for (int k = 0; k < a[i].count; ++k)
      if (a[i].points[k].position != b[i].points[k].position || a[i].points[k].id() != b[i].points[k].id())
        return false;
  }
  return true;
}

/// To the bit: what is enough changes nothing.
TEST(Work, WhatIsEnoughChangesNothing) {
  const Shape shapes[] = {Shape::box(Vec3(0.3, 0.2, 0.1)), Shape::mesh(ball_mesh(3, 0.5)),
                          Shape::mesh(split_box_mesh(Vec3(0.3, 0.3, 0.3))), waves(60)};
  Random r(7);
  int touching = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const Shape &a = shapes[r.below(3)], &b = shapes[r.below(4)];
    const Transform X{random_rotation(r), 0.5 * random_unit(r)};
    const Found all = look(a, X, b, {}, std::numeric_limits<double>::infinity());
    EXPECT_FALSE(all.cut);
    const Found within = look(a, X, b, {}, 65 * all.work);  // a search may take a 64th part of it
    EXPECT_FALSE(within.cut);
    EXPECT_TRUE(same(all.manifolds, within.manifolds)) << trial;
    touching += all.manifolds.empty() ? 0 : 1;
    // and half of it is never more than twice that
    if (all.work > 2e5) EXPECT_LT(look(a, X, b, {}, 0.5 * all.work).work, 2 * all.work);
  }
  EXPECT_GT(touching, 50);
}

}  // namespace
}  // namespace karakuri
