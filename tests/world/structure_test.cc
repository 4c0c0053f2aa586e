// Joining and parting while a world runs: momentum and energy, ids, snapshots, cost.
#include <gtest/gtest.h>
#include <malloc.h>

#include <chrono>
#include <cmath>

#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/closed_loop.h"
#include "karakuri/dynamics/kinematics.h"
#include "support/figures.h"
#include "support/test_models.h"
#include "world/momentum.h"
#include "world/scenes.h"

namespace karakuri {
namespace {

using test::make_world;
using test::momentum_of;
using test::size_of;

WorldSettings awake() {
  WorldSettings settings;
  settings.sleep.enabled = false;
  return settings;
}

void shake(World& world, std::uint64_t seed, double speed = 1) {
  Random random(seed);
  State state = world.state();
  state.v_view() = test::random_vector(world.model().nv, random, speed);
  ASSERT_TRUE(world.set_state(state.q, state.v));
}

constexpr JointKind kAllLoops[] = {JointKind::kFixed,       JointKind::kRevolute,  JointKind::kPrismatic,
                                   JointKind::kCylindrical, JointKind::kScrew,     JointKind::kUniversal,
                                   JointKind::kPlanar,      JointKind::kSpherical, JointKind::kPointOnLine,
                                   JointKind::kDistance};

Joint joint_of(JointKind kind) {
  return {.name = "grip",
          .kind = kind,
          .axis = Vec3(1, 2, 3),
          .second_axis = Vec3(3, 0, -1),
          .pitch = 0.1,
          .distance = 0.1};
}

// A ball that bounces, with another one on top of it that only the joint carries.
TEST(Structure, LoadsOfJointsThatCloseLoopsIncludeBounces) {
  Scene scene;
  const MaterialId material = test::add_material(scene, 0.5, 1);
  scene.add_ground(material);
  const LinkId lower =
      scene.add_body("lower", Shape::sphere(0.1), 1, Transform::translation({0, 0, 0.102}), material);
  const LinkId upper =
      scene.add_body("upper", Shape::sphere(0.1), 2, Transform::translation({0, 0, 0.5}), material);
  World world = make_world(std::move(scene), awake());
  const Result<JointId> grip = world.attach_here(lower, upper, Transform::translation({0, 0, 0.3}),
                                                 {.name = "grip", .kind = JointKind::kFixed});
  ASSERT_TRUE(grip.ok());
  for (const LinkId link : {lower, upper})
    ASSERT_TRUE(world.set_velocity(link, {Vec3::Zero(), Vec3(0, 0, -3)}));
  const double h = world.settings().dt;
  for (int k = 0; k < 5; ++k) {
    const double before = world.velocity(upper).linear.z();
    world.step();
    const double change = world.velocity(upper).linear.z() - before;
    EXPECT_NEAR(h * world.load(*grip).wrench.force.z(), 2 * (change + 9.8 * h), 1e-9) << k;
    if (k == 0) EXPECT_NEAR(change, 6, 0.1);
  }
}

TEST(Structure, DockingKeepsMomentumAndNeverGainsEnergy) {
  for (const JointKind kind : kAllLoops) {
    SCOPED_TRACE(std::string(name(kind)));
    test::Linkage m;
    test::add_floating_chain(m, "a", 5, {0, 0, 0}, {0.3, 0, 0});
    test::add_floating_chain(m, "b", 4, {1.6, 0.1, 0}, {0, 0.3, 0.1});
    const LinkId a = m.scene.mechanism.find_link("a4"), b = m.scene.mechanism.find_link("b0");
    World world = make_world(std::move(m.scene), awake(), Vec3::Zero());
    shake(world, 7);
    const Force before = momentum_of(world);
    const double energy = world.energies().kinetic;
    // frames that coincide; for the kind that keeps points apart, one of them aside
    const Transform here = Transform::translation({1.55, 0.05, 0}),
                    aside = Transform::translation({1.55, 0.15, 0});
    const auto joint =
        world.attach(a, world.pose(a).inverse() * here, b,
                     world.pose(b).inverse() * (kind == JointKind::kDistance ? aside : here), joint_of(kind));
    ASSERT_TRUE(joint.ok()) << to_string(joint.errors());
    EXPECT_LT(size_of(momentum_of(world) - before), 1e-12 * (1 + size_of(before)));
    EXPECT_LT(world.energies().kinetic, energy) << "random velocities do not happen to agree";

    // and in the second after: internal forces all. Rounding of a thousand steps is left.
    world.step(1000);
    EXPECT_LT(size_of(momentum_of(world) - before), 1e-12 * (1 + size_of(before)));
    const std::vector<double> v = world.state().v;
    EXPECT_TRUE(world.detach(*joint).empty());
    EXPECT_EQ(world.state().v, v) << "parting leaves velocities as they are, to the bit";
    EXPECT_TRUE(world.attachments().empty());
    EXPECT_FALSE(world.detach(*joint).empty()) << "it is gone";
  }
}

/// Change of the angular momentum, as a share of it, in the second after two chains have docked.
double turning_lost(Integrator integrator, double dt) {
  test::Linkage m;
  test::add_floating_chain(m, "a", 5, {0, 0, 0}, {0.3, 0, 0});
  test::add_floating_chain(m, "b", 4, {1.6, 0.1, 0}, {0, 0.3, 0.1});
  const LinkId a = m.scene.mechanism.find_link("a4"), b = m.scene.mechanism.find_link("b0");
  WorldSettings settings = awake();
  settings.dt = dt;
  settings.integrator = integrator;
  World world = make_world(std::move(m.scene), settings, Vec3::Zero());
  shake(world, 7);
  EXPECT_TRUE(
      world.attach_here(a, b, Transform::translation({1.55, 0.05, 0}), joint_of(JointKind::kSpherical)).ok());
  const Force before = momentum_of(world);
  while (world.time() < 1 - 1e-9) world.step();
  return (momentum_of(world) - before).moment.norm() / before.moment.norm();
}

// Linear and angular momentum of trees that loops hold together, about a fixed point. RK4 knows nothing of
// momentum and keeps it to its order.
TEST(Structure, AngularMomentumAfterDockingIsKept) {
  const double whole = turning_lost(Integrator::kSemiImplicit, 1e-3),
               quarter = turning_lost(Integrator::kSemiImplicit, 2.5e-4),
               rk4 = turning_lost(Integrator::kRk4, 1e-3);
  std::printf("angular momentum in 1 s: %.2e, %.2e at 1, 1/4 ms; rk4 %.2e\n", whole, quarter, rk4);
  EXPECT_LT(whole, 1e-12);
  EXPECT_LT(quarter, 1e-12);
  EXPECT_LT(rk4, 1e-6);
}

// Whatever joins what, however it moves.
TEST(Structure, KineticEnergyNeverRisesOnAttaching) {
  test::Linkage m = test::human40(1.5);
  World world = make_world(std::move(m.scene), awake(), Vec3::Zero());
  const Mechanism& mechanism = world.scene().mechanism;
  const LinkId ends[] = {mechanism.world(), mechanism.find_link("hand.l"), mechanism.find_link("hand.r"),
                         mechanism.find_link("foot.l"), mechanism.find_link("foot.r")};
  for (int i = 0; i < 1000; ++i) {
    SCOPED_TRACE(i);
    shake(world, 100 + i, 2);
    const LinkId a = ends[i % 5], b = ends[(i + 1 + i / 5 % 4) % 5];
    const double before = world.energies().kinetic;
    const auto joint = world.attach_here(a, b, world.pose(b), joint_of(kAllLoops[i % 9]));
    ASSERT_TRUE(joint.ok()) << to_string(joint.errors());
    ASSERT_LE(world.energies().kinetic, before * (1 + 1e-13));
    ASSERT_TRUE(world.detach(*joint).empty());
  }
}

// Within one mechanism, with loops that are there already: the same as the projection of the whole.
TEST(Structure, ImpactWithinOneMechanismRespectsItsLoops) {
  test::Linkage m = test::human40();
  const LinkId left = m.scene.mechanism.find_link("hand.l"), right = m.scene.mechanism.find_link("hand.r");
  const LinkId foot = m.scene.mechanism.find_link("foot.l");
  Scene scene = m.scene;
  m.join("feet", foot, m.scene.mechanism.find_link("foot.r"), JointKind::kSpherical, {0.1, 0, 0.1},
         Vec3::UnitZ());
  m.join("hands", left, right, JointKind::kFixed, {0, 0, 0.8}, Vec3::UnitZ());
  const Model model = test::compile_or_die(m.scene.mechanism, Vec3::Zero());
  ASSERT_EQ(model.nv, 46);
  World world = make_world(std::move(scene), awake(), Vec3::Zero());
  shake(world, 3);
  State expected(model);
  expected.q = world.state().q;
  expected.v = world.state().v;
  Workspace ws(model);
  project_velocities(model, expected, ws);
  const LinkId other = world.scene().mechanism.find_link("foot.r");
  ASSERT_TRUE(world
                  .attach_here(foot, other, Transform::translation({0.1, 0, 0.1}),
                               {.name = "feet", .kind = JointKind::kSpherical})
                  .ok());
  ASSERT_TRUE(world.attach_here(left, right, Transform::translation({0, 0, 0.8}), {.name = "hands"}).ok());
  // two impacts one after the other end where one with both rows would not; so does repeating the first
  State both = world.state();
  both.loop_closed.assign(model.loops.size(), true);
  project_velocities(model, both, ws);
  EXPECT_LT((both.v_view() - world.state().v_view()).norm(), 1e-10) << "both loops hold already";
  // attached at once, as one projection
  test::Linkage again = test::human40();
  World second = make_world(std::move(again.scene), awake(), Vec3::Zero());
  shake(second, 3);
  ASSERT_TRUE(second.attach_here(left, right, Transform::translation({0, 0, 0.8}), {.name = "hands"}).ok());
  State one(model);
  one.loop_closed[0] = false;
  ASSERT_EQ(m.scene.mechanism.joint(model.loops[1].joint).name, "hands");
  one.q = world.state().q;
  one.v = expected.v;
  shake(world, 3);
  one.v = world.state().v;
  project_velocities(model, one, ws);
  EXPECT_LT((one.v_view() - second.state().v_view()).norm(), 1e-10 * one.v_view().norm());
}

TEST(Structure, AttachingRespectsContacts) {
  test::BoxOnGround setup(0.6);
  const LinkId hammer = setup.scene.add_body("hammer", Shape::sphere(0.1), 5,
                                             Transform::translation({0.3, 0, 0.8}), setup.material);
  World world = make_world(std::move(setup.scene), awake());
  world.step(10);
  const Vec3 held = world.pose(setup.box).inverse_apply(world.pose(hammer).p);
  ASSERT_TRUE(world.set_velocity(hammer, {Vec3(0, 3, 0), Vec3(0.5, 0, -4)}));
  const double energy = world.energies().kinetic;
  ASSERT_TRUE(world.attach_here(setup.box, hammer, world.pose(hammer), {.name = "glue"}).ok());
  EXPECT_LT(world.energies().kinetic, energy);
  for (const Contact& c : world.contacts()) {
    const Vec3 p = world.pose(setup.box).inverse_apply(c.point);
    const Vec3 v = world.velocity(setup.box).shifted(world.pose(setup.box).R * p).linear;
    EXPECT_GT(v.z(), -1e-8) << "the ground is not entered";
  }
  world.step(1000);
  EXPECT_NEAR(world.pose(setup.box).p.z(), 0.1, 1e-3);
  EXPECT_NEAR((world.pose(hammer).p - world.pose(setup.box) * held).norm(), 0, 1e-9);
}

TEST(Structure, FramesThatAreApartComeTogether) {
  Scene scene;
  const LinkId a = scene.add_body("a", Shape::sphere(0.1), 1, {});
  const LinkId b = scene.add_body("b", Shape::sphere(0.1), 2, Transform::translation({0.5, 0, 0}));
  WorldSettings settings = awake();
  settings.stabilization.max_speed = 1;
  World world = make_world(std::move(scene), settings, Vec3::Zero());
  ASSERT_TRUE(world.attach(a, {}, b, {}, {.name = "ball", .kind = JointKind::kSpherical}).ok());
  world.step(20);
  EXPECT_GT((world.pose(a).p - world.pose(b).p).norm(), 0.4) << "not at once";
  world.step(980);
  EXPECT_LT((world.pose(a).p - world.pose(b).p).norm(), 1e-9);
  EXPECT_LT(world.energies().kinetic, 1e-20) << "and without motion of their own";
}

TEST(Structure, WhatCannotBeIsRefused) {
  test::Linkage m = test::human40();
  const LinkId hand = m.scene.mechanism.find_link("hand.l"), foot = m.scene.mechanism.find_link("foot.r");
  const JointId root = m.joint_of(m.scene.mechanism.find_link("pelvis"));
  World world = make_world(std::move(m.scene));
  EXPECT_FALSE(world.attach(hand, {}, LinkId{999, 1}, {}, {.name = "x"}).ok());
  EXPECT_FALSE(world.attach(hand, {}, hand, {}, {.name = "x"}).ok());
  EXPECT_FALSE(world.attach(hand, {}, foot, {}, {.name = "x", .kind = JointKind::kFree}).ok());
  EXPECT_FALSE(
      world.attach(hand, {}, foot, {}, {.name = "x", .kind = JointKind::kRevolute, .axis = Vec3::Zero()})
          .ok());
  EXPECT_FALSE(world.attach(hand, {}, foot, {}, {.name = "x", .kind = JointKind::kDistance}).ok());
  EXPECT_FALSE(world.detach(JointId{12345, 1}).empty());
  EXPECT_FALSE(world.detach(root).empty()) << "it is free already";
  EXPECT_FALSE(world.set_breaking(JointId{12345, 1}, 1));
  EXPECT_TRUE(world.attachments().empty());
}

TEST(Structure, TenThousandTimesLeavesNothingBehindAndIsCheap) {
  test::Linkage m = test::human40();
  const LinkId hand = m.scene.mechanism.find_link("hand.l");
  World world = make_world(std::move(m.scene), awake(), Vec3::Zero());
  shake(world, 5);
  const LinkId ground = world.scene().mechanism.world();
  const Joint spec{.name = "bar", .kind = JointKind::kRevolute, .axis = Vec3::UnitY()};
  const auto once = [&] {
    const auto joint = world.attach_here(ground, hand, world.pose(hand), spec);
    ASSERT_TRUE(joint.ok());
    ASSERT_TRUE(world.detach(*joint).empty());
  };
  for (int i = 0; i < 100; ++i) once();
  const std::size_t saved = world.snapshot().bytes.size(), heap = mallinfo2().uordblks;
  double best = 1e9;
  for (int round = 0; round < 100; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 100; ++i) once();
    best =
        std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 100);
  }
  EXPECT_EQ(mallinfo2().uordblks, heap);
  EXPECT_EQ(world.snapshot().bytes.size(), saved);
  std::printf("attach + detach: %.2f us\n", 1e6 * best);
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(best, 40e-6) << "20 us each";
#endif
}

