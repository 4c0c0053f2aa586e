// Every kind against every kind: finite, bounded, and the same distance whatever the shape is made of.
#include <gtest/gtest.h>

#include "collision/random_shapes.h"
#include "collision/test_meshes.h"
#include "karakuri/collision/narrowphase.h"

namespace karakuri {
namespace {

using namespace testing;

std::vector<Shape> one_of_each(Random& r) {
  std::vector<Shape> all;
  for (ShapeKind k : kConvexKinds) all.push_back(random_convex(r, k, 0.5));
  all.push_back(Shape::mesh(box_mesh({0.4, 0.5, 0.6})));
  all.push_back(Shape::mesh(split_box_mesh({0.4, 0.5, 0.6})));
  all.push_back(Shape::mesh(sheet_mesh(4, 2)));
  all.push_back(make_compound({{all[2], {}}, {all[6], Transform::translation({0.5, 0, 0})}}).value());
  std::vector<double> z;
  for (int i = 0; i < 81; ++i) z.push_back(r.uniform(-0.2, 0.2));
  all.push_back(Shape::heightfield(make_heightfield(9, 9, 4, 4, z).value()));
  all.push_back(Shape::plane());
  return all;
}

TEST(AllKinds, AnswersAreFinite) {
  Random r(21);
  const std::vector<Shape> shapes = one_of_each(r);
  const int n = static_cast<int>(shapes.size());
  CollisionWorkspace ws;
  std::vector<Manifold> out;
  const int count = 60;
  for (int k = 0; k < count * n * n; ++k) {
    const Shape &a = shapes[k % n], &b = shapes[k / n % n];
    Transform X_WA, X_WB;
    switch (r.below(4)) {
      case 0: break;  // exactly on top of each other
      case 1:
        X_WB.p = Vec3(r.below(3), r.below(3), r.below(3)) * 0.5;  // aligned
        [[fallthrough]];
      default:
        X_WA.R = random_rotation(r), X_WB.R = random_rotation(r),
        X_WB.p += r.uniform(0, 1.5) * random_unit(r);
    }
    out.clear();
    collide(a, X_WA, b, X_WB, {0.05}, ws, out);
    for (const Manifold& m : out) {
      ASSERT_TRUE(m.count >= 1 && m.count <= Manifold::kMaxPoints);
      ASSERT_NEAR(m.normal.norm(), 1, 1e-9) << to_string(a.kind()) << " " << to_string(b.kind());
      for (int i = 0; i < m.count; ++i) {
        ASSERT_TRUE(m.points[i].position.allFinite() && std::isfinite(m.points[i].separation));
        ASSERT_LE(m.points[i].separation, 0.05 + 1e-9);
        for (int j = 0; j < i; ++j)
          EXPECT_NE(m.points[i].id(), m.points[j].id()) << to_string(a.kind()) << " " << to_string(b.kind());
      }
    }
    ClosestPoints c;
    if (!closest_points(a, X_WA, b, X_WB, ws, c)) continue;
    ASSERT_TRUE(std::isfinite(c.separation) && c.normal.allFinite() && c.on_a.allFinite() &&
                c.on_b.allFinite());
  }
}

TEST(AllKinds, DistanceDoesNotDependOnTheRepresentation) {
  Random r(22);
  CollisionWorkspace ws;
  const Vec3 h(0.4, 0.5, 0.6);
  const Shape box = Shape::box(h);
  const std::vector<Shape> same = {box_hull(h), Shape::mesh(box_mesh(h)), Shape::mesh(split_box_mesh(h)),
                                   make_compound({{box, {}}}).value()};
  int apart = 0;
  for (int k = 0; k < 2000; ++k) {
    const Shape other =
        k % 8 < 7 ? random_convex(r, kConvexKinds[k % 8], 0.5) : Shape::mesh(split_box_mesh({0.3, 0.2, 0.1}));
    const Transform X{random_rotation(r), r.uniform(0.5, 2.5) * random_unit(r)};
    ClosestPoints expected, c;
    ASSERT_TRUE(closest_points(box, {}, other, X, ws, expected));
    for (const Shape& s : same) {
      ASSERT_TRUE(closest_points(s, {}, other, X, ws, c));
      if (expected.separation > 1e-6) {
        // 1e-7: GJK against curved shapes; the mesh's answer is the least of twelve triangles
        EXPECT_NEAR(c.separation, expected.separation, 1e-7)
            << to_string(s.kind()) << " " << to_string(other.kind());
        EXPECT_LT((c.normal - expected.normal).norm(), 1e-3 + 1e-6 / expected.separation);
      } else if (expected.separation < -1e-6) {
        EXPECT_LE(c.separation, 0) << to_string(s.kind()) << " " << to_string(other.kind());
      }
    }
    apart += expected.separation > 1e-6;
  }
  EXPECT_GT(apart, 2000 / 4);
}

TEST(AllKinds, LargeHullsAreClimbed) {
  // Above 200 vertices the support point is found by climbing along edges.
  Random r(23);
  CollisionWorkspace ws;
  std::vector<Vec3> points;
  for (int i = 0; i < 600; ++i) points.push_back(random_unit(r));
  const Shape large = Shape::hull(make_convex_hull(points).value());
  ASSERT_EQ(large.as_hull().vertex_count, 600);
  for (int k = 0; k < 500; ++k) {
    const Shape other = random_convex(r, kConvexKinds[k % 7], 0.5);
    const Transform X{random_rotation(r), r.uniform(0, 2) * random_unit(r)};
    ClosestPoints c;
    ASSERT_TRUE(closest_points(large, {}, other, X, ws, c));
    const double along = -(support_value(large, c.normal) +
                           support_value(other, -(X.R.transpose() * c.normal)) - c.normal.dot(X.p));
    EXPECT_NEAR(along, c.separation, 1e-6) << to_string(other.kind());
  }
}

}  // namespace
}  // namespace karakuri
