// The same scenes under every integrator, contact model, solver and stabilization.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "world/scenes.h"

namespace karakuri {
namespace {

using test::add_material;
using test::BoxOnGround;
using test::make_world;

double slide_distance(const WorldSettings& settings) {
  BoxOnGround s(0.5);
  World world = make_world(std::move(s.scene), settings);
  world.set_velocity(s.box, {Vec3::Zero(), Vec3(9.8, 0, 0)});
  while (world.time() < 4) world.step();
  EXPECT_NEAR(world.pose(s.box).p.z(), 0.1, 1e-3);
  EXPECT_LT(world.velocity(s.box).linear.norm(), 1e-3);
  return world.pose(s.box).p.x();
}

TEST(Methods, EverySolverStopsTheBoxWhereTheorySays) {
  using solver::Method;
  for (const Method method : {Method::kDefault, Method::kBlock, Method::kNewton, Method::kPgs,
                              Method::kPgsIsotropic, Method::kSpringhead, Method::kDantzig, Method::kLemke}) {
    WorldSettings settings{.dt = 1.0 / 200};
    settings.solver = method;
    // the extended PGS as published slides askew, by the ratio of its diagonals; all others are exact here
    EXPECT_NEAR(slide_distance(settings), 9.8, method == Method::kPgs ? 2 : 0.05) << name_of(method);
  }
}

TEST(Methods, EveryIntegratorDoesWithEveryContactModel) {
  for (const Integrator integrator :
       {Integrator::kSemiImplicit, Integrator::kSymplectic, Integrator::kRk4, Integrator::kExplicit}) {
    for (const ContactModel model : {ContactModel::kCone, ContactModel::kPyramid, ContactModel::kPenalty}) {
      WorldSettings settings{.dt = 1.0 / 400, .integrator = integrator, .contact = model};
      settings.penalty = {.stiffness = 1e4, .damping = 50};
      // dt v0 / 2 = 0.012, and springs let the box rock
      EXPECT_NEAR(slide_distance(settings), 9.8, 0.06) << name_of(integrator) << ", " << name_of(model);
    }
  }
}

TEST(Methods, EveryStabilizationLiftsASunkenBoxWithoutThrowingIt) {
  for (const Stabilization kind :
       {Stabilization::kPosition, Stabilization::kErp, Stabilization::kBaumgarte, Stabilization::kPenalty}) {
    BoxOnGround s(0.5, {0.5, 0.5, 0.5});
    WorldSettings settings{.dt = 1e-3};
    settings.stabilization.kind = kind;
    settings.stabilization.gamma = 20;
    World world = make_world(std::move(s.scene), settings);
    world.teleport(s.box, Transform::translation({0, 0, 0.49}));
    double top = 0;
    for (int k = 0; k < 3000; ++k) {
      world.step();
      top = std::max(top, world.pose(s.box).p.z());
    }
    EXPECT_NEAR(world.pose(s.box).p.z(), 0.5, 2e-4) << name_of(kind);
    // what pushes with velocity throws the box up with that velocity, at most 1 m/s; the position correction
    // does not
    EXPECT_LT(top, 0.5 + 0.06) << name_of(kind);
    if (kind == Stabilization::kPosition) EXPECT_LT(top, 0.5 + 1e-6) << "no energy of motion";
  }
}

/// Energy error of a frictionless double pendulum over 10 s, relative to its fall.
double pendulum_error(Integrator integrator, double dt) {
  Scene scene;
  LinkId parent = scene.mechanism.world();
  JointId first;
  for (int i = 0; i < 2; ++i) {
    Inertia inertia = Inertia::solid_box(1, {0.01, 0.01, 1});
    inertia.com = Vec3(0, 0, -0.5);
    const LinkId link = scene.mechanism.add_link("rod" + std::to_string(i), inertia);
    Joint joint{.name = "hinge" + std::to_string(i),
                .kind = JointKind::kRevolute,
                .parent = parent,
                .child = link,
                .axis = Vec3::UnitY()};
    joint.X_PF = Transform::translation({0, 0, i == 0 ? 0.0 : -1.0});
    const JointId id = *scene.mechanism.add_joint(joint);
    if (i == 0) first = id;
    parent = link;
  }
  WorldSettings settings{.dt = dt, .integrator = integrator};
  World world = make_world(std::move(scene), settings, {0, 0, -9.81});
  world.set_q(first, std::array{std::acos(0.0)});
  const double start = world.energies().total();
  double worst = 0;
  while (world.time() < 10) {
    world.step();
    worst = std::max(worst, std::abs(world.energies().total() - start));
  }
  return worst / 19.6;
}

TEST(Methods, Rk4KeepsThePendulumsEnergyToTheFourthOrder) {
  const double coarse = pendulum_error(Integrator::kRk4, 2e-3), fine = pendulum_error(Integrator::kRk4, 1e-3);
  EXPECT_LT(fine, 2e-8);
  EXPECT_GT(coarse / fine, 12);
  EXPECT_LT(pendulum_error(Integrator::kSemiImplicit, 1e-3), 0.06);
}

TEST(Methods, LoopsOfEveryKindHold) {
  for (const JointKind kind :
       {JointKind::kFixed, JointKind::kRevolute, JointKind::kPrismatic, JointKind::kCylindrical,
        JointKind::kScrew, JointKind::kUniversal, JointKind::kPlanar, JointKind::kSpherical}) {
    Scene scene;
    const LinkId box = scene.add_body("box", Shape::box({0.1, 0.2, 0.3}), 1, {});
    Joint joint{
        .name = "loop", .kind = kind, .parent = scene.mechanism.world(), .child = box, .axis = Vec3::UnitY()};
    joint.second_axis = Vec3::UnitX();
    joint.pitch = 0.05;
    joint.X_PF = joint.X_CM = Transform::translation({0.1, 0.2, 0.3});
    ASSERT_TRUE(scene.mechanism.add_loop(joint).ok());
    World world = make_world(std::move(scene), {.dt = 1e-3}, {1, -2, -9});
    // a first step along what the loop allows, then swinging for a second
    world.step(1000);
    EXPECT_TRUE(world.pose(box).p.allFinite());
    const Vec3 p = world.pose(box) * Vec3(0.1, 0.2, 0.3) - Vec3(0.1, 0.2, 0.3);
    const Vec3 tilt = Vec3::UnitY().cross(world.pose(box).R * Vec3::UnitY());
    const bool slides =
        kind == JointKind::kPrismatic || kind == JointKind::kCylindrical || kind == JointKind::kScrew;
    const bool planar = kind == JointKind::kPlanar;
    // one step's curvature remains: h^2 v^2 / 2 r
    const double error = slides ? Vec3(p.x(), 0, p.z()).norm() : planar ? std::abs(p.y()) : p.norm();
    EXPECT_LT(error, 2e-4) << name(kind);
    if (kind != JointKind::kUniversal && kind != JointKind::kSpherical)
      EXPECT_LT(tilt.norm(), 1e-4) << name(kind);
  }
}

}  // namespace
}  // namespace karakuri
