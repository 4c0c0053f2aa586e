// Nothing passes through anything, however fast.
#include <gtest/gtest.h>

#include <numbers>

#include "collision/random_shapes.h"
#include "collision/test_meshes.h"
#include "karakuri/collision/ccd.h"
#include "karakuri/collision/edge_contact.h"

namespace karakuri {
namespace {

using namespace testing;

// A 1 cm cube, and other bodies of that size.
std::vector<std::pair<const char*, Shape>> projectiles() {
  const double h = 0.005;
  return {{"sphere", Shape::sphere(h)},
          {"capsule", Shape::capsule(h, h)},
          {"box", Shape::box({h, h, h})},
          {"cylinder", Shape::cylinder(h, h)},
          {"cone", Shape::cone(h, h)},
          {"ellipsoid", Shape::ellipsoid({h, h, 0.8 * h})},
          {"hull", box_hull({h, h, h})},
          {"mesh", Shape::mesh(box_mesh({h, h, h}))},
          {"split mesh", Shape::mesh(split_box_mesh({h, h, h}))},
          {"compound", make_compound({{Shape::box({h, h, h}), {}}}).value()}};
}
// A wall 1 mm thick, in the y-z plane.
std::vector<std::pair<const char*, Shape>> walls() {
  const Vec3 h(0.0005, 0.5, 0.5);
  Mesh sheet = make_mesh(std::vector<Vec3>{{0, -0.5, -0.5}, {0, 0.5, -0.5}, {0, 0.5, 0.5}, {0, -0.5, 0.5}},
                         std::vector<Triangle>{{0, 1, 2}, {0, 2, 3}}, {.use = MeshUse::kSurface})
                   .value();
  return {{"box", Shape::box(h)},
          {"hull", box_hull(h)},
          {"mesh", Shape::mesh(box_mesh(h))},
          {"split mesh", Shape::mesh(split_box_mesh(h))},
          {"sheet", Shape::mesh(std::move(sheet))},
          {"compound", make_compound({{Shape::box(h), {}}}).value()}};
}

TEST(Ccd, FastCubeDoesNotPassThinWall) {
  // 300 m/s at dt = 1/50: 6 m a step, 6000 times the wall's thickness; also spinning at 300 m/s at the
  // corner.
  CollisionWorkspace ws;
  Random r(1);
  for (const auto& [wall_name, wall] : walls()) {
    for (const auto& [name, body] : projectiles()) {
      SCOPED_TRACE(std::string(name) + " at " + wall_name);
      for (int k = 0; k < 12; ++k) {
        Sweep sweep = Sweep::still(
            {random_rotation(r), Vec3(-r.uniform(1, 4), r.uniform(-0.3, 0.3), r.uniform(-0.3, 0.3))});
        sweep.displacement = Vec3(6, 0.1 * r.normal(), 0.1 * r.normal());
        if (k % 2)
          sweep.rotation =
              random_unit(r) * r.uniform(0, 600);  // 300 m/s at 1 cm: 30000 rad/s, 600 rad a step
        const Impact hit = time_of_impact(body, sweep, wall, Sweep::still({}), {}, ws);
        ASSERT_NE(hit.state, ImpactState::kNone) << k;
        // it stops before the wall, near it unless a wild spin used up the iterations
        const Transform X = sweep.at(hit.t);
        EXPECT_LT(X.p.x(), 0) << k;
        EXPECT_GT(hit.nearest.separation, 0) << k;
        if (hit.state == ImpactState::kTouching) EXPECT_LT(hit.nearest.separation, 1.3e-4) << k;
        if (k % 2 == 0) EXPECT_EQ(hit.state, ImpactState::kTouching) << k;
      }
    }
  }
}

TEST(Ccd, FastRotationDoesNotPassThinWall) {
  // A 1 m rod that turns about its middle, 300 m/s at its tip, beside a wall that only the turning tip can
  // meet.
  CollisionWorkspace ws;
  for (const auto& [wall_name, wall] : walls()) {
    for (const Shape& rod :
         {Shape::box({0.005, 0.005, 0.5}), Shape::capsule(0.005, 0.495), Shape::cylinder(0.005, 0.5),
          box_hull({0.005, 0.005, 0.5}), Shape::mesh(box_mesh({0.005, 0.005, 0.5}))}) {
      SCOPED_TRACE(std::string(to_string(rod.kind())) + " at " + wall_name);
      Sweep sweep = Sweep::still(Transform::translation({-0.3, 0, 0}));
      sweep.rotation = Vec3(0, 300 / 0.5 / 50, 0);  // 12 rad in the step
      const Impact hit = time_of_impact(rod, sweep, wall, Sweep::still({}), {.max_iterations = 2000}, ws);
      ASSERT_EQ(hit.state, ImpactState::kTouching);
      // the tip reaches the wall's near face at x = -0.0005 when 0.5 sin(angle) = 0.3, less the rod's
      // thickness
      EXPECT_NEAR(12 * hit.t, std::asin(0.3 / 0.5), 0.03);
    }
  }
}

TEST(Ccd, TimeOfImpactIsExactForStraightMotion) {
  CollisionWorkspace ws;
  const ImpactOptions fine{.target = 1e-6, .tolerance = 1e-8, .max_iterations = 200};
  Sweep s = Sweep::still(Transform::translation({-2, 0, 0}));
  s.displacement = {4, 0, 0};
  Impact hit = time_of_impact(Shape::sphere(0.5), s, Shape::sphere(0.25), Sweep::still({}), fine, ws);
  EXPECT_NEAR(hit.t, (2 - 0.75) / 4, 1e-6);
  s.start.p.y() = 0.45;  // off centre: sqrt(0.75^2 - 0.45^2) = 0.6
  hit = time_of_impact(Shape::sphere(0.5), s, Shape::sphere(0.25), Sweep::still({}), fine, ws);
  EXPECT_NEAR(hit.t, (2 - 0.6) / 4, 2e-6);
  s.start.p.y() = 0.76;  // a miss by 1 cm
  EXPECT_EQ(time_of_impact(Shape::sphere(0.5), s, Shape::sphere(0.25), Sweep::still({}), fine, ws).state,
            ImpactState::kNone);
  EXPECT_EQ(time_of_impact(Shape::box({0.5, 0.5, 0.5}), s, Shape::plane(), Sweep::still({}), fine, ws).state,
            ImpactState::kInitially);
}

TEST(Ccd, VertexMeetsMovingFace) {
  const std::array<Vec3, 3> face0 = {Vec3(0, 0, 0), Vec3(1, 0, 0), Vec3(0, 1, 0)};
  std::array<Vec3, 3> face1 = face0;
  for (Vec3& v : face1) v.z() += 1;
  const auto hit = vertex_face_crossing({0.2, 0.3, 2}, {0.2, 0.3, -1}, face0, face1);
  ASSERT_TRUE(hit);
  EXPECT_NEAR(hit->t, 0.5, 1e-12);  // 2 - 3 t = t
  EXPECT_LT((hit->point - Vec3(0.2, 0.3, 0.5)).norm(), 1e-12);
  EXPECT_FALSE(vertex_face_crossing({0.8, 0.3, 2}, {0.8, 0.3, -1}, face0, face1));   // beside
  EXPECT_FALSE(vertex_face_crossing({0.2, 0.3, -1}, {0.2, 0.3, 2}, face0, face0));   // from behind
  EXPECT_FALSE(vertex_face_crossing({0.2, 0.3, 2}, {0.2, 0.3, 1.5}, face0, face0));  // short of it
}

TEST(Ccd, TurningFaceMeetsVertexAtTheExactTime) {
  // The face tilts while it rises: the distance is not linear in t, but the root of the true one is found.
  const std::array<Vec3, 3> face0 = {Vec3(0, 0, 0), Vec3(1, 0, 0), Vec3(0, 1, 0)};
  const std::array<Vec3, 3> face1 = {Vec3(0, 0, 0), Vec3(1, 0, 2), Vec3(0, 1, 0)};  // at t: z = 2 t x
  const auto hit = vertex_face_crossing({0.5, 0.1, 0.25}, {0.5, 0.1, 0.25}, face0, face1);
  ASSERT_TRUE(hit);
  EXPECT_NEAR(hit->t, 0.25, 1e-10);
}

TEST(Ccd, EdgesCross) {
  const std::array<Vec3, 2> a = {Vec3(-1, 0, 0), Vec3(1, 0, 0)}, b0 = {Vec3(0.2, -1, 1), Vec3(0.2, 1, 1)},
                            b1 = {Vec3(0.2, -1, -3), Vec3(0.2, 1, -3)};
  const auto hit = edge_edge_crossing(a, a, b0, b1);
  ASSERT_TRUE(hit);
  EXPECT_NEAR(hit->t, 0.25, 1e-12);
  EXPECT_LT((hit->point - Vec3(0.2, 0, 0)).norm(), 1e-12);
  EXPECT_NEAR(hit->normal.z(), 1, 1e-12);
  const std::array<Vec3, 2> along0 = {Vec3(-1, 0, 1), Vec3(1, 0, 1)},
                            along1 = {Vec3(-1, 0, -1), Vec3(1, 0, -1)};
  EXPECT_FALSE(edge_edge_crossing(a, a, along0, along1));  // parallel: left to vertices and faces
  // the cross product turns round within the step; a sign taken from it would miss or invent a crossing
  const std::array<Vec3, 2> turned = {Vec3(1, 0.1, 1), Vec3(-1, -0.1, 1)},
                            before = {Vec3(-1, -0.1, 2), Vec3(1, 0.1, 2)};
  EXPECT_FALSE(edge_edge_crossing(a, a, before, turned));
}

TEST(Ccd, TwoLayers) {
  const Mesh cube = box_mesh({0.5, 0.5, 0.5}), floor = slab_mesh(4, 4, 1);
  const TwoLayerMesh a = make_two_layer(cube, 0.01), b = make_two_layer(floor, 0.01);
  for (const Vec3& v : a.inner)
    EXPECT_LT((v.cwiseAbs() - Vec3::Constant(0.49)).norm(), 1e-12);  // all faces moved by 1 cm
  EXPECT_NEAR(b.inner[12].z(), -0.01, 1e-12);                        // a vertex in the middle of the flat top
  CollisionWorkspace ws;
  std::vector<LayerContact> out;
  const Transform still, above = Transform::translation({0.1, 0.2, 0.6});
  // resting, 4 mm sunk in: the shrunk solids are apart, the full ones touch
  const Transform rest = Transform::translation({0.1, 0.2, 0.496});
  find_excess(a, rest, rest, b, still, still, ws, out);
  EXPECT_TRUE(out.empty());
  find_touch(a, rest, b, still, ws, out);
  EXPECT_GE(out.size(), 4u);
  for (const LayerContact& c : out) EXPECT_NEAR(std::abs(c.at.normal.z()), 1, 1e-9);
  // shot through the floor within one step: excess, even though start and end are both apart
  find_excess(a, above, Transform::translation({0.1, 0.2, -4}), b, still, still, ws, out);
  EXPECT_GE(out.size(), 4u);
  // hovering: neither
  find_touch(a, above, b, still, ws, out);
  EXPECT_TRUE(out.empty());
}

TEST(EdgeContact, RulesOfSeams) {
  // A vertical edge of a box that stands on a floor meets a seam of it: the seam's faces push up, not
  // sideways.
  const Vec3 up = Vec3::UnitZ(), x = Vec3::UnitX(), y = Vec3::UnitY();
  const SolidEdge seam{{-1, 0, 0}, {1, 0, 0}, up, up, up, up};
  const SolidEdge upright{{0.1, 0.001, -0.002}, {0.1, 0.001, 1}, x, -y, -up, up};
  EdgeContact c[2];
  const int n = edge_edge_contacts(seam, upright, 0.01, c);
  ASSERT_EQ(n, 1);
  EXPECT_GT(c[0].normal.z(), 1 - 1e-12);
  // Two roof ridges that cross push along their common perpendicular.
  const double s = std::sqrt(0.5);
  const SolidEdge ridge{{-1, 0, 0}, {1, 0, 0}, Vec3(0, s, s), Vec3(0, -s, s), up, up};
  const SolidEdge keel{{0, -1, -0.01}, {0, 1, -0.01}, Vec3(s, 0, -s), Vec3(-s, 0, -s), -up, -up};
  ASSERT_EQ(edge_edge_contacts(ridge, keel, 0.01, c), 1);
  EXPECT_TRUE(c[0].by_edges);
  EXPECT_NEAR(c[0].normal.z(), 1, 1e-12);
  EXPECT_NEAR(c[0].separation(), -0.01, 1e-12);
}

}  // namespace
}  // namespace karakuri
