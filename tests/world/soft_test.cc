// What gives way: loops, limits, couplings and ropes with a stiffness, against springs in closed form.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "support/no_alloc.h"
#include "world/scenes.h"

namespace karakuri {
namespace {

using test::make_world;

constexpr double kMass = 2, kG = 9.8;

Inertia ball_inertia() { return {kMass, Vec3::Zero(), 0.01 * Mat3::Identity()}; }

WorldSettings fine() {
  WorldSettings settings;
  settings.dt = 1e-4;
  settings.sleep.enabled = false;
  return settings;
}

/// A ball one metre below a loop's frame on the world.
struct Hung {
  Scene scene;
  LinkId ball;

  explicit Hung(Joint joint) {
    ball = scene.mechanism.add_free_link("ball", ball_inertia(), Transform::translation({0, 0, -1}));
    joint.name = "loop";
    joint.parent = scene.mechanism.world(), joint.child = ball;
    EXPECT_TRUE(scene.mechanism.add_loop(joint).ok());
  }
};

Joint spring(double stiffness, double damping) {
  Joint joint{.kind = JointKind::kDistance};
  joint.distance = 1;
  joint.closing_stiffness = stiffness, joint.closing_damping = damping;
  return joint;
}

TEST(SoftLoop, SagsByItsLoad) {
  World world = make_world(Hung(spring(500, 60)).scene, fine());
  world.step(30000);  // 3 s, forty-five times the decay time 2 m / d
  const LinkId ball = world.scene().mechanism.find_link("ball");
  EXPECT_NEAR(world.pose(ball).p.z(), -1 - kMass * kG / 500, 1e-9);
  const JointId loop = world.scene().mechanism.find_joint("loop");
  EXPECT_NEAR(world.load(loop).wrench.force.norm(), kMass * kG, 1e-6);
}

TEST(SoftLoop, SwingsAsASpringDoes) {
  // x'' = -k/m x - g: from rest at x = 0 the lowest point is -2 m g / k, half a period later
  const double k = 500, omega = std::sqrt(k / kMass);
  World world = make_world(Hung(spring(k, 0)).scene, fine());
  const LinkId ball = world.scene().mechanism.find_link("ball");
  double lowest = 0, at = 0;
  for (int i = 0; i < 4000; ++i) {
    world.step();
    if (world.pose(ball).p.z() < lowest) lowest = world.pose(ball).p.z(), at = world.time();
  }
  // the implicit spring loses a share h omega / 2 of the amplitude per radian: pi/2 * 1.6e-3 of half of it
  EXPECT_NEAR(lowest, -1 - 2 * kMass * kG / k, 3e-3 * kMass * kG / k);
  EXPECT_NEAR(at, std::numbers::pi / omega, 2e-3 * at);
}

TEST(SoftLoop, HoldsAFrameByBothItsSprings) {
  // the centre of mass 0.3 to the side: sag m g / k, turn about y by m g 0.3 / k_turn where that is small
  Scene scene;
  Inertia inertia = ball_inertia();
  inertia.com = {0.3, 0, 0};
  const LinkId body = scene.mechanism.add_free_link("body", inertia, {});
  Joint weld{.name = "weld", .kind = JointKind::kFixed, .parent = scene.mechanism.world(), .child = body};
  weld.closing_stiffness = 1e4, weld.closing_damping = 400;
  weld.closing_turn_stiffness = 2e4, weld.closing_turn_damping = 300;
  ASSERT_TRUE(scene.mechanism.add_loop(weld).ok());
  World world = make_world(std::move(scene), fine());
  world.step(20000);
  const Transform X = world.pose(body);
  const double angle = kMass * kG * 0.3 / 2e4;
  EXPECT_NEAR(X.p.z(), -kMass * kG / 1e4, 1e-8);
  EXPECT_NEAR(-X.R(2, 0), angle, angle * angle);  // the arm shortens by the angle squared
}

TEST(Rope, LetsFallAndHolds) {
  Joint rope{.kind = JointKind::kDistance};
  rope.range = {-DofProperties::kNone, 1.5};
  World world = make_world(Hung(rope).scene, fine());
  const LinkId ball = world.scene().mechanism.find_link("ball");
  world.step(2000);  // 0.2 s: free fall by 0.196
  EXPECT_NEAR(world.pose(ball).p.z(), -1 - 0.5 * kG * 0.04, 1e-3);
  double longest = 0;
  for (int i = 0; i < 20000; ++i) {
    world.step();
    longest = std::max(longest, world.pose(ball).p.norm());
  }
  EXPECT_LT(longest, 1.5 + 1e-4);  // twice the slop
  EXPECT_NEAR(world.pose(ball).p.z(), -1.5, 1e-4);
  EXPECT_NEAR(world.load(world.scene().mechanism.find_joint("loop")).wrench.force.z(), kMass * kG, 1e-3);
}

TEST(Rope, KeepsApartWithItsLowerEnd) {
  Joint rod{.kind = JointKind::kDistance};
  rod.range = {0.8, 1.2};
  rod.X_PF.p = {0, 0, -3};  // below the ball, which falls on it
  Scene scene;
  const LinkId ball = scene.mechanism.add_link("ball", ball_inertia());
  Joint slide{.name = "slide", .kind = JointKind::kPrismatic};
  slide.parent = scene.mechanism.world(), slide.child = ball, slide.X_PF.p = {0, 0, -2};
  ASSERT_TRUE(scene.mechanism.add_joint(slide).ok());
  rod.name = "rod", rod.parent = scene.mechanism.world(), rod.child = ball;
  ASSERT_TRUE(scene.mechanism.add_loop(rod).ok());
  World world = make_world(std::move(scene), fine());
  world.step(10000);
  EXPECT_NEAR(world.pose(ball).p.z(), -2.2, 1e-4);
}

/// One slide along z with the given dof.
World slide_with(const DofProperties& dof, const Coupling* coupling = nullptr) {
  Scene scene;
  const LinkId ball = scene.mechanism.add_link("ball", ball_inertia());
  Joint slide{.name = "slide", .kind = JointKind::kPrismatic};
  slide.parent = scene.mechanism.world(), slide.child = ball;
  slide.dofs[0] = dof;
  const JointId id = scene.mechanism.add_joint(slide).value();
  if (coupling) {
    Coupling c = *coupling;
    c.follower = id;
    scene.mechanism.add_coupling(c);
  }
  return make_world(std::move(scene), fine());
}

TEST(SoftLimit, GivesWayByItsLoad) {
  World world = slide_with({.lower = -0.1, .limit_stiffness = 800, .limit_damping = 80});
  world.step(20000);
  EXPECT_NEAR(world.state().q[0], -0.1 - kMass * kG / 800, 1e-9);
}

TEST(SoftCoupling, GivesWayByItsLoad) {
  const Coupling coupling{.coefficients = {0.3, 0, 0, 0, 0}, .stiffness = 900, .damping = 90};
  World world = slide_with({}, &coupling);
  world.step(20000);
  EXPECT_NEAR(world.state().q[0], 0.3 - kMass * kG / 900, 1e-9);
}

TEST(SoftLoop, StepsWithoutAllocation) {
  World world = make_world(Hung(spring(500, 10)).scene, fine());
  world.step(50);
  if (!test::NoAllocGuard::available()) GTEST_SKIP() << test::NoAllocGuard::kUnavailable;
  test::NoAllocGuard guard;
  world.step(50);
  EXPECT_EQ(guard.allocations(), 0);
}

TEST(SoftLoop, SnapshotsContinueBitForBit) {
  World world = make_world(Hung(spring(500, 10)).scene, fine());
  world.step(100);
  const Snapshot saved = world.snapshot();
  world.step(100);
  const std::uint64_t there = world.hash();
  ASSERT_TRUE(world.restore(saved).empty());
  world.step(100);
  EXPECT_EQ(world.hash(), there);
}

}  // namespace
}  // namespace karakuri
