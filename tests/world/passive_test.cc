// Worlds that nobody tuned make no energy, lose no motion, and stay finite: 300 of them, by seed.
//
// The judge stands outside of the engine (support/passivity.h says what it allows, and why). The benchmark
// `passive` does the same with as many seeds as one likes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/passivity.h"
#include "world/scenes.h"

namespace karakuri {
namespace {

using test::PassivityJudge;
using test::RandomWorld;
using test::RandomWorldOptions;
using test::WorldKind;

/// A few seconds for all of them together.
constexpr test::JudgeOptions kShort{.seconds = 4, .max_steps = 200, .patience = 10};
/// As the benchmark has it.
constexpr test::JudgeOptions kLong{.seconds = 4, .max_steps = 1000, .patience = 60};

void expect_to_hold(const std::vector<RandomWorld>& worlds, const test::JudgeOptions& options = kShort) {
  for (const RandomWorld& world : worlds) {
    const test::Verdict verdict = test::judge(world, options);
    EXPECT_TRUE(verdict.holds()) << test::to_line(world, verdict);
  }
}

void expect_to_hold(const RandomWorldOptions& options, int count) {
  std::vector<RandomWorld> worlds;
  for (int seed = 0; seed < count; ++seed)
    worlds.push_back(test::make_random_world(static_cast<std::uint64_t>(seed), options));
  expect_to_hold(worlds);
}

TEST(SlowPassive, TreesOfOverlappingParts) { expect_to_hold({.kind = WorldKind::kTrees}, 80); }
TEST(SlowPassive, Loops) { expect_to_hold({.kind = WorldKind::kLoops}, 30); }
TEST(SlowPassive, DrivesAndSprings) { expect_to_hold({.kind = WorldKind::kDrives}, 30); }
TEST(SlowPassive, MeshesAndHulls) { expect_to_hold({.kind = WorldKind::kMeshes}, 30); }
TEST(SlowPassive, Restitution) { expect_to_hold({.kind = WorldKind::kBouncing}, 30); }
TEST(SlowPassive, KinematicTrees) { expect_to_hold({.kind = WorldKind::kKinematic}, 30); }
TEST(SlowPassive, AllOfItAtOnce) { expect_to_hold({.kind = WorldKind::kMixed}, 22); }
TEST(SlowPassive, LongSteps) { expect_to_hold({.kind = WorldKind::kLongSteps}, 20); }
TEST(SlowPassive, CrowdedBins) { expect_to_hold({.kind = WorldKind::kBin}, 4); }

TEST(SlowPassive, AllContactModelsWithAllIntegrators) {
  std::vector<RandomWorld> worlds;
  for (const ContactModel contact : {ContactModel::kCone, ContactModel::kPyramid, ContactModel::kPenalty})
    for (const Integrator integrator :
         {Integrator::kSemiImplicit, Integrator::kSymplectic, Integrator::kRk4, Integrator::kExplicit})
      for (const std::uint64_t seed : {0, 1})
        worlds.push_back(test::make_random_world(
            seed, {.kind = WorldKind::kModels, .contact = contact, .integrator = integrator}));
  expect_to_hold(worlds);
}

using Seeds = std::vector<std::pair<WorldKind, std::vector<std::uint64_t>>>;

void expect_to_hold(const Seeds& kinds, const test::JudgeOptions& options) {
  std::vector<RandomWorld> worlds;
  for (const auto& [kind, seeds] : kinds)
    for (const std::uint64_t seed : seeds) worlds.push_back(test::make_random_world(seed, {.kind = kind}));
  expect_to_hold(worlds, options);
}

/// Each of them once made energy, jumped or was frozen.
TEST(SlowPassive, SeedsThatOnceDidNot) {
  const Seeds kinds = {
      {WorldKind::kTrees, {117, 909, 2088}},
      {WorldKind::kLoops, {334, 847, 3043, 4429, 4699, 6112, 6634}},
      {WorldKind::kDrives, {6311, 20414}},
      {WorldKind::kMeshes, {894, 2091}},
      {WorldKind::kBouncing, {481, 688, 3181}},
      {WorldKind::kKinematic, {1085, 2444, 3083}},
      {WorldKind::kModels, {42, 492, 690, 2490}},
      {WorldKind::kMixed, {45,   46,   61,   93,   103,  124,  259,  358,  466,  502,   610,   1033, 4075,
                           4822, 5200, 5452, 5470, 6721, 6775, 6991, 8179, 9637, 20131, 20167, 30014}},
      {WorldKind::kBin, {20758, 21534}},
      {WorldKind::kLongSteps, {134, 845, 1106, 3167, 4445, 6848, 9341, 9377}},
  };
  expect_to_hold(kinds, kShort);
}

/// So did these, after more steps than the others are given.
TEST(SlowPassive, SeedsThatOnceDidNotHoldForLong) {
  const Seeds kinds = {
      {WorldKind::kDrives, {600932, 900166}},
      {WorldKind::kModels, {100293, 200472, 911274}},
      {WorldKind::kMixed,
       {100535, 100614, 100617, 110138, 110272, 200338, 410001, 500011, 600541, 910591, 910906}},
      {WorldKind::kLongSteps, {100718, 110443}},
  };
  expect_to_hold(kinds, kLong);
}

// ---- the judge itself
/// Sums over links, from what the world says of each.
Energies by_links(const World& world) {
  Energies sum;
  const Mechanism& mechanism = world.scene().mechanism;
  for (const LinkEntry& entry : world.model().links) {
    const Inertia& inertia = mechanism.link(entry.id).inertia;
    if (entry.body == 0) continue;
    const Transform X = world.pose(entry.id);
    const Motion V = world.velocity(entry.id).shifted(X.R * inertia.com);
    const Mat3 about_com = X.R * inertia.about_com * X.R.transpose();
    sum.kinetic += 0.5 * (inertia.mass * V.linear.squaredNorm() + V.angular.dot(Vec3(about_com * V.angular)));
    sum.potential -= inertia.mass * world.gravity().dot(X * inertia.com);
  }
  return sum;
}

TEST(Passive, EnergiesAreTheSumsOverLinks) {
  for (int seed = 0; seed < 20; ++seed) {
    const RandomWorld random = test::make_random_world(static_cast<std::uint64_t>(seed));
    Result<World> world = test::start(random);
    ASSERT_TRUE(world.ok()) << to_string(world.errors());
    const Energies sum = by_links(*world), told = world->energies();
    const double scale = std::abs(sum.kinetic) + std::abs(sum.potential);
    EXPECT_NEAR(told.kinetic, sum.kinetic, 1e-12 * scale) << random.title();
    EXPECT_NEAR(told.potential, sum.potential, 1e-12 * scale) << random.title();
    EXPECT_NEAR(PassivityJudge(*world).energy(), sum.total(), 1e-12 * scale) << random.title();
  }
}

/// A ball in the air, and a judge of it.
struct Watched {
  Scene scene;
  LinkId ball = scene.add_body("ball", Shape::sphere(0.1), 1, Transform::translation({0, 0, 5}));
  World world = test::make_world(std::move(scene));
  PassivityJudge judge{world};
};

TEST(Passive, TheJudgeSeesEnergyFromNowhere) {
  Watched w;
  w.world.step();
  EXPECT_TRUE(w.judge.look(w.world));
  w.world.step();
  w.world.set_velocity(w.ball, {Vec3::Zero(), Vec3(0.1, 0, -0.0196)});  // beside its fall
  EXPECT_FALSE(w.judge.look(w.world));
  EXPECT_EQ(w.judge.verdict().fault, "made energy");
}

TEST(Passive, TheJudgeSeesAForce) {
  Watched w;
  w.world.step();
  EXPECT_TRUE(w.judge.look(w.world));
  w.world.add_force(w.ball, Vec3(30, 0, 0));
  w.world.step();
  EXPECT_FALSE(w.judge.look(w.world));
}

TEST(Passive, TheJudgeSeesMotionLost) {
  Watched w;
  w.world.set_velocity(w.ball, {Vec3::Zero(), Vec3(1, 0, 0)});
  PassivityJudge judge(w.world);
  const Transform before = w.world.pose(w.ball);
  w.world.step();
  const Motion velocity = w.world.velocity(w.ball);
  w.world.teleport(w.ball, before);
  w.world.set_velocity(w.ball, velocity);
  EXPECT_FALSE(judge.look(w.world));
  EXPECT_EQ(judge.verdict().fault, "position and velocity part");
}

}  // namespace
}  // namespace karakuri
