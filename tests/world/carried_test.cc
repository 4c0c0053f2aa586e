// What loops hold to kinematic bodies goes with them: the ledger of energy counts what these give.
#include <gtest/gtest.h>

#include <cmath>

#include "world/scenes.h"

namespace karakuri {
namespace {

using test::make_world;
using test::with;

constexpr Integrator kAll[] = {Integrator::kSemiImplicit, Integrator::kSymplectic, Integrator::kRk4,
                               Integrator::kExplicit};

/// A kinematic bar of 4 m that turns as it flies, and a bob of 50 kg that a loop holds to its end.
struct Carried {
  static constexpr double kHalf = 2;
  Scene scene;
  LinkId bar = scene.add_body("bar", Shape::box({kHalf, 0.05, 0.05}), 1, Transform::translation({0, 0, 10}));
  LinkId bob =
      scene.add_body("bob", Shape::box({0.3, 0.2, 0.1}), 50, Transform::translation({kHalf + 0.5, 0, 10}));
  Motion motion;
  World world;

  Carried(Integrator integrator, JointKind kind, const Motion& moves, double dt)
      : motion(moves), world(make_world(std::move(scene), with(integrator, dt))) {
    world.set_kinematic(bar, true);
    world.set_velocity(bar, motion);
    world.set_velocity(bob, motion.shifted({kHalf + 0.5, 0, 0}));
    const Joint joint{.name = "grip", .kind = kind, .axis = Vec3::UnitY()};
    EXPECT_TRUE(
        world.attach_here(bar, bob, world.pose(bar) * Transform::translation({kHalf, 0, 0}), joint).ok());
  }
  /// Of the bob from where the bar carries it.
  double apart() const {
    const Transform X = world.pose(bar);
    return (world.pose(bob).p - X * Vec3(kHalf + 0.5, 0, 0)).norm();
  }
  /// Of the bob from the velocity that the bar gives it.
  double faster() const {
    const Motion given = motion.shifted(world.pose(bob).p - world.pose(bar).p);
    return (world.velocity(bob).linear - given.linear).norm() +
           (world.velocity(bob).angular - given.angular).norm();
  }
};

/// About a vertical axis, about a horizontal one, and about one that is neither, as it flies.
const Motion kMotions[] = {{Vec3(0, 0, 4), Vec3::Zero()},
                           {Vec3(0, 4, 0), Vec3::Zero()},
                           {Vec3(0, 6, 0), Vec3(3, 1, -5)},
                           {Vec3(2, -3, 1), Vec3(-1, 4, 6)}};

TEST(Carried, ABobOnABarThatTurnsIsNotSlowedDown) {
  for (const Integrator integrator : kAll)
    for (const double dt : {1e-3, 1e-2})
      for (const Motion& motion : kMotions) {
        Carried c(integrator, JointKind::kFixed, motion, dt);
        for (int k = 0; k < 2 / dt; ++k) {
          c.world.step();
          ASSERT_EQ(c.world.report().energy_taken, 0) << name_of(integrator) << ", step " << k << " of " << dt
                                                      << " s, turning by " << motion.angular.transpose();
          ASSERT_LT(c.apart(), 1e-9);
          ASSERT_LT(c.faster(), 1e-9) << name_of(integrator);
        }
      }
}

/// m w^2 x towards the axis.
TEST(Carried, TheLoopCarriesWhatHoldsTheBobOnItsCircle) {
  for (const Integrator integrator : kAll) {
    Carried c(integrator, JointKind::kFixed, {Vec3(0, 0, 4), Vec3::Zero()}, 1e-3);
    c.world.set_gravity(Vec3::Zero());
    for (int k = 0; k < 300; ++k) c.world.step();
    const JointLoad load = c.world.load(c.world.attachments()[0].id);
    EXPECT_NEAR(load.wrench.force.norm(), 50 * 16 * (Carried::kHalf + 0.5), 0.01) << name_of(integrator);
  }
}

/// A bob of isotropic inertia on a ball joint under the end of an arm that turns at w about the vertical
/// leans outwards by the angle a at which it stays:  w^2 (r + l sin a) = g tan a.
TEST(Carried, AConicalPendulumKeepsItsAngle) {
  constexpr double w = 3, r = 0.5, l = 0.8, g = 9.8;
  double a = 0.5;
  for (int k = 0; k < 200; ++k) a = std::atan(w * w * (r + l * std::sin(a)) / g);
  const Vec3 hinge(r, 0, 3), bob_at = hinge + l * Vec3(std::sin(a), 0, -std::cos(a));
  for (const Integrator integrator : kAll) {
    if (integrator == Integrator::kExplicit) continue;  // makes energy of its own on any pendulum
    Scene scene;
    const LinkId arm =
        scene.add_body("arm", Shape::box({r, 0.02, 0.02}), 1, Transform::translation({0, 0, 3}));
    const LinkId bob = scene.add_body("bob", Shape::sphere(0.1), 5, Transform::translation(bob_at));
    World world = make_world(std::move(scene), with(integrator));
    world.set_kinematic(arm, true);
    world.set_velocity(arm, {Vec3(0, 0, w), Vec3::Zero()});
    world.set_velocity(bob, {Vec3(0, 0, w), Vec3(0, 0, w).cross(bob_at)});
    ASSERT_TRUE(world
                    .attach_here(arm, bob, Transform::translation(hinge),
                                 {.name = "ball", .kind = JointKind::kSpherical})
                    .ok());
    double taken = 0;
    for (int k = 0; k < 2000; ++k) {
      world.step();
      taken += world.report().energy_taken;
    }
    EXPECT_EQ(taken, 0) << name_of(integrator);
    const double tolerance = integrator == Integrator::kRk4 ? 1e-6 : 2e-2;
    EXPECT_NEAR(world.pose(bob).p.z(), bob_at.z(), tolerance) << name_of(integrator);
    EXPECT_NEAR(world.velocity(bob).linear.norm(), w * bob_at.head<2>().norm(), 3 * tolerance)
        << name_of(integrator);
  }
}

/// A rod of length l that an arm of length r pushes at constant speed, its end on a rail: the slider's crank.
/// Its end is at x = r cos wt + sqrt(l^2 - r^2 sin^2 wt), whatever it weighs.
TEST(Carried, ACrankMovesItsSliderAsGeometrySays) {
  constexpr double w = 10, r = 0.3, l = 1;
  for (const Integrator integrator : kAll) {
    Scene scene;
    Mechanism& m = scene.mechanism;
    const LinkId crank = scene.add_body("crank", Shape::box({r, 0.02, 0.02}), 1, {});
    const LinkId slider = m.add_link("slider", Inertia::solid_box(20, {0.1, 0.1, 0.1}));
    const LinkId rod = m.add_link("rod", Inertia::solid_box(5, {l / 2, 0.02, 0.02}));
    Joint rail{.name = "rail", .kind = JointKind::kPrismatic, .axis = Vec3::UnitX()};
    rail.parent = m.world(), rail.child = slider;
    rail.X_PF = Transform::translation({r + l, 0, 0});
    Joint pin{.name = "pin", .kind = JointKind::kRevolute, .axis = Vec3::UnitZ()};
    pin.parent = slider, pin.child = rod;
    pin.X_CM = Transform::translation({l / 2, 0, 0});
    ASSERT_TRUE(m.add_joint(rail).ok() && m.add_joint(pin).ok());
    World world = make_world(std::move(scene), with(integrator));
    world.set_kinematic(crank, true);
    world.set_velocity(crank, {Vec3(0, 0, w), Vec3::Zero()});
    ASSERT_TRUE(world
                    .attach_here(crank, rod, Transform::translation({r, 0, 0}),
                                 {.name = "ball", .kind = JointKind::kSpherical})
                    .ok());
    double taken = 0, worst = 0;
    for (int k = 1; k <= 2000; ++k) {
      world.step();
      taken += world.report().energy_taken;
      const double t = 1e-3 * k, s = std::sin(w * t), c = std::cos(w * t),
                   root = std::sqrt(l * l - r * r * s * s);
      worst = std::max(worst, std::abs(world.pose(slider).p.x() - (r * c + root)));
      EXPECT_NEAR(world.velocity(slider).linear.x(), -r * w * s - r * r * w * s * c / root, 1e-6)
          << name_of(integrator) << ", step " << k;
    }
    EXPECT_EQ(taken, 0) << name_of(integrator);
    EXPECT_LT(worst, 1e-9) << name_of(integrator);
  }
}

}  // namespace
}  // namespace karakuri
