// Bodies that become fast within a step do not pass thin things either.
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <array>
#include <cmath>
#include <string>

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

/// A needle of a centimetre meets a wall of 20 um. It was stopped dead, or went through.
TEST(Continuous, ANeedleThatSpinsSlidesAlongAThinWallAndDoesNotStop) {
  for (const Integrator integrator :
       {Integrator::kSemiImplicit, Integrator::kSymplectic, Integrator::kRk4, Integrator::kExplicit})
    for (const ContactModel contact : {ContactModel::kCone, ContactModel::kPyramid, ContactModel::kPenalty})
      for (const double spin : {0.0, 300.0, 3000.0})
        for (const double angle : {0.0, 0.6, 1.3}) {
          const std::string what = std::string(name_of(integrator)) + " " + std::string(name_of(contact)) +
                                   ", " + std::to_string(spin) + " rad/s, " + std::to_string(angle);
          Scene scene;
          const MaterialId m = add_material(scene, 0.3);
          scene.add_shape(scene.mechanism.world(), Shape::box({1e-5, 2, 2}),
                          Transform::translation({kWall, 0, 0}), m);
          const LinkId needle = scene.add_body(
              "needle", Shape::capsule(3e-4, 0.005), 2e-5,
              {Eigen::AngleAxisd(angle + M_PI_2, Vec3::UnitY()).toRotationMatrix(), Vec3::Zero()}, m);
          World world = make_world(std::move(scene),
                                   {.dt = 5e-3, .integrator = integrator, .contact = contact}, Vec3::Zero());
          world.set_velocity(needle, {Vec3(0, spin, spin / 3), Vec3(60, 0, 0.5)});
          double lost = 0;
          for (int k = 0; k < 20; ++k) {
            world.step();
            lost += world.report().motion_lost;
            ASSERT_LT(world.pose(needle).p.x(), kWall) << what << ", step " << k + 1;
          }
          EXPECT_LT(lost, 0.01) << "its length, of 6 m; " << what;
        }
}

/// A rod on a hinge of a rod that spins strikes the ground, and turns by radians in a step.
TEST(Continuous, WhatTurnsFarInAStepLosesNoMotion) {
  for (const Integrator integrator :
       {Integrator::kSemiImplicit, Integrator::kSymplectic, Integrator::kRk4, Integrator::kExplicit})
    for (const double speed : {50.0, 200.0, 800.0}) {
      if (integrator == Integrator::kExplicit && speed > 200)
        continue;  // it moves before contacts are solved
      Scene scene;
      scene.add_ground(add_material(scene, 0.5));
      Mechanism& m = scene.mechanism;
      LinkId parent = m.world();
      JointId joints[2];
      for (const int k : {0, 1}) {
        const Inertia inertia{1 - 0.5 * k, Vec3(0, 0, -0.15), Vec3(7.6e-3, 7.6e-3, 2.7e-4).asDiagonal()};
        const LinkId link = m.add_link(k == 0 ? "upper" : "lower", inertia);
        joints[k] = *m.add_joint({.name = k == 0 ? "shoulder" : "elbow",
                                  .kind = JointKind::kRevolute,
                                  .parent = parent,
                                  .child = link,
                                  .X_PF = Transform::translation({0, 0, k == 0 ? 0.35 : -0.3}),
                                  .axis = Vec3::UnitY()});
        scene.add_shape(link, Shape::box({0.02, 0.02, 0.15}), Transform::translation({0, 0, -0.15}));
        parent = link;
      }
      World world = make_world(std::move(scene), {.dt = 0.01, .integrator = integrator});
      world.set_q(joints[1], std::array{1.0});
      world.set_v(joints[0], std::array{speed});
      double lost = 0;
      for (int k = 0; k < 200; ++k) {
        world.step();
        lost += world.report().motion_lost;
        ASSERT_GT((world.pose(parent) * Vec3(0, 0, -0.15)).z(), -0.02)  // half as thick as it is
            << name_of(integrator) << " " << speed;
      }
      EXPECT_LT(lost, 1e-3) << name_of(integrator) << " " << speed;
    }
}

/// A capsule that stands on the ground turns by radians in a step: its contact looks straight ahead.
TEST(Continuous, WhatTouchesTheGroundDoesNotTurnThroughIt) {
  for (const double dt : {0.1, 0.7})
    for (const double spin : {10.0, 50.0, 200.0}) {
      Scene scene;
      scene.add_ground(add_material(scene, 0.5));
      const LinkId body =
          scene.add_body("body", Shape::capsule(0.01, 0.025), 0.1, Transform::translation({0, 0, 0.031}));
      World world = make_world(std::move(scene), {.dt = dt});
      world.set_velocity(body, {spin * Vec3(1, 1.0 / 3, 1.0 / 9), Vec3(0, 0, -0.2)});
      for (int k = 0; k < 60; ++k) {
        world.step();
        ASSERT_GT(world.pose(body).p.z(), 0) << dt << " s, " << spin << " rad/s, step " << k + 1;
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
    EXPECT_GT(world.q(slide)[0], kWall - 0.03) << "it comes as far as the wall";
    EXPECT_LT(world.report().motion_lost, 0.01 * 4)
        << "of 4 m that it would come: what passes is followed in parts";
    const double there = world.q(slide)[0];
    world.step();
    EXPECT_NEAR(world.q(slide)[0] - there, world.v(slide)[0] / 50, 1e-3)
        << "positions and velocities do not part";
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
