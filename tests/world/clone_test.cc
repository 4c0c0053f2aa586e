// Clones of a world, and worlds that take another one over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world/scenes.h"

namespace karakuri {
namespace {

using testing::HasSubstr;

World stirred() {
  World world = test::make_world(test::stirred_boxes(), {.dt = 2e-3});
  for (const JointEntry& joint : world.model().joints)
    if (joint.kind == JointKind::kRevolute) world.set_drive(joint.id, {.stiffness = 5, .damping = 0.3});
  return world;
}

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
