// Loaded robots run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/corpus.h"
#include "karakuri/world/world.h"

namespace karakuri::test {
namespace {

World make_world(const LoadedScene& loaded) {
  Result<World> world = World::make(loaded.scene, loaded.settings, loaded.gravity);
  if (!world.ok()) ADD_FAILURE() << to_string(world.errors());
  return std::move(*world);
}

TEST(LoadedWorld, MujocosHumanoidFallsAndLiesStill) {
  KARAKURI_NEEDS_CORPUS("mujoco/humanoid.xml");
  const Result<LoadedScene> loaded = load_scene(corpus() / "mujoco/humanoid.xml", uncached());
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
  World world = make_world(*loaded);
  const LinkId torso = loaded->scene.mechanism.find_link("torso");
  EXPECT_NEAR(world.pose(torso).p.z(), 1.282, 1e-9);
  double deepest = 0;
  for (int i = 0; i < 2000; ++i) {  // 10 s
    world.step();
    deepest = std::max(deepest, world.report().penetration);
  }
  EXPECT_LT(world.pose(torso).p.z(), 0.4);
  EXPECT_GT(world.pose(torso).p.z(), 0.02);
  EXPECT_LT(world.velocity(torso).linear.norm(), 1e-2);
  EXPECT_LT(deepest, 0.02);
}

TEST(LoadedWorld, KeyframesAreStates) {
  KARAKURI_NEEDS_CORPUS("mujoco/humanoid.xml");
  Result<LoadedScene> loaded = load_scene(corpus() / "mujoco/humanoid.xml", uncached());
  ASSERT_TRUE(loaded.ok());
  const Keyframe* squat = loaded->find_keyframe("squat");
  ASSERT_TRUE(squat);
  apply(*squat, loaded->scene);
  World world = make_world(*loaded);
  const Mechanism& m = loaded->scene.mechanism;
  EXPECT_NEAR(world.pose(m.find_link("torso")).p.z(), 0.596, 1e-9);
  EXPECT_NEAR(world.q(m.find_joint("knee_left"))[0], -2.65, 1e-12);
}

TEST(LoadedWorld, CassiesLoopsStayClosed) {
  KARAKURI_NEEDS_CORPUS("menagerie/agility_cassie/scene.xml");
  LoadOptions rigid = uncached();
  rigid.rigid = true;  // its file lets them give way, by 2.6 mm here
  Result<LoadedScene> loaded = load_scene(corpus() / "menagerie/agility_cassie/scene.xml", rigid);
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
  const Keyframe* home = loaded->find_keyframe("home");
  ASSERT_TRUE(home);
  apply(*home, loaded->scene);
  World world = make_world(*loaded);
  ASSERT_EQ(world.model().loops.size(), 4u);
  world.step(1000);  // 0.5 s
  for (const Loop& loop : world.model().loops) {
    const Joint& joint = loaded->scene.mechanism.joint(loop.joint);
    const LinkId child = loaded->scene.mechanism.link(joint.child).real;
    const Vec3 a = world.pose(joint.parent) * joint.X_PF.p, b = world.pose(child) * joint.X_CM.p;
    EXPECT_LT((a - b).norm(), 1e-3) << joint.name;
  }
}

TEST(LoadedWorld, EveryModelOfTheCorpusStepsWithoutQuarantine) {
  KARAKURI_NEEDS_CORPUS("menagerie");
  for (const char* file :
       {"menagerie/shadow_hand/scene_right.xml", "menagerie/wonik_allegro/scene_left.xml",
        "menagerie/robotiq_2f85/scene.xml", "menagerie/google_barkour_vb/scene_hfield_mjx.xml",
        "menagerie/kuka_iiwa_14/scene.xml", "humanoids/jvrc1-mjcf/xml/scene.xml",
        "humanoids/jvrc1-urdf/urdf/jvrc1.urdf", "parallel/robots/5bar_linkage/robot.urdf"}) {
    SCOPED_TRACE(file);
    const Result<LoadedScene> loaded = load_scene(corpus() / file, uncached());
    ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
    World world = make_world(*loaded);
    world.step(50);
    for (const LinkId id : loaded->scene.mechanism.link_ids()) {
      EXPECT_FALSE(world.quarantined(id)) << loaded->scene.mechanism.link(id).name;
    }
    EXPECT_TRUE(std::isfinite(world.energies().total()));
  }
}

}  // namespace
}  // namespace karakuri::test
