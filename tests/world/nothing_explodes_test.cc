// Scenes as a new user writes them: what overlaps comes apart slowly, what moves stays where its velocity
// takes it, and no energy comes from nowhere. Each test here is a scene in which that once was otherwise.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "support/passivity.h"
#include "support/random_solids.h"
#include "world/scenes.h"

namespace karakuri {
namespace {

using test::make_world;
using test::PassivityJudge;

/// Steps and judges; fails the test with what is at fault.
void expect_passive(World& world, int steps, const std::string& what = {}) {
  PassivityJudge judge(world);
  for (int k = 0; k < steps; ++k) {
    world.step();
    if (judge.look(world)) continue;
    ADD_FAILURE() << what << ": " << judge.verdict().fault << " in step " << k + 1 << ", "
                  << judge.verdict().detail;
    return;
  }
}

double fastest(const World& world) {
  double most = 0;
  for (const LinkEntry& link : world.model().links)
    most = std::max(most, world.velocity(link.id).linear.norm());
  return most;
}

// ---- positions
/// A capsule that stands on the end of a cylinder, on a hinge in the cylinder's top.
TEST(NothingExplodes, AHingeWhoseContactLiesOnItsAxisStays) {
  Scene scene;
  Mechanism& m = scene.mechanism;
  const Shape cylinder = Shape::cylinder(0.1, 0.05), capsule = Shape::capsule(0.03, 0.2);
  const Transform X_LS = Transform::translation({0, 0, 0.2});
  const LinkId base = m.add_link("base", solid_inertia(cylinder, 1000));
  const LinkId upper = m.add_link("upper", solid_inertia(capsule, 1000).in_frame(X_LS));
  scene.add_shape(base, cylinder);
  scene.add_shape(upper, capsule, X_LS);
  ASSERT_TRUE(
      m.add_joint({.name = "base", .kind = JointKind::kFixed, .parent = m.world(), .child = base}).ok());
  const JointId hinge = *m.add_joint({.name = "hinge",
                                      .kind = JointKind::kRevolute,
                                      .parent = base,
                                      .child = upper,
                                      .X_PF = Transform::translation({0, 0, 0.05}),
                                      .axis = Vec3::UnitY()});
  World world = make_world(std::move(scene));
  for (int k = 0; k < 100; ++k) {
    world.step();
    ASSERT_LT(std::abs(world.q(hinge)[0]), 0.01) << "step " << k + 1;
  }
}

/// Links of one tree that overlap where it starts.
Scene overlapping_robot() {
  Scene scene;
  const LinkId trunk = scene.add_body("trunk", Shape::box({0.1, 0.1, 0.2}), 5, {});
  LinkId parent = trunk;
  for (int i = 0; i < 3; ++i) {
    const LinkId link =
        scene.mechanism.add_link("link" + std::to_string(i), solid_inertia(Shape::capsule(0.05, 0.1), 1000));
    scene.add_shape(link, Shape::capsule(0.05, 0.1));
    (void)scene.mechanism.add_joint({.name = "joint" + std::to_string(i),
                                     .kind = JointKind::kRevolute,
                                     .parent = parent,
                                     .child = link,
                                     .X_PF = Transform::translation({0.02, 0, 0.03}),
                                     .axis = Vec3::Unit(i)});
    parent = link;
  }
  return scene;
}

Vec3 center_of(const World& world) {
  Vec3 sum = Vec3::Zero();
  double mass = 0;
  for (const LinkEntry& link : world.model().links) {
    const Inertia& inertia = world.scene().mechanism.link(link.id).inertia;
    sum += inertia.mass * (world.pose(link.id) * inertia.com), mass += inertia.mass;
  }
  return sum / mass;
}

TEST(NothingExplodes, ARobotWhoseLinksOverlapFallsFreely) {
  for (const double dt : {1e-3, 0.02}) {
    World world = make_world(overlapping_robot(), {.dt = dt});
    const double start = center_of(world).z();
    world.step(static_cast<int>(std::round(2 / dt)));
    EXPECT_NEAR(center_of(world).z() - start, -0.5 * 9.8 * 4, 1e-9 * 19.6) << dt;
  }
}

TEST(NothingExplodes, ARobotWhoseLinksOverlapDoesNotJump) {
  World world = make_world(overlapping_robot());
  expect_passive(world, 500);
}

TEST(NothingExplodes, ABodyDeepInTheGroundComesOut) {
  for (const double depth : {0.3, 0.6, 2.0}) {
    Scene scene;
    scene.add_ground();
    const LinkId box =
        scene.add_body("box", Shape::box({0.1, 0.1, 0.1}), 1, Transform::translation({0, 0, 0.1 - depth}));
    World world = make_world(std::move(scene), {.dt = 0.01});
    for (int k = 0; k < 2000; ++k) {
      world.step();
      ASSERT_LT(fastest(world), 2.5) << depth << ", step " << k + 1;
    }
    EXPECT_GT(world.pose(box).p.z(), 0.1 - 1e-3) << depth;
    EXPECT_LT(world.pose(box).p.z(), 0.1 + 1e-3) << depth;
  }
}

/// Links in the ground, on hinges whose springs hold them there.
TEST(NothingExplodes, AnOverlapDoesNotWindSpringsWithoutABound) {
  for (const double stiffness : {1.0, 10.0, 100.0, 1e3, 1e4}) {  // the weight has a moment of 2.5 N m
    Scene scene;
    scene.add_ground();
    Mechanism& m = scene.mechanism;
    const LinkId link = m.add_link("link", {1, Vec3(0.25, 0, 0), 0.02 * Mat3::Identity()});
    Joint hinge{.name = "hinge",
                .kind = JointKind::kRevolute,
                .parent = m.world(),
                .child = link,
                .X_PF = Transform::translation({0, 0, 0.1}),
                .axis = -Vec3::UnitY()};
    hinge.dofs[0].stiffness = stiffness;
    hinge.dofs[0].rest = -0.6;
    const JointId joint = m.add_joint(hinge).value();
    scene.add_shape(link, Shape::sphere(0.05), Transform::translation({0.5, 0, 0}));
    World world = make_world(std::move(scene), {.dt = 2e-3});
    world.set_q(joint, std::array{-0.6});
    const double depth = 0.5 * std::sin(0.6) - 0.1 + 0.05;
    double wound = 0;
    for (int k = 0; k < 5000; ++k) {
      world.step();
      const double angle = world.q(joint)[0] + 0.6;
      wound = std::max(wound, 0.5 * stiffness * angle * angle);
    }
    EXPECT_LT(wound, 9.8 * depth) << stiffness << " N m/rad: no more than what lifts it so far";
    if (stiffness > 1) continue;
    EXPECT_GT(world.q(joint)[0], -std::asin(0.05 / 0.5) - 1e-3) << "a soft spring lets it come out";
  }
}

/// @param spread  of their centres to either side [m]
Scene boxes_in_one_place(int count, std::uint64_t seed, double spread) {
  Random random(seed);
  Scene scene;
  scene.add_ground();
  for (int i = 0; i < count; ++i) {
    const Vec3 at(random.uniform(-spread, spread), random.uniform(-spread, spread),
                  0.5 + random.uniform(-spread, spread));
    scene.add_body("box" + std::to_string(i), Shape::box({0.1, 0.1, 0.1}), 1,
                   {test::random_turn(random), at});
  }
  return scene;
}

/// Nothing is faster than what falls from the height to which so many boxes could be heaped.
void expect_to_part_slowly(int count, std::uint64_t seed, double spread, int steps) {
  World world = make_world(boxes_in_one_place(count, seed, spread), {.dt = 0.01});
  for (int k = 0; k < steps; ++k) {
    world.step();
    ASSERT_LT(fastest(world), 10) << "seed " << seed << ", step " << k + 1;
  }
}

TEST(NothingExplodes, SlowBoxesStartedInOnePlacePartSlowly) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) expect_to_part_slowly(30, seed, 1e-3, 60);
}

