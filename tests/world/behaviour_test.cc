// Sleep, waking, kinematic bodies, springs, quarantine, fast bodies, events, sensors, queries, refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "world/scenes.h"

namespace karakuri {
namespace {

using test::add_material;
using test::BoxOnGround;
using test::make_world;
using ::testing::HasSubstr;

int count(const World& world, EventKind kind) {
  int n = 0;
  for (const Event& e : world.events()) n += e.kind == kind;
  return n;
}

TEST(Sleep, RestingBodiesSleepAndWakeWhenTouched) {
  BoxOnGround s(0.5, {0.5, 0.5, 0.5});
  const LinkId second = s.scene.add_body("second", Shape::box({0.5, 0.5, 0.5}), 1,
                                         Transform::translation({0, 0, 1.5}), s.material);
  const LinkId ball =
      s.scene.add_body("ball", Shape::sphere(0.2), 1, Transform::translation({0, 0, 6}), s.material);
  World world = make_world(std::move(s.scene), {.dt = 1.0 / 100});
  int sleeps = 0, wakes = 0;
  bool slept = false;
  for (int k = 0; k < 500; ++k) {
    world.step();
    sleeps += count(world, EventKind::kSleep);
    wakes += count(world, EventKind::kWake);
    slept = slept || (!world.awake(s.box) && !world.awake(second));
    if (world.pose(ball).p.z() > 2.4) EXPECT_EQ(wakes, 0);
  }
  EXPECT_TRUE(slept);
  EXPECT_EQ(wakes, 2) << "both boxes, when the ball lands";
  EXPECT_GE(sleeps, 2);
  // asleep, the force between them can still be read
  world.step(300);
  EXPECT_FALSE(world.awake(s.box));
  EXPECT_NEAR(world.contact_force(s.box).force.z(), 9.8, 1e-6);
  world.add_force(second, Vec3(1, 0, 0));
  world.step();
  EXPECT_TRUE(world.awake(second));
  EXPECT_TRUE(world.awake(s.box));
}

/// An arm of 10 m on a hinge, without gravity: one link with or without a shape, or two, the outer one small.
World long_arm(int kind, double turning) {
  Scene scene;
  Inertia inertia = Inertia::solid_box(1, {10, 0.1, 0.1});
  inertia.com = Vec3(5, 0, 0);
  const LinkId arm = scene.mechanism.add_link("arm", inertia);
  const JointId hinge = *scene.mechanism.add_joint({.name = "hinge",
                                                    .kind = JointKind::kRevolute,
                                                    .parent = scene.mechanism.world(),
                                                    .child = arm,
                                                    .axis = Vec3::UnitZ()});
  if (kind == 1) scene.add_shape(arm, Shape::box({5, 0.05, 0.05}), Transform::translation({5, 0, 0}));
  if (kind == 2) {
    const LinkId hand = scene.mechanism.add_link("hand", Inertia::solid_sphere(1, 0.1));
    Joint wrist{.name = "wrist", .kind = JointKind::kRevolute, .parent = arm, .child = hand};
    wrist.axis = Vec3::UnitZ();
    wrist.X_PF = Transform::translation({10, 0, 0});
    EXPECT_TRUE(scene.mechanism.add_joint(wrist).ok());
  }
  World world =
      make_world(std::move(scene), {.dt = 1e-2, .sleep = {.speed = 1e-3, .time = 0.5}}, Vec3::Zero());
  world.set_v(hinge, std::array{turning});
  return world;
}

TEST(Sleep, ALongArmWhoseTipMovesStaysAwake) {
  for (const int kind : {0, 1, 2}) {
    World moving = long_arm(kind, 9e-3);  // its end at 9 cm/s
    moving.step(200);
    EXPECT_TRUE(moving.awake(moving.scene().mechanism.find_link("arm"))) << kind;
    EXPECT_NEAR(moving.q(moving.scene().mechanism.find_joint("hinge"))[0], 2 * 9e-3, 1e-6) << kind;
    World slow = long_arm(kind, 5e-5);  // at 0.5 mm/s
    slow.step(200);
    EXPECT_FALSE(slow.awake(slow.scene().mechanism.find_link("arm"))) << kind;
  }
}

TEST(Sleep, ALongRodThatTurnsStaysAwake) {
  for (const double turning : {9e-3, 5e-4}) {  // its ends at 45 and 2.5 mm/s
    Scene scene;
    const LinkId rod = scene.add_body("rod", Shape::box({5, 0.1, 0.1}), 1, {});
    World world =
        make_world(std::move(scene), {.dt = 1e-2, .sleep = {.speed = 1e-3, .time = 0.5}}, Vec3::Zero());
    world.set_velocity(rod, {Vec3(0, 0, turning), Vec3::Zero()});
    world.step(200);
    EXPECT_EQ(world.awake(rod), turning > 1e-3);
  }
}

TEST(Kinematic, APlateCarriesABoxAndIsNotPushed) {
  Scene scene;
  const MaterialId wood = add_material(scene, 0.6);
  const LinkId plate = scene.add_body("plate", Shape::box({2, 2, 0.1}), 1, {}, wood);
  const LinkId box =
      scene.add_body("box", Shape::box({0.3, 0.3, 0.3}), 50, Transform::translation({0, 0, 0.4}), wood);
  World world = make_world(std::move(scene), {.dt = 1e-3});
  EXPECT_TRUE(world.set_kinematic(plate, true));
  world.set_velocity(plate, {Vec3::Zero(), Vec3(0.5, 0, 0.1)});
  world.step(2000);
  EXPECT_NEAR(world.pose(plate).p.x(), 1.0, 1e-9);
  EXPECT_NEAR(world.pose(plate).p.z(), 0.2, 1e-9);
  EXPECT_NEAR(world.velocity(box).linear.x(), 0.5, 1e-6);
  EXPECT_NEAR(world.pose(box).p.z() - world.pose(plate).p.z(), 0.4, 1e-4);
}

TEST(Spring, PullsABodyToItsTarget) {
  Scene scene;
  const LinkId box = scene.add_body("box", Shape::box({0.1, 0.1, 0.1}), 1, {});
  World world = make_world(std::move(scene), {.dt = 1e-3});
  const SpringId spring = world.add_spring({box, Vec3::Zero(), Vec3(1, 0, 0), 100, 20});
  world.step(5000);
  // hangs below its target by m g / k
  EXPECT_LT((world.pose(box).p - Vec3(1, 0, -0.098)).norm(), 1e-6);
  world.remove_spring(spring);
  world.step(100);
  EXPECT_LT(world.pose(box).p.z(), -0.1);
  EXPECT_FALSE(world.set_spring(spring, {})) << "a spring that is gone";
}

TEST(Quarantine, ABodyThatBlowsUpIsFrozenAndTheRestGoesOn) {
  Scene scene;
  const MaterialId m = add_material(scene, 0.5);
  scene.add_ground(m);
  const LinkId bad = scene.add_body("bad", Shape::sphere(0.1), 1, Transform::translation({0, 0, 1}), m);
  const LinkId good = scene.add_body("good", Shape::sphere(0.1), 1, Transform::translation({1, 0, 1}), m);
  World world = make_world(std::move(scene), {.dt = 1e-2});
  world.step();
  world.set_velocity(bad, {Vec3::Zero(), Vec3(1e200, 0, 0)});
  world.step();
  EXPECT_EQ(count(world, EventKind::kQuarantine), 1);
  EXPECT_TRUE(world.quarantined(bad));
  EXPECT_FALSE(world.quarantined(good));
  world.step(300);
  EXPECT_TRUE(world.pose(bad).p.allFinite());
  EXPECT_NEAR(world.pose(good).p.z(), 0.1, 1e-4);
  // put back, it takes part again
  EXPECT_TRUE(world.teleport(bad, Transform::translation({0, 0, 0.5})));
  world.set_velocity(bad, {});
  world.step(300);
  EXPECT_NEAR(world.pose(bad).p.z(), 0.1, 1e-4);
}

TEST(Continuous, FastBodiesDoNotPassThinWalls) {
  for (const Shape& shape :
       {Shape::sphere(0.005), Shape::box({0.005, 0.005, 0.005}), Shape::capsule(0.003, 0.003)}) {
    for (const double restitution : {0.0, 0.8}) {
      Scene scene;
      const MaterialId m = add_material(scene, 0.3, restitution);
      scene.add_shape(scene.mechanism.world(), Shape::box({0.0005, 500, 500}), {}, m);  // it may be deflected
      const LinkId bullet =
          scene.add_body("bullet", shape, 0.01, Transform::translation({-3, 0.01, 0.02}), m);
      World world = make_world(std::move(scene), {.dt = 1.0 / 50}, Vec3::Zero());
      world.set_velocity(bullet, {Vec3(10, 200, 30), Vec3(300, 0, 0)});
      world.step(50);
      EXPECT_LT(world.pose(bullet).p.x(), 0) << to_string(shape.kind()) << " " << restitution;
    }
  }
}

TEST(Contacts, AreHeldThatOnlyTheImpulsesOfOthersClose) {
  // a bar on a hinge that nothing moves, until a ball hits one end: within that step the other meets a stop
  constexpr double kGap = 5e-4, kArm = 0.9;
  Scene scene;
  const LinkId bar = scene.mechanism.add_link("bar", Inertia::solid_box(1, {2, 0.1, 0.02}));
  const JointId hinge = *scene.mechanism.add_joint({.name = "hinge",
                                                    .kind = JointKind::kRevolute,
                                                    .parent = scene.mechanism.world(),
                                                    .child = bar,
                                                    .axis = Vec3::UnitY()});
  scene.add_shape(bar, Shape::box({1, 0.05, 0.01}));
  scene.add_shape(scene.mechanism.world(), Shape::sphere(0.05),
                  Transform::translation({kArm, 0, 0.06 + kGap}));
  const LinkId ball =
      scene.add_body("ball", Shape::sphere(0.05), 5, Transform::translation({-kArm, 0, 0.061}));
  World world = make_world(std::move(scene), {.dt = 1e-3, .contact_margin = 1e-3}, Vec3::Zero());
  world.set_velocity(ball, {Vec3::Zero(), Vec3(0, 0, -5)});
  world.step();
  EXPECT_NEAR(std::abs(world.q(hinge)[0]), kGap / kArm, 2e-6);  // a contact rests half its slop away
  int pressed = 0;
  for (const Contact& c : world.contacts()) pressed += c.impulse.norm() > 0;
  EXPECT_EQ(pressed, 2);
}

TEST(Continuous, ABarOnAHingeStopsAtAThinPost) {
  Scene scene;
  const LinkId bar = scene.mechanism.add_link("bar", Inertia::solid_box(1, {2, 0.01, 0.01}));
  const JointId hinge = *scene.mechanism.add_joint({.name = "hinge",
                                                    .kind = JointKind::kRevolute,
                                                    .parent = scene.mechanism.world(),
                                                    .child = bar,
                                                    .axis = Vec3::UnitZ()});
  scene.add_shape(bar, Shape::box({1, 0.005, 0.005}));
  scene.add_shape(scene.mechanism.world(), Shape::box({0.001, 0.001, 0.1}),
                  Transform::translation({0, 0.9, 0}));
  World world = make_world(std::move(scene), {.dt = 1.0 / 50}, Vec3::Zero());
  world.set_v(hinge, std::array{60.0});  // 1.2 rad in a step, the tip at 60 m/s
  world.step(20);
  EXPECT_LT(world.q(hinge)[0], std::acos(0.0));
}

/// A body that swings on a hinge between two feet, each of which stands on side x side balls.
struct Swing {
  Scene scene;
  LinkId body, feet[2];

