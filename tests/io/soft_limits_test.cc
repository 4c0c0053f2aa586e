// Explicit solref and solimp of limits, equalities and tendons: what they hold gives way at rest as far as in
// MuJoCo (src/io/mjcf/softness.cc has the law).
#include <gtest/gtest.h>

#include <cmath>

#include "io/corpus.h"
#include "io/mujoco_scene.h"
#include "karakuri/world/world.h"

namespace karakuri::test {
namespace {

std::string in_file(const std::string& rest) {
  return R"(<mujoco><compiler angle="radian"/><option><flag contact="disable"/></option>)" + rest +
         "</mujoco>";
}

#ifdef KARAKURI_HAVE_MUJOCO

Vec3 turn(const Mat3& R) {
  const Eigen::AngleAxisd a(R);
  return a.angle() * a.axis();
}

struct Case {
  const char* name;
  const char* text;
  // where it would be if nothing gave way
  Vec3 p = Vec3::Zero();
  Vec3 angles = Vec3::Zero();
  friend void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }
};

// Impedance is constant in all, so that MuJoCo's law at rest is a spring and nothing is lost: up to 2e-3 is
// what has not come to rest after three seconds.
const Case kCases[] = {
    {"slide_limit",
     R"(<worldbody><body name="b"><joint type="slide" axis="0 0 1" range="-.2 1" limited="true" solreflimit=".05 1"
solimplimit=".8 .8 .01"/><geom size=".1"/></body></worldbody>)",
     {0, 0, -.2}},
    {"hinge_limit",
     R"(<worldbody><body name="b"><joint axis="0 1 0" range="-1 .1" limited="true" solreflimit=".06 1" solimplimit=".9 .9 .01"/>
<geom type="box" size=".3 .05 .05" pos=".3 0 0"/></body></worldbody>)",
     {},
     {0, .1, 0}},
    {"hinge_limit_by_stiffness",
     R"(<worldbody><body name="b"><joint axis="0 1 0" range="-1 .1" limited="true" solreflimit="-800 -60" solimplimit=".6 .6 .01"/>
<geom type="box" size=".3 .05 .05" pos=".3 0 0"/></body></worldbody>)",
     {},
     {0, .1, 0}},
    {"ball_limit",
     R"(<worldbody><body name="b"><joint type="ball" range="0 .1" limited="true" solreflimit=".04 1" solimplimit=".9 .9 .01" damping=".3"/>
<geom type="box" size=".3 .05 .05" pos=".3 0 0"/></body></worldbody>)",
     {},
     {0, .1, 0}},
    {"tendon_limit",
     R"(<worldbody><body name="b"><joint name="s" type="slide" axis="0 0 1"/><geom size=".1"/></body>
<body pos="1 0 0"><joint name="r" type="slide" axis="0 0 1"/><geom size=".07"/></body></worldbody>
<tendon><fixed limited="true" range="-.1 1" solreflimit=".05 1" solimplimit=".8 .8 .01"><joint joint="s" coef="1"/></fixed>
<fixed limited="true" range="-.1 1"><joint joint="r" coef="1"/></fixed></tendon>)",
     {0, 0, -.1}},
    {"connect",
     R"(<worldbody><body name="b"><freejoint/><geom size=".1"/></body></worldbody>
<equality><connect body1="b" anchor="0 0 0" solref=".06 1" solimp=".85 .85 .01"/></equality>)"},
    {"connect_of_two",
     R"(<worldbody><body name="a"><freejoint/><geom size=".15"/></body><body name="b" pos="0 0 -.5"><freejoint/><geom size=".1"/></body></worldbody>
<equality><weld body1="a" solref=".05 1" solimp=".8 .8 .01"/><connect body1="a" body2="b" anchor="0 0 -.5" solref=".06 1" solimp=".85 .85 .01"/></equality>)",
     {0, 0, -.5}},
    {"weld",
     R"(<worldbody><body name="b"><freejoint/><geom type="box" size=".2 .1 .1" pos=".15 0 0"/></body></worldbody>
<equality><weld body1="b" solref=".04 1" solimp=".9 .9 .01"/></equality>)"},
    {"joint_at_constant",
     R"(<worldbody><body name="b"><joint name="s" type="slide" axis="0 0 1"/><geom size=".1"/></body></worldbody>
<equality><joint joint1="s" polycoef=".1 0 0 0 0" solref=".07 1" solimp=".8 .8 .01"/></equality>)",
     {0, 0, .1}},
    {"joint_by_joint",
     R"(<worldbody><body name="a" pos="1 0 0"><joint name="r" type="slide" axis="0 0 1" stiffness="1e3" damping="400"/><geom size=".1"/></body>
<body name="b"><joint name="s" type="slide" axis="0 0 1"/><geom size=".12"/></body></worldbody>
<equality><joint joint1="s" joint2="r" polycoef="0 2 0 0 0" solref=".07 1" solimp=".8 .8 .01"/></equality>)"},
    {"spatial_spring",
     R"(<worldbody><site name="top" pos="0 0 .5"/><body name="b"><joint type="slide" axis="0 0 1"/><geom size=".1"/><site name="hook" pos="0 0 .1"/></body></worldbody>
<tendon><spatial stiffness="700" damping="60"><site site="top"/><site site="hook"/></spatial></tendon>)"},
    {"spatial_spring_of_given_length",
     R"(<worldbody><site name="top" pos="0 0 .5"/><body name="b"><freejoint/><geom size=".1"/><site name="hook" pos="0 0 .1"/></body></worldbody>
<tendon><spatial stiffness="700" damping="60" springlength=".35"><site site="top"/><site site="hook"/></spatial></tendon>)",
     {0, 0, .05}},
    {"spatial_rope",
     R"(<worldbody><site name="top" pos="0 0 .5"/><body name="b"><freejoint/><geom size=".1"/><site name="hook" pos="0 0 .1"/></body></worldbody>
<tendon><spatial limited="true" range="0 .6" solreflimit=".05 1" solimplimit=".8 .8 .01"><site site="top"/><site site="hook"/></spatial></tendon>)",
     {0, 0, -.2}},
    {"spatial_strut",
     R"(<worldbody><site name="foot" pos="0 0 -1"/><body name="b"><joint type="slide" axis="0 0 1"/><geom size=".1"/><site name="hook" pos="0 0 -.1"/></body></worldbody>
<tendon><spatial limited="true" range=".8 2" solreflimit=".05 1" solimplimit=".8 .8 .01"><site site="foot"/><site site="hook"/></spatial></tendon>)",
     {0, 0, -.1}},
};