TEST(NothingExplodes, SlowTwoHundredBoxesStartedInOnePlacePartSlowly) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) expect_to_part_slowly(200, seed, 0.4, 100);
}

// ---- crowds
void expect_bin_to_hold(std::uint64_t seed) {
  const test::RandomWorld bin = test::make_random_world(seed, {.kind = test::WorldKind::kBin});
  const test::Verdict verdict = test::judge(bin, {.seconds = 4, .max_steps = 240});
  EXPECT_TRUE(verdict.holds()) << test::to_line(bin, verdict);
}
TEST(NothingExplodes, SlowShapesDroppedIntoABin0) { expect_bin_to_hold(0); }
TEST(NothingExplodes, SlowShapesDroppedIntoABin1) { expect_bin_to_hold(2); }
TEST(NothingExplodes, SlowShapesDroppedIntoABin2) { expect_bin_to_hold(3); }

// ---- forces in flight
TEST(NothingExplodes, ABodyHeldByAForceHovers) {
  for (const double dt : {1e-3, 0.02}) {
    Scene scene;
    const LinkId body =
        scene.add_body("body", Shape::box({0.1, 0.2, 0.05}), 2, Transform::translation({0, 0, 1}));
    World world = make_world(std::move(scene), {.dt = dt});
    for (int k = 0; k < 500; ++k) {
      world.add_force(body, Vec3(0, 0, 2 * 9.8));
      world.step();
    }
    EXPECT_NEAR(world.pose(body).p.z(), 1, 1e-9) << dt;
    EXPECT_NEAR(world.velocity(body).linear.norm(), 0, 1e-9) << dt;
  }
}

