// Bodies that become fast within a step do not pass thin things either.
#include <gtest/gtest.h>

#include <array>

#include "world/scenes.h"

namespace karakuri {
namespace {

using test::add_material;
using test::make_world;

constexpr double kWall = 0.5;  // [m]

/// A thin wall across x, and a small ball at rest before it.
struct BallAndWall {
  Scene scene;
  LinkId ball, striker;

  BallAndWall() {
    const MaterialId m = add_material(scene, 0.3);
    scene.add_shape(scene.mechanism.world(), Shape::box({0.0005, 2, 2}),
                    Transform::translation({kWall, 0, 0}), m);
    ball = scene.add_body("ball", Shape::sphere(0.02), 0.1, {}, m);
    striker = scene.add_body("striker", Shape::sphere(0.1), 100, Transform::translation({-1, 0.01, 0}), m);
  }
  static World make(Scene scene) {
    return make_world(std::move(scene), {.dt = 1.0 / 50, .sleep = {.speed = 1e-3, .time = 0.5}},
                      Vec3::Zero());
  }
};

// Explicit Euler moves by the velocity of the start, and the stages of RK4 by the mean of both ends.
TEST(Continuous, NoIntegratorPassesAThinWallUnderAnyContactModel) {
  for (const Integrator integrator :
       {Integrator::kSemiImplicit, Integrator::kSymplectic, Integrator::kRk4, Integrator::kExplicit})
    for (const ContactModel contact : {ContactModel::kCone, ContactModel::kPyramid, ContactModel::kPenalty})
      for (const double speed : {6.0, 60.0}) {
        Scene scene;
        const MaterialId m = add_material(scene, 0.5);
        scene.add_shape(scene.mechanism.world(), Shape::box({1e-5, 1, 1}),
                        Transform::translation({kWall, 0, 0}), m);
        const LinkId box = scene.add_body("box", Shape::box({0.05, 0.05, 0.05}), 1, {}, m);
        const LinkId ball =
            scene.add_body("ball", Shape::sphere(0.02), 0.1, Transform::translation({0, 0.3, 0}), m);
        World world = make_world(std::move(scene), {.dt = 0.01, .integrator = integrator, .contact = contact},
                                 Vec3::Zero());
        world.set_velocity(box, {Vec3::Zero(), Vec3(speed, 0, 0)});
        world.set_velocity(ball, {Vec3(3, 2, 30), Vec3(speed, 0.1, 0)});
        for (int k = 0; k < 50; ++k) {
          world.step();
          for (const LinkId body : {box, ball})
            ASSERT_LT(world.pose(body).p.x(), kWall)
                << name_of(integrator) << " " << name_of(contact) << " " << speed << " step " << k;
        }
      }
}

TEST(Continuous, AStruckBallDoesNotPassAThinWall) {
  BallAndWall s;
  World world = BallAndWall::make(std::move(s.scene));
  world.set_velocity(s.striker, {Vec3::Zero(), Vec3(50, 0, 0)});  // a metre in a step
  double fastest = 0;
  for (int k = 0; k < 20; ++k) {
    world.step();
    fastest = std::max(fastest, world.velocity(s.ball).linear.x());
    ASSERT_LT(world.pose(s.ball).p.x(), kWall) << k;
  }
  EXPECT_GT(fastest, 5) << "it was struck, and goes as far in a step as the wall lets it";
}

TEST(Continuous, AForceDoesNotPushABallThroughAThinWall) {
  BallAndWall s;
  World world = BallAndWall::make(std::move(s.scene));
  world.add_force(s.ball, Vec3(1000, 0, 0));  // 200 m/s at once
  for (int k = 0; k < 20; ++k) {
    world.step();
    ASSERT_LT(world.pose(s.ball).p.x(), kWall) << k;
  }
}

TEST(Continuous, AnEffortDoesNotPushALinkThroughAThinWall) {
  for (const bool driven : {false, true}) {
    BallAndWall s;
    const LinkId link = s.scene.mechanism.add_link("link", Inertia::solid_sphere(0.1, 0.02));
    const JointId slide = *s.scene.mechanism.add_joint({.name = "slide",
                                                        .kind = JointKind::kPrismatic,
                                                        .parent = s.scene.mechanism.world(),
                                                        .child = link,
                                                        .axis = Vec3::UnitX()});
    s.scene.add_shape(link, Shape::sphere(0.02), Transform::translation({0, 1, 0}));
    World world = BallAndWall::make(std::move(s.scene));
    if (driven)
      world.set_drive(slide, {.damping = std::numeric_limits<double>::infinity(), .v_target = 200});
    else
      world.set_effort(slide, std::array{1000.0});
    world.step();
    EXPECT_LT(world.q(slide)[0], kWall) << driven;
    EXPECT_NEAR(world.q(slide)[0], world.v(slide)[0] / 50, 1e-3) << "positions and velocities do not part";
    EXPECT_GT(world.q(slide)[0], kWall - 0.03) << "it comes as far as the wall";
  }
}

TEST(Continuous, BallsThatBecomeFastTogetherMeetWhereNeitherWasLookingFor) {
  Scene scene;
  const MaterialId m = add_material(scene, 0);
  LinkId balls[2];
  for (const int k : {0, 1})
    balls[k] = scene.add_body(k == 0 ? "left" : "right", Shape::sphere(0.02), 0.1,
                              Transform::translation({k == 0 ? -1.0 : 1.0, 0, 0}), m);
  World world = BallAndWall::make(std::move(scene));
  for (const int k : {0, 1}) world.add_force(balls[k], Vec3(k == 0 ? 1000 : -1000, 0, 0));
  for (int k = 0; k < 10; ++k) {
    world.step();
    ASSERT_LT(world.pose(balls[0]).p.x(), world.pose(balls[1]).p.x()) << k;
  }
}

TEST(Determinism, RestoreContinuesWithTheSameBitsThroughAStrike) {
  const auto strike = [](World& world, const BallAndWall& s) {
    world.set_velocity(s.striker, {Vec3::Zero(), Vec3(50, 0, 0)});
    world.add_force(s.ball, Vec3(0, 0.1, 0.2));
    world.step(10);
    return world.hash();
  };
  for (const int steps : {0, 3, 100}) {  // in the last case the ball sleeps
    BallAndWall s;
    World world = BallAndWall::make(s.scene);
    world.set_velocity(s.ball, {Vec3(1e-3, 3e-3, 2e-3), Vec3(7e-4, 3e-4, -5e-4)});  // slow enough for that
    world.step(steps);
    EXPECT_EQ(world.awake(s.ball), steps < 100);
    const Snapshot before = world.snapshot();
    const std::uint64_t there = strike(world, s);
    World other = BallAndWall::make(s.scene);
    ASSERT_TRUE(other.restore(before).empty());
    EXPECT_EQ(strike(other, s), there) << steps;
    ASSERT_TRUE(world.restore(before).empty());
    EXPECT_EQ(strike(world, s), there) << steps;
  }
}

TEST(Determinism, WhatSleepsIsMetWhereItIsAfterARestoreToo) {
  // the sleeper moved in the step in which it fell asleep
  const auto meet = [](World& world, LinkId striker) {
    world.set_velocity(striker, {Vec3::Zero(), Vec3(0.7, 0, 0)});
    world.step(100);
    return world.hash();
  };
  Scene scene;
  const MaterialId m = add_material(scene, 0.3);
  const LinkId sleeper = scene.add_body("sleeper", Shape::box({0.1, 0.2, 0.15}), 1, {}, m);
  const LinkId striker =
      scene.add_body("striker", Shape::sphere(0.1), 1, Transform::translation({-0.5, 0.01, 0}), m);
  World world = BallAndWall::make(scene);
  world.set_velocity(sleeper, {Vec3(1e-3, 3e-3, 2e-3), Vec3(7e-4, 3e-4, -5e-4)});
  world.step(100);
  ASSERT_FALSE(world.awake(sleeper));
  const Snapshot before = world.snapshot();
  const std::uint64_t there = meet(world, striker);
  ASSERT_TRUE(world.awake(sleeper) || world.velocity(striker).linear.x() < 0.6) << "they met";
  World other = BallAndWall::make(scene);
  ASSERT_TRUE(other.restore(before).empty());
  EXPECT_EQ(meet(other, striker), there);
}

}  // namespace
}  // namespace karakuri
