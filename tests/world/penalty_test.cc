// Contact by springs: what surfaces say of them, against closed forms.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "world/scenes.h"

namespace karakuri {
namespace {

using test::BoxOnGround;
using test::make_world;

constexpr double kG = 9.8;

WorldSettings penalty(double dt, Integrator integrator = Integrator::kSemiImplicit) {
  WorldSettings settings = test::with(integrator, dt);
  settings.contact = ContactModel::kPenalty;
  settings.penalty = {.stiffness = 1e4, .damping = 50};
  return settings;
}

TEST(Penalty, ASoftSurfaceHasItsOwnSpringAndDamper) {
  // from rest on the surface a ball swings to (m g / k) (1 + exp(-pi z / sqrt(1 - z^2))), z = d / 2 sqrt(k m)
  for (const double damping : {2.0, 20.0, 60.0}) {
    Surface surface;
    surface.stiffness = 2000, surface.damping = damping;
    Scene scene;
    const MaterialId m = scene.mechanism.add_material({"m", surface});
    scene.pairs.push_back({m, m, surface});
    scene.add_ground(m);
    const LinkId ball = scene.add_body("ball", Shape::sphere(0.1), 1, Transform::translation({0, 0, 0.1}), m);
    World world = make_world(std::move(scene), penalty(1e-4));
    const double sag = kG / surface.stiffness, z = damping / (2 * std::sqrt(surface.stiffness));
    double deepest = 0;
    for (int k = 0; k < 1500; ++k) {
      world.step();
      deepest = std::max(deepest, 0.1 - world.pose(ball).p.z());
    }
    // first order: taken at the end of the step, the spring loses pi h omega / 2 = 7e-3 of the swing
    EXPECT_NEAR(deepest, sag * (1 + std::exp(-std::numbers::pi * z / std::sqrt(1 - z * z))), 1e-2 * sag)
        << damping;
  }
}

TEST(Penalty, AStiffSurfaceHasThatOfTheSettings) {
  BoxOnGround s(0.5);
  World world = make_world(std::move(s.scene), penalty(1e-3));
  world.step(2000);
  EXPECT_NEAR(world.pose(s.box).p.z(), 0.1 - kG / (4 * 1e4), 1e-9);  // four corners carry it
}

TEST(Penalty, CarriesAFloatingTree) {
  for (const Integrator integrator : {Integrator::kSemiImplicit, Integrator::kRk4}) {
    BoxOnGround s(0.5, {0.5, 0.5, 0.1}, 3);
    const LinkId arm =
        s.scene.mechanism.add_link("arm", Inertia{1, Vec3(0, 0, -0.3), 0.01 * Mat3::Identity()});
    Joint hinge{.name = "hinge", .kind = JointKind::kRevolute, .parent = s.box, .child = arm};
    hinge.axis = Vec3::UnitY();
    hinge.X_PF = Transform::translation({0, 0, 1});
    hinge.dofs[0].damping = 5;
    ASSERT_TRUE(s.scene.mechanism.add_joint(hinge).ok());
    World world = make_world(std::move(s.scene), penalty(1e-3, integrator));
    world.step(2000);
    EXPECT_NEAR(world.pose(s.box).p.z(), 0.1 - 4 * kG / (4 * 1e4), 1e-6) << name_of(integrator);
    EXPECT_NEAR(world.contact_force(s.box).force.z(), 4 * kG, 1e-3) << name_of(integrator);
  }
}

}  // namespace
}  // namespace karakuri
