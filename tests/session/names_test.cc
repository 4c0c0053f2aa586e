// One vocabulary for all that can be read and set.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "session/scenes.h"

namespace karakuri::test {
namespace {

using testing::HasSubstr;

/// An arm with a servo and a ball joint, and a box on the ground.
Session things() {
  LoadedScene scene = read_mjcf(
      "<mujoco><option gravity=\"0 0 -10\" timestep=\"0.001\"/><worldbody><geom type=\"plane\" size=\"5 5 "
      "1\"/>"
      "<body name=\"arm\" pos=\"0 0 3\"><joint name=\"hinge\" axis=\"0 1 0\"/><geom type=\"capsule\" "
      "fromto=\"0 0 0 .5 0 0\" "
      "size=\".05\" mass=\"1\"/><body name=\"hand\" pos=\".5 0 0\"><joint name=\"ball\" type=\"ball\"/>"
      "<geom type=\"sphere\" size=\".1\" pos=\".1 0 0\" mass=\"1\"/></body></body>"
      "<body name=\"my.box\" pos=\"3 0 .1\"><freejoint name=\"my.box\"/><geom type=\"box\" size=\".1 .1 .1\" "
      "mass=\"3\"/></body>"
      "</worldbody><actuator><motor name=\"motor\" joint=\"hinge\"/></actuator>"
      "<sensor><jointpos name=\"angle\" joint=\"hinge\"/><ballquat name=\"turn\" joint=\"ball\"/></sensor>"
      "<equality><connect name=\"pin\" body1=\"hand\" anchor=\"0.1 0 0\" "
      "active=\"false\"/></equality></mujoco>");
  scene.script.ui.push_back(
      Slider{.name = "push", .key = "joint.hinge.effort", .min = -5, .max = 5, .value = 1});
  scene.script.ui.push_back(Slider{.name = "free", .key = "", .min = 0, .max = 10, .value = 2});
  return make_session(std::move(scene));
}

double get(const Session& session, std::string_view name) {
  const Result<double> value = session.get(name);
  EXPECT_TRUE(value.ok()) << name << ": " << (value.ok() ? "" : to_string(value.errors()));
  return value.ok() ? *value : std::nan("");
}

TEST(Signals, ReadWhatTheWorldHas) {
  Session session = things();
  session.set_control(0, 2);
  session.step(200);
  const World& w = session.world();
  const Mechanism& m = session.scene().scene.mechanism;
  const LinkId hand = m.find_link("hand"), box = m.find_link("my.box");
  EXPECT_EQ(get(session, "time"), w.time());
  EXPECT_EQ(get(session, "link.hand.pz"), w.pose(hand).p.z());
  EXPECT_EQ(std::abs(get(session, "link.hand.qy")), std::abs(Quat(w.pose(hand).R).y()));
  EXPECT_EQ(get(session, "link.hand.vx"), w.velocity(hand).linear.x());
  EXPECT_EQ(get(session, "link.hand.wy"), w.velocity(hand).angular.y());
  EXPECT_EQ(get(session, "link.my.box.fz"), w.contact_force(box).force.z());
  EXPECT_NEAR(get(session, "link.my.box.fz"), 30, 1e-3);
  EXPECT_EQ(get(session, "joint.hinge.q"), w.q(m.find_joint("hinge"))[0]);
  EXPECT_EQ(get(session, "joint.ball.v.1"), w.v(m.find_joint("ball"))[1]);
  EXPECT_EQ(get(session, "joint.ball.q.3"), w.q(m.find_joint("ball"))[3]);
  EXPECT_EQ(get(session, "joint.hinge.tau"), 2);
  EXPECT_EQ(get(session, "sensor.angle"), get(session, "joint.hinge.q"));
  EXPECT_EQ(get(session, "sensor.turn.2"), get(session, "joint.ball.q.2"));
  EXPECT_EQ(get(session, "actuator.motor"), 2);
  EXPECT_EQ(get(session, "energy.total"), w.energies().total());
  EXPECT_EQ(get(session, "energy.kinetic") + get(session, "energy.potential"), get(session, "energy.total"));
  EXPECT_EQ(get(session, "step.contacts"), 4);
  EXPECT_EQ(get(session, "step.residual"), w.report().residual);
  EXPECT_EQ(get(session, "ui.free"), 2);
}

TEST(Signals, ThatAreUnknownComeWithThoseThatAreNear) {
  Session session = things();
  const auto message = [&](std::string_view name) {
    const Result<double> value = session.get(name);
    EXPECT_FALSE(value.ok()) << name;
    return value.ok() ? "" : to_string(value.errors());
  };
  EXPECT_THAT(message("joint.hinje.q"), HasSubstr("'hinge'"));
  EXPECT_THAT(message("link.hnad.px"), HasSubstr("'hand'"));
  EXPECT_THAT(message("energy.totl"), HasSubstr("'total'"));
  EXPECT_THAT(message("tme"), HasSubstr("'time'"));
  message("");
  message(".");
  message("joint.hinge.q.1");
  message("joint..q");
  message("sensor.turn.x");
}

TEST(Keys, SetWhatTheySay) {
  Session session = things();
  World& w = session.world();
  const Mechanism& m = session.scene().scene.mechanism;
  const JointId hinge = m.find_joint("hinge"), ball = m.find_joint("ball");
  const auto set = [&](std::string_view key, const char* text) {
    const auto errors = session.set_text(key, text);
    EXPECT_TRUE(errors.empty()) << key << ": " << to_string(errors);
  };
  set("gravity", "0 0 -1.62");
  EXPECT_EQ(w.gravity(), Vec3(0, 0, -1.62));
  set("gravity", "0,0,-3.7");
  EXPECT_EQ(w.gravity(), Vec3(0, 0, -3.7));
  set("settings.dt", "0.004");
  EXPECT_EQ(w.settings().dt, 0.004);
  set("settings.solver", "newton");
  EXPECT_EQ(w.settings().solver, solver::Method::kNewton);
  set("settings.sleep.enabled", "false");
  EXPECT_FALSE(w.settings().sleep.enabled);
  set("joint.hinge.q", "0.3");
  EXPECT_EQ(w.q(hinge)[0], 0.3);
  set("joint.ball.q", "0 1 0 0");
  EXPECT_EQ(w.q(ball)[1], 1);
  set("joint.ball.v.2", "0.5");
  EXPECT_EQ(w.v(ball)[2], 0.5);
  set("joint.hinge.target", "0.7");
  set("joint.hinge.stiffness", "50");
  set("joint.hinge.damping", "5");
  set("joint.hinge.limit", "40");
  set("joint.hinge.effort", "3");
  set("actuator.motor", "1.5");
  session.step();
  EXPECT_EQ(w.drive(hinge).q_target, 0.7);
  EXPECT_EQ(w.drive(hinge).stiffness, 50);
  EXPECT_EQ(w.drive(hinge).limit, 40);
  set("ui.push", "4");
  EXPECT_EQ(get(session, "ui.push"), 4);
  set("ui.push", "99");
  EXPECT_EQ(get(session, "ui.push"), 5) << "cut to its range";
  set("link.my.box.kinematic", "true");
  EXPECT_EQ(w.state().loop_closed[0], false);
  set("joint.pin.closed", "true");
  EXPECT_EQ(w.state().loop_closed[0], true);
}

TEST(Keys, RefuseWhatCannotBeAndChangeNothing) {
  Session session = things();
  session.step(10);
  const std::uint64_t before = session.hash();
  const std::pair<const char*, const char*> bad[] = {
      {"settings.dt", "-1"},
      {"settings.dt", "soon"},
      {"settings.solver", "magic"},
      {"settings.threads", "1.5"},
      {"settings.sleep.enabled", "7"},
      {"gravity", "1 2"},
      {"gravity", "down"},
      {"joint.hinge.q", "1 2"},
      {"joint.hinge.q", "nan"},
      {"joint.hinge.stiffness", "-1"},
      {"joint.hinge.target", "inf"},
      {"joint.hinge.closed", "true"},
      {"joint.hinge.target.1", "1"},
      {"actuator.motor", "fast"},
      {"actuator.motr", "1"},
      {"ui.push", "nan"},
      {"link.hand.kinematic", "maybe"},
      {"time", "3"},
      {"", "3"},
      {"link.hand.px", "3"},
  };
  for (const auto& [key, text] : bad)
    EXPECT_FALSE(session.set_text(key, text).empty()) << key << " = " << text;
  EXPECT_EQ(session.hash(), before);
  EXPECT_EQ(session.world().settings().dt, 0.001);
}

TEST(Values, AreReadAsTheyAreWritten) {
  EXPECT_EQ(value_from_text("0.5"), Value(0.5));
  EXPECT_EQ(value_from_text("+2e3"), Value(2000.0));
  EXPECT_EQ(value_from_text(" 1, 2 3 "), Value(std::vector<double>{1, 2, 3}));
  EXPECT_EQ(value_from_text("newton"), Value(std::string("newton")));
  EXPECT_EQ(value_from_text("3rd"), Value(std::string("3rd")));
  EXPECT_EQ(value_from_text(""), Value(std::string()));
}

TEST(Events, SetKeys) {
  LoadedScene scene = read_mjcf(pendulum("", "timestep=\"0.01\""));
  scene.script.events.push_back({.time = 0.1, .action = SetAction{"gravity", std::vector<double>{0, 0, -1}}});
  scene.script.events.push_back({.time = 0.1, .action = SetAction{"joint.hinge.v", 2.0}});
  scene.script.events.push_back({.time = 0.2, .action = SetAction{"settings.dt", -1.0}});
  Session session = make_session(std::move(scene));
  session.step(10);
  EXPECT_EQ(session.world().gravity().z(), -10);
  session.step(5);
  EXPECT_EQ(session.world().gravity().z(), -1);
  EXPECT_GT(get(session, "joint.hinge.v"), 1.9);
  session.step(20);
  ASSERT_EQ(session.problems().size(), 1u) << "what cannot be done is told";
  EXPECT_THAT(session.problems()[0].what + session.problems()[0].where, HasSubstr("dt"));
  session.clear_problems();
  EXPECT_TRUE(session.problems().empty());
}

TEST(Sessions, EditsAreKeptByReset) {
  Session session = things();
  const LinkId hand = session.scene().scene.mechanism.find_link("hand");
  const auto heavier = [&](Scene& scene) { scene.mechanism.link(hand).inertia.mass = 7; };
  EXPECT_TRUE(session.edit(heavier).empty());
  EXPECT_EQ(session.world().scene().mechanism.link(hand).inertia.mass, 7);
  EXPECT_TRUE(session.reset().empty());
  EXPECT_EQ(session.world().scene().mechanism.link(hand).inertia.mass, 7);
}

}  // namespace
}  // namespace karakuri::test