TEST(NothingExplodes, ABodyThatIsPushedMovesByHalfItsAccelerationTimesTimeSquared) {
  Scene scene;
  const LinkId body = scene.add_body("body", Shape::sphere(0.1), 2, {});
  World world = make_world(std::move(scene), {.dt = 0.01});
  for (int k = 0; k < 100; ++k) {
    world.add_force(body, Vec3(3, 0, 8));
    world.step();
  }
  EXPECT_NEAR(world.pose(body).p.x(), 0.5 * 3 / 2, 1e-9);
  EXPECT_NEAR(world.pose(body).p.z(), 0.5 * (4 - 9.8), 1e-9);
}

// ---- continuous contact
/// A wall of so much thickness across x, a metre from what starts at the origin.
Scene wall(double thickness, const Shape& shape, LinkId& body) {
  Scene scene;
  scene.add_shape(scene.mechanism.world(), Shape::box({thickness / 2, 2, 2}),
                  Transform::translation({1, 0, 0}));
  body = scene.add_body("body", shape, 1, {});
  return scene;
}

TEST(NothingExplodes, AWallOfTwentyMicrometresIsNotPassedWhateverTheMargin) {
  for (const Shape& shape : {Shape::sphere(0.05), Shape::box({0.05, 0.05, 0.05})})
    for (const double margin : {1e-3, 1e-5, 1e-7})
      for (const double dt : {1e-3, 0.01, 1.0 / 60}) {
        LinkId body;
        World world =
            make_world(wall(20e-6, shape, body), {.dt = dt, .contact_margin = margin}, Vec3::Zero());
        world.set_velocity(body, {Vec3::Zero(), Vec3(6, 0, 0)});
        world.step(static_cast<int>(0.3 / dt));
        EXPECT_LT(world.pose(body).p.x(), 1) << margin << " " << dt;
        EXPECT_GT(world.pose(body).p.x(), 0.9) << margin << " " << dt;
      }
}

