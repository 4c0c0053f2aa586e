// Chains whose trees are so long that rows are handed from link to link instead of being written out.
#include <gtest/gtest.h>

#include <numbers>
#include <vector>

#include "karakuri/spatial/rotation.h"
#include "support/no_alloc.h"
#include "world/scenes.h"

namespace karakuri {
namespace {

using test::add_material;
using test::make_world;

constexpr double kMass = 0.5;  // of a link

/// Links of 0.2 m along x with capsules, on hinges about y and z in turn, bent into waves.
struct Chain {
  Scene scene;
  std::vector<LinkId> links;
  MaterialId stuff = add_material(scene, 0.5);

  Chain(int count, const Transform& start) {
    const Transform middle{rotation_exp(Vec3(0, std::numbers::pi / 2, 0)), {0.1, 0, 0}};
    const Inertia inertia = Inertia::solid_capsule(kMass, 0.04, 0.1).in_frame(middle);
    Mechanism& m = scene.mechanism;
    for (int k = 0; k < count; ++k) {
      const std::string name = "link" + std::to_string(k);
      links.push_back(k == 0 ? m.add_free_link(name, inertia, start) : m.add_link(name, inertia));
      if (k > 0) {
        Joint joint;
        joint.name = "hinge" + std::to_string(k);
        joint.kind = JointKind::kRevolute;
        joint.parent = links[k - 1];
        joint.child = links[k];
        joint.X_PF = Transform{rotation_exp(Vec3(0, 0, k % 40 < 20 ? 0.1 : -0.1)), {0.2, 0, 0}};
        joint.axis = k % 2 == 0 ? Vec3::UnitY() : Vec3::UnitZ();
        m.add_joint(joint).value();
      }
      scene.add_shape(links.back(), Shape::capsule(0.04, 0.05), middle, stuff);
    }
  }
};

Vec3 com_velocity(const World& world, LinkId link, const Vec3& com) {
  const auto v = world.velocity(link);
  return v.linear + v.angular.cross(world.pose(link).R * com);
}

TEST(Chain, LiesOnTheFloorThatCarriesItsWeight) {
  Chain chain(150, Transform{Mat3::Identity(), {0, 0, 0.09}});
  chain.scene.add_ground(chain.stuff);
  const std::size_t count = chain.links.size();
  WorldSettings settings{.dt = 0.005};
  settings.sleep.enabled = false;
  World world = make_world(std::move(chain.scene), settings);
  const Snapshot start = world.snapshot();
  double deepest = 0;
  for (int k = 0; k < 200; ++k) {
    world.step();
    deepest = std::max(deepest, world.report().penetration);
  }
  EXPECT_EQ(world.report().status, solver::Status::kConverged);
  EXPECT_LE(deepest, 1e-4);
  double carried = 0;
  for (const Contact& c : world.contacts()) carried += c.force.z();
  const double weight = static_cast<double>(count) * kMass * 9.8;
  EXPECT_NEAR(carried, weight, 1e-6 * weight);
  if (!test::NoAllocGuard::available()) GTEST_SKIP() << test::NoAllocGuard::kUnavailable;
  ASSERT_TRUE(world.restore(start).empty());
  world.step();  // what restore() leaves to be grown
  const test::NoAllocGuard guard;
  world.step(199);  // it falls and lands once more
  EXPECT_EQ(guard.allocations(), 0);
}

// Weightless: what the plate loses the chain gains, although one is written out and the other is not.
TEST(Chain, APlateThatCatchesItKeepsTheMomentum) {
  Chain chain(120, Transform{Mat3::Identity(), {-8, 0, 0.2}});
  const LinkId plate = chain.scene.add_body("plate", Shape::box({15, 15, 0.1}), 20,
                                            Transform::translation({0, 0, 0}), chain.stuff);
  const std::vector<LinkId> links = chain.links;
  WorldSettings settings{.dt = 0.005};
  settings.sleep.enabled = false;
  World world = make_world(std::move(chain.scene), settings, Vec3::Zero());
  world.set_velocity(plate, {Vec3::Zero(), Vec3(0.3, 0.1, 1)});
  const auto momentum = [&] {
    Vec3 sum = 20 * world.velocity(plate).linear;
    for (const LinkId link : links) sum += kMass * com_velocity(world, link, {0.1, 0, 0});
    return sum;
  };
  const Vec3 before = momentum();
  int most = 0;
  for (int k = 0; k < 60; ++k) {
    world.step();
    most = std::max(most, static_cast<int>(world.contacts().size()));
    EXPECT_LE((momentum() - before).norm(), 1e-11 * before.norm()) << k;
  }
  EXPECT_GT(most, 100);  // or nothing was caught
  EXPECT_GT(world.velocity(links[60]).linear.z(), 0.1);
}

}  // namespace
}  // namespace karakuri