TEST(Structure, ATreeCanBeCut) {
  test::Linkage m = test::human40(2.0);
  const JointId elbow = m.joint_of(m.scene.mechanism.find_link("forearm.l"));
  const LinkId fore = m.scene.mechanism.find_link("forearm.l"), hand = m.scene.mechanism.find_link("hand.l");
  const LinkId head = m.scene.mechanism.find_link("head");
  World world = make_world(std::move(m.scene), awake(), Vec3(0, 0, -9.81));
  shake(world, 9, 2);
  world.step(20);
  const Force before = momentum_of(world);
  const double energy = world.energies().total();
  const Transform X = world.pose(hand);
  const Motion V = world.velocity(hand), V_head = world.velocity(head);
  ASSERT_TRUE(world.detach(elbow).empty());
  EXPECT_EQ(world.model().nv, 46 - 1 + 6);
  EXPECT_LT((world.pose(hand).p - X.p).norm() + (world.pose(hand).R - X.R).norm(), 1e-13);
  EXPECT_LT(
      (world.velocity(hand).linear - V.linear).norm() + (world.velocity(hand).angular - V.angular).norm(),
      1e-12);
  EXPECT_EQ((world.velocity(head).linear - V_head.linear).norm(), 0)
      << "what was not cut off is the same to the bit";
  EXPECT_LT(size_of(momentum_of(world) - before), 1e-11 * size_of(before));
  EXPECT_NEAR(world.energies().total(), energy, 1e-11 * std::abs(energy));
  EXPECT_FALSE(world.detach(elbow).empty()) << "its id is dead";
  EXPECT_TRUE(world.scene().mechanism.find_joint("forearm.l")) << "its name lives on in the free joint";
  EXPECT_EQ(world.scene().mechanism.find_link("hand.l"), hand);
  // the part flies on its own
  const auto centre = [&] {
    Workspace ws(world.model());
    update_poses(world.model(), world.state(), ws);
    update_velocities(world.model(), world.state(), ws);
    const int body = world.model().find(fore)->body;
    for (const Tree& tree : world.model().trees)
      if (tree.first <= body && body < tree.last) return tree_motion(world.model(), ws, tree);
    return TreeMotion{};
  };
  const TreeMotion start = centre();
  world.step(200);
  const Vec3 weight = 0.2 * start.mass * Vec3(0, 0, -9.81);
  EXPECT_LT((centre().momentum.force - start.momentum.force - weight).norm(), 1e-11);
  EXPECT_LT((centre().momentum.moment - start.momentum.moment).norm(), 1e-11);
  EXPECT_TRUE(world
                  .attach_here(world.scene().mechanism.find_link("upper arm.l"), fore, world.pose(fore),
                               {.name = "seam", .kind = JointKind::kSpherical})
                  .ok())
      << "and can be joined again";
  world.step(10);
}

