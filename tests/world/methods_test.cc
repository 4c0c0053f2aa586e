// The same scenes under every integrator, contact model, solver and stabilization.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "world/scenes.h"

namespace karakuri {
namespace {

using test::add_material;
using test::BoxOnGround;
using test::make_world;

constexpr double kSpeed = 9.8, kFriction = 0.5;  // of the box that slides: it stops after 2 s and 9.8 m
constexpr double kWay = kSpeed * kSpeed / (2 * kFriction * 9.8);

struct Slide {
  double along = 0, across = 0;  // how far it came [m]
};

/// With friction on a plane, started at `angle` to its first axis [rad].
Slide slide(const WorldSettings& settings, double angle) {
  BoxOnGround s(kFriction);
  World world = make_world(std::move(s.scene), settings);
  const Vec3 ahead(std::cos(angle), std::sin(angle), 0), aside(-ahead.y(), ahead.x(), 0);
  world.set_velocity(s.box, {Vec3::Zero(), kSpeed * ahead});
  while (world.time() < 4) world.step();
  EXPECT_EQ(world.report().refused, 0);
  EXPECT_NEAR(world.pose(s.box).p.z(), 0.1, 1e-3);  // springs of penalty give way by 0.25 mm
  EXPECT_LT(world.velocity(s.box).linear.norm(), 1e-9);
  const Vec3 way = world.pose(s.box).p;
  return {way.dot(ahead), way.dot(aside)};
}

constexpr double kAslant = std::numbers::pi / 4;
// Velocities that are right at every step make a way that is short by dt v0 / 2 where a step moves by the
// velocity at its end. Beside that: sums of impulses solved to 5e-10 m/s, over 4 s.
constexpr double kSolved = 1e-8;
constexpr double kCoarse = 1.0 / 200;

void expect_slide(const WorldSettings& settings, double angle, double way, double tolerance = kSolved) {
  const Slide s = slide(settings, angle);
  EXPECT_NEAR(s.along, way, tolerance) << angle;
  EXPECT_NEAR(s.across, 0, tolerance) << angle;
}

TEST(Methods, SolversOfTheConeStopTheBoxWhereTheorySays) {
  using solver::Method;
  for (const Method method : {Method::kDefault, Method::kBlock, Method::kNewton, Method::kPgsIsotropic}) {
    SCOPED_TRACE(name_of(method));
    for (const double angle : {0.0, kAslant, 1.344})
      expect_slide({.dt = kCoarse, .solver = method}, angle, kWay - kCoarse * kSpeed / 2);
  }
}

// Bounded axis by axis, friction is 1 to sqrt(2) times Coulomb's. Aslant it stops within a step, not at its
// end: up to a dt^2 / 8 of way.
TEST(Methods, SolversOfAPyramidStopItSoonerAslant) {
  using solver::Method;
  const double within = std::numbers::sqrt2 * kFriction * 9.8 * kCoarse * kCoarse / 8;
  std::vector<WorldSettings> all(3, WorldSettings{.dt = kCoarse});
  all[0].contact = ContactModel::kPyramid;
  all[1].solver = Method::kSpringhead;
  all[2].solver = Method::kDantzig;
  for (const WorldSettings& settings : all) {
    SCOPED_TRACE(name_of(settings.solver));
    expect_slide(settings, 0, kWay - kCoarse * kSpeed / 2);
    expect_slide(settings, kAslant, kWay / std::numbers::sqrt2 - kCoarse * kSpeed / 2, within + kSolved);
  }
}

// A pyramid of eight faces has Coulomb's friction along its edges, every 45 degrees.
TEST(Methods, LemkeIsExactAlongTheEdgesOfItsPyramid) {
  for (const double angle : {0.0, kAslant})
    expect_slide({.dt = kCoarse, .solver = solver::Method::kLemke}, angle, kWay - kCoarse * kSpeed / 2);
}

// As published, friction points along the slip divided by the diagonals of its rows, which differ here: it
// is of the right size, but askew, and the box goes further and aside. The bias is the method's own: it does
// not depend on dt. The figures are what it gives, to their last digit.
TEST(Methods, PgsAsPublishedSlidesAskew) {
  struct Bias {
    double angle, further, aside;
  };
  for (const double dt : {kCoarse, kCoarse / 2}) {
    for (const Bias& bias : {Bias{0, 1.4485, 0.591}, Bias{kAslant, 0.2235, 0.330}}) {
      const Slide s = slide({.dt = dt, .solver = solver::Method::kPgs}, bias.angle);
      EXPECT_NEAR(s.along, kWay + bias.further - dt * kSpeed / 2, 1e-3) << bias.angle;
      EXPECT_NEAR(std::abs(s.across), bias.aside, 1e-3) << bias.angle;
    }
  }
}

TEST(Methods, IntegratorsDifferByTheVelocityThatAStepMovesBy) {
  struct Case {
    Integrator integrator;
    double steps;  // of v0 that the way is longer
  };
  for (const Case& c : {Case{Integrator::kSemiImplicit, -0.5}, Case{Integrator::kSymplectic, -0.5},
                        Case{Integrator::kRk4, 0}, Case{Integrator::kExplicit, 0.5}}) {
    SCOPED_TRACE(name_of(c.integrator));
    for (const double angle : {0.0, kAslant})
      expect_slide({.dt = kCoarse, .integrator = c.integrator}, angle, kWay + c.steps * kCoarse * kSpeed);
  }
}

// Springs sway while the box settles on them; a hundredth of what a step is off by.
TEST(Methods, PenaltyStopsTheBoxWhereTheorySays) {
  WorldSettings settings{.dt = 1.0 / 400, .contact = ContactModel::kPenalty};
  settings.penalty = {.stiffness = 1e4, .damping = 50};
  const double off = settings.dt * kSpeed / 2;
  for (const double angle : {0.0, kAslant}) expect_slide(settings, angle, kWay - off, 0.01 * off);
}

// dt v0 / 2 = 0.012 more or less, by the integrator, and springs let the box rock.
TEST(Methods, EveryIntegratorDoesWithEveryContactModel) {
  for (const Integrator integrator :
       {Integrator::kSemiImplicit, Integrator::kSymplectic, Integrator::kRk4, Integrator::kExplicit}) {
    for (const ContactModel model : {ContactModel::kCone, ContactModel::kPyramid, ContactModel::kPenalty}) {
      SCOPED_TRACE(std::string(name_of(integrator)) + ", " + std::string(name_of(model)));
      WorldSettings settings{.dt = 1.0 / 400, .integrator = integrator, .contact = model};
      settings.penalty = {.stiffness = 1e4, .damping = 50};
      expect_slide(settings, 0, kWay, 0.03);
    }
  }
}

// ---- a pyramid with more than sliding friction

constexpr double kRadius = 0.2, kTurning = 0.01;  // [m]

/// A ball of 1 kg on the ground.
struct Ball {
  World world;
  LinkId ball;

