// Free flight is exact: the centre of mass follows the parabola of all constant forces at any step, wherever
// the origin of the body is and however it spins.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>

#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/spatial/rotation.h"
#include "support/random_solids.h"
#include "support/test_models.h"
#include "world/energy.h"
#include "world/momentum.h"
#include "world/scenes.h"

namespace karakuri {
namespace {

using test::add_material;
using test::make_world;
using test::with;

const Integrator kExact[] = {Integrator::kSemiImplicit, Integrator::kSymplectic, Integrator::kRk4};

void float_free(Mechanism& m, LinkId link, const Transform& at) {
  (void)m.add_joint({.name = m.link(link).name + " flies",
                     .kind = JointKind::kFree,
                     .parent = m.world(),
                     .child = link,
                     .X_PF = at});
}

/// A body whose centre of mass is far from its origin, with `limbs` on it.
struct Flyer {
  Scene scene;
  LinkId trunk;

  Flyer(std::uint64_t seed, int limbs) {
    Random random(seed);
    Mechanism& m = scene.mechanism;
    Inertia inertia = test::random_inertia(random);
    inertia.com += Vec3(0.3, -0.2, 0.1);
    trunk = m.add_link("trunk", inertia);
    float_free(m, trunk, test::random_transform(random, 1));
    const JointKind kinds[] = {JointKind::kRevolute, JointKind::kSpherical, JointKind::kUniversal};
    for (int k = 0; k < limbs; ++k) {
      const std::string name = "limb" + std::to_string(k);
      const LinkId limb = m.add_link(name, test::random_inertia(random));
      (void)m.add_joint(test::random_joint(random, kinds[k % 3], name, trunk, limb));
    }
  }
};

Vec3 center_of(const World& world) {
  Workspace ws(world.model());
  update_poses(world.model(), world.state(), ws);
  return center_of_mass(world.model(), ws);
}

void start(World& world, double speed) {
  Random random(3);
  const State state = test::random_state(world.model(), random, speed);
  world.set_state(state.q, state.v);
}

/// Steps with a constant force, and compares with closed forms: rounding alone may part them.
void expect_parabola(World& world, LinkId link, const Vec3& force, double h, const std::string& what) {
  const double mass = total_mass(world.model());
  const Vec3 c = center_of(world), v = test::momentum_of(world).force / mass,
             a = force / mass + world.gravity();
  for (int n = 1; n <= 40; ++n) {
    if (!force.isZero(0)) world.add_force(link, force, Vec3(0.1, 0.2, 0));
    world.step();
    const double fastest = world.state().v_view().lpNorm<Eigen::Infinity>();  // whose parts cancel
    const double t = n * h, speed = 1 + v.norm() + a.norm() * t + fastest;
    ASSERT_LT((test::momentum_of(world).force / mass - v - a * t).norm(), 1e-12 * speed) << what << " " << n;
    ASSERT_LT((center_of(world) - c - v * t - 0.5 * a * t * t).norm(), 1e-12 * (1 + speed * t)) << what << n;
  }
}

// What turns by many radians in a step lands anywhere on the sphere of its angular momentum, where its energy
// would be up to that of turning about the axis of the least moment: ninety times as much for a needle.
TEST(Flight, SpinsOfAnySpeedKeepTheirEnergyAndMomentum) {
  const Shape shapes[] = {Shape::capsule(0.01, 0.1), Shape::box({0.3, 0.2, 0.1}), Shape::cylinder(0.3, 0.01)};
  for (const Integrator integrator :
       {Integrator::kSemiImplicit, Integrator::kSymplectic, Integrator::kRk4, Integrator::kExplicit})
    for (const Shape& shape : shapes)
      for (const double turn : {1.5, 10.0, 300.0}) {  // in a step [rad]
        Scene scene;
        const LinkId body = scene.add_body("body", shape, 1, {}, add_material(scene, 0.5));
        World world = make_world(std::move(scene), with(integrator, 0.01), Vec3::Zero());
        world.set_velocity(body, {turn / 0.01 * Vec3(0.3, 1, 0.2).normalized(), Vec3(1, 2, 3)});
        const double energy = test::energy_of(world).sum();
        const Vec3 L = test::momentum_of(world).moment;
        for (int k = 0; k < 200; ++k) {
          world.step();
          ASSERT_NEAR(test::energy_of(world).sum(), energy, 1e-11 * energy) << name_of(integrator) << turn;
        }
        EXPECT_LT((test::momentum_of(world).moment - L).norm(), 1e-10 * L.norm());
      }
}

// Across its axis a body of revolution turns steadily about where its momentum points. Two of its moments are
// equal but for rounding, which once turned it by up to a quarter turn about its own axis.
TEST(Flight, BodiesOfRevolutionTurnSteadilyAcrossTheirAxes) {
  constexpr double h = 0.01;
  for (const Shape& shape :
       {Shape::capsule(0.01, 0.1), Shape::cylinder(0.03, 0.1), Shape::cylinder(0.3, 0.01)})
    for (const double turn : {0.3, 1.5, 10.0}) {  // in a step [rad]
      Random random(1);
      for (int k = 0; k < 50; ++k) {
        Scene scene;
        const Mat3 R = test::random_turn(random);
        const LinkId body = scene.add_body("body", shape, 1, {R, Vec3::Zero()}, add_material(scene, 0.5));
        World world = make_world(std::move(scene), with(Integrator::kSemiImplicit, h), Vec3::Zero());
        const double angle = random.uniform(0, 6);
        const Vec3 axis = R * Vec3(std::cos(angle), std::sin(angle), 0);
        world.set_velocity(body, {turn / h * axis, Vec3::Zero()});
        for (int n = 1; n <= 20; ++n) {
          world.step();
          // the root of rounding, to which energy tells the momentum about the axis of the least moment, over
          // the moments' ratio, for all of the turns
          const Mat3 missed = world.pose(body).R.transpose() * rotation_exp(n * turn * axis) * R;
          ASSERT_LT((missed - Mat3::Identity()).norm(), 1e-6 * (1 + n * turn))
              << turn << " " << k << " " << n;
        }
      }
    }
}

TEST(Flight, CentresOfMassFollowTheParabolaOfGravityAndForces) {
  for (const Integrator integrator : kExact)
    for (const int limbs : {0, 3})
      for (const double h : {1e-4, 1e-2, 0.3})
        for (const Vec3& force : {Vec3(0, 0, 0), Vec3(3, -4, 5)}) {
          if (limbs > 0 && integrator == Integrator::kRk4) continue;  // of fourth order
          Flyer f(7, limbs);
          World world = make_world(std::move(f.scene), with(integrator, h));
          // what turns far in a step is another matter
          start(world, limbs > 0 ? std::min(3.0, 0.01 / h) : 3);
          expect_parabola(
              world, f.trunk, force, h,
              std::string(name_of(integrator)) + " " + std::to_string(h) + " limbs " + std::to_string(limbs));
        }
}

/// How far anything moves from where it is, in 2 s.
double drift(World& world, LinkId link, const std::function<void(World&)>& act) {
  const Vec3 at = world.pose(link).p;
  double most = 0;
  for (int n = 0; n < 200; ++n) {
    act(world);
    world.step();
    most = std::max(most, (world.pose(link).p - at).norm());
  }
  return most;
}

TEST(Flight, WhatIsLiftedByItsWeightStays) {
  for (const Integrator integrator : kExact)
    for (const bool has_limb : {false, true}) {
      Scene scene;
      Mechanism& m = scene.mechanism;
      const LinkId drone = m.add_link("drone", {2, Vec3(0.1, 0, 0.05), 0.02 * Mat3::Identity()});
      float_free(m, drone, Transform::identity());
      LinkId limb;
      if (has_limb) {
        limb = m.add_link("limb", {1, Vec3(0, 0, -0.2), 0.01 * Mat3::Identity()});
        (void)m.add_joint({.name = "hinge",
                           .kind = JointKind::kRevolute,
                           .parent = drone,
                           .child = limb,
                           .axis = Vec3::UnitY()});
      }
      World world = make_world(std::move(scene), with(integrator, 0.01));
      const double most = drift(world, drone, [&](World& w) {
        w.add_force(drone, 2 * Vec3(0, 0, 9.8), Vec3(0.1, 0, 0.05));
        if (has_limb) w.add_force(limb, Vec3(0, 0, 9.8), Vec3(0, 0, -0.2));
      });
      EXPECT_LT(most, 1e-12) << name_of(integrator) << " limb " << has_limb;
    }
}

TEST(Flight, EffortsOnTheFreeJointCountAsForces) {
  for (const Integrator integrator : kExact)
    for (const bool has_limb : {false, true}) {
      Scene scene;
      Mechanism& m = scene.mechanism;
      const LinkId body = m.add_link("body", {2, Vec3::Zero(), 0.02 * Mat3::Identity()});
      float_free(m, body, Transform::identity());
      if (has_limb) {
        const LinkId limb = m.add_link("limb", {1, Vec3::Zero(), 0.01 * Mat3::Identity()});
        (void)m.add_joint({.name = "hinge",
                           .kind = JointKind::kRevolute,
                           .parent = body,
                           .child = limb,
                           .axis = Vec3::UnitY()});
      }
      World world = make_world(std::move(scene), with(integrator, 0.01));
      const JointId joint = world.scene().mechanism.find_joint("body flies");
      world.set_effort(joint, std::array{0.0, 0.0, (has_limb ? 3 : 2) * 9.8, 0.0, 0.0, 0.0});
      EXPECT_LT(drift(world, body, [](World&) {}), 1e-12) << name_of(integrator) << " limb " << has_limb;
    }
}

// What a step is wrong by adds up over a run: bodies once drifted to the axis of their smallest moment, and
// had up to eleven times their energy there.
TEST(Flight, SlowABodyThatTumblesForLongKeepsItsEnergy) {
  const Vec3 moments(0.29, 0.26, 0.05);  // by no symmetry the same
  for (const Integrator integrator :
       {Integrator::kSemiImplicit, Integrator::kSymplectic, Integrator::kRk4, Integrator::kExplicit})
    for (const double angle : {0.01, 0.1, 0.2, 0.8, 2.5}) {  // in a step
      Scene scene;
      const LinkId body = scene.mechanism.add_link("body", {1, Vec3(0.1, 0, 0.02), moments.asDiagonal()});
      float_free(scene.mechanism, body, Transform::identity());
      World world = make_world(std::move(scene), with(integrator, 0.01), Vec3::Zero());
      world.set_velocity(body, {angle / 0.01 * Vec3(0.3, 0.9, 0.3), Vec3::Zero()});
      const double start = world.energies().kinetic;
      for (int k = 0; k < 20; ++k) {
        world.step(1000);
        // rounding of each step, added up
        ASSERT_NEAR(world.energies().kinetic, start, 1e-10 * start)
            << name_of(integrator) << ", " << angle << " rad a step, after " << 1000 * (k + 1);
      }
    }
}

// A damper on the free joint itself acts at the end of the step; the momentum that is kept must not take it
// back, however strong it is.
TEST(Flight, DampersOfAFreeJointAreStable) {
  for (const Integrator integrator :
       {Integrator::kSemiImplicit, Integrator::kSymplectic, Integrator::kRk4, Integrator::kExplicit}) {
    Scene scene;
    Mechanism& m = scene.mechanism;
    const LinkId body = m.add_link("body", {2, Vec3::Zero(), 0.02 * Mat3::Identity()});
    Joint joint{.name = "flies", .kind = JointKind::kFree, .parent = m.world(), .child = body};
    for (int k = 0; k < 6; ++k) joint.dofs[k].damping = 1e4;
    const JointId id = m.add_joint(joint).value();
    World world = make_world(std::move(scene), with(integrator, 0.01));
    world.set_v(id, std::array{1.0, 2.0, 3.0, 4.0, 5.0, 6.0});
    world.step(200);
    EXPECT_NEAR(world.v(id)[2], -2 * 9.8 / 1e4, 1e-9) << name_of(integrator);
    EXPECT_NEAR(world.v(id)[4], 0, 1e-9) << name_of(integrator);
  }
}

}  // namespace
}  // namespace karakuri
