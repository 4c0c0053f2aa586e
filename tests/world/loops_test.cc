// Closed loops in a world: the IFToMM benchmarks, position errors at every step, energy, momentum.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/kinematics.h"
#include "support/figures.h"
#include "support/loop_watch.h"
#include "support/no_alloc.h"
#include "world/scenes.h"

namespace karakuri {
namespace {

using test::loop_error;
using test::make_world;
using test::with;

struct Course {
  double error = 0;          // largest of the loops
  double lost = 0, won = 0;  // of the energy, at most [J]
  double kinetic = 0;        // at most [J]
};

Course run(World& world, double time) {
  Course out;
  const double start = world.energies().total();
  const int steps = static_cast<int>(std::lround(time / world.settings().dt));
  for (int i = 0; i < steps; ++i) {
    world.step();
    out.error = std::max(out.error, loop_error(world));
    const Energies now = world.energies();
    const double change = now.total() - start;
    out.kinetic = std::max(out.kinetic, now.kinetic);
    out.won = std::max(out.won, change);
    out.lost = std::max(out.lost, -change);
  }
  return out;
}

Vec3 kG(double z) { return {0, 0, z}; }

/// B0, the top of the first upright, and its velocity.
std::pair<Vec3, Vec3> top_of(const World& world) {
  const LinkId link = world.scene().mechanism.find_link("upright0");
  const Transform X = world.pose(link);
  const Motion V = world.velocity(link);
  return {X * Vec3::UnitZ(), V.shifted(X.R * Vec3::UnitZ()).linear};
}

// IFToMM A02, N = 2: the exact place and velocity after 10 s, through seven positions where all bars align.
TEST(Loops, LadderIsWhereTheoryHasIt) {
  World world = make_world(test::ladder(2), with(Integrator::kRk4), kG(-9.81));
  const Course course = run(world, 10);
  const auto [p, v] = top_of(world);
  EXPECT_NEAR(p.x(), 0.3284581115, 1e-5);
  EXPECT_NEAR(p.z(), 0.9445185382, 1e-5);
  EXPECT_NEAR(v.x(), 1.4230514702, 1e-5);
  EXPECT_NEAR(v.z(), -0.4948688455, 1e-5);
  EXPECT_LT(std::max(course.won, course.lost), 1e-6);
  EXPECT_LT(course.error, 1e-9);
  RecordProperty("energy", std::to_string(std::max(course.won, course.lost)));
  std::printf("A02 rk4: place %.2e velocity %.2e energy %.2e loop %.2e\n",
              std::hypot(p.x() - 0.3284581115, p.z() - 0.9445185382),
              std::hypot(v.x() - 1.4230514702, v.z() + 0.4948688455), std::max(course.won, course.lost),
              course.error);
}

// IFToMM A04.
TEST(Loops, BricardKeepsItsEnergy) {
  for (const Integrator integrator : {Integrator::kRk4, Integrator::kSemiImplicit}) {
    World world = make_world(test::bricard(), with(integrator), kG(-9.81));
    const Course course = run(world, 10);
    std::printf("A04 %s: won %.2e lost %.2e loop %.2e\n", std::string(name_of(integrator)).c_str(),
                course.won, course.lost, course.error);
    EXPECT_LT(course.error, 1e-9);
    if (integrator == Integrator::kRk4) EXPECT_LT(std::max(course.won, course.lost), 1e-4);
  }
}

// The default integrator is of first order: its energy swings by about h times the rates. It must not climb,
// also where Stewart's legs and the delta's arms are stretched out and fall through.
TEST(Loops, NoDriftAndNoEnergyGained) {
  struct Case {
    const char* name;
    Scene scene;
  };
  std::vector<Case> cases;
  cases.push_back({"ladder", test::ladder(2)});
  cases.push_back({"four-bar", test::four_bar()});
  cases.push_back({"Chebyshev", test::chebyshev()});
  cases.push_back({"Stewart", test::stewart()});
  cases.push_back({"delta", test::delta()});
  for (Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world = make_world(std::move(c.scene), with(Integrator::kSemiImplicit), kG(-9.81));
    const Course course = run(world, 5);
    std::printf("%s: won %.2e lost %.2e of %.2e loop %.2e\n", c.name, course.won, course.lost, course.kinetic,
                course.error);
    EXPECT_LT(course.error, 1e-9);
    EXPECT_LE(course.won, 0.01 * course.kinetic + 1e-12);
  }
}

// Twelve of Jansen's legs on one crank walk over the floor, at the step of the bundled scene: a minute takes
// some 20 s of machine time.
TEST(Loops, StrandbeestWalksWithoutDrift) {
  test::Walker walker = test::strandbeest();
  World world = make_world(std::move(walker.scene), with(Integrator::kSemiImplicit, 2e-3), kG(-9.81));
  ASSERT_TRUE(world.set_drive(walker.crank, {.damping = 200, .v_target = 2, .limit = 400}));
  test::LoopWatch watch;
  watch.until(world, test::long_or(test::NoAllocGuard::available() ? 60 : 1));
  watch.print("Strandbeest");
  const Vec3 p = world.pose(walker.body).p;
  EXPECT_TRUE(watch.finite);
  EXPECT_LT(watch.error, 1e-9);
  // nearly all steps end below 1e-8 m/s; a few in which feet begin to slip end with the budget of linear
  // solves
  EXPECT_LT(watch.residual, 1e-3);
  EXPECT_GT(p.head<2>().norm(), 0.2 * world.time()) << "it has walked";
  EXPECT_GT(p.z(), 0.8) << "and is on its feet";
}

TEST(Loops, DeltaRobotUnderPd) {
  Scene scene = test::delta();
  JointId arm[3];
  for (int k = 0; k < 3; ++k) arm[k] = scene.mechanism.find_joint("arm" + std::to_string(k));
  World world = make_world(std::move(scene), with(Integrator::kSemiImplicit), kG(-9.81));
  world.add_hook([&](World& w) {
    for (int k = 0; k < 3; ++k) {
      const double target = 0.3 * std::sin(2 * std::numbers::pi * w.time() + 2 * k);
      w.set_drive(arm[k], {.stiffness = 400, .damping = 20, .q_target = target});
    }
  });
  const LinkId tool = world.scene().mechanism.find_link("tool");
  double tilt = 0;
  test::LoopWatch watch;
  watch.until(world, test::long_or(test::NoAllocGuard::available() ? 60 : 2), [&] {
    world.step();
    tilt = std::max(tilt, (world.pose(tool).R - Mat3::Identity()).norm());
  });
  watch.print("delta robot under PD");
  EXPECT_TRUE(watch.finite);
  EXPECT_LT(watch.error, 1e-9);
  EXPECT_LT(tilt, 1e-8) << "its plate stays level: the arms are parallelograms";
}

// A mechanism that is driven beyond all numbers is frozen; another with loops goes on as if it were alone.
TEST(Loops, OneThatFailsDoesNotSpoilTheOthers) {
  const auto build = [](bool both) {
    test::Linkage m;
    const auto pair = [&](const std::string& name, double y) {
      const Vec3 A(0, y, 1), B(0.5, y, 1), C(0.25, y, 0.6);
      const LinkId left =
          m.hang(name + "a", m.world(), JointKind::kRevolute, A, Vec3::UnitY(), test::rod(A, C, 1));
      const LinkId right =
          m.hang(name + "b", m.world(), JointKind::kUniversal, B, Vec3::UnitY(), test::rod(B, C, 1));
      m.join(name, left, right, JointKind::kDistance, C + Vec3(0, 0, -0.1), Vec3::UnitY());
      Joint& joint = m.scene.mechanism.joint(m.scene.mechanism.find_joint(name));
      joint.X_CM.p += Vec3(0.1, 0, 0);
      joint.distance = 0.1;
    };
    pair("good", 0);
    if (both) pair("bad", 5);
    return make_world(std::move(m.scene), with(Integrator::kSemiImplicit));
  };
  World alone = build(false), both = build(true);
  alone.step(10);
  both.step(10);
  const LinkId bad = both.scene().mechanism.find_link("bada");
  both.set_v(both.scene().mechanism.find_joint("bada"), std::array{1e200});
  alone.step(10);
  both.step(10);
  EXPECT_TRUE(both.quarantined(bad));
  const JointId good = alone.scene().mechanism.find_joint("gooda");
  EXPECT_FALSE(both.quarantined(both.scene().mechanism.find_link("gooda")));
  EXPECT_NEAR(both.q(both.scene().mechanism.find_joint("gooda"))[0], alone.q(good)[0], 1e-12);
}

// A hinge that is open at the start is closed by what its beam falls, slowly: no energy is made, and nothing
// stays hanging in the air.
TEST(Loops, ThoseOpenAtTheStartAreClosedByTheMotion) {
  const double dt = 2e-3, mass = 160;
  test::Linkage m;
  const LinkId beam = m.hang("beam", m.world(), JointKind::kFree, {0, 0, 0}, Vec3::UnitZ(),
                             Inertia::solid_box(mass, {0.4, 1, 0.4}));
  m.join("pin", m.world(), beam, JointKind::kSpherical, Vec3(0.5, 0.4, 0.5), Vec3::UnitY());
  m.scene.mechanism.joint(m.scene.mechanism.find_joint("pin")).X_CM.p = Vec3(0.2, 0.4, 0.2);
  WorldSettings settings;
  settings.dt = dt;
  World world = make_world(std::move(m.scene), settings);
  const auto gap = [&] { return (world.pose(beam) * Vec3(0.2, 0.4, 0.2) - Vec3(0.5, 0.4, 0.5)).norm(); };
  const double start = world.energies().total(), open = gap();
  const double swing = mass * 9.8 * dt * 5;  // h v m g at 5 m/s, which is more than it gets
  double made = 0;
  for (int k = 0; k < 1000; ++k) {
    const Vec3 before = world.pose(beam).p;
    world.step();
    made += world.report().energy_made;
    ASSERT_LT((world.pose(beam).p - before).norm(), 0.05) << "in step " << k;
    ASSERT_LT(world.energies().total() - start, swing) << "in step " << k;
  }
  EXPECT_LT(made, 1e-12);  // rounding of energies of some 1000 J
  EXPECT_LT(gap(), 0.1 * open);
}

// What floats keeps its momentum, loops or not; and no step asks for memory.
TEST(Loops, MomentumOfWhatFloats) {
  test::Linkage m;
  Inertia box = Inertia::solid_box(2, {0.4, 0.2, 0.1});
  const LinkId base = m.hang("base", m.world(), JointKind::kFree, {0, 0, 0}, Vec3::UnitZ(), box);
  const Vec3 A(0.2, 0, 0), B(0.3, 0.1, 0.5), C(-0.3, 0, 0.4), D(-0.2, 0, 0);
  const LinkId left = m.hang("left", base, JointKind::kSpherical, A, Vec3::UnitY(), test::rod(A, B, 1, 0.02));
  const LinkId over = m.hang("over", left, JointKind::kUniversal, B, Vec3::UnitY(), test::rod(B, C, 1, 0.02));
  const LinkId right =
      m.hang("right", base, JointKind::kSpherical, D, Vec3::UnitY(), test::rod(D, C, 1, 0.02));
  m.join("loop", over, right, JointKind::kSpherical, C, Vec3::UnitY());
  m.scene.initial.push_back({m.joint_of(base), {}, {0.1, 0.2, 0.3, 1, -2, 0.5}});
  m.scene.initial.push_back({m.joint_of(left), {}, {2, -1, 1}});
  World world = make_world(std::move(m.scene), with(Integrator::kSemiImplicit), Vec3::Zero());
  world.step();
  const auto total = [&] {
    Workspace ws(world.model());
    update_poses(world.model(), world.state(), ws);
    update_velocities(world.model(), world.state(), ws);
    return tree_motion(world.model(), ws, world.model().trees[0]).momentum;  // about the centre of mass
  };
  const Force before = total();
  world.step(2000);
  const Force change = total() - before;
  EXPECT_LT(change.force.norm(), 1e-10);
  EXPECT_LT(change.moment.norm(), 1e-10);
  if (!test::NoAllocGuard::available()) GTEST_SKIP() << test::NoAllocGuard::kUnavailable;
  const test::NoAllocGuard guard;
  world.step(100);
  EXPECT_EQ(guard.allocations(), 0);
}

}  // namespace
}  // namespace karakuri