/// A cube that meets a wall by springs comes back, or rests at it; it neither passes nor hangs before it.
TEST(NothingExplodes, ACubeMeetsAWallByPenalty) {
  for (const double speed : {1.0, 5.0, 20.0})
    for (const double dt : {1e-3, 0.01}) {
      LinkId cube;
      Scene scene = wall(0.02, Shape::box({0.05, 0.05, 0.05}), cube);
      World world = make_world(std::move(scene), {.dt = dt, .contact = ContactModel::kPenalty}, Vec3::Zero());
      world.set_velocity(cube, {Vec3::Zero(), Vec3(speed, 0, 0)});
      world.step(static_cast<int>(3 / speed / dt));
      EXPECT_LT(world.pose(cube).p.x(), 1) << speed << " " << dt;
      const double after = world.velocity(cube).linear.x();
      EXPECT_LT(after, 0.1 * speed) << speed << " " << dt << ": it has met the wall";
      EXPECT_GT(after, -1.001 * speed) << speed << " " << dt;
    }
}

TEST(NothingExplodes, StacksByPenaltyStand) {
  for (const double dt : {1e-3, 0.01}) {
    Scene scene;
    scene.add_ground();
    for (int i = 0; i < 10; ++i)
      scene.add_body("box" + std::to_string(i), Shape::box({0.1, 0.1, 0.1}), 1,
                     Transform::translation({0, 0, 0.1 + 0.2 * i}));
    World world = make_world(std::move(scene), {.dt = dt, .contact = ContactModel::kPenalty});
    expect_passive(world, 300, "dt " + std::to_string(dt));
  }
}

// ---- integrators
/// A hinge with the stiffest drive that people use, and a sliding body on a bush.
TEST(NothingExplodes, StiffDrivesAndBushesAreStableUnderEveryIntegrator) {
  for (const Integrator integrator : {Integrator::kSemiImplicit, Integrator::kSymplectic, Integrator::kRk4}) {
    Scene scene;
    Mechanism& m = scene.mechanism;
    const LinkId arm = m.add_link("arm", Inertia::solid_box(1, {0.3, 0.05, 0.05}));
    const LinkId block = m.add_link("block", Inertia::solid_box(0.5, {0.1, 0.1, 0.1}));
    const JointId hinge = *m.add_joint({.name = "hinge",
                                        .kind = JointKind::kRevolute,
                                        .parent = m.world(),
                                        .child = arm,
                                        .X_CM = Transform::translation({-0.15, 0, 0}),
                                        .axis = Vec3::UnitY()});
    Joint slide{.name = "slide",
                .kind = JointKind::kPrismatic,
                .parent = arm,
                .child = block,
                .X_PF = Transform::translation({0.15, 0, 0}),
                .axis = Vec3::UnitZ()};
    slide.dofs[0].stiffness = 1.3e6;
    slide.dofs[0].damping = 1e3;
    const JointId bush = *m.add_joint(slide);
    World world = make_world(std::move(scene), test::with(integrator));
    world.set_drive(hinge, {.stiffness = 12000, .damping = 700, .q_target = 0.5});
    for (int k = 0; k < 2000; ++k) {
      world.step();
      ASSERT_LT(std::abs(world.q(hinge)[0]), 1) << name_of(integrator) << ", step " << k + 1;
      ASSERT_LT(std::abs(world.q(bush)[0]), 1e-2) << name_of(integrator) << ", step " << k + 1;
    }
    EXPECT_NEAR(world.q(hinge)[0], 0.5, 1e-3) << name_of(integrator);
  }
}

/// Three links that spin about a point, ten times a second at steps of 5 ms: forces of Coriolis do no work.
TEST(NothingExplodes, ASpinningChainKeepsItsEnergy) {
  const test::RandomWorld random = test::make_random_world(11);
  WorldSettings settings = random.settings;
  settings.contact = ContactModel::kNone;
  World world = make_world(random.scene, settings, random.gravity);
  const double start = world.energies().total(), motion = world.energies().kinetic;
  for (int k = 0; k < 700; ++k) {
    world.step();
    ASSERT_LT(world.energies().total(), start + 0.1 * motion) << "step " << k + 1;
  }
}

}  // namespace
}  // namespace karakuri
