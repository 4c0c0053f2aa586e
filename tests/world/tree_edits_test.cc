// Joints of trees that are cut, and trees that become one, while a world runs.
#include <gtest/gtest.h>

#include <map>

#include "karakuri/dynamics/centroidal.h"
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

WorldSettings awake(double dt = 1e-3, Integrator integrator = Integrator::kSemiImplicit) {
  WorldSettings settings;
  settings.sleep.enabled = false;
  settings.dt = dt;
  settings.integrator = integrator;
  return settings;
}

/// Stacks of boxes on the ground, and a figure far from them.
Scene boxes_and_figure(int boxes) {
  test::Linkage m = test::human40(2.0);
  m.scene.add_ground();
  for (int i = 0; i < boxes; ++i)
    m.scene.add_body("box" + std::to_string(i), Shape::box({0.1, 0.1, 0.1}), 1,
                     Transform::translation({3 + 0.5 * (i / 3 % 10), 0.5 * (i / 30), 0.1 + 0.2 * (i % 3)}));
  return std::move(m.scene);
}

// What is not touched goes on as if nothing had happened: contacts, warm starts and all, to the bit.
TEST(TreeEdits, LeaveEverythingElseAlone) {
  World cut = make_world(boxes_and_figure(30), awake()), whole = cut.clone();
  const Mechanism& m = cut.scene().mechanism;
  for (World* world : {&cut, &whole}) world->step(200);
  std::vector<std::pair<LinkId, ShapeId>> before;
  for (const ColliderInfo& c : cut.colliders()) before.emplace_back(c.link, c.shape);
  ASSERT_TRUE(cut.detach(m.find_joint("forearm.l")).empty());
  EXPECT_EQ(cut.contacts().size(), whole.contacts().size());
  std::vector<std::pair<LinkId, ShapeId>> after;
  for (const ColliderInfo& c : cut.colliders()) after.emplace_back(c.link, c.shape);
  EXPECT_EQ(after, before);
  for (int i = 0; i < 100; ++i) {
    for (World* world : {&cut, &whole}) world->step();
    for (int b = 0; b < 30; ++b) {
      const LinkId box = m.find_link("box" + std::to_string(b));
      ASSERT_EQ(cut.pose(box).p, whole.pose(box).p) << b << " after " << i;
      ASSERT_EQ(cut.velocity(box).linear, whole.velocity(box).linear);
    }
  }
}

// A shelf that is fixed to the wall falls when it is cut off, onto what stands below.
TEST(TreeEdits, FixedLinksCanBeCut) {
  Scene scene;
  scene.add_ground();
  Mechanism& m = scene.mechanism;
  const Inertia slab = Inertia::solid_box(2, {0.2, 0.2, 0.05});
  const LinkId shelf = m.add_link("shelf", slab), lamp = m.add_link("lamp", slab);
  ASSERT_TRUE(
      m.add_joint(
           {.name = "wall", .parent = m.world(), .child = shelf, .X_PF = Transform::translation({0, 0, 1})})
          .ok());
  const JointId glue = *m.add_joint(
      {.name = "glue", .parent = shelf, .child = lamp, .X_PF = Transform::translation({0, 0, -0.3})});
  for (const LinkId link : {shelf, lamp}) scene.add_shape(link, Shape::box({0.2, 0.2, 0.05}));
  World world = make_world(std::move(scene), awake());
  EXPECT_EQ(world.model().nv, 0);
  ASSERT_TRUE(world.detach(world.scene().mechanism.find_joint("wall")).empty());
  EXPECT_EQ(world.model().nv, 6) << "one body";
  world.step(10);
  ASSERT_TRUE(world.detach(glue).empty());
  EXPECT_EQ(world.model().nv, 12) << "two";
  world.step(1500);
  EXPECT_NEAR(world.pose(lamp).p.z(), 0.05, 1e-3) << "it lies on the ground";
}

TEST(TreeEdits, PlanesStayWhereTheyAre) {
  Scene scene;
  Mechanism& m = scene.mechanism;
  const LinkId floor = m.add_link("floor", Inertia::solid_box(2, {1, 1, 0.1}));
  const JointId bolt = *m.add_joint({.name = "bolt", .parent = m.world(), .child = floor});
  scene.add_shape(floor, Shape::plane());
  World world = make_world(std::move(scene), awake());
  EXPECT_NE(to_string(world.detach(bolt)).find("plane"), std::string::npos);
  EXPECT_TRUE(world.scene().mechanism.contains(bolt));
  world.step(3);
}

