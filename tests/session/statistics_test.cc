// Energy that is made and motion that is lost: summed, named, and when the run has failed by them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "karakuri/session/statistics.h"
#include "session/scenes.h"

namespace karakuri::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Two balls of 10 cm and 1 kg, 5 m above nothing.
Session two_balls() {
  return make_session(read_mjcf(
      "<mujoco><worldbody><body name=\"a\" pos=\"0 0 5\"><freejoint/><geom size=\".1\" mass=\"1\"/></body>"
      "<body name=\"b\" pos=\"9 0 5\"><freejoint/><geom size=\".1\" mass=\"1\"/></body></worldbody>"
      "</mujoco>"));
}

struct Fake {
  Session session = two_balls();
  RunStatistics statistics;
  LinkId a = session.world().scene().mechanism.find_link("a"),
         b = session.world().scene().mechanism.find_link("b");

  Fake() { statistics.begin(session); }
  void step(double made, LinkId maker, double lost = 0, LinkId loser = {}) {
    session.step();
    StepReport report = session.world().report();
    report.energy_made = made, report.energy_link = maker;
    report.motion_lost = lost, report.motion_link = loser;
    statistics.add(session, report);
  }
  std::string end() {
    statistics.end(session);
    return to_string(statistics.failures());
  }
};

TEST(Statistics, AGoodRunHasNoFailures) {
  Fake run;
  for (int i = 0; i < 300; ++i) run.step(0, {});
  EXPECT_EQ(run.end(), "");
  EXPECT_EQ(run.statistics.energy_made, 0);
  EXPECT_EQ(run.statistics.motion_lost(), 0);
  EXPECT_THAT(run.statistics.energy_made_by(), IsEmpty());
  EXPECT_THAT(run.statistics.motion_lost_by(), IsEmpty());
}

TEST(Statistics, EnergyIsSummedAndNamed) {
  Fake run;
  run.step(1, run.b), run.step(0.25, run.a), run.step(2, run.b);
  EXPECT_THAT(run.end(), HasSubstr("run: error: 3.25 J came from nowhere"));
  EXPECT_EQ(run.statistics.energy_made, 3.25);
  EXPECT_THAT(run.statistics.energy_made_by(), ElementsAre("b", "a"));
  EXPECT_THAT(run.end(), HasSubstr("by 'b' and 'a'"));
}

TEST(Statistics, EnergyThatWasTakenIsSummed) {
  Fake run;
  for (const double taken : {0.5, 0.0, 1.25}) {
    run.session.step();
    StepReport report = run.session.world().report();
    report.energy_taken = taken;
    run.statistics.add(run.session, report);
  }
  EXPECT_EQ(run.end(), "");  // nothing is wrong with what was not made
  EXPECT_EQ(run.statistics.energy_taken, 1.75);
}

/// Of 2 kg that fall 0.4 m, a hundredth is 0.08 J and a bit.
TEST(Statistics, EnergyIsMeasuredByThatOfTheRun) {
  for (const double made : {0.01, 1.0}) {
    Fake run;
    for (int i = 0; i < 141; ++i) run.step(made / 141, run.a);
    EXPECT_EQ(run.end() == "", made < 0.1) << made;
    EXPECT_GT(run.statistics.energy_scale, 7);
    EXPECT_LT(run.statistics.energy_scale, 15);
  }
}

TEST(Statistics, WhatRestsMayBeRounded) {
  Fake run;
  run.step(1e-12, run.a);
  EXPECT_EQ(run.end(), "");
}

TEST(Statistics, NotANumberFails) {
  Fake run;
  run.step(std::numeric_limits<double>::infinity(), run.a);
  EXPECT_THAT(run.end(), HasSubstr("inf J"));
}

TEST(Statistics, MotionIsMeasuredBySize) {
  Fake run;
  for (int i = 0; i < 9; ++i) run.step(0, {}, 0.01, run.a);
  EXPECT_EQ(run.end(), "");
  EXPECT_NEAR(run.statistics.motion_lost(), 0.09, 1e-15);
  EXPECT_THAT(run.statistics.motion_lost_by(), ElementsAre("a"));
  for (int i = 0; i < 9; ++i) run.step(0, {}, 0.01, run.a);
  EXPECT_THAT(run.end(), HasSubstr("'a' moved less than the velocity says, by 0.18 m"));
}

TEST(Statistics, WhatIsFrozenIsToldByTheSession) {
  Session session = make_session(
      read_mjcf("<mujoco><worldbody><body name=\"wild\"><joint name=\"j\" axis=\"0 1 0\"/><geom size=\".1\" "
                "pos=\".2 0 0\"/></body></worldbody></mujoco>"));
  RunStatistics statistics;
  statistics.begin(session);
  const double v = 1e200;
  ASSERT_TRUE(session.world().set_v(session.world().scene().mechanism.find_joint("j"), {&v, 1}));
  session.step();
  statistics.add(session);
  ASSERT_EQ(session.problems().size(), 1u);
  EXPECT_THAT(session.problems()[0].what, HasSubstr("'wild' became non-finite; it is frozen"));
  EXPECT_THAT(to_string(statistics.failures()), HasSubstr("'wild' became non-finite"));
  session.step();
  EXPECT_EQ(session.problems().size(), 1u);
}

}  // namespace
}  // namespace karakuri::test
