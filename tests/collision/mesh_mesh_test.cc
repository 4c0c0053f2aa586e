// Concave meshes against concave meshes: seams, edges on edges, edges through faces.
#include <gtest/gtest.h>

#include <numbers>

#include "collision/random_surfaces.h"
#include "karakuri/collision/narrowphase.h"

namespace karakuri {
namespace {

using namespace testing;

struct Collide {
  CollisionWorkspace ws;
  std::vector<Manifold> out;
  const std::vector<Manifold>& operator()(const Shape& a, const Transform& X_WA, const Shape& b,
                                          const Transform& X_WB, double margin = 0.01) {
    out.clear();
    collide(a, X_WA, b, X_WB, {margin}, ws, out);
    return out;
  }
};

Transform at(const Vec3& p, const Vec3& phi = Vec3::Zero()) { return {rotation_exp(phi), p}; }

/// The mesh with a speck far below: no longer convex, so that its triangles and edges do the work.
Shape with_speck(const Mesh& m) {
  auto v = m.vertices;
  auto f = m.faces;
  const int n = static_cast<int>(v.size());
  for (const Vec3& p : box_corners({0.01, 0.01, 0.01})) v.push_back(p - Vec3(0, 0, 50));
  for (const Triangle& t : box_triangles()) f.push_back({t[0] + n, t[1] + n, t[2] + n});
  const Shape s = Shape::mesh(make_mesh(v, f).value());
  EXPECT_EQ(s.as_mesh().hull, nullptr);
  return s;
}

double lowest(const Mesh& m, const Transform& X) {
  double least = 1e300;
  for (const Vec3& v : m.vertices) least = std::min(least, (X * v).z());
  return least;
}

TEST(MeshMesh, NothingSnagsOnSeams) {
  // An angle slides over a floor of 200 triangles: on a face, on an edge, on a corner, and leaning a little;
  // a little sunk in. The floor pushes straight up, as deep as the body is, wherever the seams are.
  Collide collide_pair;
  Random r(31);
  const Shape floor = with_speck(slab_mesh(10, 10, 0.5));
  const Mesh angle = angle_mesh({0.4, 0.3, 0.2}, 0.6);
  const Shape body = Shape::mesh(angle);
  const double s = std::numbers::pi / 4;
  for (const Vec3& phi : {Vec3(0, 0, 0), Vec3(2 * s, 0, 0), Vec3(s, 0, 0), Vec3(0, -s, 0),
                          Vec3(0.6, 0.4, 0.1), Vec3(0.02, 0.01, 0)}) {
    for (int k = 0; k < 1000; ++k) {
      Transform X = at({-3 + 0.006 * k, -2 + 0.0037 * k, 0}, {0, 0, 0.002 * k});
      X.R = X.R * rotation_exp(phi);
      if (k % 3 == 1) X.R = X.R * rotation_exp(1e-3 * random_unit(r));
      const double sunk = r.uniform(1e-4, 0.004);
      X.p.z() = -lowest(angle, X) - sunk;
      double deepest = 0;
      for (const Manifold& m : collide_pair(floor, {}, body, X)) {
        ASSERT_GT(m.normal.z(), 1 - 1e-9) << "step " << k << " normal " << m.normal.transpose();
        for (int i = 0; i < m.count; ++i) deepest = std::min(deepest, m.points[i].separation);
      }
      // depths that differ by 1e-4 of the half width, 0.2 m, count as equal when a patch is reduced
      ASSERT_NEAR(deepest, -sunk, 2.1e-5) << "step " << k;
    }
  }
}

TEST(MeshMesh, EdgeOnEdgeDoesNotSink) {
  // A roof rests crosswise on the ridge of another, pulled down by 5 mm before every step and lifted by what
  // the contacts say, while it creeps along the ridge, over the seams of the roofs' triangles. It must stay
  // where the ridges touch, and never be pushed aside.
  Collide collide_pair;
  const double s = std::numbers::pi / 4, ridge = std::sqrt(0.5) * 0.8;
  const Shape lower = with_speck(slab_mesh(8, 0.8, 0.8)), upper = with_speck(slab_mesh(6, 0.8, 0.8));
  // the slab's top is z = 0: its edge x = y = ... lies along y at (0.4, *, 0) and (-0.4, *, -0.8)
  const auto on_edge = [&](const Vec3& p, const Mat3& turn) {
    Transform X;
    X.R = turn * rotation_exp(Vec3(0, -s, 0));
    X.p = p - X.R * Vec3(0, 0, -0.4);  // about the cube's centre
    return X;
  };
  const Transform X_lower = on_edge({0, 0, 0}, Mat3::Identity());
  double z = 2 * ridge;
  for (int k = 0; k < 1000; ++k) {
    z -= 0.005;
    const Mat3 turn = rotation_exp(Vec3(0, 0, 1.2 + 0.0007 * k));
    const Vec3 p(0.05 * std::sin(0.01 * k), 0.3 - 0.0006 * k, z);
    double lift = 0;
    for (const Manifold& m : collide_pair(lower, X_lower, upper, on_edge(p, turn))) {
      ASSERT_GT(m.normal.z(), 1 - 1e-6) << "step " << k << " normal " << m.normal.transpose();
      for (int i = 0; i < m.count; ++i) lift = std::max(lift, -m.points[i].separation);
    }
    z += lift;
    ASSERT_NEAR(z, 2 * ridge, 1e-6) << "step " << k;
  }
}

TEST(MeshMesh, SolidsThroughEachOtherHaveContacts) {
  // Bars that have gone right through each other: no vertex is inside, no two edges are near.
  Collide collide_pair;
  const Shape a = with_speck(box_mesh({1, 0.1, 0.1}));
  Random r(32);
  for (int k = 0; k < 300; ++k) {
    const Shape b = with_speck(box_mesh({0.08, 1, 0.12}));
    const Vec3 p(r.uniform(-0.5, 0.5), r.uniform(-0.5, 0.5), r.uniform(-0.1, 0.1));
    const Transform X = at(p, 0.2 * random_unit(r));
    double deepest = 0;
    for (const Manifold& m : collide_pair(a, {}, b, X)) {
      EXPECT_NEAR(m.normal.norm(), 1, 1e-12);
      for (int i = 0; i < m.count; ++i) deepest = std::min(deepest, m.points[i].separation);
    }
    EXPECT_LT(deepest, -0.005) << k;
    EXPECT_GT(deepest, -0.25) << k;
  }
}

}  // namespace
}  // namespace karakuri
