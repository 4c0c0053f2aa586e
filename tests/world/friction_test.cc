// Coulomb's law on a box, along an axis and across it, against closed forms.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "world/scenes.h"

namespace karakuri {
namespace {

using test::BoxOnGround;
using test::make_world;

constexpr double kGravity = 9.8;

Vec3 direction(double degrees) {
  const double a = degrees * std::numbers::pi / 180;
  return {std::cos(a), std::sin(a), 0};
}

/// How far a box slides that starts at v0.
double slide(double v0, double dt, double degrees) {
  BoxOnGround s(0.5);
  World world = make_world(std::move(s.scene), {.dt = dt});
  EXPECT_TRUE(world.set_velocity(s.box, {Vec3::Zero(), v0 * direction(degrees)}));
  while (world.time() < v0 / (0.5 * kGravity) + 1) world.step();
  const Vec3 end = world.pose(s.box).p;
  EXPECT_LT(std::abs(end.cross(direction(degrees)).z()), 1e-9) << "slides straight";
  EXPECT_NEAR(end.z(), 0.1, 1e-6);
  return end.dot(direction(degrees));
}

TEST(Friction, SlidesAsFarAsTheorySaysFirstOrder) {
  for (const double degrees : {0.0, 45.0, 77.0}) {
    for (const double v0 : {9.8, 19.6, 29.4}) {
      const double theory = v0 * v0 / (2 * 0.5 * kGravity);
      // a first-order method is off by dt v0 / 2 and no more
      EXPECT_NEAR(slide(v0, 1.0 / 50, degrees), theory, 0.5 * v0 / 50 + 1e-9) << v0 << " at " << degrees;
    }
    double before = 0;
    for (const double dt : {1.0 / 50, 1.0 / 100, 1.0 / 200}) {
      const double error = std::abs(slide(19.6, dt, degrees) - 39.2);
      EXPECT_LE(error, 0.5 * 19.6 * dt + 1e-9);
      if (before > 0) EXPECT_NEAR(error, 0.5 * before, 0.02 * before) << "halves with the step";
      before = error;
    }
  }
}

/// How far a force that grows to `force` within 2 s moves the box in 15 s.
double push(double force, double dt, double degrees) {
  BoxOnGround s(0.5);
  World world = make_world(std::move(s.scene), {.dt = dt});
  while (world.time() < 15 && world.pose(s.box).p.norm() < 0.2) {
    world.add_force(s.box, std::min(1.0, world.time() / 2) * force * direction(degrees));
    world.step();
  }
  return std::hypot(world.pose(s.box).p.x(), world.pose(s.box).p.y());
}

TEST(Friction, HoldsUpToItsLimitAndNotBeyond) {
  for (const double degrees : {0.0, 45.0}) {
    for (const double dt : {1.0 / 50, 1.0 / 100, 1.0 / 200, 1.0 / 400}) {
      EXPECT_LT(push(4.89, dt, degrees), 1e-6) << dt << " at " << degrees;
      EXPECT_GT(push(4.91, dt, degrees), 0.1) << dt << " at " << degrees;
    }
  }
}

/// A box on a plane tilted by `angle`: the plane stays level and gravity is tilted instead.
World on_slope(double mu, double angle, LinkId& box, double dt = 1e-3) {
  BoxOnGround s(mu);
  box = s.box;
  WorldSettings settings{.dt = dt};
  settings.sleep.enabled = false;
  return make_world(std::move(s.scene), settings, kGravity * Vec3(std::sin(angle), 0, -std::cos(angle)));
}

TEST(Friction, StandsOnASlopeWithoutCreeping) {
  const double mu = 0.5, angle = 0.999 * std::atan(mu);
  LinkId box;
  World world = on_slope(mu, angle, box);
  world.step(10);
  const Vec3 start = world.pose(box).p;
  world.step(59990);
  EXPECT_LT((world.pose(box).p - start).norm(), 1e-9);
  EXPECT_LT(world.pose(box).p.head<2>().norm(), 1e-9);
}

TEST(Friction, SlidesDownASteeperSlopeAsTheorySays) {
  const double mu = 0.5, angle = 1.001 * std::atan(mu);
  LinkId box;
  World world = on_slope(mu, angle, box);
  world.step(5000);
  const double a = kGravity * (std::sin(angle) - mu * std::cos(angle));
  EXPECT_NEAR(world.velocity(box).linear.x(), a * 5, 1e-9 + 1e-6 * a * 5);
}

}  // namespace
}  // namespace karakuri
