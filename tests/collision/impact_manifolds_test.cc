// The contact at the time of impact.
#include <gtest/gtest.h>

#include <numbers>

#include "collision/random_surfaces.h"
#include "karakuri/collision/ccd.h"

namespace karakuri {
namespace {

using namespace testing;

Sweep moving(const Transform& X, const Vec3& d, const Vec3& rotation = Vec3::Zero()) {
  return {X, Vec3::Zero(), d, rotation};
}

std::vector<Shape> plates(const Vec3& half) {
  return {Shape::box(half), box_hull(half), Shape::mesh(box_mesh(half)), Shape::mesh(split_box_mesh(half)),
          make_compound({{Shape::box(half), {}}}).value()};
}

TEST(ImpactManifolds, BoxThatFallsFlatOnAThinPlateLandsOnFourPoints) {
  CollisionWorkspace ws;
  Random r(1);
  for (const double thickness : {1e-3, 20e-6}) {
    for (const Shape& plate : plates({0.5, 0.5, 0.5 * thickness})) {
      for (int k = 0; k < 10; ++k) {
        SCOPED_TRACE(std::string(to_string(plate.kind())) + " " + std::to_string(k));
        const Transform W{random_rotation(r), 0.3 * random_unit(r)};  // the whole scene, turned
        const Vec3 half(0.02, 0.03, 0.01);
        const Transform above{rotation_exp(Vec3(0, 0, r.uniform(0, 3))), Vec3(0.1, 0.1, 1)};
        std::vector<Manifold> out;
        const Impact hit = impact_manifolds(Shape::box(half), moving(W * above, W.R * Vec3(0, 0, -20)), plate,
                                            Sweep::still(W), {}, ws, out);
        ASSERT_EQ(hit.state, ImpactState::kTouching);
        EXPECT_NEAR(hit.t, (1 - 0.01 - 0.5 * thickness) / 20, 1e-6);
        ASSERT_EQ(out.size(), 1u);
        EXPECT_EQ(out[0].count, 4);
        EXPECT_LT((out[0].normal + W.R.col(2)).norm(), 1e-9);
        for (int i = 0; i < out[0].count; ++i) {
          EXPECT_GT(out[0].points[i].separation, 0);
          EXPECT_LT(out[0].points[i].separation, 2e-3 * half.z());
          const Vec3 p = W.inverse_apply(out[0].points[i].position);
          EXPECT_NEAR((p - Vec3(0.1, 0.1, p.z())).norm(), std::hypot(half.x(), half.y()), 1e-9);
        }
      }
    }
  }
}

TEST(ImpactManifolds, SpherePastAnEdgeHasNone) {
  CollisionWorkspace ws;
  for (const Shape& plate : plates({0.5, 0.5, 1e-5})) {
    SCOPED_TRACE(to_string(plate.kind()));
    std::vector<Manifold> out;
    const Sweep past = moving(Transform::translation({0.5101, 0, 1}), {0, 0, -3});
    const Impact none = impact_manifolds(Shape::sphere(0.01), past, plate, Sweep::still({}), {}, ws, out);
    EXPECT_EQ(none.state, ImpactState::kNone);
    EXPECT_EQ(none.t, 1);
    EXPECT_TRUE(out.empty());
    const Sweep onto = moving(Transform::translation({0.5099, 0, 1}), {0, 0, -3});
    EXPECT_EQ(impact_manifolds(Shape::sphere(0.01), onto, plate, Sweep::still({}), {}, ws, out).state,
              ImpactState::kTouching);
    EXPECT_EQ(out.size(), 1u);
  }
}

TEST(ImpactManifolds, TurningRodHits) {
  // A rod of 1 m that turns by one radian about its middle, 0.3 m beside a wall 20 micrometres thick.
  CollisionWorkspace ws;
  for (const Shape& wall : plates({1e-5, 0.7, 0.7})) {
    for (const Shape& rod : {Shape::box({0.005, 0.005, 0.5}), Shape::capsule(0.005, 0.495),
                             Shape::cylinder(0.005, 0.5), box_hull({0.005, 0.005, 0.5})}) {
      SCOPED_TRACE(std::string(to_string(rod.kind())) + " at " + to_string(wall.kind()));
      std::vector<Manifold> out;
      const Sweep turn = moving(Transform::translation({-0.3, 0, 0}), Vec3::Zero(), {0, 1, 0});
      const Impact hit = impact_manifolds(rod, turn, wall, Sweep::still({}), {}, ws, out);
      ASSERT_EQ(hit.state, ImpactState::kTouching) << hit.iterations << " t " << hit.t;
      EXPECT_NEAR(hit.t, std::asin(0.3 / 0.5), 0.02);
      ASSERT_EQ(out.size(), 1u);
      EXPECT_GT(out[0].normal.x(), 1 - 1e-6);
      EXPECT_GE(out[0].count, 1);
    }
  }
}

TEST(ImpactManifolds, WhatTouchesAtTheStartIsLeftToItsContacts) {
  CollisionWorkspace ws;
  std::vector<Manifold> out;
  const Shape box = Shape::box({0.5, 0.5, 0.5});
  for (const double gap : {-0.2, 0.0, 1e-5}) {
    const Sweep down = moving(Transform::translation({0, 0, 0.5 + gap}), {0, 0, -1});
    const Impact hit = impact_manifolds(box, down, Shape::plane(), Sweep::still({}), {}, ws, out);
    EXPECT_EQ(hit.state, ImpactState::kInitially) << gap;
    EXPECT_EQ(hit.t, 0) << gap;
    EXPECT_TRUE(out.empty()) << gap;
  }
}

TEST(ImpactManifolds, PartsInContactDoNotHideTheOthers) {
  // A box slides on the floor of a compound into its thin wall.
  const Shape corner = make_compound({{Shape::box({2, 2, 0.1}), Transform::translation({0, 0, -0.1})},
                                      {Shape::box({1e-4, 2, 1}), Transform::translation({1, 0, 1})}})
                           .value();
  CollisionWorkspace ws;
  std::vector<Manifold> out;
  const Sweep slide = moving(Transform::translation({-1, 0, 0.1}), {4, 0, -1e-3});
  const Impact hit =
      impact_manifolds(Shape::box({0.1, 0.1, 0.1}), slide, corner, Sweep::still({}), {}, ws, out);
  ASSERT_EQ(hit.state, ImpactState::kTouching);
  EXPECT_NEAR(hit.t, (1 - 1e-4 - 0.1 + 1) / 4, 1e-6);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].part_b, 1u);
  EXPECT_EQ(out[0].count, 4);
  EXPECT_NEAR(out[0].normal.x(), 1, 1e-9);
}

