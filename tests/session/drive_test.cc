// Actuators, controllers and trajectories reach the joints.
#include <gtest/gtest.h>

#include <cmath>

#include "session/scenes.h"
#include "support/no_alloc.h"

namespace karakuri::test {
namespace {

TEST(Actuators, APositionServoHoldsWhereItsTorqueBalancesGravity) {
  LoadedScene scene = read_mjcf(pendulum(
      "<actuator><position name=\"servo\" joint=\"hinge\" kp=\"100\"/><velocity joint=\"hinge\" kv=\"20\"/>"
      "</actuator>"));
  scene.settings.sleep.enabled = false;  // it would stop a little before
  Session session = make_session(std::move(scene));
  const JointId hinge = session.scene().scene.mechanism.find_joint("hinge");
  EXPECT_EQ(session.scene().actuators[1].name, "actuator1") << "the nameless get a name";
  ASSERT_TRUE(session.set_control(0, 0.5));
  session.step(10000);
  const double q = session.world().q(hinge)[0];
  // m g l sin q = kp (0.5 - q): m g l = 10
  EXPECT_NEAR(10 * std::sin(q), 100 * (0.5 - q), 1e-6);
  EXPECT_GT(q, 0.4);
  EXPECT_FALSE(session.set_control(2, 1));
  EXPECT_FALSE(session.set_control(-1, 1));
  EXPECT_FALSE(session.set_control(0, std::nan("")));
}

TEST(Actuators, SeveralOnOneJointAreOneDriveAndAnEffort) {
  Session session = make_session(read_mjcf(
      pendulum("<actuator><position joint=\"hinge\" kp=\"100\"/><position joint=\"hinge\" kp=\"300\"/>"
               "<velocity joint=\"hinge\" kv=\"7\"/><motor joint=\"hinge\" gear=\"3\"/></actuator>")));
  const JointId hinge = session.scene().scene.mechanism.find_joint("hinge");
  const double controls[] = {1, 2, 0.5, 4};
  for (int i = 0; i < 4; ++i) session.set_control(i, controls[i]);
  session.step();
  const Drive& drive = session.world().drive(hinge);
  EXPECT_DOUBLE_EQ(drive.stiffness, 400);
  EXPECT_DOUBLE_EQ(drive.damping, 7);
  EXPECT_DOUBLE_EQ(drive.q_target, (100 * 1 + 300 * 2) / 400.0);
  EXPECT_DOUBLE_EQ(drive.v_target, 0.5);

  // the same by hand
  LoadedScene plain = read_mjcf(pendulum(""));
  Result<World> world = World::make(plain.scene, plain.settings, plain.gravity);
  ASSERT_TRUE(world.ok());
  world->set_drive(hinge, drive);
  world->set_effort(hinge, std::array{12.0});
  world->step(100);
  session.step(99);
  EXPECT_EQ(session.world().q(hinge)[0], world->q(hinge)[0]);
}

TEST(Actuators, ControlsAreCutToTheirRange) {
  Session session = make_session(read_mjcf(pendulum(
      "<actuator><motor joint=\"hinge\" gear=\"2\" ctrlrange=\"-1 1\" ctrllimited=\"true\"/></actuator>")));
  const JointId hinge = session.scene().scene.mechanism.find_joint("hinge");
  session.set_control(0, 50);
  session.step();
  EXPECT_DOUBLE_EQ(session.world().load(hinge).drive[0], 2);
}

TEST(Controllers, DriveTheirJointAndFollowTheirTrajectory) {
  LoadedScene scene = read_mjcf(pendulum("", "timestep=\"0.01\""));
  const JointId hinge = scene.scene.mechanism.find_joint("hinge");
  Trajectory ramp{.name = "ramp", .columns = {"hinge"}, .times = {0, 1, 2}, .values = {0, 1, 1}};
  scene.script.trajectories.push_back(ramp);
  scene.script.controllers.push_back(
      {.joint = hinge, .stiffness = 1e6, .damping = 1e4, .trajectory = 0, .column = 0});
  Session session = make_session(std::move(scene));
  session.step(50);
  // as stiff as this the drive is where it shall be, but for gravity's 10 N m / 1e6
  EXPECT_NEAR(session.world().q(hinge)[0], 0.5, 1e-4);
  EXPECT_NEAR(session.world().v(hinge)[0], 1, 1e-3);
  session.step(150);
  EXPECT_NEAR(session.world().q(hinge)[0], 1, 1e-4);
}

TEST(Sessions, StepsDoNotAllocate) {
  if (!NoAllocGuard::available()) GTEST_SKIP() << NoAllocGuard::kUnavailable;
  LoadedScene scene = read_mjcf(pendulum(
      "<actuator><position joint=\"hinge\" kp=\"100\"/></actuator><sensor><gyro site=\"bob\" noise=\"0.1\"/>"
      "<accelerometer site=\"bob\"/><jointpos joint=\"hinge\"/><force site=\"bob\"/></sensor>"));
  const LinkId rod = scene.scene.mechanism.find_link("rod");
  scene.script.events.push_back({.time = 0.1,
                                 .period = 0.01,
                                 .action = ForceAction{.link = rod, .force = {1, 0, 0}, .duration = 0.02}});
  Session session = make_session(std::move(scene));
  session.step(300);
  double sum = 0;
  NoAllocGuard guard;
  for (int i = 0; i < 300; ++i) {
    session.set_control(0, 0.001 * i);
    session.step();
    for (int k = 0; k < 4; ++k) sum += session.reading(k)[0];
  }
  EXPECT_EQ(guard.allocations(), 0);
  EXPECT_TRUE(std::isfinite(sum));
}

}  // namespace
}  // namespace karakuri::test
