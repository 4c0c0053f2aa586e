// Trees that nobody drives make no energy, however far they turn in a step.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "support/passivity.h"
#include "support/test_models.h"
#include "world/energy.h"
#include "world/scenes.h"

namespace karakuri {
namespace {

using test::Energy;
using test::energy_of;
using test::make_world;
using test::with;

constexpr Integrator kAll[] = {Integrator::kSemiImplicit, Integrator::kSymplectic, Integrator::kRk4,
                               Integrator::kExplicit};

/// One to six links of all joint kinds, of one size, on a free or another joint.
Scene random_scene(std::uint64_t seed) {
  constexpr JointKind kKinds[] = {JointKind::kRevolute,  JointKind::kSpherical, JointKind::kUniversal,
                                  JointKind::kPrismatic, JointKind::kScrew,     JointKind::kCylindrical,
                                  JointKind::kPlanar};
  Random random(seed);
  Scene scene;
  const double size = std::exp(random.uniform(std::log(0.03), std::log(3.0)));
  const int links = 1 + static_cast<int>(random.uniform() * 6);
  std::vector<LinkId> all = {scene.mechanism.world()};
  for (int i = 0; i < links; ++i) {
    const std::string name = "link" + std::to_string(i);
    const Vec3 half =
        size * Vec3(random.uniform(0.1, 0.5), random.uniform(0.1, 0.5), random.uniform(0.1, 0.5));
    Inertia inertia = Inertia::solid_box(1000 * 8 * half.prod(), half);
    const LinkId link = scene.mechanism.add_link(name, inertia);
    const LinkId parent = i == 0 ? all[0] : all[1 + static_cast<int>(random.uniform() * i)];
    const bool floats = i == 0 && random.uniform() < 0.5;
    const JointKind kind = floats ? JointKind::kFree : kKinds[static_cast<int>(random.uniform() * 7)];
    Joint joint = test::random_joint(random, kind, name, parent, link);
    joint.X_PF.p = size * Vec3(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1));
    joint.X_CM.p = size * Vec3(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1));
    joint.pitch *= size;
    for (DofProperties& dof : joint.dofs) dof.armature = 0;
    (void)scene.mechanism.add_joint(joint);
    all.push_back(link);
  }
  return scene;
}

struct Rise {
  double taken = 0;  // by the ledger, over all steps [J]
  double step = 0;   // most in a step, of the kinetic energy then
  double whole = 0;  // most above the start, of the most kinetic energy by then
  bool finite = true;
};
World start(std::uint64_t seed, Integrator integrator, double h, double speed) {
  World world = make_world(random_scene(seed), with(integrator, h));
  Random random(seed + 1);
  const State state = test::random_state(world.model(), random, speed);
  world.set_state(state.q, state.v);
  return world;
}
Rise run(std::uint64_t seed, Integrator integrator, double h, double speed) {
  World world = start(seed, integrator, h, speed);
  Rise rise;
  const double start = energy_of(world).sum();
  double before = start, most = energy_of(world).kinetic;
  for (int n = 0; n < 4 / h; ++n) {
    world.step();
    rise.taken += world.report().energy_taken;
    const Energy now = energy_of(world);
    if (!std::isfinite(now.sum()) || world.quarantined(world.scene().mechanism.find_link("link0"))) {
      rise.finite = false;
      break;
    }
    most = std::max(most, now.kinetic);
    rise.step = std::max(rise.step, (now.sum() - before) / most);
    rise.whole = std::max(rise.whole, (now.sum() - start) / most);
    before = now.sum();
  }
  return rise;
}

// KARAKURI_MEASURE=1 prints how much energy rises, by integrator and step.
TEST(TreeEnergy, MeasureSlow) {
  if (!std::getenv("KARAKURI_MEASURE")) GTEST_SKIP() << "only where KARAKURI_MEASURE is set";
  for (const Integrator integrator : kAll)
    for (const double h : {1e-3, 5e-3, 0.02, 1.0}) {
      int bad = 0, infinite = 0;
      double step = 0, whole = 0;
      std::uint64_t worst = 0;
      for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const Rise rise = run(seed, integrator, h, 5);
        infinite += !rise.finite;
        bad += !(rise.whole < 0.1);
        if (rise.whole > whole) whole = rise.whole, worst = seed;
        step = std::max(step, rise.step);
      }
      std::printf("%-14s %6g s: %d of 40 rise by a tenth, %d infinite; worst %g (seed %d), in a step %g\n",
                  std::string(name_of(integrator)).c_str(), h, bad, infinite, whole, static_cast<int>(worst),
                  step);
    }
}

// The first forty seeds went beyond 1e50 J, at up to 10 of 40 and 17 of 40 of a step size, before.
TEST(TreeEnergy, UndrivenTreesStayFiniteSlow) {
  for (const Integrator integrator :
       {Integrator::kSemiImplicit, Integrator::kSymplectic, Integrator::kExplicit})
    for (const double h : {5e-3, 0.02, 1.0})
      for (std::uint64_t seed = 0; seed < 40; ++seed)
        EXPECT_TRUE(run(seed, integrator, h, 5).finite) << name_of(integrator) << " " << h << " " << seed;
}

// At a step of a second, what swings within it may have its energy wrong by what gravity does in a step
// (support/passivity.h (1)), which is not little beside what a slow tree has, and by no more than that: the
// judge sees to it that energy rises by two such swings at most. Where joints turn by many radians in a step,
// positions are not compared with velocities.
TEST(TreeEnergy, UndrivenTreesGainNothingAtASecond) {
  for (const Integrator integrator : {Integrator::kSemiImplicit, Integrator::kSymplectic})
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      World world = start(seed, integrator, 1.0, 5);
      test::PassivityJudge judge(world);
      for (int n = 0; n < 4 && judge.verdict().holds(); ++n) {
        world.step();
        judge.look(world);
      }
      const test::Verdict& v = judge.verdict();
      EXPECT_TRUE(v.holds() || v.fault == "position and velocity part")
          << name_of(integrator) << " " << seed << ": " << v.fault << " " << v.detail;
    }
}

// What was kept from being made is told, and at steps that resolve the motion there is nothing to tell.
TEST(TreeEnergy, WhatIsTakenIsTold) {
  EXPECT_GT(run(21, Integrator::kSemiImplicit, 1.0, 5).taken, 0.1);
  EXPECT_EQ(run(21, Integrator::kSemiImplicit, 1e-4, 0.1).taken, 0);
}

}  // namespace
}  // namespace karakuri
