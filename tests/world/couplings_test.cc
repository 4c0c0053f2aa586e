// Joints that follow joints, and tendons: against reduced models in closed form, conserved energy, and the
// same mechanism built without the coupling.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "karakuri/dynamics/closed_loop.h"
#include "karakuri/dynamics/relation_rows.h"
#include "support/linkages.h"
#include "support/no_alloc.h"
#include "world/scenes.h"

namespace karakuri {
namespace {

using test::make_world;
using test::with;

const Vec3 kY = Vec3::UnitY();

/// The largest error of any coupling [rad or m].
double coupling_error(const World& world) {
  double most = 0;
  for (const Relation& r : world.model().relations)
    if (r.held) most = std::max(most, std::abs(relation_position(r, world.state().q_view())));
  return most;
}

double follow(World& world, double seconds) {
  double most = 0;
  for (const double end = world.time() + seconds - 1e-9; world.time() < end;) {
    world.step();
    most = std::max(most, coupling_error(world));
  }
  return most;
}

Inertia wheel(double moment) { return {1, Vec3::Zero(), moment * Mat3::Identity()}; }

struct TwoWheels {
  test::Linkage m;
  JointId first, second;

  explicit TwoWheels(double I1, double I2, bool one_tree = false) {
    const LinkId a = m.hang("a", m.world(), JointKind::kRevolute, {0, 0, 0}, kY, wheel(I1));
    const LinkId b = m.hang("b", one_tree ? a : m.world(), JointKind::kRevolute, {0, 0, 0}, kY, wheel(I2));
    first = m.joint_of(a);
    second = m.joint_of(b);
  }
};

constexpr double kI1 = 0.3, kI2 = 0.05, kRatio = -2.5, kTorque = 0.7;

// Two trees: q2 = r q1 and a torque on the first turn I1 + r^2 I2.
TEST(Coupling, GearPairHasItsReducedInertia) {
  for (const Integrator integrator : {Integrator::kSemiImplicit, Integrator::kRk4}) {
    TwoWheels wheels(kI1, kI2);
    wheels.m.scene.mechanism.add_coupling(
        {.name = "gear", .follower = wheels.second, .leader = wheels.first, .coefficients = {0, kRatio}});
    World world = make_world(wheels.m.scene, with(integrator), Vec3::Zero());
    ASSERT_TRUE(world.set_effort(wheels.first, {&kTorque, 1}));
    EXPECT_LT(follow(world, 1), 1e-9);
    const double expected = kTorque / (kI1 + kRatio * kRatio * kI2);
    EXPECT_NEAR(world.v(wheels.first)[0], expected, 1e-10);  // rounding of a thousand steps
    EXPECT_NEAR(world.v(wheels.second)[0], kRatio * expected, 1e-10);
  }
}

// One tree: the second wheel rides on the first, so that it turns by (1 + r) q1 in all.
TEST(Coupling, WithinOneTree) {
  TwoWheels wheels(kI1, kI2, true);
  wheels.m.scene.mechanism.add_coupling(
      {.name = "gear", .follower = wheels.second, .leader = wheels.first, .coefficients = {0, kRatio}});
  World world = make_world(wheels.m.scene, with(Integrator::kSemiImplicit), Vec3::Zero());
  ASSERT_TRUE(world.set_effort(wheels.first, {&kTorque, 1}));
  EXPECT_LT(follow(world, 1), 1e-9);
  EXPECT_NEAR(world.v(wheels.first)[0], kTorque / (kI1 + (1 + kRatio) * (1 + kRatio) * kI2), 1e-10);
}

/// A slider along x and one along z that follows it: a bead of two masses on the wire z = P(x).
struct Wire {
  test::Linkage m;
  JointId x, z;
  std::array<double, 5> P{0.1, -0.3, 1, 0.2, 0.4};