/// By how much the manifold of two convex shapes may be less deep than they are: a face's own normal is
/// preferred where it separates nearly as well (docs/collision.md, "Manifolds").
double preference(const Shape& a, const Shape& b, double separation) {
  const auto least = [](const Shape& s) { return bounding_box(s, Transform::identity()).half().minCoeff(); };
  return 1e-3 * std::min(least(a), least(b)) + 0.05 * std::abs(separation);
}

// Random motions of random shapes: where the shapes meet, the pair is apart up to t and a manifold stands at
// the nearest point; where they are said not to, no time of many has them overlap.
TEST(ImpactManifolds, RandomMotions) {
  CollisionWorkspace ws;
  Random r(5);
  int touching = 0, none = 0, unresolved = 0, slow = 0;
  for (int k = 0; k < 4000; ++k) {
    const ShapeKind ka = kConvexKinds[r.below(7)], kb = kConvexKinds[r.below(7)];
    const Shape a = random_convex(r, ka, 1), b = random_convex(r, kb, std::pow(10, r.uniform(-1, 1)));
    const double ra = bounding_radius(a), rb = bounding_radius(b), apart = (ra + rb) * r.uniform(1, 3);
    const Vec3 u = random_unit(r);
    Sweep sa = moving({random_rotation(r), Vec3::Zero()},
                      apart * r.uniform(0, 3) * (u + 0.5 * random_unit(r)), random_unit(r) * r.uniform(0, 2));
    Sweep sb = moving({random_rotation(r), apart * u}, ra * random_unit(r), random_unit(r) * r.uniform(0, 2));
    sa.center = 0.3 * ra * random_unit(r), sb.center = 0.3 * rb * random_unit(r);
    std::vector<Manifold> out;
    const Impact hit = impact_manifolds(a, sa, b, sb, {}, ws, out);
    slow += hit.iterations >= 30;
    touching += hit.state == ImpactState::kTouching, none += hit.state == ImpactState::kNone;
    unresolved += hit.state == ImpactState::kUnresolved;
    ClosestPoints c;
    for (int i = 0; i <= 40; ++i) {
      const double t = hit.t * i / 40;
      ASSERT_TRUE(closest_points(a, sa.at(t), b, sb.at(t), ws, c));
      EXPECT_GE(c.separation, hit.state == ImpactState::kInitially ? -1e300 : (1 - 1e-6) * hit.target) << k;
    }
    if (hit.state != ImpactState::kTouching) continue;
    ASSERT_EQ(out.size(), 1u) << k << " " << to_string(ka) << " " << to_string(kb);
    double least = 1e300;
    for (int i = 0; i < out[0].count; ++i) least = std::min(least, out[0].points[i].separation);
    EXPECT_NEAR(least, hit.nearest.separation, preference(a, b, hit.nearest.separation))
        << k << " " << to_string(ka) << " " << to_string(kb);
    EXPECT_LE(hit.nearest.separation, 1.25 * hit.target);
  }
  EXPECT_GT(touching, 1000);
  EXPECT_GT(none, 1000);
  EXPECT_EQ(unresolved, 0);
  // What turns and grazes goes on by the root of twice the tolerance over w^2 r at a time, a few thousandths
  // of the motion, for as long as it is near: of 40 000 such motions 40 take 30 steps or more, and one takes
  // 117.
  EXPECT_LT(slow, 4000 / 200);
}

}  // namespace
}  // namespace karakuri
