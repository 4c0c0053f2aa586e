// The same bits: after a restore, in another world, for any number of threads; and no allocation in a step.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "support/no_alloc.h"
#include "world/scenes.h"

namespace karakuri {
namespace {

using test::add_material;
using test::make_world;

/// A bit of everything: piles, an arm with drives, friction and limits, a loop, a spring, two materials.
struct Zoo {
  Scene scene;
  std::vector<LinkId> boxes;
  JointId hinge;
  LinkId arm;

  Zoo() {
    const MaterialId wood = add_material(scene, 0.5, 0.3), ice = add_material(scene, 0.05, 0, "ice");
    scene.add_ground(wood);
    Random random(3);
    for (int i = 0; i < 30; ++i) {
      const Vec3 at(1.5 * (i % 3) + random.uniform(-0.2, 0.2), 0.4 * (i / 15), 0.3 + 0.45 * (i / 3));
      const Shape shape = i % 3 == 0   ? Shape::sphere(0.2)
                          : i % 3 == 1 ? Shape::box({0.2, 0.15, 0.2})
                                       : Shape::capsule(0.15, 0.1);
      boxes.push_back(scene.add_body("b" + std::to_string(i), shape, 1 + i % 4, Transform::translation(at),
                                     i % 2 ? wood : ice));
    }
    LinkId parent = scene.mechanism.world();
    for (int k = 0; k < 4; ++k) {
      const std::string name = "link" + std::to_string(k);
      const LinkId link = scene.mechanism.add_link(name, Inertia::solid_box(1, {0.1, 0.1, 0.5}));
      Joint joint{
          .name = name, .kind = JointKind::kRevolute, .parent = parent, .child = link, .axis = Vec3::UnitY()};
      joint.X_PF = Transform::translation(k == 0 ? Vec3(-2, 0, 1.5) : Vec3(0, 0, 0.3));
      joint.X_CM = Transform::translation({0, 0, -0.3});
      joint.dofs[0].dry_friction = 0.2;
      joint.dofs[0].upper = 1.5;
      hinge = *scene.mechanism.add_joint(joint);
      scene.add_shape(link, Shape::capsule(0.05, 0.2), {}, wood);
      arm = parent = link;
    }
  }
};

World zoo_world(int threads, JointId* hinge = nullptr) {
  Zoo zoo;
  if (hinge) *hinge = zoo.hinge;
  World world = make_world(std::move(zoo.scene), {.dt = 1.0 / 240, .threads = threads});
  world.set_drive(zoo.hinge, {.stiffness = 50, .damping = 5, .q_target = 0.8, .limit = 20});
  world.add_spring({zoo.boxes[4], Vec3(0.1, 0, 0), Vec3(0, 0, 2), 200, 20});
  // something that depends on random numbers and sensors
  world.add_hook([box = zoo.boxes[7], hinge_id = zoo.hinge](World& w) {
    w.add_force(box, Vec3(w.random().uniform(-5, 5), 0, 0.01 * w.load(hinge_id).wrench.force.z()));
  });
  return world;
}

TEST(Determinism, RestoreContinuesWithTheSameBits) {
  World world = zoo_world(1);
  world.step(500);
  const Snapshot snapshot = world.snapshot();
  const std::uint64_t at = world.hash();
  world.step(1000);
  const std::uint64_t end = world.hash();
  EXPECT_NE(at, end);
  ASSERT_TRUE(world.restore(snapshot).empty());
  EXPECT_EQ(world.hash(), at);
  world.step(1000);
  EXPECT_EQ(world.hash(), end);
  // and in a world that has never been there, as another process would have it
  World other = zoo_world(2);
  ASSERT_TRUE(other.restore(snapshot).empty());
  EXPECT_EQ(other.hash(), at);
  other.step(1000);
  EXPECT_EQ(other.hash(), end);
}

TEST(Determinism, AnyNumberOfThreadsGivesTheSameBits) {
  std::vector<std::uint64_t> hashes;
  for (const int threads : {1, 2, 4}) {
    World world = zoo_world(threads);
    std::uint64_t hash = 0;
    for (int k = 0; k < 10; ++k) {
      world.step(100);
      hash = hash * 31 + world.hash();
    }
    hashes.push_back(hash);
  }
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_EQ(hashes[0], hashes[2]);
}

TEST(World, TimeDoesNotDrift) {
  WorldSettings settings;
  settings.dt = 0.002;
  World world = make_world(Scene{}, settings);
  world.step(1500);
  EXPECT_EQ(world.time(), 3.0);  // the sum of 1500 steps is 1e-13 less
  world.set_time(0.0005);
  world.step(2);
  EXPECT_DOUBLE_EQ(world.time(), 0.0045);
}

TEST(Snapshot, DamageIsFoundAndChangesNothing) {
  World world = zoo_world(1);
  world.step(50);
  const Snapshot good = world.snapshot();
  world.step(10);
  const std::uint64_t hash = world.hash();
  Random random(5);
  for (int i = 0; i < 2000; ++i) {
    Snapshot bad = good;
    if (i % 3 == 0)
      bad.bytes.resize(random.below(static_cast<int>(bad.bytes.size())));
    else
      bad.bytes[random.below(static_cast<int>(bad.bytes.size()))] ^= std::byte(1 + random.below(255));
    ASSERT_FALSE(world.restore(bad).empty());
    ASSERT_EQ(world.hash(), hash);
  }
  Scene empty;
  World other = make_world(std::move(empty));
  const auto errors = other.restore(good);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].what.find("another scene"), std::string::npos);
}

/// Allocations of 500 steps from `start`, in which things fall, land and come to rest, by any thread.
long allocations_of_a_fall(World& world, const Snapshot& start) {
  EXPECT_TRUE(world.restore(start).empty());
  world.step();  // what restore() leaves to be grown
  const test::NoAllocGuard guard(test::NoAllocGuard::Of::kAllThreads);
  world.step(499);
  return guard.allocations();
}

TEST(World, StepsWithoutAllocating) {
  if (!test::NoAllocGuard::available()) GTEST_SKIP() << test::NoAllocGuard::kUnavailable;
  World world = zoo_world(1);
  const Snapshot start = world.snapshot();
  // buffers grow to what the scene needs; those of the broad phase once or twice more after a restore, which
  // leaves it other boxes
  for (int round = 0; round < 4; ++round) allocations_of_a_fall(world, start);
  EXPECT_EQ(allocations_of_a_fall(world, start), 0);
}

// Each thread's buffers grow until it has met the largest island, and which one meets it is chance: some fall
// must be free of allocations, soon. What allocates in any step never is.
TEST(World, StepsWithoutAllocatingInTwoThreads) {
  if (!test::NoAllocGuard::available()) GTEST_SKIP() << test::NoAllocGuard::kUnavailable;
  World world = zoo_world(2);
  const Snapshot start = world.snapshot();
  long allocations = 1;
  for (int round = 0; round < 30 && allocations > 0; ++round)
    allocations = allocations_of_a_fall(world, start);
  EXPECT_EQ(allocations, 0);
}

}  // namespace
}  // namespace karakuri