TEST(TreeEdits, RefusedCutsChangeNothing) {
  test::Linkage made;
  Mechanism& m = made.scene.mechanism;
  const LinkId bare = m.add_link("bare", Inertia{}), arm = m.add_link("arm", Inertia::solid_sphere(1, 0.1));
  ASSERT_TRUE(
      m.add_joint({.name = "a", .kind = JointKind::kRevolute, .parent = m.world(), .child = bare}).ok());
  const JointId b = *m.add_joint({.name = "b",
                                  .kind = JointKind::kRevolute,
                                  .parent = bare,
                                  .child = arm,
                                  .X_CM = Transform::translation({0.3, 0, 0}),
                                  .axis = Vec3::UnitX()});
  World world = make_world(std::move(made.scene), awake());
  ASSERT_TRUE(world
                  .attach_here(world.scene().mechanism.world(), arm, {},
                               {.name = "rope", .kind = JointKind::kDistance, .distance = 0.3})
                  .ok());
  World same = world.clone();
  world.step(5), same.step(5);
  EXPECT_NE(to_string(world.detach(b)).find("'bare'"), std::string::npos);
  EXPECT_EQ(world.hash(), same.hash());
  world.step(5), same.step(5);
  EXPECT_EQ(world.hash(), same.hash());
}

// ---- two trees become one

struct Chains {
  World world;
  LinkId a, b;
};

Chains two_chains(const WorldSettings& settings) {
  test::Linkage m;
  test::add_floating_chain(m, "a", 5, {0, 0, 0}, {0.3, 0, 0});
  test::add_floating_chain(m, "b", 4, {1.6, 0.1, 0}, {0, 0.3, 0.1});
  const LinkId a = m.scene.mechanism.find_link("a4"), b = m.scene.mechanism.find_link("b2");
  World world = make_world(std::move(m.scene), settings, Vec3(0, 0, -2));
  Random random(7);
  State state = world.state();
  state.v_view() = test::random_vector(world.model().nv, random, 1.0);
  EXPECT_TRUE(world.set_state(state.q, state.v));
  return {std::move(world), a, b};
}

Joint joint_of(JointKind kind) {
  return {.name = "grip", .kind = kind, .axis = Vec3(1, 2, 3), .second_axis = Vec3(3, 0, -1), .pitch = 0.1};
}

Result<JointId> join(Chains& c, JointKind kind, Joining how) {
  return c.world.attach_here(c.a, c.b, c.world.pose(c.b), joint_of(kind), how);
}

/// Largest difference of places and velocities of all links.
double difference(const World& x, const World& y) {
  double most = 0;
  for (const LinkEntry& link : x.model().links) {
    most = std::max(most, (x.pose(link.id).p - y.pose(link.id).p).norm());
    most = std::max(most, (x.velocity(link.id).linear - y.velocity(link.id).linear).norm());
    most = std::max(most, (x.velocity(link.id).angular - y.velocity(link.id).angular).norm());
  }
  return most;
}

constexpr JointKind kCarrying[] = {JointKind::kFixed,       JointKind::kRevolute, JointKind::kPrismatic,
                                   JointKind::kCylindrical, JointKind::kScrew,    JointKind::kUniversal,
                                   JointKind::kPlanar,      JointKind::kSpherical};