class GivesWay : public testing::TestWithParam<Case> {};

TEST_P(GivesWay, AsFarAsInMujoco) {
  const test::Rest rest = test::rest_of_body_b(in_file(GetParam().text), 3);
  const Mat3 R = Eigen::AngleAxisd(GetParam().angles.y(), Vec3::UnitY()).toRotationMatrix();
  Eigen::Matrix<double, 6, 1> theirs, ours;
  theirs << rest.theirs.p - GetParam().p, turn(R.transpose() * rest.theirs.R);
  ours << rest.ours.p - GetParam().p, turn(R.transpose() * rest.ours.R);
  EXPECT_GT(theirs.norm(), 1e-4);  // else there would be nothing to compare
  EXPECT_LT((ours - theirs).norm(), 5e-3 * theirs.norm()) << ours.transpose() << "\n" << theirs.transpose();
}

INSTANTIATE_TEST_SUITE_P(All, GivesWay, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

#endif

/// Notes that are warnings make --strict fail; these are told as remarks.
TEST(SoftLimits, AreTold) {
  const Result<LoadedScene> loaded = load_mjcf(
      in_file(
          R"(<worldbody><body name="b"><joint name="s" type="slide" axis="0 0 1" range="-1 1" limited="true"
solreflimit=".1 1"/><geom size=".1"/></body></worldbody>
<equality><joint joint1="s" solref=".1 1"/></equality>)"),
      "s.xml", uncached());
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
  ASSERT_EQ(loaded->notes.size(), 2u) << to_string(loaded->notes);
  EXPECT_EQ(loaded->notes[0].where, "s.xml:1");
  EXPECT_NE(loaded->notes[0].what.find("of limits"), std::string::npos);
  EXPECT_EQ(loaded->notes[1].where, "s.xml:3");
  EXPECT_NE(loaded->notes[1].what.find("of equalities"), std::string::npos);
  for (const Diagnostic& n : loaded->notes) EXPECT_EQ(n.severity, Severity::kNote);
}

TEST(SoftLimits, AtTheDefaultsAreRigid) {
  const Result<LoadedScene> loaded = load_mjcf(
      in_file(
          R"(<worldbody><body name="b"><joint name="s" type="slide" range="-1 1" limited="true" solreflimit=".02 1"
solimplimit=".9 .95 .001"/><geom size=".1"/></body></worldbody><equality><weld body1="b" solref=".02 1"/></equality>)"),
      "s.xml", uncached());
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
  EXPECT_TRUE(loaded->notes.empty()) << to_string(loaded->notes);
  const Model model = compile(loaded->scene.mechanism).value();
  EXPECT_TRUE(std::isinf(model.dof_properties[0].limit_stiffness));
  ASSERT_EQ(model.loops.size(), 1u);
  EXPECT_TRUE(model.loops[0].held());
}

/// What is wrapped around geoms is told with its line, and what names it does not fail.
TEST(SpatialTendons, ThatAreWrappedAreTold) {
  const Result<LoadedScene> loaded =
      load_mjcf(in_file(R"(<worldbody><site name="a"/><body name="b"><freejoint/><geom name="g" size=".1"/>
<site name="c"/><site name="d" pos="0 0 1"/></body></worldbody>
<tendon><spatial name="t"><site site="a"/><geom geom="g"/>
<site site="d"/></spatial></tendon><actuator>
<motor tendon="t"/></actuator>)"),
                "s.xml", uncached());
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
  ASSERT_EQ(loaded->notes.size(), 2u) << to_string(loaded->notes);
  EXPECT_EQ(loaded->notes[0].where, "s.xml:3");
  EXPECT_EQ(loaded->notes[1].where, "s.xml:5");
}

}  // namespace
}  // namespace karakuri::test
