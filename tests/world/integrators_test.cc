// Springs, drives, warm start and substeps against closed forms and each other.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "world/scenes.h"

namespace karakuri {
namespace {

using test::add_material;
using test::BoxOnGround;
using test::make_world;
using test::with;

constexpr double kMass = 2;

/// A mass on a slide along x, without gravity.
struct Slide {
  Scene scene;
  JointId joint;

  explicit Slide(const DofProperties& dof = {}) {
    const LinkId mass = scene.mechanism.add_link("mass", {kMass, Vec3::Zero(), 0.01 * Mat3::Identity()});
    Joint slide{.name = "slide", .kind = JointKind::kPrismatic, .axis = Vec3::UnitX()};
    slide.parent = scene.mechanism.world(), slide.child = mass;
    slide.dofs[0] = dof;
    joint = scene.mechanism.add_joint(slide).value();
  }
};

// Both are linear maps of (x, v): of the symplectic one m v^2 + k x^2 - h k x v is an invariant, the implicit
// one divides the energy by 1 + h^2 k / m in each step.
TEST(Integrators, SymplecticKeepsASpringsEnergyAndImplicitLosesIt) {
  const double k = 200, h = 0.01;
  for (const Integrator integrator : {Integrator::kSymplectic, Integrator::kSemiImplicit}) {
    Slide s({.stiffness = k});
    World world = make_world(std::move(s.scene), with(integrator, h), Vec3::Zero());
    world.set_q(s.joint, std::array{0.3});
    const bool symplectic = integrator == Integrator::kSymplectic;
    const auto energy = [&] {
      const double x = world.q(s.joint)[0], v = world.v(s.joint)[0];
      return 0.5 * (kMass * v * v + k * x * x - (symplectic ? h * k * x * v : 0));
    };
    double wanted = energy();
    for (int i = 0; i < 300; ++i) {
      world.step();
      if (!symplectic) wanted /= 1 + h * h * k / kMass;
      ASSERT_NEAR(energy(), wanted, 1e-13 * (i + 1) * 9) << name_of(integrator) << i;  // rounding of 9 J
    }
  }
}

TEST(Drive, ExertsItsLimitWhereItWouldExertMore) {
  for (const bool of_joint : {false, true}) {
    DofProperties dof;
    if (of_joint) dof.effort_limit = 10;
    Slide s(dof);
    const double h = 1e-3, a = 10 / kMass;
    World world = make_world(std::move(s.scene), with(Integrator::kSemiImplicit, h), Vec3::Zero());
    Drive drive{.stiffness = 1e4, .damping = 10, .q_target = 1};
    if (!of_joint) drive.limit = 10;
    world.set_drive(s.joint, drive);
    for (int n = 1; n <= 500; ++n) {
      world.step();
      ASSERT_NEAR(world.load(s.joint).drive[0], 10, 1e-9) << n;
      ASSERT_NEAR(world.v(s.joint)[0], n * h * a, 1e-9) << n;  // solved to 5e-10
      ASSERT_NEAR(world.q(s.joint)[0], 0.5 * h * h * n * (n + 1) * a, 1e-9) << n;
    }
  }
}

/// A box that slides past a ball that rolls.
struct SlidingAndRolling {
  Scene scene;
  LinkId box, ball;

  SlidingAndRolling() {
    BoxOnGround s(0.5);
    ball = s.scene.add_body("ball", Shape::sphere(0.1), 1, Transform::translation({0, 2, 0.3}), s.material);
    scene = std::move(s.scene);
    box = s.box;
  }
  void start(World& world) const {
    world.set_velocity(box, {Vec3::Zero(), Vec3(3, 1, 0)});
    world.set_velocity(ball, {Vec3(1, 2, 3), Vec3(2, 1, 0)});
  }
};

TEST(WarmStart, ChangesNothingOfTheMotion) {
  SlidingAndRolling s;
  World worlds[] = {make_world(s.scene, {.dt = 1e-3, .warm_start = true}),
                    make_world(s.scene, {.dt = 1e-3, .warm_start = false})};
  for (World& world : worlds) s.start(world);
  for (int k = 0; k < 1000; ++k) {
    for (World& world : worlds) world.step();
    for (const LinkId link : {s.box, s.ball})  // each is solved to 5e-10 m/s in each step
      ASSERT_LT((worlds[0].pose(link).p - worlds[1].pose(link).p).norm(), 1e-9 * (k + 10)) << k;
  }
}

TEST(Substeps, AreStepsOfTheirLength) {
  SlidingAndRolling s;
  World coarse = make_world(s.scene, {.dt = 1.0 / 64, .substeps = 4});
  World fine = make_world(s.scene, {.dt = 1.0 / 256});
  s.start(coarse), s.start(fine);
  for (int k = 0; k < 64; ++k) {
    coarse.step();
    fine.step(4);
    ASSERT_EQ(coarse.time(), fine.time());
    ASSERT_EQ(coarse.hash(), fine.hash()) << k;
  }
}

}  // namespace
}  // namespace karakuri