TEST(Structure, JointsBreakUnderLoad) {
  // a lamp on a chain of welds; the world pulls at each with what hangs below
  Scene scene;
  const LinkId upper = scene.add_body("upper", Shape::sphere(0.1), 1, Transform::translation({0, 0, -1}));
  const LinkId lower = scene.add_body("lower", Shape::sphere(0.1), 2, Transform::translation({0, 0, -2}));
  World world = make_world(std::move(scene), awake(), Vec3(0, 0, -10));
  const LinkId ceiling = world.scene().mechanism.world();
  const JointId first = *world.attach_here(ceiling, upper, {}, {.name = "first"});
  const JointId second =
      *world.attach_here(upper, lower, Transform::translation({0, 0, -1.5}), {.name = "second"});
  ASSERT_TRUE(world.set_breaking(first, 30.5));
  ASSERT_TRUE(world.set_breaking(second, 20.5));
  world.step(100);
  EXPECT_NEAR(world.load(first).wrench.force.norm(), 30, 1e-6);
  EXPECT_NEAR(world.load(second).wrench.force.norm(), 20, 1e-6);
  EXPECT_EQ(world.attachments().size(), 2u);
  world.add_force(lower, {0, 0, -0.4});
  world.step();
  EXPECT_EQ(world.attachments().size(), 2u) << "almost";
  world.add_force(upper, {0, 0, -0.6});
  world.step();
  ASSERT_EQ(world.attachments().size(), 1u);
  EXPECT_EQ(world.attachments()[0].id, second);
  ASSERT_EQ(std::count_if(world.events().begin(), world.events().end(),
                          [&](const Event& e) {
                            return e.kind == EventKind::kBreak && e.joint == first && e.link_b == upper;
                          }),
            1);
  world.step(100);
  EXPECT_LT(world.velocity(lower).linear.z(), -0.9);

  // a joint of a tree breaks too
  test::Linkage m = test::human16(3.0);
  World figure = make_world(std::move(m.scene), awake());
  const Mechanism& mechanism = figure.scene().mechanism;
  for (const char* hand : {"forearm.l", "forearm.r"})
    ASSERT_TRUE(figure
                    .attach_here(mechanism.world(), mechanism.find_link(hand),
                                 figure.pose(mechanism.find_link(hand)),
                                 {.name = hand, .kind = JointKind::kRevolute})
                    .ok());
  const LinkId shank = mechanism.find_link("shank.l");
  ASSERT_TRUE(figure.set_breaking(mechanism.find_joint("shank.l"), 4.3 * 9.8 * 3));
  figure.step(50);
  EXPECT_EQ(figure.model().nv, 22);
  figure.add_force(shank, {0, 0, -500});
  figure.step();
  EXPECT_EQ(figure.model().nv, 22 - 1 + 6);
}

