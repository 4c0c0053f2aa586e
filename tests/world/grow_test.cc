// Bodies that come into a running world leave all others as they are, to the bit.
#include <gtest/gtest.h>

#include "karakuri/world/world.h"

namespace karakuri {
namespace {

/// Boxes in a heap, and a pendulum under a drive that pushes one of them.
Scene heap() {
  Scene scene;
  scene.add_ground();
  for (int i = 0; i < 8; ++i)
    scene.add_body("box" + std::to_string(i), Shape::box(Vec3::Constant(0.1)), 1,
                   Transform::translation({0.03 * i, 0.02 * (i % 3), 0.15 + 0.25 * i}));
  const LinkId arm = scene.mechanism.add_link("arm", solid_inertia(Shape::sphere(0.1), 500));
  Joint joint;
  joint.name = "hinge";
  joint.kind = JointKind::kRevolute;
  joint.axis = Vec3::UnitY();
  joint.parent = scene.mechanism.world();
  joint.child = arm;
  joint.X_PF = Transform::translation({-0.6, 0, 1});
  joint.X_CM = Transform::translation({0, 0, 0.7});
  EXPECT_TRUE(scene.mechanism.add_joint(joint).ok());
  scene.add_shape(arm, Shape::sphere(0.1));
  return scene;
}

World make_heap() {
  Result<World> world = World::make(heap());
  EXPECT_TRUE(world.ok()) << to_string(world.errors());
  World out = std::move(*world);
  out.set_drive(out.scene().mechanism.find_joint("hinge"), {.stiffness = 30, .damping = 3, .q_target = -0.8});
  return out;
}

void add_ball(Scene& scene, const Vec3& at) {
  scene.add_body("ball", Shape::sphere(0.1), 0.5, Transform::translation(at));
}

void expect_same_links(const World& a, const World& b) {
  for (const LinkId id : a.scene().mechanism.link_ids()) {
    const Transform X = a.pose(id), Y = b.pose(id);
    EXPECT_TRUE(X.p == Y.p && X.R == Y.R) << a.scene().mechanism.link(id).name;
    const Motion V = a.velocity(id), W = b.velocity(id);
    EXPECT_TRUE(V.linear == W.linear && V.angular == W.angular) << a.scene().mechanism.link(id).name;
  }
}

TEST(Grow, OthersKeepTheirBitsAndTheirFuture) {
  World plain = make_heap(), grown = make_heap();
  plain.step(300);
  grown.step(300);
  ASSERT_GT(grown.contacts().size(), 8u);
  // far away, so that nothing of it can be felt
  ASSERT_TRUE(grown.edit([](Scene& s) { add_ball(s, {50, 0, 0.5}); }).empty());
  EXPECT_EQ(grown.time(), plain.time());
  expect_same_links(plain, grown);
  plain.step(200);
  grown.step(200);
  // with warm starts and drives lost, contacts would carry other impulses in the first step already
  expect_same_links(plain, grown);
  const LinkId ball = grown.scene().mechanism.find_link("ball");
  EXPECT_NEAR(grown.pose(ball).p.z(), 0.5 - 0.5 * 9.80665 * 0.2 * 0.2, 1e-2);
}

TEST(Grow, AlsoAfterACut) {
  World world = make_heap();
  world.step(200);
  const JointId hinge = world.scene().mechanism.find_joint("hinge");
  const Snapshot before = world.snapshot();
  ASSERT_TRUE(world.detach(hinge).empty());
  world.step(20);
  const Transform X = world.pose(world.scene().mechanism.find_link("arm"));
  ASSERT_TRUE(world.edit([](Scene& s) { add_ball(s, {0, 0, 5}); }).empty());
  EXPECT_EQ(world.pose(world.scene().mechanism.find_link("arm")).p, X.p);
  EXPECT_FALSE(world.restore(before).empty());  // it knows nothing of the ball
  const Snapshot now = world.snapshot();
  const std::uint64_t hash = world.hash();
  world.step(50);
  ASSERT_TRUE(world.restore(now).empty());
  EXPECT_EQ(world.hash(), hash);
}

TEST(Grow, TakesNothingAwayAndTellsWhatIsWrong) {
  World world = make_heap();
  world.step(10);
  const std::uint64_t hash = world.hash();
  EXPECT_FALSE(world.edit([](Scene& s) { s = Scene{}; }).empty());
  EXPECT_FALSE(
      world.edit([](Scene& s) { s.add_body("bad", Shape::sphere(-1), 1, Transform::translation({0, 0, 5})); })
          .empty());
  EXPECT_EQ(world.hash(), hash);
}

}  // namespace
}  // namespace karakuri
