// Explicit solref and solimp: things at rest are as deep as in MuJoCo (src/io/mjcf/softness.cc has the law).
#include <gtest/gtest.h>

#ifdef KARAKURI_HAVE_MUJOCO

#include <cmath>

#include "io/corpus.h"
#include "io/mujoco_scene.h"
#include "karakuri/world/world.h"

namespace karakuri::test {
namespace {

struct Case {
  const char* name;
  const char* floor;  // attributes of the floor, of what rests on it, and of the joint
  const char* body;
  double tolerance;  // of the depth, relative
};

/// How far body 'b' has sunk below z = 0 after two seconds, in MuJoCo and here.
struct Depths {
  double theirs, ours;
};

Depths sink(const std::string& text) {
  const test::Rest rest = test::rest_of_body_b(text, 2);
  return {-rest.theirs.p.z(), -rest.ours.p.z()};
}

std::string resting(const char* geom, const Case& c) {
  return std::string(
             R"(<mujoco><option cone="elliptic"/><worldbody><geom type="plane" size="0 0 1" pos="0 0 -.1" )") +
         c.floor + R"(/><body name="b"><freejoint/><geom )" + geom + " " + c.body +
         "/></body></worldbody></mujoco>";
}

void expect_depth(const Depths& d, double tolerance) {
  EXPECT_GT(d.theirs, 1e-5);  // else there would be nothing to compare
  EXPECT_NEAR(d.ours / d.theirs, 1, tolerance);
}

// Constant impedance: MuJoCo's law at rest is a spring, so that nothing is lost. The depths differ by up
// to 2.2e-3: MuJoCo has not quite come to rest after two seconds.
const Case kConstant[] = {
    {"time_and_ratio", R"(solref=".05 1" solimp=".8 .8 .01")", R"(solref=".05 1" solimp=".8 .8 .01")", 5e-3},
    {"underdamped", R"(solref=".05 .5" solimp=".9 .9 .01")", R"(solref=".05 .5" solimp=".9 .9 .01")", 5e-3},
    {"stiffness_and_damping", R"(solref="-400 -40" solimp=".5 .5 .01")",
     R"(solref="-400 -40" solimp=".5 .5 .01")", 5e-3},
    {"mixed", R"(solref=".03 1" solimp=".7 .7 .01" solmix="2")",
     R"(solref=".06 2" solimp=".9 .9 .01" solmix=".5")", 5e-3},
    {"mixed_of_both_forms", R"(solref="-900 -60" solimp=".8 .8 .01")", R"(solref=".06 1" solimp=".8 .8 .01")",
     5e-3},
    {"priority", R"(solref=".03 1" solimp=".7 .7 .01")", R"(priority="1" solref=".06 1" solimp=".9 .9 .01")",
     5e-3},
};

class SoftContact : public testing::TestWithParam<Case> {};

TEST_P(SoftContact, BoxSinksAsInMujoco) {
  expect_depth(sink(resting(R"(type="box" size=".1 .2 .1" density="300")", GetParam())),
               GetParam().tolerance);
}

INSTANTIATE_TEST_SUITE_P(All, SoftContact, testing::ValuesIn(kConstant),
                         [](const auto& info) { return info.param.name; });

// Impedance that grows with depth: the same under one g on one contact point; a box on four points carries a
// quarter on each, where MuJoCo is softer by at most the ratio of (1 - d) / d^2 at both ends of solimp,
// here 2.23.
TEST(SoftContact, OfGrowingImpedanceIsExactUnderItsOwnWeight) {
  const Case c{"", R"(solref=".06 1")", R"(solref=".06 1")", 5e-3};
  expect_depth(sink(resting(R"(size=".1")", c)), c.tolerance);
  const Depths box = sink(resting(R"(type="box" size=".1 .2 .1")", c));
  EXPECT_GT(box.ours, box.theirs / 2.23);
  EXPECT_LT(box.ours, box.theirs * (1 + 5e-3));
}

TEST(SoftContact, BetweenGivenGeoms) {
  const Case c{"", R"(name="f")", R"(name="g")", 5e-3};
  std::string text = resting(R"(type="box" size=".1 .1 .1")", c);
  text.replace(
      text.find("</mujoco>"), 9,
      R"(<contact><pair geom1="f" geom2="g" solref=".07 1" solimp=".85 .85 .01"/></contact></mujoco>)");
  expect_depth(sink(text), c.tolerance);
}

TEST(SoftContact, AtTheDefaultsIsRigid) {
  const Case c{"", R"(solref=".02 1")", R"(solimp=".9 .95 .001")", 0};
  EXPECT_LT(sink(resting(R"(type="box" size=".1 .1 .1")", c)).ours, 1e-4);  // the slop of rigid contact
}

TEST(SoftContact, IsTold) {
  const Result<LoadedScene> loaded = load_mjcf(
      R"(<mujoco><worldbody><geom type="plane" size="0 0 1"/><body><freejoint/>
<geom size=".1" mass="2" solref="-500 -30" solimp=".5 .5 .01" priority="1"/></body></worldbody></mujoco>)",
      "s.xml", uncached());
  ASSERT_TRUE(loaded.ok()) << to_string(loaded.errors());
  ASSERT_EQ(loaded->notes.size(), 1u) << to_string(loaded->notes);
  EXPECT_EQ(loaded->notes[0].where, "s.xml:2");
  EXPECT_NE(loaded->notes[0].what.find("springs and dampers"), std::string::npos);
  ASSERT_EQ(loaded->scene.pairs.size(), 1u);
  // K = 500 / .5^2, B = 30 / .5; spring K d^2 m / (1 - d), damper B d m / (1 - d)
  EXPECT_NEAR(loaded->scene.pairs[0].surface.stiffness, 2000 * 0.25 * 2 / 0.5, 1e-6);
  EXPECT_NEAR(loaded->scene.pairs[0].surface.damping, 60 * 0.5 * 2 / 0.5, 1e-6);
}

}  // namespace
}  // namespace karakuri::test

#else

TEST(SoftContact, All) { GTEST_SKIP() << "MuJoCo was not found when this was built (libmujoco-dev)"; }

#endif