TEST(TreeEdits, JoiningAsATreeIsTheSameImpactAndMotion) {
  for (const JointKind kind : kCarrying) {
    SCOPED_TRACE(std::string(name(kind)));
    Chains loop = two_chains(awake(1e-3, Integrator::kRk4)), tree = two_chains(awake(1e-3, Integrator::kRk4));
    loop.world.step(50), tree.world.step(50);
    const Force before = momentum_of(tree.world);
    const int nv = tree.world.model().nv;
    ASSERT_TRUE(join(loop, kind, Joining::kLoop).ok());
    const Result<JointId> joint = join(tree, kind, Joining::kTree);
    ASSERT_TRUE(joint.ok()) << to_string(joint.errors());
    EXPECT_EQ(tree.world.model().nv, nv - 6 + v_size(kind));
    EXPECT_EQ(tree.world.scene().mechanism.find_link("b2"), tree.b);
    EXPECT_EQ(tree.world.scene().mechanism.find_joint("grip"), *joint);
    EXPECT_TRUE(tree.world.attachments().empty());
    EXPECT_LT(difference(loop.world, tree.world), 1e-12) << "of the impact";
    EXPECT_LT(size_of(momentum_of(tree.world) - before), 1e-12 * (1 + size_of(before)));
    EXPECT_NEAR(loop.world.energies().total(), tree.world.energies().total(), 1e-12);
    loop.world.step(20), tree.world.step(20);
    const Transform X = tree.world.pose(tree.b);
    const Motion V = tree.world.velocity(tree.b);
    ASSERT_TRUE(tree.world.detach(*joint).empty());
    EXPECT_EQ(tree.world.model().nv, nv);
    EXPECT_LT(
        (tree.world.pose(tree.b).p - X.p).norm() + (tree.world.velocity(tree.b).linear - V.linear).norm(),
        1e-12);
    tree.world.step(20);
    // and again: its name is free once more
    ASSERT_TRUE(join(tree, kind, Joining::kTree).ok());
    tree.world.step(20);
  }
}

/// How far the loop and the tree are apart, 0.1 s after the chains were joined.
double apart(JointKind kind, Integrator integrator, double dt) {
  Chains loop = two_chains(awake(dt, integrator)), tree = two_chains(awake(dt, integrator));
  EXPECT_TRUE(join(loop, kind, Joining::kLoop).ok());
  EXPECT_TRUE(join(tree, kind, Joining::kTree).ok());
  const int steps = static_cast<int>(std::lround(0.1 / dt));
  loop.world.step(steps), tree.world.step(steps);
  return difference(loop.world, tree.world);
}

// Joints turn at up to 70 rad/s after this impact, so that the order of the steps is seen.
TEST(TreeEdits, JoiningAsATreeConvergesToTheLoop) {
  for (const JointKind kind : kCarrying) {
    SCOPED_TRACE(std::string(name(kind)));
    const double coarse = apart(kind, Integrator::kRk4, 1e-3), fine = apart(kind, Integrator::kRk4, 5e-4);
    std::printf("%s, rk4: %.1e at 1 ms, %.1e at 1/2 ms\n", std::string(name(kind)).c_str(), coarse, fine);
    EXPECT_LT(fine, coarse / 10 + 1e-10) << "fourth order; rounding of 200 steps";
  }
  const double coarse = apart(JointKind::kSpherical, Integrator::kSemiImplicit, 1e-3),
               fine = apart(JointKind::kSpherical, Integrator::kSemiImplicit, 2.5e-4);
  std::printf("spherical, semi-implicit: %.1e at 1 ms, %.1e at 1/4 ms\n", coarse, fine);
  EXPECT_LT(fine, 0.4 * coarse) << "first order";
}

TEST(TreeEdits, AFloatingChainIsHungOnAFigureAndOnTheWorld) {
  Chains c = two_chains(awake());
  const LinkId ground = c.world.scene().mechanism.world();
  // child given first: it is turned round as needed
  const Result<JointId> hook = c.world.attach_here(
      c.b, ground, c.world.pose(c.b), {.name = "hook", .kind = JointKind::kRevolute}, Joining::kTree);
  ASSERT_TRUE(hook.ok()) << to_string(hook.errors());
  const Vec3 place = c.world.pose(c.b).p;
  c.world.step(500);
  EXPECT_LT((c.world.pose(c.b).p - place).norm(), 1e-13) << "exact by its coordinates";
  ASSERT_TRUE(c.world.set_breaking(*hook, 1e-3));
  c.world.step();
  EXPECT_FALSE(c.world.scene().mechanism.contains(*hook)) << "it breaks as others do";
}

