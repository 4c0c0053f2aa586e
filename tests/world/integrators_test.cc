// Springs, drives, warm start and substeps against closed forms and each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "world/energy.h"
#include "world/scenes.h"

namespace karakuri {
namespace {

using test::add_material;
using test::BoxOnGround;
using test::energy_of;
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

constexpr Integrator kAll[] = {Integrator::kSemiImplicit, Integrator::kSymplectic, Integrator::kRk4,
                               Integrator::kExplicit};

// From soft to far beyond what an explicit step takes.
TEST(Integrators, SpringsAndDampersAreStableHoweverStiff) {
  const double h = 1e-3;
  for (const Integrator integrator : kAll)
    for (const double k : {0.0, 1e3, 2e5, 1.3e6, 1e12})
      for (const double d : {0.0, 10.0, 700.0, 1e9}) {
        Slide s({.damping = d, .stiffness = k});
        World world = make_world(std::move(s.scene), with(integrator, h), Vec3::Zero());
        world.set_q(s.joint, std::array{0.3});
        world.set_v(s.joint, std::array{1.0});
        const double start = energy_of(world).sum();
        // Symplectic Euler keeps m v^2 + k x^2 - h k x v, where h sqrt(k / m) is at most a half.
        const double most = 1.4 * start;
        for (int n = 0; n < 500; ++n) {
          world.step();
          ASSERT_LE(energy_of(world).sum(), most) << name_of(integrator) << " " << k << " " << d << " " << n;
        }
      }
}

/// Two links that hang on each other, with springs, dampers and drives on both joints.
struct Arm {
  Scene scene;
  JointId joints[2];