  explicit Swing(int side) {
    const MaterialId m = add_material(scene, 1);
    scene.add_ground(m);
    const Transform hinge = Transform::translation({0, 0, 0.5});
    body =
        scene.mechanism.add_free_link("body", Inertia{10, Vec3(0, 0, -0.2), 0.05 * Mat3::Identity()}, hinge);
    for (const int k : {0, 1}) {
      feet[k] = scene.mechanism.add_link(k == 0 ? "left" : "right",
                                         Inertia{1, Vec3(0, 0, -0.4), 0.01 * Mat3::Identity()});
      Joint joint{.name = k == 0 ? "l" : "r", .kind = JointKind::kRevolute, .parent = body, .child = feet[k]};
      joint.X_PF = Transform::translation({0, k == 0 ? 0.2 : -0.2, 0});
      joint.axis = Vec3::UnitY();
      EXPECT_TRUE(scene.mechanism.add_joint(joint).ok());
      for (int i = 0; i < side * side; ++i) {
        const double x = double(i / side) / (side - 1) - 0.5, y = double(i % side) / (side - 1) - 0.5;
        scene.add_shape(feet[k], Shape::sphere(0.02), Transform::translation({0.3 * x, 0.1 * y, -0.48}), m);
      }
    }
  }
};

TEST(Robot, SwingsAlikeOnFewPointsAndOnMany) {
  std::vector<World> worlds;
  for (const int side : {2, 5}) {  // 24 rows and 150, which are stated in other ways
    worlds.push_back(make_world(Swing(side).scene, {.dt = 1e-3, .sleep = {.enabled = false}}));
    World& world = worlds.back();
    world.set_velocity(world.scene().mechanism.find_link("body"), {Vec3(0, 1, 0), Vec3::Zero()});
    for (const char* name : {"l", "r"})
      world.set_v(world.scene().mechanism.find_joint(name), std::array{-1.0});  // the feet stand
  }
  double widest = 0;
  for (int k = 0; k < 1000; ++k) {
    for (World& world : worlds) world.step();
    for (const char* name : {"body", "left", "right"}) {
      const LinkId link = worlds[0].scene().mechanism.find_link(name);
      const Motion a = worlds[0].velocity(link), b = worlds[1].velocity(link);
      // both are solved to 5e-10 m/s per row, and errors add up over the steps
      ASSERT_LT((a.linear - b.linear).norm() + (a.angular - b.angular).norm(), 1e-6) << name << k;
    }
    ASSERT_EQ(worlds[1].report().sweeps, 0) << k;
    widest = std::max(widest, std::abs(worlds[1].q(worlds[1].scene().mechanism.find_joint("l"))[0]));
  }
  EXPECT_GT(widest, 0.05);  // it does swing
}

TEST(Events, ContactsBeginAndEnd) {
  Scene scene;
  const MaterialId rubber = add_material(scene, 0.5, 0.8);
  scene.add_ground(rubber);
  const LinkId ball =
      scene.add_body("ball", Shape::sphere(0.1), 1, Transform::translation({0, 0, 0.5}), rubber);
  World world = make_world(std::move(scene), {.dt = 1e-3});
  int begins = 0, ends = 0;
  for (int k = 0; k < 1000; ++k) {
    world.step();
    for (const Event& e : world.events()) {
      if (e.kind == EventKind::kContactBegin) {
        ++begins;
        EXPECT_TRUE(e.link_a == ball || e.link_b == ball);
      }
      ends += e.kind == EventKind::kContactEnd;
    }
  }
  EXPECT_GE(begins, 2);
  EXPECT_GE(ends, begins - 1);
}

TEST(Sensors, ForceTorqueImuAndRay) {
  Scene scene;
  const MaterialId m = add_material(scene, 0.5);
  scene.add_ground(m);
  // an arm that sticks out: 2 kg at 0.5 m from the wall
  const LinkId arm = scene.mechanism.add_link("arm", Inertia::point_mass(2, {0.5, 0, 0}));
  Joint mount{.name = "mount",
              .kind = JointKind::kRevolute,
              .parent = scene.mechanism.world(),
              .child = arm,
              .axis = Vec3::UnitY()};
  mount.X_PF = Transform::translation({0, 0, 3});
  const JointId joint = *scene.mechanism.add_joint(mount);
  const LinkId box =
      scene.add_body("box", Shape::box({0.1, 0.1, 0.1}), 1, Transform::translation({3, 0, 0.1}), m);
  const LinkId falling =
      scene.add_body("falling", Shape::sphere(0.1), 1, Transform::translation({6, 0, 50}), m);
  World world = make_world(std::move(scene), {.dt = 1e-3});
  world.set_drive(joint, {.damping = std::numeric_limits<double>::infinity()});
  world.step(100);
  const JointLoad load = world.load(joint);
  EXPECT_NEAR(load.wrench.force.z(), 19.6, 1e-6);
  EXPECT_NEAR(load.wrench.moment.y(), -9.8, 1e-6);
  EXPECT_NEAR(load.drive[0], -9.8, 1e-6);
  EXPECT_LT(world.inertial(falling).acceleration.norm(), 1e-9) << "nothing is felt in free fall";
  EXPECT_LT((world.inertial(box).acceleration - Vec3(0, 0, 9.8)).norm(), 1e-6);
  EXPECT_NEAR(world.contact_force(box).force.z(), 9.8, 1e-6);
  const auto hit = world.ray_cast({3, 0, 5}, {0, 0, -1}, 10);
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->link, box);
  EXPECT_NEAR(hit->hit.t, 4.8, 1e-4);
  EXPECT_FALSE(world.ray_cast({3, 0, 5}, {0, 0, 1}, 10));
}

TEST(Torsion, ASpinningTopSlowsAsTheorySays) {
  Surface surface;
  surface.static_friction = surface.kinetic_friction = 0.5;
  surface.torsional_friction = 0.01;
  auto [scene, ball] = test::BallOnGround(surface);
  World world = make_world(std::move(scene), {.dt = 1e-3});
  world.set_velocity(ball, {Vec3(0, 0, 30), Vec3::Zero()});
  world.step(500);
  // moment 0.01 m * m g against 2/5 m r^2
  EXPECT_NEAR(world.velocity(ball).angular.z(), 30 - 0.5 * 0.01 * 9.8 / (0.4 * 0.01), 1e-6);
}

TEST(Rolling, ARollingBallStopsAsTheorySays) {
  Surface surface;
  surface.static_friction = surface.kinetic_friction = 0.5;
  surface.rolling_friction = 0.005;
  auto [scene, ball] = test::BallOnGround(surface);
  World world = make_world(std::move(scene), {.dt = 1e-3});
  world.set_velocity(ball, {Vec3(0, 10, 0), Vec3(1, 0, 0)});
  world.step(500);
  // (I + m r^2) dw/dt = -c m g; sliding and rolling friction share one ellipsoid, so the force that slows the
  // ball takes its part of the moment: share^2 + (share a / mu g)^2 = 1; and the
  // ellipsoid lets it slip a little with the turning, hence 1e-5
  const double a = 0.005 * 9.8 * 0.1 / (1.4 * 0.01), part = a / (0.5 * 9.8);
  EXPECT_NEAR(world.velocity(ball).linear.x(), 1 - 0.5 * a / std::sqrt(1 + part * part), 1e-5);
  world.step(3000);
  EXPECT_LT(world.velocity(ball).linear.norm(), 1e-9);
}

TEST(StaticFriction, IsMoreThanKinetic) {
  Scene scene;
  Surface surface;
  surface.static_friction = 0.6;
  surface.kinetic_friction = 0.4;
  const MaterialId m = scene.mechanism.add_material({"m", surface});
  scene.add_ground(m);
  const LinkId box =
      scene.add_body("box", Shape::box({0.5, 0.5, 0.1}), 1, Transform::translation({0, 0, 0.1}), m);
  World world = make_world(std::move(scene), {.dt = 1e-3});
  for (int k = 0; k < 1000; ++k) {
    world.add_force(box, Vec3(0.59 * 9.8, 0, 0));
    world.step();
  }
  EXPECT_LT(world.pose(box).p.x(), 1e-8);
  for (int k = 0; k < 1000; ++k) {
    world.add_force(box, Vec3(0.61 * 9.8, 0, 0));
    world.step();
  }
  // once it slides, kinetic friction holds it back; two steps may pass with static friction
  EXPECT_NEAR(world.velocity(box).linear.x(), 0.21 * 9.8, 0.21 * 9.8 * 5e-3);
}

TEST(Refusals, SayWhatIsWrong) {
  Scene scene;
  scene.add_body("ball", Shape::sphere(-1), 1, {});
  EXPECT_FALSE(World::make(std::move(scene)).ok());

  Scene plane;
  const LinkId link = plane.add_body("floor", Shape::box({1, 1, 1}), 1, {});
  plane.add_shape(link, Shape::plane());
  const auto refused = World::make(std::move(plane));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(to_string(refused.errors()), HasSubstr("floor"));

  for (const double dt : {0.0, -1.0, std::nan(""), 1e9}) {
    const auto world = World::make(Scene{}, {.dt = dt});
    ASSERT_FALSE(world.ok()) << dt;
    EXPECT_THAT(to_string(world.errors()), HasSubstr("dt"));
  }
  BoxOnGround s(0.5);
  World world = make_world(std::move(s.scene));
  const double nan = std::nan("");
  EXPECT_FALSE(world.add_force(s.box, Vec3(nan, 0, 0)));
  EXPECT_FALSE(world.add_force(LinkId{99, 1}, Vec3::Zero()));
  EXPECT_FALSE(world.set_velocity(s.box, {Vec3(0, nan, 0), Vec3::Zero()}));
  EXPECT_FALSE(world.teleport(s.box, Transform::translation({nan, 0, 0})));
  EXPECT_FALSE(world.set_state({}, {}));
  EXPECT_FALSE(world.set_effort(JointId{99, 1}, std::array{1.0}));
  EXPECT_TRUE(world.q(JointId{99, 1}).empty());
  EXPECT_EQ(world.pose(LinkId{99, 1}).p, Vec3::Zero());
}

}  // namespace
}  // namespace karakuri
