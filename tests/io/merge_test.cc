// Two robots in one scene.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/corpus.h"
#include "karakuri/dynamics/mass_matrix.h"
#include "karakuri/model/state.h"

namespace karakuri::test {
namespace {

const char* const kArm =
    R"(<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/><body name="a"><joint name="j" ref="1"/><geom size="1"/><site name="s"/>
<body name="b" pos="1 0 0"><joint name="k"/><geom size=".5" friction=".2"/></body></body></worldbody><equality><connect body1="b" body2="world" anchor="0 0 1"/></equality>
<actuator><motor name="m" joint="k"/></actuator><sensor><jointpos joint="k"/><gyro site="s"/><actuatorpos actuator="m"/></sensor><keyframe><key name="home" qpos="1 2" ctrl="3"/></keyframe></mujoco>)";

TEST(Merge, TwoArmsAreTwiceOne) {
  LoadOptions left = uncached(), right = uncached();
  left.prefix = "left/", right.prefix = "right/";
  right.pose = Transform::translation({0, 5, 0});
  Result<LoadedScene> both = load_mjcf(kArm, "m.xml", left), other = load_mjcf(kArm, "m.xml", right);
  ASSERT_TRUE(both.ok() && other.ok()) << to_string(both.errors());
  const Model one = *compile(both->scene.mechanism);
  EXPECT_TRUE(merge(*both, *other).empty());
  const Mechanism& m = both->scene.mechanism;
  const Result<Model> two = compile(m);
  ASSERT_TRUE(two.ok()) << to_string(two.errors());
  EXPECT_EQ(two->nv, 2 * one.nv);
  EXPECT_EQ(two->loops.size(), 2u);
  Eigen::MatrixXd M1(one.nv, one.nv), M2(two->nv, two->nv);
  Workspace w1(one), w2(*two);
  MassMatrix s1(one), s2(*two);
  crba(one, State(one), w1, s1), crba(*two, State(*two), w2, s2);
  to_dense(one, s1, M1), to_dense(*two, s2, M2);
  EXPECT_EQ(M2.topLeftCorner(one.nv, one.nv), M1);
  EXPECT_LT((M2.bottomRightCorner(one.nv, one.nv) - M1).norm(), 1e-12);
  EXPECT_EQ(m.link(m.world()).shapes.size(), 2u);
  EXPECT_EQ(both->scene.initial[1].joint, m.find_joint("right/j"));
  EXPECT_EQ(both->actuators[1].transmissions[0].joint, m.find_joint("right/k"));
  EXPECT_EQ(both->sensors[3].joint, m.find_joint("right/k"));
  EXPECT_EQ(both->sensors[4].link, m.find_link("right/a"));
  EXPECT_EQ(both->sensors[5].actuator, 1);
  ASSERT_EQ(both->keyframes.size(), 1u);
  EXPECT_EQ(both->keyframes[0].joints.size(), 4u);
  EXPECT_EQ(both->keyframes[0].control, (std::vector<double>{3, 3}));
}

TEST(Merge, NamesMustDiffer) {
  Result<LoadedScene> a = load_mjcf(kArm, "m.xml", uncached());
  const Result<LoadedScene> b = load_mjcf(kArm, "m.xml", uncached());
  const std::vector<Diagnostic> clashes = merge(*a, *b);
  EXPECT_THAT(to_string(clashes), testing::HasSubstr("link 'a': error: another link has this name already"));
  EXPECT_EQ(a->actuators.size(), 1u);
}

}  // namespace
}  // namespace karakuri::test