TEST(Structure, SnapshotsCrossChangesInBothDirections) {
  const auto build = [] {
    test::Linkage m = test::human40(1.2);
    m.scene.add_ground();
    return make_world(std::move(m.scene));
  };
  World world = build();
  const LinkId hand = world.scene().mechanism.find_link("hand.l"),
               foot = world.scene().mechanism.find_link("foot.l");
  const JointId knee = world.scene().mechanism.find_joint("shank.r");
  world.step(100);
  const Snapshot whole = world.snapshot();
  const std::uint64_t whole_hash = world.hash();
  world.step(50);
  const std::uint64_t whole_later = world.hash();
  ASSERT_TRUE(world.restore(whole).empty());

  const JointId grip =
      *world.attach_here(hand, foot, world.pose(hand), {.name = "grip", .kind = JointKind::kSpherical});
  world.step(30);
  const Snapshot joined = world.snapshot();
  world.step(50);
  const std::uint64_t joined_later = world.hash();

  ASSERT_TRUE(world.detach(knee).empty());
  world.step(30);
  const Snapshot cut = world.snapshot();
  world.step(50);
  const std::uint64_t cut_later = world.hash();

  const auto check = [&](World& w, const Snapshot& from, std::uint64_t later, std::size_t attachments,
                         int nv) {
    const std::vector<Diagnostic> flaws = w.restore(from);
    ASSERT_TRUE(flaws.empty()) << to_string(flaws);
    EXPECT_EQ(w.attachments().size(), attachments);
    EXPECT_EQ(w.model().nv, nv);
    w.step(50);
    EXPECT_EQ(w.hash(), later);
  };
  check(world, whole, whole_later, 0, 46);
  check(world, cut, cut_later, 1, 46 - 1 + 6);
  check(world, joined, joined_later, 1, 46);
  check(world, cut, cut_later, 1, 46 - 1 + 6);
  World fresh = build();  // as in another process
  check(fresh, cut, cut_later, 1, 46 - 1 + 6);
  check(fresh, whole, whole_later, 0, 46);
  ASSERT_TRUE(fresh.restore(whole).empty());
  EXPECT_EQ(fresh.hash(), whole_hash);
  ASSERT_TRUE(fresh.restore(joined).empty());
  EXPECT_EQ(fresh.attachments()[0].id, grip);
  EXPECT_TRUE(fresh.detach(grip).empty());
}

