// What a solver does otherwise than the settings sound is told once; and what pinches does not drive.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/scenes.h"

namespace karakuri {
namespace {

using test::bundled;
using testing::HasSubstr;

/// All that was told in some steps.
std::string told(Session& session, int steps) {
  session.step(steps);
  std::string all = to_string(std::vector<Diagnostic>(session.problems().begin(), session.problems().end()));
  session.clear_problems();
  return all;
}

TEST(SolverNotes, FrictionIsToldOnceForEachChoice) {
  Session session = test::make_session(bundled("sliding"));
  EXPECT_EQ(told(session, 3), "");
  ASSERT_TRUE(session.set("settings.solver", "dantzig").empty());
  EXPECT_THAT(told(session, 3), HasSubstr("axis by axis"));
  EXPECT_EQ(session.told_of_solver().size(), 1u);
  EXPECT_EQ(told(session, 3), "");
  ASSERT_TRUE(session.reset("").empty());
  EXPECT_EQ(told(session, 3), "") << "once is enough";
  ASSERT_TRUE(session.set("settings.solver", "lemke").empty());
  EXPECT_THAT(told(session, 3), HasSubstr("faces"));
  ASSERT_TRUE(session.set("settings.contact", "pyramid").empty());
  EXPECT_EQ(told(session, 3), "") << "that is what was asked for";
  ASSERT_TRUE(session.set("settings.solver", "default").empty());
  EXPECT_EQ(told(session, 3), "");
  EXPECT_TRUE(session.told_of_solver().empty());
}

constexpr const char* kRollingBall =
    "<mujoco><worldbody><geom name=\"ground\" type=\"plane\" size=\"5 5 1\" condim=\"6\" friction=\"1 0.01 "
    "0.01\"/>"
    "<body name=\"ball\" pos=\"0 0 0.1\"><freejoint/><geom type=\"sphere\" size=\"0.1\" condim=\"6\" "
    "friction=\"1 0.01 0.01\"/></body></worldbody></mujoco>";

TEST(SolverNotes, FallbacksAreToldOnce) {
  Session session = test::make_session(test::read_mjcf(kRollingBall));
  ASSERT_TRUE(session.set("settings.solver", "lemke").empty());
  const std::string first = told(session, 20);
  EXPECT_GT(session.world().report().refused, 0);
  EXPECT_THAT(first, HasSubstr("'default' solves instead"));
  EXPECT_THAT(first, HasSubstr("torsional"));
  EXPECT_EQ(told(session, 20), "");
}

// It ended on a ray and went on with what it had: 8008 J after a second.
TEST(SolverNotes, LemkeDoesNotDriveAPinchedCapsule) {
  for (const double faces : {4, 8, 16}) {
    Session session = test::make_session(bundled("pinched-capsule"));
    ASSERT_TRUE(session.set("settings.solver", "lemke").empty());
    ASSERT_TRUE(session.set("settings.pyramid_faces", faces).empty());
    const double start = session.world().energies().total();
    for (int k = 0; k < 1000; ++k) {
      session.step();
      ASSERT_LE(session.world().energies().total(), start + 1e-9) << faces << " faces, step " << k;
    }
    const LinkId capsule = session.world().scene().mechanism.find_link("capsule");
    EXPECT_NEAR(session.world().pose(capsule).p.z(), 0, 0.02) << "it creeps, but does not fall";
  }
}

}  // namespace
}  // namespace karakuri