  Ball(const Surface& surface, const WorldSettings& settings) : world(make_world(Scene{})) {
    test::BallOnGround s(surface, kRadius);
    ball = s.ball;
    world = make_world(std::move(s.scene), settings);
  }
};

WorldSettings pyramid() { return {.dt = 1e-3, .contact = ContactModel::kPyramid}; }

// 2/5 m r^2 w' = -s m g
TEST(Pyramid, TorsionalFrictionStopsASpinningBall) {
  Ball b(Surface{.torsional_friction = kTurning}, pyramid());
  b.world.set_velocity(b.ball, {Vec3(0, 0, 10), Vec3::Zero()});
  b.world.step(500);
  const double slower = kTurning * 9.8 / (0.4 * kRadius * kRadius) * 0.5;
  EXPECT_NEAR(b.world.velocity(b.ball).angular.z(), 10 - slower, 1e-6);  // impulses to 5e-10 m/s, 500 times
  EXPECT_LT(b.world.velocity(b.ball).linear.norm(), 1e-6);
  b.world.step(2000);
  EXPECT_LT(b.world.velocity(b.ball).angular.norm(), 1e-9);
  EXPECT_EQ(b.world.report().refused, 0);
}

// 7/5 m r v' = -s m g: bounded axis by axis, rolling takes nothing from what holds the ball against sliding
TEST(Pyramid, RollingFrictionStopsARollingBall) {
  Ball b(Surface{.rolling_friction = kTurning}, pyramid());
  b.world.set_velocity(b.ball, {Vec3(0, 1 / kRadius, 0), Vec3(1, 0, 0)});
  b.world.step(500);
  EXPECT_NEAR(b.world.velocity(b.ball).linear.x(), 1 - kTurning * 9.8 / (1.4 * kRadius) * 0.5, 1e-6);
  EXPECT_NEAR(b.world.velocity(b.ball).angular.y() * kRadius, b.world.velocity(b.ball).linear.x(), 1e-6);
  b.world.step(4000);
  EXPECT_LT(b.world.velocity(b.ball).linear.norm(), 1e-9);
  EXPECT_EQ(b.world.report().refused, 0);
}

TEST(Pyramid, SolversThatDoNotKnowItAreRefused) {
  using solver::Method;
  World world = make_world(Scene{});
  for (const Method method : {Method::kBlock, Method::kNewton, Method::kPgs, Method::kPgsIsotropic}) {
    WorldSettings settings = pyramid();
    settings.solver = method;
    const std::vector<Diagnostic> flaws = find_flaws(settings);
    ASSERT_EQ(flaws.size(), 1u) << name_of(method);
    EXPECT_EQ(flaws[0].where, "settings: solver");
    EXPECT_NE(flaws[0].what.find(name_of(method)), std::string::npos);
    EXPECT_NE(flaws[0].remedy.find("springhead"), std::string::npos);
    EXPECT_FALSE(World::make(Scene{}, settings).ok());
    EXPECT_FALSE(world.set_settings(settings).empty());
    settings.contact = ContactModel::kCone;
    EXPECT_TRUE(find_flaws(settings).empty());
  }
  for (const Method method : {Method::kDefault, Method::kSpringhead, Method::kDantzig, Method::kLemke}) {
    WorldSettings settings = pyramid();
    settings.solver = method;
    EXPECT_TRUE(world.set_settings(settings).empty()) << name_of(method);
  }
}

TEST(Pyramid, LemkeIsRefusedWhereThingsTurnOrRollWithFriction) {
  WorldSettings settings = pyramid();
  settings.solver = solver::Method::kLemke;
  Scene scene;
  add_material(scene, 0.5);
  ASSERT_TRUE(World::make(scene, settings).ok());
  scene.mechanism.add_material({"felt", Surface{.rolling_friction = kTurning}});
  const auto refused = World::make(scene, settings);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.errors()[0].what.find("'felt'"), std::string::npos);
  World world = make_world(std::move(scene), pyramid());
  EXPECT_FALSE(world.set_settings(settings).empty());
  EXPECT_EQ(world.settings().solver, solver::Method::kDefault);
}

TEST(Methods, EveryStabilizationLiftsASunkenBoxWithoutThrowingIt) {
  for (const Stabilization kind :
       {Stabilization::kPosition, Stabilization::kErp, Stabilization::kBaumgarte, Stabilization::kPenalty}) {
    BoxOnGround s(0.5, {0.5, 0.5, 0.5});
    WorldSettings settings{.dt = 1e-3};
    settings.stabilization.kind = kind;
    settings.stabilization.gamma = 20;
    World world = make_world(std::move(s.scene), settings);
    world.teleport(s.box, Transform::translation({0, 0, 0.49}));
    double top = 0;
    for (int k = 0; k < 3000; ++k) {
      world.step();
      top = std::max(top, world.pose(s.box).p.z());
    }
    EXPECT_NEAR(world.pose(s.box).p.z(), 0.5, 2e-4) << name_of(kind);
    // what pushes with velocity throws the box up with that velocity, at most 1 m/s; the position correction
    // does not
    EXPECT_LT(top, 0.5 + 0.06) << name_of(kind);
    if (kind == Stabilization::kPosition) EXPECT_LT(top, 0.5 + 1e-6) << "no energy of motion";
  }
}

/// Energy error of a frictionless double pendulum over 10 s, relative to its fall.
double pendulum_error(Integrator integrator, double dt) {
  Scene scene;
  LinkId parent = scene.mechanism.world();
  JointId first;
  for (int i = 0; i < 2; ++i) {
    Inertia inertia = Inertia::solid_box(1, {0.01, 0.01, 1});
    inertia.com = Vec3(0, 0, -0.5);
    const LinkId link = scene.mechanism.add_link("rod" + std::to_string(i), inertia);
    Joint joint{.name = "hinge" + std::to_string(i),
                .kind = JointKind::kRevolute,
                .parent = parent,
                .child = link,
                .axis = Vec3::UnitY()};
    joint.X_PF = Transform::translation({0, 0, i == 0 ? 0.0 : -1.0});
    const JointId id = *scene.mechanism.add_joint(joint);
    if (i == 0) first = id;
    parent = link;
  }
  WorldSettings settings{.dt = dt, .integrator = integrator};
  World world = make_world(std::move(scene), settings, {0, 0, -9.81});
  world.set_q(first, std::array{std::acos(0.0)});
  const double start = world.energies().total();
  double worst = 0;
  while (world.time() < 10) {
    world.step();
    worst = std::max(worst, std::abs(world.energies().total() - start));
  }
  return worst / 19.6;
}

TEST(Methods, Rk4KeepsThePendulumsEnergyToTheFourthOrder) {
  const double coarse = pendulum_error(Integrator::kRk4, 2e-3), fine = pendulum_error(Integrator::kRk4, 1e-3);
  EXPECT_LT(fine, 2e-8);
  EXPECT_GT(coarse / fine, 12);
  EXPECT_LT(pendulum_error(Integrator::kSemiImplicit, 1e-3), 0.06);
}

TEST(Methods, LoopsOfEveryKindHold) {
  for (const JointKind kind :
       {JointKind::kFixed, JointKind::kRevolute, JointKind::kPrismatic, JointKind::kCylindrical,
        JointKind::kScrew, JointKind::kUniversal, JointKind::kPlanar, JointKind::kSpherical}) {
    Scene scene;
    const LinkId box = scene.add_body("box", Shape::box({0.1, 0.2, 0.3}), 1, {});
    Joint joint{
        .name = "loop", .kind = kind, .parent = scene.mechanism.world(), .child = box, .axis = Vec3::UnitY()};
    joint.second_axis = Vec3::UnitX();
    joint.pitch = 0.05;
    joint.X_PF = joint.X_CM = Transform::translation({0.1, 0.2, 0.3});
    ASSERT_TRUE(scene.mechanism.add_loop(joint).ok());
    World world = make_world(std::move(scene), {.dt = 1e-3}, {1, -2, -9});
    // a first step along what the loop allows, then swinging for a second
    world.step(1000);
    EXPECT_TRUE(world.pose(box).p.allFinite());
    const Vec3 p = world.pose(box) * Vec3(0.1, 0.2, 0.3) - Vec3(0.1, 0.2, 0.3);
    const Vec3 tilt = Vec3::UnitY().cross(world.pose(box).R * Vec3::UnitY());
    const bool slides =
        kind == JointKind::kPrismatic || kind == JointKind::kCylindrical || kind == JointKind::kScrew;
    const bool planar = kind == JointKind::kPlanar;
    // one step's curvature remains: h^2 v^2 / 2 r
    const double error = slides ? Vec3(p.x(), 0, p.z()).norm() : planar ? std::abs(p.y()) : p.norm();
    EXPECT_LT(error, 2e-4) << name(kind);
    if (kind != JointKind::kUniversal && kind != JointKind::kSpherical)
      EXPECT_LT(tilt.norm(), 1e-4) << name(kind);
  }
}

}  // namespace
}  // namespace karakuri