TEST(TreeEdits, WhatCannotBeJoinedAsATreeIsToldAndNothingChanges) {
  Chains c = two_chains(awake());
  World same = c.world.clone();
  const auto refuse = [&](const Result<JointId>& r, const char* what) {
    ASSERT_FALSE(r.ok());
    EXPECT_NE(to_string(r.errors()).find(what), std::string::npos) << to_string(r.errors());
  };
  const Mechanism& m = c.world.scene().mechanism;
  const Joint grip = joint_of(JointKind::kSpherical);
  refuse(c.world.attach_here(c.b, m.find_link("b0"), {}, grip, Joining::kTree), "of one tree");
  refuse(c.world.attach(c.a, {}, c.b, {}, grip, Joining::kTree), "apart");
  Joint other = grip;
  other.name = "a1";
  refuse(c.world.attach_here(c.a, c.b, c.world.pose(c.b), other, Joining::kTree), "name");
  refuse(c.world.attach_here(c.a, c.b, {}, {.name = "rope", .kind = JointKind::kPointOnLine}, Joining::kTree),
         "carry");
  EXPECT_EQ(c.world.state().v, same.state().v);
  EXPECT_EQ(c.world.state().q, same.state().q);
  c.world.step(20), same.step(20);
  EXPECT_EQ(c.world.state().q, same.state().q);
}

TEST(TreeEdits, SnapshotsCrossJoiningAndCutting) {
  Chains c = two_chains(awake());
  World& world = c.world;
  world.step(10);
  const Snapshot apart = world.snapshot();
  const JointId grip = *join(c, JointKind::kUniversal, Joining::kTree);
  world.step(10);
  const Snapshot one = world.snapshot();
  ASSERT_TRUE(world.detach(world.scene().mechanism.find_joint("a2")).empty());
  ASSERT_TRUE(world
                  .attach_here(c.a, world.scene().mechanism.find_link("a0"), world.pose(c.a),
                               {.name = "tail", .kind = JointKind::kSpherical})
                  .ok());
  world.step(10);
  const Snapshot parted = world.snapshot();
  ASSERT_TRUE(world.detach(grip).empty());
  world.step(10);
  const Snapshot all = world.snapshot();
  const auto later = [](World& w, const Snapshot& s) {
    const std::vector<Diagnostic> flaws = w.restore(s);
    EXPECT_TRUE(flaws.empty()) << to_string(flaws);
    w.step(20);
    return w.hash();
  };
  const Snapshot* order[] = {&all, &apart, &one, &parted, &apart, &all, &one};
  std::map<const Snapshot*, std::uint64_t> hashes;
  Chains other = two_chains(awake());  // as in another process
  for (const Snapshot* s : order) {
    const std::uint64_t here = later(world, *s);
    EXPECT_EQ(hashes.try_emplace(s, here).first->second, here);
    EXPECT_EQ(later(other.world, *s), here);
    World copy = world.clone();
    copy.step(5), world.step(5);
    EXPECT_EQ(copy.hash(), world.hash());
  }
  // damaged edits are refused, and the world goes on as it was
  ASSERT_TRUE(world.restore(all).empty());
  const std::uint64_t hash = world.hash();
  Chains third = two_chains(awake());
  ASSERT_TRUE(third.world.detach(third.world.scene().mechanism.find_joint("b1")).empty());
  EXPECT_TRUE(world.restore(third.world.snapshot()).empty()) << "of the same scene: its cut is made";
  ASSERT_TRUE(world.restore(all).empty());
  EXPECT_EQ(world.hash(), hash);
}

// Values may be edited while trees are not what they were made as; snapshots of then still fit.
TEST(TreeEdits, EditsKeepTheTrees) {
  Chains c = two_chains(awake());
  ASSERT_TRUE(join(c, JointKind::kSpherical, Joining::kTree).ok());
  ASSERT_TRUE(c.world.detach(c.world.scene().mechanism.find_joint("a2")).empty());
  c.world.step(10);
  const std::vector<double> q = c.world.state().q;
  ASSERT_TRUE(c.world
                  .edit([&](Scene& s) {
                    s.mechanism.link(c.b).inertia.mass *= 2;
                    s.mechanism.add_free_link("new", Inertia::solid_sphere(1, 0.1),
                                              Transform::translation({0, 0, 9}));
                  })
                  .empty());
  EXPECT_EQ(c.world.model().nv, static_cast<int>(c.world.state().v.size()));
  for (const LinkEntry& link : c.world.model().links) EXPECT_TRUE(c.world.pose(link.id).p.allFinite());
  const Snapshot edited = c.world.snapshot();
  c.world.step(20);
  const std::uint64_t later = c.world.hash();
  World copy = c.world.clone();
  ASSERT_TRUE(copy.detach(copy.scene().mechanism.find_joint("a3")).empty());
  ASSERT_TRUE(copy.restore(edited).empty());
  copy.step(20);
  EXPECT_EQ(copy.hash(), later);
}

}  // namespace
}  // namespace karakuri