TEST(Structure, HooksMayChangeIt) {
  test::Linkage m = test::human40(1.5);
  World world = make_world(std::move(m.scene), awake());
  const JointId knee = world.scene().mechanism.find_joint("shank.l");
  int calls = 0;
  world.add_hook([&](World& w) {
    ++calls;
    const Mechanism& mechanism = w.scene().mechanism;
    const LinkId hand = mechanism.find_link("hand.r");
    if (calls == 3) EXPECT_TRUE(w.attach_here(mechanism.world(), hand, w.pose(hand), {.name = "bar"}).ok());
    if (calls == 5) EXPECT_TRUE(w.detach(knee).empty());
    if (calls == 7) EXPECT_TRUE(w.detach(w.attachments()[0].id).empty());
  });
  world.step(10);
  EXPECT_EQ(calls, 10);
  EXPECT_TRUE(world.attachments().empty());
  EXPECT_EQ(world.model().nv, 46 - 1 + 6);
}

// Values may be edited while joints are attached: they stay, and hold.
TEST(Structure, EditsKeepWhatIsAttached) {
  test::Linkage m = test::human40(1.5);
  World world = make_world(std::move(m.scene), awake());
  const LinkId hand = world.scene().mechanism.find_link("hand.r");
  const Vec3 bar = world.pose(hand).p;
  const JointId grip = *world.attach_here(world.scene().mechanism.world(), hand, world.pose(hand),
                                          {.name = "bar", .kind = JointKind::kSpherical});
  world.step(100);
  ASSERT_TRUE(world.edit([&](Scene& s) { s.mechanism.link(hand).inertia.mass *= 2; }).empty());
  ASSERT_EQ(world.attachments().size(), 1u);
  world.step(100);
  EXPECT_LT((world.pose(hand).p - bar).norm(), 1e-9);
  EXPECT_TRUE(world.detach(grip).empty());
  world.step(100);
  EXPECT_GT((world.pose(hand).p - bar).norm(), 1e-2) << "it falls";
}

}  // namespace
}  // namespace karakuri
