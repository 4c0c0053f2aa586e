// Structure that changes on the way: what the paper of Nakamura, Yamane & Nagashima shows, and a grasp.
#include <gtest/gtest.h>

#include <cmath>

#include "support/figures.h"
#include "support/loop_watch.h"
#include "world/scenes.h"

namespace karakuri {
namespace {

using test::make_world;

WorldSettings awake() {
  WorldSettings settings;
  settings.sleep.enabled = false;
  return settings;
}

/// Steps, and returns the largest error of the loops on the way.
double follow(World& world, double seconds) {
  test::LoopWatch watch;
  watch.until(world, world.time() + seconds);
  EXPECT_TRUE(watch.finite);
  return watch.error;
}

TEST(Demonstration, TheRightHandLetsGoOfTheHighBar) {
  World world = make_world(test::high_bar(), awake());
  const Mechanism& m = world.scene().mechanism;
  const LinkId right = m.find_link("forearm.r"), left = m.find_link("forearm.l");
  const JointId grip_r = m.find_joint("grip.r"), grip_l = m.find_joint("grip.l");
  world.step(10);
  EXPECT_LT(follow(world, 0.5), 1e-9);
  const Vec3 bar_r = world.pose(right) * Vec3(0, 0, 0.35);
  EXPECT_NEAR(bar_r.z(), 2.45, 1e-9);
  const std::vector<double> v = world.state().v;
  ASSERT_TRUE(world.detach(grip_r).empty());
  EXPECT_EQ(world.state().v, v);
  EXPECT_LT(follow(world, 0.5), 1e-9);
  EXPECT_GT((world.pose(right) * Vec3(0, 0, 0.35) - bar_r).norm(), 0.1) << "it swings free";
  EXPECT_LT((world.pose(left) * Vec3(0, 0, 0.35) - Vec3(0, 0.22, 2.45)).norm(), 1e-9) << "on one hand";
  ASSERT_TRUE(world.detach(grip_l).empty());
  EXPECT_LT(follow(world, 0.3), 1e-9);
  EXPECT_LT(world.pose(left).p.z(), 2.2) << "and falls";
}

TEST(Demonstration, TheSwingBreaks) {
  World world = make_world(test::swing(), awake());
  const Mechanism& m = world.scene().mechanism;
  world.set_breaking(m.find_joint("knot.l"), 2000);
  world.step(20);
  EXPECT_LT(follow(world, 0.5), 1e-9);
  const LinkId board = m.find_link("board");
  ASSERT_TRUE(world.add_force(board, {0, 0, -8000}, {0, 0.6, 0}));
  world.step();
  ASSERT_FALSE(world.events().empty());
  EXPECT_EQ(world.events().back().kind, EventKind::kBreak);
  EXPECT_LT(follow(world, 0.2), 1e-9);
  for (const char* seat : {"seat.l", "seat.r"}) ASSERT_TRUE(world.detach(m.find_joint(seat)).empty());
  EXPECT_LT(follow(world, 0.3), 1e-9);
  EXPECT_LT((world.pose(board) * Vec3(0, 0.6, 0)).z(), 0.6) << "its left end hangs down";
}

TEST(Demonstration, GraspLiftRelease) {
  test::BoxOnGround setup(0.6, {0.1, 0.1, 0.1});
  Inertia mass = Inertia::solid_box(2, {0.1, 0.1, 0.1});
  const LinkId hand = setup.scene.mechanism.add_link("hand", mass);
  const JointId rail = *setup.scene.mechanism.add_joint({.name = "rail",
                                                         .kind = JointKind::kPrismatic,
                                                         .parent = setup.scene.mechanism.world(),
                                                         .child = hand,
                                                         .X_PF = Transform::translation({0, 0, 0.3})});
  World world = make_world(std::move(setup.scene), awake());
  ASSERT_TRUE(world.set_drive(rail, {.stiffness = 4000, .damping = 200}));
  world.step(500);
  const JointId grip = *world.attach_here(hand, setup.box, world.pose(setup.box), {.name = "grip"});
  ASSERT_TRUE(world.set_drive(rail, {.stiffness = 4000, .damping = 200, .q_target = 0.5}));
  EXPECT_LT(follow(world, 2), 1e-9);
  EXPECT_NEAR(world.load(grip).wrench.force.z(), 9.8, 1e-3) << "the hand carries the box";
  EXPECT_NEAR(world.pose(setup.box).p.z(), 0.6, 0.01);
  ASSERT_TRUE(world.detach(grip).empty());
  world.step(1500);
  EXPECT_NEAR(world.pose(setup.box).p.z(), 0.1, 1e-3) << "it is back on the ground";
}

// An open chain closed on itself by a connection of two axes (Nakaoka et al. 2007, Fig. 3).
TEST(Demonstration, AChainIsClosedByTwoAxes) {
  test::Linkage m;
  LinkId on = m.world();
  const auto point = [](int k) { return Vec3(0.25 * k, 0, k % 2 == 0 ? 2 : 2.1); };
  for (int k = 0; k < 6; ++k)
    on = m.hang("bar" + std::to_string(k), on, JointKind::kUniversal, point(k), Vec3::UnitY(),
                test::rod(point(k), point(k + 1), 0.5, 0.02));
  m.join("end", on, m.world(), JointKind::kUniversal, point(6), Vec3::UnitY(), Vec3::UnitZ());
  World world = make_world(std::move(m.scene), awake());
  EXPECT_LT(follow(world, 3), 1e-9);
  EXPECT_LT(world.energies().potential, 6 * 0.5 * 9.8 * 2) << "it hangs through";
  EXPECT_GT(world.energies().potential, 6 * 0.5 * 9.8 * 1.2) << "on both ends";
}

}  // namespace
}  // namespace karakuri