  Wire() {
    const Inertia mass{2, Vec3::Zero(), Mat3::Identity()};
    x = m.joint_of(m.hang("x", m.world(), JointKind::kPrismatic, {0, 0, 0}, Vec3::UnitX(), mass));
    z = m.joint_of(m.hang("z", m.world(), JointKind::kPrismatic, {0, 0, 0}, Vec3::UnitZ(), mass));
    m.scene.mechanism.add_coupling({.name = "wire", .follower = z, .leader = x, .coefficients = P});
    m.scene.initial = {{x, {0.8}, {}}, {z, {height(0.8)}, {}}};
  }
  double height(double at) const { return P[0] + at * (P[1] + at * (P[2] + at * (P[3] + at * P[4]))); }
};

TEST(Coupling, ABeadOnAWireKeepsItsEnergyAndTheWire) {
  Wire wire;
  World world = make_world(wire.m.scene, with(Integrator::kRk4));
  const double start = world.energies().total();
  for (int i = 0; i < 5000; ++i) {
    world.step();
    ASSERT_NEAR(world.q(wire.z)[0], wire.height(world.q(wire.x)[0]), 1e-10);
  }
  EXPECT_NEAR(world.energies().total(), start, 1e-8);  // of 14 J; fourth order at 1 ms
  // the first-order integrator holds the wire as well, and does not gain energy beyond its order
  World plain = make_world(wire.m.scene, with(Integrator::kSemiImplicit));
  EXPECT_LT(follow(plain, 5), 1e-9);
  EXPECT_NEAR(plain.energies().total(), start, 0.05);
}

// A joint held at a constant is a fixed one.
TEST(Coupling, AConstantLocksAJoint) {
  const Vec3 elbow(0, 0, -1), tip(0.6, 0, -1.8);
  const auto build = [&](bool fixed) {
    test::Linkage m;
    const LinkId upper =
        m.hang("upper", m.world(), JointKind::kRevolute, {0, 0, 0}, kY, test::rod({0, 0, 0}, elbow, 1));
    const LinkId lower = m.hang("lower", upper, fixed ? JointKind::kFixed : JointKind::kRevolute, elbow, kY,
                                test::rod(elbow, tip, 2));
    m.scene.initial = {{m.joint_of(upper), {1}, {}}};
    if (!fixed)
      m.scene.mechanism.add_coupling({.name = "lock", .follower = m.joint_of(lower), .coefficients = {}});
    return m;
  };
  test::Linkage held = build(false), rigid = build(true);
  const JointId shoulder = held.joint_of(held.scene.mechanism.find_link("upper"));
  World a = make_world(held.scene, with(Integrator::kRk4)),
        b = make_world(rigid.scene, with(Integrator::kRk4));
  for (int i = 0; i < 3000; ++i) {
    a.step();
    b.step();
    ASSERT_NEAR(a.q(shoulder)[0], b.q(shoulder)[0], 1e-9);
  }
}

// Each knows only the next: a train of gears is one freedom, and the closed-loop analysis counts it so.
TEST(Coupling, ATrainOfGearsHasOneFreedom) {
  constexpr int kWheels = 120;  // above what the solve keeps dense
  test::Linkage m;
  std::vector<JointId> joints;
  for (int i = 0; i < kWheels; ++i) {
    joints.push_back(m.joint_of(
        m.hang("w" + std::to_string(i), m.world(), JointKind::kRevolute, {0, 0, 0}, kY, wheel(0.1))));
    if (i > 0)
      m.scene.mechanism.add_coupling({.name = "g" + std::to_string(i),
                                      .follower = joints[i],
                                      .leader = joints[i - 1],
                                      .coefficients = {0, -1}});
  }
  World world = make_world(m.scene, with(Integrator::kSemiImplicit), Vec3::Zero());
  Workspace ws(world.model());
  ClosedLoop loop;
  update_closed_loop(world.model(), world.state(), ws, loop);
  EXPECT_EQ(loop.mobility(), 1);
  EXPECT_EQ(loop.redundant(), 0);
  ASSERT_TRUE(world.set_effort(joints[0], {&kTorque, 1}));
  EXPECT_LT(follow(world, 0.2), 1e-9);
  EXPECT_NEAR(world.v(joints.back())[0], -0.2 * kTorque / (0.1 * kWheels), 1e-9);
}

TEST(Coupling, BothWaysOfForwardDynamicsKnowIt) {
  Wire wire;
  const Model model = compile(wire.m.scene.mechanism).value();
  State state = test::initial_state(wire.m.scene, model);
  const double x = 0.8, v = 1.3, slope = -0.3 + 2 * x + 0.6 * x * x + 1.6 * x * x * x,
               bend = 2 + 1.2 * x + 4.8 * x * x;
  state.v = {v, slope * v};
  Workspace ws(model);
  ClosedLoop loop;
  update_closed_loop(model, state, ws, loop);
  // (m + m P'^2) a = -m P' (g + P'' v^2)
  const double expected = -slope * (9.81 + bend * v * v) / (1 + slope * slope);
  Eigen::VectorXd a(2), b(2);
  closed_loop_forward_dynamics(model, state, loop, Eigen::VectorXd::Zero(2), {}, ws, a);
  constrained_forward_dynamics(model, state, loop, Eigen::VectorXd::Zero(2), {}, ws, b);
  EXPECT_NEAR(a[0], expected, 1e-12);
  EXPECT_NEAR(b[0], expected, 1e-12);
}

// A coupling beside a loop, and one that is attached to: all in one projection.
TEST(Coupling, BesideLoopsAndImpacts) {
  Scene scene = test::four_bar();
  const JointId crank = scene.mechanism.find_joint("crank");
  const LinkId flywheel = scene.mechanism.add_link("flywheel", wheel(0.2));
  const JointId axle = *scene.mechanism.add_joint({.name = "axle",
                                                   .kind = JointKind::kRevolute,
                                                   .parent = scene.mechanism.world(),
                                                   .child = flywheel,
                                                   .axis = kY});
  const LinkId brake = scene.mechanism.add_link("brake", wheel(0.4));
  (void)*scene.mechanism.add_joint({.name = "brake",
                                    .kind = JointKind::kRevolute,
                                    .parent = scene.mechanism.world(),
                                    .child = brake,
                                    .axis = kY});
  scene.mechanism.add_coupling({.name = "gear", .follower = axle, .leader = crank, .coefficients = {0, 3}});
  World world = make_world(scene, with(Integrator::kRk4));
  const double start = world.energies().total();
  EXPECT_LT(follow(world, 2), 1e-9);
  EXPECT_NEAR(world.energies().total(), start, 1e-7);
  const double before = world.energies().kinetic;
  ASSERT_TRUE(world.attach_here(flywheel, brake, {}, {.name = "clutch"}).ok());
  EXPECT_NEAR(world.v(axle)[0], 3 * world.v(crank)[0], 1e-10);
  EXPECT_LT(world.energies().kinetic, before);
  EXPECT_LT(follow(world, 1), 1e-9);
}

TEST(Tendon, LimitsHoldTheSum) {
  TwoWheels wheels(0.1, 0.2);
  wheels.m.scene.mechanism.add_tendon(
      {.name = "cord", .joints = {{wheels.first, 0, 1}, {wheels.second, 0, 2}}, .range = {-1, 0.5}});
  World world = make_world(wheels.m.scene, with(Integrator::kSemiImplicit), Vec3::Zero());
  ASSERT_TRUE(world.set_effort(wheels.first, {&kTorque, 1}));
  world.step(3000);
  const double x = world.q(wheels.first)[0] + 2 * world.q(wheels.second)[0];
  EXPECT_NEAR(x, 0.5, 1e-4);  // the slop of limits is 5e-5
  EXPECT_GT(world.q(wheels.first)[0], 0.6) << "both go on turning along the limit";
  // momentum of what the cord leaves free: I1 v1 - I2 v2 / 2 gains all of the torque
  EXPECT_NEAR(0.1 * world.v(wheels.first)[0] - 0.1 * world.v(wheels.second)[0], 3 * kTorque, 1e-9);
}

TEST(Tendon, ASpringCarriesAWeight) {
  test::Linkage m;
  const Inertia mass{2, Vec3::Zero(), Mat3::Identity()};
  const JointId left =
      m.joint_of(m.hang("l", m.world(), JointKind::kPrismatic, {0, 0, 0}, Vec3::UnitZ(), mass));
  const JointId right =
      m.joint_of(m.hang("r", m.world(), JointKind::kPrismatic, {1, 0, 0}, Vec3::UnitZ(), mass));
  m.scene.mechanism.add_tendon({.name = "cord",
                                .joints = {{left, 0, 1}, {right, 0, 1}},
                                .stiffness = 400,
                                .damping = 40,
                                .rest = 0.1});
  World world = make_world(m.scene, with(Integrator::kSemiImplicit));
  world.step(5000);
  // one force f on both: f = m g, and l + r = rest - f / k
  EXPECT_NEAR(world.q(left)[0] + world.q(right)[0], 0.1 - 2 * 9.8 / 400, 1e-9);
}

TEST(Coupling, SnapshotsAndEditsKeepIt) {
  Wire wire;
  World world = make_world(wire.m.scene, with(Integrator::kSemiImplicit));
  world.step(200);
  const Snapshot then = world.snapshot();
  world.step(300);
  const std::uint64_t there = world.hash();
  ASSERT_TRUE(world.restore(then).empty());
  world.step(300);
  EXPECT_EQ(world.hash(), there);
  ASSERT_TRUE(world.edit([&](Scene& s) { s.mechanism.couplings()[0].coefficients[1] += 0.01; }).empty());
  world.step(50);
  EXPECT_LT(coupling_error(world), 1e-9) << "it comes to the changed wire";
}

TEST(Coupling, StepsWithoutAllocating) {
  if (!test::NoAllocGuard::available()) GTEST_SKIP() << test::NoAllocGuard::kUnavailable;
  Scene scene = test::four_bar();
  const JointId crank = scene.mechanism.find_joint("crank"), rocker = scene.mechanism.find_joint("rocker");
  scene.mechanism.add_tendon({.name = "t", .joints = {{crank, 0, 1}, {rocker, 0, 1}}, .stiffness = 1});
  const LinkId wheel_link = scene.mechanism.add_link("w", wheel(0.2));
  const JointId axle = *scene.mechanism.add_joint({.name = "w",
                                                   .kind = JointKind::kRevolute,
                                                   .parent = scene.mechanism.world(),
                                                   .child = wheel_link,
                                                   .axis = kY});
  scene.mechanism.add_coupling({.name = "g", .follower = axle, .leader = crank});
  World world = make_world(scene);
  world.step(200);
  const test::NoAllocGuard guard;
  world.step(200);
  EXPECT_EQ(guard.allocations(), 0);
}

TEST(Coupling, WhatCannotBeIsRefused) {
  const auto errors_of = [](const auto& change) {
    test::Linkage m;
    const LinkId ball = m.hang("ball", m.world(), JointKind::kSpherical, {0, 0, 0}, kY, wheel(1));
    m.hang("wheel", ball, JointKind::kRevolute, {0, 0, 0}, kY, wheel(1));
    change(m.scene.mechanism);
    const auto world = World::make(m.scene);
    return world.ok() ? std::string() : to_string(world.errors());
  };
  EXPECT_NE(errors_of([](Mechanism& m) {
              m.add_coupling({.name = "c", .follower = m.find_joint("ball")});
            }).find("joint 'ball' has no position"),
            std::string::npos);
  EXPECT_NE(errors_of([](Mechanism& m) { m.add_coupling({.name = "c"}); }).find("not in this mechanism"),
            std::string::npos);
  EXPECT_NE(errors_of([](Mechanism& m) {
              m.add_coupling({.name = "c", .follower = m.find_joint("wheel"), .coefficients = {NAN}});
            }).find("not finite"),
            std::string::npos);
  EXPECT_NE(errors_of([](Mechanism& m) {
              m.add_tendon({.name = "t", .joints = {{m.find_joint("wheel"), 1, 1}}, .range = {0, 1}});
            }).find("has no dof 1"),
            std::string::npos);
}

}  // namespace
}  // namespace karakuri
