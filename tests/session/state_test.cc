// Keyframes, resets, events, snapshots.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "session/scenes.h"

namespace karakuri::test {
namespace {

using testing::HasSubstr;

constexpr const char* kDriven =
    "<actuator><position name=\"servo\" joint=\"hinge\" kp=\"50\"/></actuator>"
    "<sensor><jointpos name=\"q\" joint=\"hinge\" noise=\"0.01\"/></sensor>"
    "<keyframe><key name=\"raised\" time=\"3\" qpos=\"1.2\" qvel=\"-0.5\" ctrl=\"0.9\"/><key "
    "qpos=\"0.3\"/></keyframe>";

JointId hinge_of(const Session& session) { return session.scene().scene.mechanism.find_joint("hinge"); }

TEST(Keyframes, AreStatesByNameOrNumber) {
  Session session = make_session(read_mjcf(pendulum(kDriven)), {.keyframe = "raised"});
  const JointId hinge = hinge_of(session);
  EXPECT_EQ(session.world().q(hinge)[0], 1.2);
  EXPECT_EQ(session.world().v(hinge)[0], -0.5);
  EXPECT_EQ(session.controls()[0], 0.9);
  EXPECT_EQ(session.time(), 3);
  EXPECT_TRUE(session.reset("1").empty());
  EXPECT_EQ(session.world().q(hinge)[0], 0.3);
  EXPECT_EQ(session.controls()[0], 0);
  EXPECT_TRUE(session.reset().empty());
  EXPECT_EQ(session.world().q(hinge)[0], 0);
  const auto errors = session.reset("raisd");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0].what, HasSubstr("no keyframe 'raisd'"));
  EXPECT_THAT(errors[0].remedy, HasSubstr("did you mean 'raised'"));
  EXPECT_FALSE(Session::make(read_mjcf(pendulum(kDriven)), {.keyframe = "nothing"}).ok());
}

TEST(Reset, GivesTheSameRunAgain) {
  Session session = make_session(read_mjcf(pendulum(kDriven)), {.seed = 5, .keyframe = "raised"});
  const std::uint64_t start = session.hash();
  session.step(200);
  const std::uint64_t end = session.hash();
  EXPECT_NE(start, end);
  EXPECT_TRUE(session.reset("raised").empty());
  EXPECT_EQ(session.hash(), start);
  session.step(200);
  EXPECT_EQ(session.hash(), end);
}

/// Free in space, 2 kg.
LoadedScene floating() {
  return read_mjcf(
      "<mujoco><option gravity=\"0 0 0\" timestep=\"0.01\"/><worldbody><body name=\"puck\"><freejoint/>"
      "<geom type=\"sphere\" size=\".1\" mass=\"2\"/></body></worldbody></mujoco>");
}

TEST(Events, AForceActsForItsTime) {
  LoadedScene scene = floating();
  const LinkId puck = scene.scene.mechanism.find_link("puck");
  scene.script.events.push_back(
      {.time = 0.5, .action = ForceAction{.link = puck, .force = {4, 0, 0}, .duration = 0.25}});
  scene.script.events.push_back(
      {.time = 2, .action = ForceAction{.link = puck, .force = {0, 4, 0}}});  // one step
  Session session = make_session(std::move(scene));
  session.step(50);
  EXPECT_EQ(session.world().velocity(puck).linear.x(), 0);
  session.step(10);
  EXPECT_NEAR(session.world().velocity(puck).linear.x(), 4 * 0.1 / 2, 1e-12);
  session.step(100);
  EXPECT_NEAR(session.world().velocity(puck).linear.x(), 4 * 0.25 / 2, 1e-12)
      << "25 steps, no more and no less";
  session.step(100);
  EXPECT_NEAR(session.world().velocity(puck).linear.y(), 4 * 0.01 / 2, 1e-12);
}

TEST(Events, WithAPeriodComeAgain) {
  LoadedScene scene = floating();
  const LinkId puck = scene.scene.mechanism.find_link("puck");
  scene.script.events.push_back(
      {.time = 0.1, .period = 0.2, .action = ForceAction{.link = puck, .force = {2, 0, 0}}});
  Session session = make_session(std::move(scene));
  session.step(100);  // at 0.1, 0.3, 0.5, 0.7, 0.9
  EXPECT_NEAR(session.world().velocity(puck).linear.x(), 5 * 2 * 0.01 / 2, 1e-12);
}

TEST(Snapshots, BringBackEverything) {
  LoadedScene scene = read_mjcf(pendulum(kDriven));
  const LinkId rod = scene.scene.mechanism.find_link("rod");
  scene.script.events.push_back(
      {.time = 0.1, .action = ForceAction{.link = rod, .force = {5, 0, 0}, .duration = 0.3}});
  scene.script.events.push_back({.time = 0.35, .action = ForceAction{.link = rod, .force = {-9, 0, 0}}});
  Session session = make_session(std::move(scene), {.seed = 9});
  session.step(200);            // the force is acting
  session.set_control(0, 0.7);  // not used yet
  const SessionSnapshot saved = session.snapshot();
  const double reading = session.reading(0)[0];
  session.step(300);
  const std::uint64_t end = session.hash();
  const double last = session.reading(0)[0];
  session.set_control(0, -1);
  WorldSettings other = session.world().settings();
  other.dt = 0.01;
  EXPECT_TRUE(session.world().set_settings(other).empty());
  session.world().set_gravity({1, 2, 3});
  session.step(50);
  EXPECT_TRUE(session.restore(saved).empty());
  EXPECT_EQ(session.reading(0)[0], reading);
  EXPECT_EQ(session.controls()[0], 0.7);
  EXPECT_EQ(session.world().settings().dt, 0.001);
  session.step(300);
  EXPECT_EQ(session.hash(), end);
  EXPECT_EQ(session.reading(0)[0], last);
}

TEST(Snapshots, ThatAreDamagedOrForeignAreRefused) {
  Session session = make_session(read_mjcf(pendulum(kDriven)));
  const std::uint64_t before = session.hash();
  const SessionSnapshot good = session.snapshot();
  SessionSnapshot bad = good;
  bad.bytes.pop_back();
  EXPECT_FALSE(session.restore(bad).empty());
  bad.bytes.clear();
  EXPECT_FALSE(session.restore(bad).empty());
  EXPECT_FALSE(session.restore(make_session(floating()).snapshot()).empty());
  EXPECT_EQ(session.hash(), before);
}

TEST(Hooks, AreCalledBeforeEachStep) {
  Session session = make_session(read_mjcf(pendulum(kDriven)));
  int calls = 0;
  const int hook = session.add_hook([&](Session& s) {
    ++calls;
    s.set_control(0, 0.25);
  });
  session.step(3);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(session.world().drive(hinge_of(session)).q_target, 0.25);
  session.remove_hook(hook);
  session.remove_hook(99);
  session.step(3);
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace karakuri::test
