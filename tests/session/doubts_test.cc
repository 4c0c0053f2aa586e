// What is doubtful in a scene is told with name, place, figure and remedy; what is not, is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "karakuri/session/doubts.h"
#include "session/scenes.h"

namespace karakuri::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string doubts_of(const std::string& yaml, const SessionOptions& options = {}) {
  LoadOptions load;
  load.cache = false;
  Result<LoadedScene> scene = load_native(yaml, "test.scene.yaml", load);
  EXPECT_TRUE(scene.ok()) << to_string(scene.errors());
  return to_string(find_doubts(make_session(std::move(*scene), options)));
}

const char* const kBall = "  - {name: ball, at: [0, 0, 1], shapes: {sphere: 0.1}}\n";

TEST(Doubts, OfAPlainSceneThereAreNone) {
  EXPECT_EQ(doubts_of(std::string("ground: true\nbodies:\n") + kBall), "");
  EXPECT_EQ(
      doubts_of("ground: true\nbodies:\n  - {name: box, at: [0, 0, 0.1], shapes: {box: [0.2, 0.2, 0.2]}}\n"
                "  - {name: other, at: [0, 0, 0.3], shapes: {box: [0.2, 0.2, 0.2]}}\n"),
      "");
}

TEST(Doubts, AnEmptyWorld) {
  EXPECT_THAT(doubts_of("name: nothing\n"), HasSubstr("nothing: warning: the world is empty"));
  EXPECT_EQ(doubts_of("ground: true\n"), "");
}

TEST(Doubts, OverlapsAtTheStart) {
  const std::string two =
      "bodies:\n" + std::string(kBall) + "  - {name: other, at: [0, 0, 1.15], shapes: {sphere: 0.1}}\n";
  EXPECT_THAT(doubts_of(two),
              AllOf(HasSubstr("test.scene.yaml:2:5: warning: link 'ball': it overlaps 'other' by "
                              "0.05 m at the start"),
                    HasSubstr("no_contact")));
  EXPECT_EQ(doubts_of(two + "no_contact: [{between: [ball, other]}]\n"), "");
  EXPECT_EQ(doubts_of(two + "settings: {contact: none}\n"), "");
  EXPECT_THAT(doubts_of("ground: true\nbodies:\n  - {name: deep, at: [0, 0, -1], shapes: {sphere: 0.1}}\n"),
              HasSubstr("link 'deep': it overlaps 'world' by 1.1 m"));
}

TEST(Doubts, ManyOverlapsAreCounted) {
  std::string pile = "bodies:\n";
  for (int i = 0; i < 10; ++i)
    pile += "  - {name: b" + std::to_string(i) + ", at: [0, 0, 1], shapes: {box: [0.1, 0.1, 0.1]}}\n";
  const std::string told = doubts_of(pile);
  EXPECT_THAT(told, HasSubstr("40 more are like this"));  // of 45
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 5);
}

std::string hinge(const std::string& limits, const std::string& more = "") {
  return "bodies:\n  - {name: arm, joint: {name: elbow, axis: [0, 1, 0]" + limits +
         "}, shapes: {box: [0.1, 0.1, 0.1]}}\n" + more;
}

TEST(Doubts, LimitsThatLookLikeDegrees) {
  EXPECT_THAT(doubts_of(hinge(", limits: [-90, 90]")),
              AllOf(HasSubstr("joint 'elbow': its limits are -90 and 90 rad, which look like degrees"),
                    HasSubstr("test.scene.yaml:2"), HasSubstr("radians")));
  EXPECT_THAT(doubts_of(hinge(", limits: [0, 270]")), HasSubstr("degrees"));
  EXPECT_EQ(doubts_of(hinge(", limits_deg: [-90, 90]")), "");
  EXPECT_EQ(doubts_of(hinge(", limits: [-3, 3]")), "");
  EXPECT_EQ(doubts_of(hinge(", limits: [-12.566370614359172, 12.566370614359172]")), "");  // two turns
  EXPECT_EQ(doubts_of(hinge(", limits: [-10000, 10000]")), "");                            // as good as none
  EXPECT_EQ(
      doubts_of("bodies:\n  - {name: cart, joint: {kind: prismatic, axis: [1, 0, 0], limits: [-90, 90]}, "
                "shapes: {sphere: 0.1}}\n"),
      "");
}

TEST(Doubts, StartsOutsideLimits) {
  EXPECT_THAT(doubts_of(hinge(", limits: [0.5, 1]")),
              HasSubstr("joint 'elbow': it starts at 0 rad, outside its limits 0.5 and 1"));
  EXPECT_EQ(doubts_of(hinge(", limits: [0.5, 1]", "initial: [{joint: elbow, q: 0.5}]\n")), "");
  const std::string keyed =
      hinge(", limits: [-1, 1]", "keyframes: [{name: far, joints: [{joint: elbow, q: 2}]}]\n");
  EXPECT_EQ(doubts_of(keyed), "");
  EXPECT_THAT(doubts_of(keyed, {.keyframe = "far"}), HasSubstr("it starts at 2 rad"));
}

TEST(Doubts, SizesMassesAndDensities) {
  const auto ball = [](const std::string& radius, const std::string& mass) {
    return doubts_of("bodies:\n  - {name: ball, mass: " + mass + ", shapes: {sphere: " + radius + "}}\n");
  };
  EXPECT_THAT(ball("600", "1e12"), HasSubstr("link 'ball': its size is 1.2e+03 m"));
  EXPECT_THAT(ball("4e-5", "1e-9"), HasSubstr("its size is 8e-05 m"));
  EXPECT_THAT(ball("0.1", "1e-10"), HasSubstr("its mass is 1e-10 kg"));
  EXPECT_THAT(ball("10", "1"), HasSubstr("0.000239 kg/m^3"));
  EXPECT_THAT(ball("0.01", "1000"), HasSubstr("kg/m^3"));
  for (const auto& [radius, mass] : {std::pair{"0.01", "0.001"}, {"1", "100"}, {"100", "1e7"}, {"0.1", "80"}})
    EXPECT_EQ(ball(radius, mass), "") << radius;
}

TEST(Doubts, Steps) {
  const auto with = [](const std::string& settings) {
    return doubts_of(std::string("ground: true\nbodies:\n") + kBall + settings);
  };
  EXPECT_THAT(with("settings: {dt: 0.15}\n"),
              AllOf(HasSubstr("the step of 0.15 s is too long: 'ball', 0.2 m thick"), HasSubstr("substeps")));
  EXPECT_EQ(with("settings: {dt: 0.15, substeps: 10}\n"), "");
  EXPECT_EQ(with("settings: {dt: 0.15}\ngravity: [0, 0, 0]\n"), "");
  EXPECT_EQ(with("settings: {dt: 0.016}\n"), "");
  EXPECT_THAT(with("settings: {dt: 1e-7}\n"), HasSubstr("too short"));
  EXPECT_EQ(with("settings: {dt: 1e-6}\n"), "");
}

TEST(Doubts, OfTheHingeOnAFixedCylinderThereAreNone) {
  EXPECT_EQ(
      doubts_of("bodies:\n  - {name: base, joint: fixed, shapes: {cylinder: {radius: 0.1, length: 0.1}}}\n"
                "  - {name: upper, parent: base, at: [0, 0, 0.05], joint: {axis: [0, 1, 0]}, "
                "shapes: {capsule: {radius: 0.03, length: 0.4}, at: [0, 0, 0.2]}}\n"),
      "");
}

}  // namespace
}  // namespace karakuri::test