  Arm(double stiffness, double damping) {
    LinkId parent = scene.mechanism.world();
    for (int i = 0; i < 2; ++i) {
      const std::string name = "arm" + std::to_string(i);
      const LinkId link = scene.mechanism.add_link(name, Inertia::solid_box(1, {0.1, 0.1, 0.5}));
      Joint joint{
          .name = name, .kind = JointKind::kRevolute, .parent = parent, .child = link, .axis = Vec3::UnitY()};
      joint.X_PF = Transform::translation(i == 0 ? Vec3(0, 0, 0) : Vec3(0, 0, -0.25));
      joint.X_CM = Transform::translation({0, 0, 0.25});
      joint.dofs[0].stiffness = stiffness;
      joint.dofs[0].damping = damping;
      joints[i] = *scene.mechanism.add_joint(joint);
      parent = link;
    }
  }
};

/// Where the arm is after 0.5 s.
Eigen::Vector2d arm_after(double h, double stiffness, double damping) {
  Arm arm(stiffness, damping);
  World world = make_world(std::move(arm.scene), with(Integrator::kRk4, h));
  world.set_q(arm.joints[0], std::array{1.0});
  world.set_drive(arm.joints[1], {.stiffness = 2, .damping = 0.1, .q_target = 0.5});
  world.step(static_cast<int>(std::round(0.5 / h)));
  return {world.q(arm.joints[0])[0], world.q(arm.joints[1])[0]};
}

TEST(Integrators, Rk4KeepsItsOrderForSoftSpringsAndDrives) {
  const Eigen::Vector2d exact = arm_after(1.25e-4, 3, 0.05);
  double errors[3];
  for (int k = 0; k < 3; ++k) errors[k] = (arm_after(8e-3 / (1 << k) * 0.5, 3, 0.05) - exact).norm();
  EXPECT_GT(errors[0] / errors[1], 12);
  EXPECT_GT(errors[1] / errors[2], 12);
  EXPECT_LT(errors[2], 1e-8);
}

// Stiff servos, as of large robots, on links of a kilogram: all integrators hold them alike.
TEST(Integrators, StiffDrivesHoldUnderAll) {
  for (const Integrator integrator : kAll) {
    Arm arm(0, 0);
    World world = make_world(std::move(arm.scene), with(integrator, 1e-3));
    for (const JointId joint : arm.joints)
      world.set_drive(joint, {.stiffness = 12000, .damping = 700, .q_target = 0.5});
    for (int n = 0; n < 2000; ++n) {
      world.step();
      for (const JointId joint : arm.joints)
        ASSERT_LT(std::abs(world.v(joint)[0]), 20) << name_of(integrator);
    }
    for (const JointId joint : arm.joints) {
      EXPECT_NEAR(world.q(joint)[0], 0.5, 2e-3) << name_of(integrator);  // 9 N m
      const double wanted = 12000 * (0.5 - world.q(joint)[0]);
      EXPECT_NEAR(world.load(joint).drive[0], wanted, 1e-3 * std::abs(wanted)) << name_of(integrator);
    }
  }
}

TEST(Integrators, AreChangedBetweenStepsAsIfTheyHadNeverBeenOthers) {
  for (const Integrator first : kAll)
    for (const Integrator second : kAll) {
      Arm arm(2000, 5);
      World world = make_world(arm.scene, with(first));
      world.set_q(arm.joints[0], std::array{1.0});
      world.step(20);
      World fresh = make_world(arm.scene, with(second));
      fresh.set_state(world.state().q, world.state().v);
      world.set_settings(with(second));
      for (int n = 0; n < 20; ++n) {
        world.step(), fresh.step();
        for (const JointId joint : arm.joints)
          ASSERT_EQ(world.q(joint)[0], fresh.q(joint)[0]) << name_of(first) << " " << name_of(second);
      }
    }
}

/// The deepest that a link gets, and the most energy above the start, in `steps`.
struct Course {
  double depth = 0, rise = 0;
};
Course watch(World& world, int steps) {
  Course course;
  const double start = energy_of(world).sum();
  for (int n = 0; n < steps; ++n) {
    world.step();
    for (const Contact& c : world.contacts()) course.depth = std::max(course.depth, -c.separation);
    course.rise = std::max(course.rise, energy_of(world).sum() - start);
  }
  return course;
}

TEST(Integrators, NoneEntersAThickFloor) {
  for (const Integrator integrator : kAll)
    for (const double e : {0.0, 0.5}) {
      Scene scene;
      const MaterialId m = add_material(scene, 0.5, e);
      scene.add_ground(m);
      const LinkId ball =
          scene.add_body("ball", Shape::sphere(0.1), 1, Transform::translation({0, 0, 0.537}), m);
      World world = make_world(std::move(scene), with(integrator));
      world.set_velocity(ball, {Vec3::Zero(), Vec3(1, 0, -20)});
      const Course course = watch(world, 300);
      EXPECT_LT(course.depth, 1e-4) << name_of(integrator) << e;  // twice the slop
      EXPECT_LT(course.rise, 1e-3 * 200) << name_of(integrator) << e;
    }
}

TEST(Integrators, BoxesSlideAndStacksRestUnderAll) {
  for (const Integrator integrator : kAll) {
    BoxOnGround s(0.3);
    for (int i = 1; i < 4; ++i)
      s.scene.add_body("box" + std::to_string(i), Shape::box({0.5, 0.5, 0.1}), 1,
                       Transform::translation({0, 3, 0.2 * i - 0.1}), s.material);
    World world = make_world(std::move(s.scene), with(integrator));
    world.set_velocity(s.box, {Vec3::Zero(), Vec3(2, 0, 0)});
    const Course course = watch(world, 1000);
    EXPECT_LT(course.depth, 1.5e-4) << name_of(integrator);
    EXPECT_LT(course.rise, 1e-4) << name_of(integrator);
    EXPECT_NEAR(world.pose(s.box).p.x(), 4 / (2 * 0.3 * 9.8), 5e-3) << name_of(integrator);
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

// At rest at its target it gives nothing, and what a ball asks of it within a step is many times its limit.
TEST(Drive, ExertsNoMoreThanItsLimitWhenItIsStruck) {
  constexpr double kLimit = 10;
  for (const Integrator integrator : {Integrator::kSemiImplicit, Integrator::kSymplectic, Integrator::kRk4}) {
    SCOPED_TRACE(name_of(integrator));
    Slide s;
    s.scene.add_shape(s.scene.mechanism.find_link("mass"), Shape::box({0.1, 0.1, 0.1}));
    const LinkId ball =
        s.scene.add_body("ball", Shape::sphere(0.1), 2, Transform::translation({-0.25, 0, 0}));
    World world = make_world(std::move(s.scene), with(integrator, 1e-3), Vec3::Zero());
    world.set_drive(s.joint, {.stiffness = 1e4, .damping = 1e3, .limit = kLimit});
    world.set_velocity(ball, {Vec3::Zero(), Vec3(5, 0, 0)});
    double most = 0;
    for (int n = 0; n < 100; ++n) {
      world.step();
      most = std::max(most, std::abs(world.load(s.joint).drive[0]));
    }
    EXPECT_LE(most, kLimit * (1 + 1e-9));
    EXPECT_GE(most, kLimit * (1 - 1e-9));
    EXPECT_GT(world.v(s.joint)[0], 1) << "it was not struck";
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
