// Rays into a world: what they hit is the nearest of all shapes as they are now, whatever has moved, sleeps
// or hangs otherwise than it was made.
#include <gtest/gtest.h>

#include "karakuri/collision/query.h"
#include "karakuri/core/random.h"
#include "karakuri/world/world.h"
#include "support/random_worlds.h"

namespace karakuri {
namespace {

/// Every shape in turn.
std::optional<double> nearest(const World& world, const Vec3& origin, const Vec3& along, double limit,
                              LinkId ignored) {
  std::optional<double> best;
  for (const ColliderInfo& c : world.colliders()) {
    if (ignored && c.link == ignored) continue;
    const auto hit =
        ray_cast(world.scene().shapes[c.shape], world.pose(c.link) * c.X_LS, origin, along, limit);
    if (hit && (!best || hit->t < *best)) best = hit->t;
  }
  return best;
}

/// Rays from around the world's shapes to one of them or past it.
void expect_nearest(const World& world, Random& random) {
  const auto colliders = world.colliders();
  for (int k = 0; k < 40; ++k) {
    const ColliderInfo& aimed =
        colliders[static_cast<std::size_t>(random.below(static_cast<int>(colliders.size())))];
    const Vec3 target = world.pose(aimed.link) * aimed.X_LS.p;
    const Vec3 away(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1));
    const Vec3 origin = target + 3 * away;
    const LinkId ignored = k % 4 == 0 ? aimed.link : LinkId{};
    const auto hit = world.ray_cast(origin, -away, 6, ignored);
    const auto wanted = nearest(world, origin, -away, 6, ignored);
    ASSERT_EQ(hit.has_value(), wanted.has_value());
    // the same shape at a pose that is composed in another order: rounding, where a ray grazes its square
    // root
    if (hit) EXPECT_NEAR(hit->hit.t, *wanted, 1e-8);
  }
}

TEST(Rays, HitTheNearestShapeWhileThingsMove) {
  Random random(7);
  for (const auto kind : {test::WorldKind::kTrees, test::WorldKind::kMeshes, test::WorldKind::kMixed}) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      SCOPED_TRACE(seed);
      Result<World> world = test::start(test::make_random_world(seed, {.kind = kind}));
      ASSERT_TRUE(world.ok());
      for (int k = 0; k < 4; ++k) {
        expect_nearest(*world, random);
        world->step(3);
      }
    }
  }
}

TEST(Rays, ChangeNothingOfTheMotion) {
  Result<World> watched = test::start(test::make_random_world(3, {.kind = test::WorldKind::kMixed}));
  World alone = watched->clone();
  Random random(1);
  for (int k = 0; k < 20; ++k) {
    expect_nearest(*watched, random);
    watched->step();
    alone.step();
  }
  EXPECT_EQ(watched->hash(), alone.hash());
}

}  // namespace
}  // namespace karakuri
