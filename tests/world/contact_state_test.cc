// What contacts tell of themselves, and the law that sliding and spinning obey together.
#include <gtest/gtest.h>

#include <cmath>

#include "world/scenes.h"

namespace karakuri {
namespace {

using test::add_material;
using test::BoxOnGround;
using test::make_world;

constexpr double kG = 9.8;

/// Of the worst contact, in the order open, stick, slide.
ContactState state_of(const World& world) {
  ContactState state = ContactState::kOpen;
  for (const Contact& c : world.contacts()) state = std::max(state, c.state);
  return state;
}

/// A body on one point of contact that slides and spins, but is too unwieldy to roll.
struct Puck {
  static constexpr double kRadius = 0.1, kTorsion = 0.05, kFriction = 0.5;
  // so that friction turns sliding and spinning down alike, see below
  static constexpr double kMoment = kTorsion * kTorsion / (kFriction * kFriction);
  Scene scene;
  LinkId puck;

  explicit Puck(double static_friction) {
    Surface surface;
    surface.static_friction = static_friction;
    surface.kinetic_friction = kFriction;
    surface.torsional_friction = kTorsion;
    const MaterialId m = scene.mechanism.add_material({"m", surface});
    scene.add_ground(m);
    const Mat3 inertia = Vec3(1e6, 1e6, kMoment).asDiagonal();
    puck = scene.mechanism.add_free_link("puck", Inertia{1, Vec3::Zero(), inertia},
                                         Transform::translation({0, 0, kRadius}));
    scene.add_shape(puck, Shape::sphere(kRadius), {}, m);
  }
};

// With s = |(mu u, c w)| the ellipsoid's law is u' = -mu^2 g u / s and w' = -(c^2 m / I) g w / s. Where
// I = m c^2 / mu^2 both fall in proportion and s in a straight line, s' = -mu^2 g: all ends at once.
TEST(ContactState, APuckThatSpinsSlidesByTheEllipsoid) {
  for (const double static_friction : {0.5, 0.7}) {
    for (const double spin : {10.0, 60.0}) {
      Puck s(static_friction);
      World world = make_world(std::move(s.scene), {.dt = 1e-3, .sleep = {.enabled = false}});
      const Vec3 u(0.6, 0.8, 0);
      world.set_velocity(s.puck, {Vec3(0, 0, spin), u});
      const double end = std::hypot(0.5, 0.05 * spin) / (0.25 * kG);
      while (world.time() < end - 2e-3) {
        world.step();
        const double left = 1 - world.time() / end;
        const Motion v = world.velocity(s.puck);
        ASSERT_EQ(state_of(world), ContactState::kSlide) << world.time();
        // it tilts at 5e-8 rad/s per step at most, and each step is solved to 5e-10 m/s
        ASSERT_LT((v.linear - left * u).norm(), 1e-6) << world.time();
        ASSERT_NEAR(v.angular.z(), left * spin, 1e-5) << world.time();
        ASSERT_LT((world.contacts()[0].slip - left * u).norm(), 1e-6);
      }
      world.step(10);
      EXPECT_EQ(state_of(world), ContactState::kStick);
      const Vec3 there = world.pose(s.puck).p;
      // the mean speed is half of the first, and a first-order method is off by a step of it
      EXPECT_LT((there - Vec3(0, 0, Puck::kRadius) - 0.5 * end * u).norm(), 1e-3);
      world.step(1000);
      // it stays, but for the roll of mu g r^2 end / 1e6 m/s that friction has given it
      EXPECT_LT((world.pose(s.puck).p - there).norm(), 1e-7);
    }
  }
}

TEST(ContactState, ABallThatRollsToAStopDoesNotSlide) {
  Surface surface;
  surface.rolling_friction = 0.005;
  auto [scene, ball] = test::BallOnGround(surface);
  World world = make_world(std::move(scene), {.dt = 1e-3});
  world.set_velocity(ball, {Vec3(0, 10, 0), Vec3(1, 0, 0)});
  for (int k = 0; k < 500; ++k) {
    world.step();
    ASSERT_EQ(state_of(world), ContactState::kStick) << k;
    ASSERT_LT(world.contacts()[0].stretch.norm(), 1e-3) << k;
  }
  // pushed without turning it slides, and tells so
  world.set_velocity(ball, {Vec3::Zero(), Vec3(1, 0, 0)});
  world.step();
  EXPECT_EQ(state_of(world), ContactState::kSlide);
}

TEST(ContactState, ABallThatIsPushedSlidesUntilItRolls) {
  Surface surface;
  surface.rolling_friction = 0.005;
  auto [scene, ball] = test::BallOnGround(surface);
  World world = make_world(std::move(scene), {.dt = 1e-3});
  world.set_velocity(ball, {Vec3::Zero(), Vec3(2, 0, 0)});
  // It rolls after 2 v0 / 7 mu g = 0.117 s where rolling is not braked. Here the ellipsoid draws the end of
  // slipping out: below c w / mu = 0.14 m/s it decays within 0.14 / 3.5 mu g = 8 ms.
  for (int k = 0; k < 250; ++k) {
    world.step();
    const bool slides = state_of(world) == ContactState::kSlide;
    if (world.time() < 0.1) ASSERT_TRUE(slides) << k;
    if (world.time() > 0.117 + 5 * 8e-3) ASSERT_FALSE(slides) << k;
    // a tenth of c w / mu
    if (!slides) ASSERT_LT(world.contacts()[0].slip.norm(), 0.014) << k;
  }
}

TEST(ContactState, SticksSlidesAndOpens) {
  BoxOnGround s(0.5);
  World world = make_world(std::move(s.scene), {.dt = 1e-3, .sleep = {.enabled = false}});
  world.step();
  EXPECT_EQ(state_of(world), ContactState::kStick);
  world.set_velocity(s.box, {Vec3::Zero(), Vec3(0, 0.98, 0)});  // stops after 0.2 s
  for (int k = 1; k < 199; ++k) {
    world.step();
    ASSERT_EQ(world.contacts().size(), 4u);
    for (const Contact& c : world.contacts()) {
      ASSERT_EQ(c.state, ContactState::kSlide) << k;
      ASSERT_LT((c.slip - Vec3(0, 0.98 - 0.5 * kG * 1e-3 * k, 0)).norm(), 1e-8) << k;  // 200 times 5e-10
    }
  }
  world.step(5);
  EXPECT_EQ(state_of(world), ContactState::kStick);
  for (const Contact& c : world.contacts()) EXPECT_LT(c.slip.norm(), 1e-8);
  world.add_force(s.box, Vec3(0, 0, 2 * kG));
  world.step();
  ASSERT_FALSE(world.contacts().empty()) << "they are still near";
  EXPECT_EQ(state_of(world), ContactState::kOpen);
}

TEST(ContactState, WithoutFrictionItSlidesAndTellsHowFast) {
  BoxOnGround s(0);
  World world = make_world(std::move(s.scene), {.dt = 1e-3, .sleep = {.enabled = false}});
  world.step();
  EXPECT_EQ(state_of(world), ContactState::kStick) << "at rest";
  const Vec3 v(1, -2, 0);
  world.set_velocity(s.box, {Vec3::Zero(), v});
  for (int k = 0; k < 10; ++k) {
    world.step();
    ASSERT_EQ(world.contacts().size(), 4u);
    for (const Contact& c : world.contacts()) {
      EXPECT_EQ(c.state, ContactState::kSlide);
      EXPECT_LT((c.slip - v).norm(), 1e-9);  // nothing slows it
    }
  }
}

TEST(ContactState, KineticFrictionOfZeroStaysOnceItSlides) {
  Scene scene;
  Surface surface;
  surface.static_friction = 0.5, surface.kinetic_friction = 0;
  const MaterialId m = scene.mechanism.add_material({"m", surface});
  scene.add_ground(m);
  const LinkId box =
      scene.add_body("box", Shape::box({0.5, 0.5, 0.1}), 1, Transform::translation({0, 0, 0.1}), m);
  World world = make_world(std::move(scene), {.dt = 1e-3});
  world.set_velocity(box, {Vec3::Zero(), Vec3(1, 0, 0)});
  world.step(100);
  EXPECT_NEAR(world.velocity(box).linear.x(), 1, 1e-9);
}

TEST(Torsion, BrakesASpinWithoutSlidingFrictionToo) {
  Surface surface;
  surface.static_friction = surface.kinetic_friction = 0;
  surface.torsional_friction = 0.01;
  auto [scene, ball] = test::BallOnGround(surface);
  World world = make_world(std::move(scene), {.dt = 1e-3});
  world.set_velocity(ball, {Vec3(0, 0, 30), Vec3(1, 0, 0)});
  world.step(500);
  // moment 0.01 m * m g against 2/5 m r^2; sliding friction is 1e-9 of the load
  EXPECT_NEAR(world.velocity(ball).angular.z(), 30 - 0.5 * 0.01 * kG / (0.4 * 0.01), 1e-6);
  EXPECT_NEAR(world.velocity(ball).linear.x(), 1, 1e-6);
  world.step(2000);
  EXPECT_NEAR(world.velocity(ball).angular.z(), 0, 1e-6);
  EXPECT_NEAR(world.velocity(ball).linear.x(), 1, 1e-6);
}

TEST(Restitution, BeginsAtItsThreshold) {
  for (const double speed : {0.009, 0.011}) {  // the threshold is 0.01
    Scene scene;
    const MaterialId m = add_material(scene, 0.5, 0.5);
    scene.add_ground(m);
    const LinkId ball = scene.add_body("ball", Shape::sphere(0.1), 1, Transform::translation({0, 0, 0.1}), m);
    World world = make_world(std::move(scene), {.dt = 1e-3, .restitution_threshold = 0.01}, Vec3::Zero());
    world.set_velocity(ball, {Vec3::Zero(), Vec3(0, 0, -speed)});
    world.step(2);
    EXPECT_NEAR(world.velocity(ball).linear.z(), speed > 0.01 ? 0.5 * speed : 0, 1e-9) << speed;
  }
}

}  // namespace
}  // namespace karakuri
