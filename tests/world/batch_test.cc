// Copies of a world: each has the bits of the world alone, whatever the number of threads.
#include "karakuri/world/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/no_alloc.h"
#include "support/test_models.h"
#include "world/scenes.h"

namespace karakuri {
namespace {

using testing::HasSubstr;

/// A hopper of boxes and an arm that stirs in it.
World stirred() {
  Scene scene;
  scene.mechanism = test::chain(3);
  const MaterialId wood = test::add_material(scene, 0.5);
  scene.add_ground(wood, -0.4);
  for (const LinkId link : scene.mechanism.link_ids())
    if (link != scene.mechanism.world()) scene.add_shape(link, Shape::capsule(0.02, 0.03), {}, wood);
  for (int i = 0; i < 4; ++i)
    scene.add_body("box" + std::to_string(i), Shape::box({0.05, 0.05, 0.05}), 0.3,
                   Transform::translation({0.12 * i - 0.2, 0.01 * i, -0.3 + 0.11 * (i % 2)}), wood);
  World world = test::make_world(std::move(scene), {.dt = 2e-3});
  for (const JointEntry& joint : world.model().joints)
    if (joint.kind == JointKind::kRevolute) world.set_drive(joint.id, {.stiffness = 5, .damping = 0.3});
  return world;
}

Batch make(const World& world, int count, int threads) {
  Result<Batch> made = Batch::make(world, count, threads);
  if (!made.ok()) {
    ADD_FAILURE() << to_string(made.errors());
    std::abort();
  }
  return std::move(*made);
}

/// Other inputs for each copy and step.
double wave(int copy, int step) { return 0.5 * std::sin(0.3 * copy + 0.01 * step); }

TEST(Batch, CopiesHaveTheBitsOfTheWorldAlone) {
  constexpr int kCopies = 5, kSteps = 200;
  World origin = stirred();
  origin.step(20);  // warm starts and all
  for (const int threads : {1, 2, 0}) {
    Batch batch = make(origin, kCopies, threads);
    ASSERT_EQ(batch.nq(), origin.model().nq);
    const JointEntry &first = origin.model().joints[0], &second = origin.model().joints[1];
    ASSERT_EQ(first.kind, JointKind::kRevolute);
    ASSERT_EQ(second.kind, JointKind::kRevolute);
    for (int k = 0; k < kSteps; ++k) {
      for (int i = 0; i < kCopies; ++i) {
        batch.q_target()[i * batch.nv() + first.first_v] = wave(i, k);
        batch.effort()[i * batch.nv() + second.first_v] = 0.1 * wave(i, k);
      }
      ASSERT_TRUE(batch.step().empty());
    }
    for (int i = 0; i < kCopies; ++i) {
      World alone = origin.clone();
      for (int k = 0; k < kSteps; ++k) {
        Drive drive = alone.drive(first.id);
        drive.q_target = wave(i, k);
        alone.set_drive(first.id, drive);
        const double effort = 0.1 * wave(i, k);
        alone.set_effort(second.id, {&effort, 1});
        alone.step();
      }
      EXPECT_EQ(batch.world(i).hash(), alone.hash()) << "copy " << i << " with " << threads << " threads";
      EXPECT_TRUE(
          std::equal(alone.state().q.begin(), alone.state().q.end(), batch.q().begin() + i * batch.nq()));
      EXPECT_TRUE(
          std::equal(alone.state().v.begin(), alone.state().v.end(), batch.v().begin() + i * batch.nv()));
    }
    EXPECT_NE(batch.world(0).hash(), batch.world(1).hash());
  }
}

TEST(Batch, OneCopyIsResetAndRestoredAndTheOthersGoOn) {
  World origin = stirred();
  origin.step(20);
  Batch batch = make(origin, 3, 2), other = make(origin, 3, 2);
  for (Batch* b : {&batch, &other}) {
    b->effort()[1] = 0.2;
    ASSERT_TRUE(b->step(10).empty());
  }
  const Snapshot later = batch.world(0).snapshot();
  ASSERT_TRUE(batch.reset(1).empty());
  EXPECT_EQ(batch.world(1).hash(), origin.hash());
  ASSERT_TRUE(batch.restore(2, later).empty());
  EXPECT_EQ(batch.world(2).hash(), batch.world(0).hash());
  EXPECT_EQ(batch.effort()[2 * batch.nv() + 1], 0.2) << "inputs come back too";
  EXPECT_EQ(batch.world(0).hash(), other.world(0).hash());
  ASSERT_TRUE(batch.step(10).empty());
  EXPECT_EQ(batch.world(2).hash(), batch.world(0).hash());
  EXPECT_EQ(batch.world(1).hash(), other.world(1).hash());
  batch.reset();
  EXPECT_EQ(batch.world(0).hash(), origin.hash());
  EXPECT_EQ(batch.effort()[1], 0);
}

TEST(Batch, StatesAreSetByRow) {
  const World origin = stirred();
  Batch batch = make(origin, 2, 1);
  std::vector<double> q(batch.q().begin(), batch.q().begin() + batch.nq()), v(batch.nv(), 0.0);
  q[0] = 0.3;
  v[1] = -0.2;
  ASSERT_TRUE(batch.set_state(1, q, v).empty());
  EXPECT_EQ(batch.q()[batch.nq()], 0.3);
  EXPECT_EQ(batch.v()[batch.nv() + 1], -0.2);
  EXPECT_NE(batch.q()[0], 0.3);
}

/// Two bars, of which one breaks off in the copy that is pulled.
TEST(Batch, ACopyThatBreaksIsToldAndCanBeReset) {
  Scene scene;
  scene.mechanism = test::chain(2);
  World origin = test::make_world(std::move(scene), {.dt = 1e-3});
  const JointId joint = origin.model().joints[1].id;
  ASSERT_TRUE(origin.set_breaking(joint, 500));
  Batch batch = make(origin, 2, 1);
  batch.world(1).add_force(batch.world(1).model().links.back().id, {0, 0, -1e5});
  ASSERT_TRUE(batch.step(2).empty());
  EXPECT_TRUE(std::isfinite(batch.q()[0]));
  EXPECT_TRUE(std::isnan(batch.q()[batch.nq()]));
  ASSERT_TRUE(batch.step(2).empty()) << "it goes on without its inputs";
  EXPECT_THAT(to_string(batch.set_state(1, std::vector<double>(batch.nq()), std::vector<double>(batch.nv()))),
              HasSubstr("reset it first"));
  ASSERT_TRUE(batch.reset(1).empty());
  EXPECT_TRUE(std::isfinite(batch.q()[batch.nq()]));
  EXPECT_EQ(batch.world(1).hash(), origin.hash());
}

TEST(Batch, StepsAndResetsWithoutAllocating) {
  if (!test::NoAllocGuard::available()) GTEST_SKIP() << test::NoAllocGuard::kUnavailable;
  Batch batch = make(stirred(), 3, 1);
  for (int k = 0; k < 300; ++k) batch.step();
  batch.reset();
  test::NoAllocGuard guard;
  batch.step(100);
  batch.reset();
  EXPECT_EQ(guard.allocations(), 0);
}

TEST(Batch, TellsWhatIsWrong) {
  const World origin = stirred();
  const auto why = [&](int count, int threads) {
    const Result<Batch> made = Batch::make(origin, count, threads);
    return made.ok() ? std::string("nothing") : to_string(made.errors());
  };
  EXPECT_THAT(why(0, 1), HasSubstr("0 copies"));
  EXPECT_THAT(why(-3, 1), HasSubstr("-3 copies"));
  EXPECT_THAT(why(2'000'000'000, 1), HasSubstr("ask for 1 to"));
  EXPECT_THAT(why(2, -1), HasSubstr("-1 threads"));
  Batch batch = make(origin, 2, 1);
  EXPECT_THAT(to_string(batch.reset(2)), HasSubstr("they are 0 to 1"));
  EXPECT_THAT(to_string(batch.reset(-1)), HasSubstr("no copy -1"));
  EXPECT_THAT(to_string(batch.restore(5, origin.snapshot())), HasSubstr("no copy 5"));
  EXPECT_FALSE(batch.restore(0, Snapshot{}).empty());
  EXPECT_THAT(to_string(batch.set_state(0, std::vector<double>(1), {})), HasSubstr("a copy has"));
  batch.effort()[batch.nv() + 1] = NAN;
  const std::uint64_t before = batch.world(0).hash();
  EXPECT_THAT(to_string(batch.step()), HasSubstr("effort[1][1] is nan"));
  EXPECT_EQ(batch.world(0).hash(), before) << "nothing was done";
}

// ---- clones

TEST(Clone, HasTheSameFutureAlsoAfterChangesOfStructure) {
  World world = stirred();
  world.step(30);
  const std::vector<LinkId> links = world.scene().mechanism.link_ids();
  ASSERT_TRUE(world
                  .attach_here(links[links.size() - 1], links[links.size() - 2], world.pose(links.back()),
                               {.name = "knot", .kind = JointKind::kSpherical})
                  .ok());
  ASSERT_TRUE(world.detach(world.model().joints[2].id).empty());
  World twin = world.clone();
  EXPECT_EQ(twin.scene_stamp(), world.scene_stamp());
  for (int k = 0; k < 50; ++k) {
    world.step(), twin.step();
    ASSERT_EQ(twin.hash(), world.hash()) << "in step " << k;
  }
  // a world that was not cut takes it all over, from the world itself
  World other = stirred();
  ASSERT_TRUE(other.restore(world).empty());
  EXPECT_EQ(other.hash(), world.hash());
  other.step(20), world.step(20);
  EXPECT_EQ(other.hash(), world.hash());
  EXPECT_NE(other.scene_stamp(), world.scene_stamp());
  Scene none;
  EXPECT_THAT(to_string(test::make_world(none).restore(world)), HasSubstr("another scene"));
}

TEST(ContactModel, NoneLetsThingsPassAndWakesThem) {
  test::BoxOnGround at(0.5);
  World world = test::make_world(at.scene, {.dt = 1e-2});
  world.step(200);
  EXPECT_FALSE(world.awake(at.box));
  WorldSettings settings = world.settings();
  settings.contact = ContactModel::kNone;
  ASSERT_TRUE(world.set_settings(settings).empty());
  const double from = world.pose(at.box).p.z();
  world.step(100);  // 1 s: free bodies fall along their parabolas, to rounding
  EXPECT_NEAR(from - world.pose(at.box).p.z(), 4.9, 1e-9);
  EXPECT_TRUE(world.contacts().empty());
}

}  // namespace
}  // namespace karakuri
