// Heaps in motion: nothing is made of nothing, what falls comes to rest, and the same bits come of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "karakuri/core/random.h"
#include "karakuri/spatial/rotation.h"
#include "support/no_alloc.h"
#include "world/scenes.h"

namespace karakuri {
namespace {

using test::add_material;
using test::make_world;

constexpr double kSide = 1;     // of a box [m]
constexpr double kMass = 1000;  // [kg]

Vec3 random_vector(Random& random, double reach) {
  return {random.uniform(-reach, reach), random.uniform(-reach, reach), random.uniform(-reach, reach)};
}

struct Pile {
  Scene scene;
  std::vector<LinkId> boxes;
  MaterialId stone = add_material(scene, 0.5);

  /// Boxes askew, `apart` from middle to middle.
  Pile(int nx, int ny, int nz, double apart) {
    Random random(11);
    for (int i = 0; i < nx * ny * nz; ++i) {
      const Vec3 at(apart * (i % nx), apart * (i / nx % ny), 0.7 * kSide + apart * (i / (nx * ny)));
      const Mat3 R = rotation_exp(random_vector(random, 0.15));
      boxes.push_back(scene.add_body("box" + std::to_string(i), Shape::box(Vec3::Constant(0.5 * kSide)),
                                     kMass, {R, at + random_vector(random, 0.05)}, stone));
    }
  }
};

WorldSettings settings(int threads = 1) {
  WorldSettings s{.dt = 1.0 / 60, .threads = threads};
  s.sleep.enabled = false;
  return s;
}

struct Sums {
  Vec3 linear = Vec3::Zero();
  double energy = 0;
};

Sums sums(const World& world, const std::vector<LinkId>& boxes) {
  constexpr double kMoment = kMass * kSide * kSide / 6;  // of a cube, about any axis
  Sums s;
  for (const LinkId box : boxes) {
    const Motion v = world.velocity(box);
    s.linear += kMass * v.linear;
    s.energy += 0.5 * (kMass * v.linear.squaredNorm() + kMoment * v.angular.squaredNorm());
  }
  return s;
}

// However far from a solution a heap is left, each impulse acts on two bodies.
TEST(Heap, ClustersThatCollideKeepTheirMomentum) {
  Pile pile(2, 2, 6, 1.1);
  const std::vector<LinkId> boxes = pile.boxes;
  World world = make_world(std::move(pile.scene), settings(), Vec3::Zero());
  for (std::size_t i = 0; i < boxes.size(); ++i)
    world.set_velocity(boxes[i], {Vec3(0.3, -0.2, 0.5), Vec3(0, 1, i < boxes.size() / 2 ? 3 : -3)});
  const Sums start = sums(world, boxes);
  double most = start.energy;
  int in_motion = 0;
  for (int k = 0; k < 60; ++k) {
    world.step();
    const Sums now = sums(world, boxes);
    EXPECT_LE((now.linear - start.linear).norm(), 1e-12 * boxes.size() * kMass * 3);
    // positions are corrected without velocities: momentum about the origin may change by what that shifts
    EXPECT_LE(now.energy, 1.001 * most) << "step " << k;
    most = now.energy;
    in_motion += world.report().contacts > 40;
  }
  EXPECT_GT(in_motion, 5);              // they did meet
  EXPECT_LT(most, 0.5 * start.energy);  // and inelastically
}

TEST(Heap, WhatFellLiesStill) {
  Pile pile(3, 3, 4, 1.4);
  pile.scene.add_ground(pile.stone);
  const std::vector<LinkId> boxes = pile.boxes;
  World world = make_world(std::move(pile.scene), settings());
  double deepest = 0;
  for (int k = 0; k < 300; ++k) {
    world.step();
    deepest = std::max(deepest, world.report().penetration);
  }
  EXPECT_LT(deepest, 0.2 * kSide);  // Bullet 3.24: 0.58 m in a larger pile
  std::vector<Vec3> before;
  for (const LinkId box : boxes) before.push_back(world.pose(box).p);
  for (int k = 0; k < 120; ++k) world.step();
  EXPECT_LT(world.report().penetration, 1e-4);  // the slop, and half of it
  for (std::size_t i = 0; i < boxes.size(); ++i)
    EXPECT_LT((world.pose(boxes[i]).p - before[i]).norm(), 1e-5) << i;
}

/// Poses of the first `count` boxes after `steps`.
std::vector<Vec3> places_after(World& world, const std::vector<LinkId>& boxes, int count, int steps) {
  world.step(steps);
  std::vector<Vec3> out;
  for (int i = 0; i < count; ++i) out.push_back(world.pose(boxes[i]).p);
  return out;
}

// Four islands share the lanes of a vector: what the others do must not be felt.
TEST(Heap, TowersDoNotFeelTheirNeighboursInOtherLanes) {
  constexpr int kHeight = 7;
  std::vector<std::vector<Vec3>> places;
  for (const int others : {0, 1, 6}) {
    Scene scene;
    const MaterialId stone = add_material(scene, 0.5);
    scene.add_ground(stone);
    std::vector<LinkId> boxes;
    for (int tower = 0; tower <= others; ++tower) {
      Random random(7 + tower);
      for (int k = 0; k < kHeight - tower % 3; ++k) {
        const Transform X{rotation_exp(random_vector(random, 0.1)),
                          Vec3(30.0 * tower, 0, 0.7 + 1.2 * k) + random_vector(random, 0.04)};
        boxes.push_back(scene.add_body("box" + std::to_string(boxes.size()),
                                       Shape::box(Vec3::Constant(0.5 * kSide)), kMass, X, stone));
      }
    }
    World world = make_world(std::move(scene), settings());
    places.push_back(places_after(world, boxes, kHeight, 90));
  }
  EXPECT_EQ(places[0], places[1]);
  EXPECT_EQ(places[0], places[2]);
}

TEST(Heap, TallTowersThatRockComeToRest) {
  Pile pile(2, 2, 10, 1.4);
  pile.scene.add_ground(pile.stone);
  const std::vector<LinkId> boxes = pile.boxes;
  World world = make_world(std::move(pile.scene), settings());
  const int count = static_cast<int>(boxes.size());
  const std::vector<Vec3> before = places_after(world, boxes, count, 720);
  const std::vector<Vec3> after = places_after(world, boxes, count, 60);
  for (int i = 0; i < count; ++i) EXPECT_LT((after[i] - before[i]).norm(), 1e-5) << i;
  EXPECT_LT(world.report().penetration, 1e-4);
}

TEST(Heap, SweepsAllocateNothing) {
  if (!test::NoAllocGuard::available()) GTEST_SKIP() << test::NoAllocGuard::kUnavailable;
  Pile pile(3, 3, 4, 1.4);
  pile.scene.add_ground(pile.stone);
  World world = make_world(std::move(pile.scene), settings());
  const Snapshot start = world.snapshot();
  world.step(90);
  ASSERT_TRUE(world.restore(start).empty());
  world.step();  // what restore() leaves to be grown
  const test::NoAllocGuard guard;
  world.step(89);
  EXPECT_EQ(guard.allocations(), 0);
}

TEST(Heap, AnyNumberOfThreadsGivesTheSameBits) {
  std::vector<std::uint64_t> hashes;
  for (const int threads : {1, 2, 4}) {
    Pile pile(3, 3, 4, 1.4);
    pile.scene.add_ground(pile.stone);
    World world = make_world(std::move(pile.scene), settings(threads));
    world.step(90);
    hashes.push_back(world.hash());
  }
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_EQ(hashes[0], hashes[2]);
}

}  // namespace
}  // namespace karakuri
