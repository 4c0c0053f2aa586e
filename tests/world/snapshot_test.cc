// What a snapshot holds beside the state, and of which scenes it is accepted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "karakuri/core/hash.h"
#include "karakuri/spatial/rotation.h"
#include "world/scenes.h"

namespace karakuri {
namespace {

using test::add_material;
using test::BoxOnGround;
using test::make_world;

// ---- gravity

TEST(Snapshot, HoldsTheGravity) {
  BoxOnGround s(0.5);
  World world = make_world(std::move(s.scene));
  const Vec3 aslant(1, 0, -5);
  ASSERT_TRUE(world.set_gravity(aslant));
  world.step(20);
  const Snapshot snapshot = world.snapshot();
  world.step(100);
  const std::uint64_t end = world.hash();
  ASSERT_TRUE(world.set_gravity({0, 0, 3}));
  world.step(50);
  ASSERT_TRUE(world.restore(snapshot).empty());
  EXPECT_EQ(world.gravity(), aslant);
  world.step(100);
  EXPECT_EQ(world.hash(), end);

  World other = make_world(std::move(BoxOnGround(0.5).scene));  // made with another gravity
  ASSERT_TRUE(other.restore(snapshot).empty());
  other.step(100);
  EXPECT_EQ(other.hash(), end);
}

TEST(Snapshot, GravityIsPartOfTheHashAndGoesToClonesAndEditedWorlds) {
  BoxOnGround s(0.5);
  World world = make_world(std::move(s.scene));
  const std::uint64_t before = world.hash();
  ASSERT_TRUE(world.set_gravity({0, 0, -1}));
  EXPECT_NE(world.hash(), before);
  EXPECT_EQ(world.clone().gravity(), Vec3(0, 0, -1));
  EXPECT_TRUE(world.edit([](Scene&) {}).empty());
  EXPECT_EQ(world.gravity(), Vec3(0, 0, -1));
  World other = make_world(std::move(BoxOnGround(0.5).scene));
  ASSERT_TRUE(other.restore(world).empty());
  EXPECT_EQ(other.hash(), world.hash());
}

TEST(Gravity, ThatIsNotFiniteIsRefusedAndTold) {
  World world = make_world(Scene{});
  const double inf = std::numeric_limits<double>::infinity();
  for (const double bad : {inf, -inf, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_FALSE(world.set_gravity({0, 0, bad}));
  EXPECT_EQ(world.gravity(), Vec3(0, 0, -9.8));
  EXPECT_TRUE(world.set_gravity({0, 0, -1}));
}

// ---- the scene

Shape tetrahedron(double height) {
  const std::vector<Vec3> corners = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0.2, 0.2, height}};
  return Shape::hull(make_convex_hull(corners).value());
}

/// The far corner, at the same distance from the origin in both, is turned by `angle`.
Shape tent(double angle) {
  const std::vector<Vec3> corners = {
      {0, 0, 0}, {0.1, 0, 0}, {0, 0.1, 0}, Vec3(0, std::sin(angle), std::cos(angle))};
  const std::vector<Triangle> faces = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {2, 0, 3}};
  return Shape::mesh(make_mesh(corners, faces).value());
}

Shape field(double middle) {
  return Shape::heightfield(make_heightfield(3, 3, 2, 2, {0, 0, 0, 0, middle, 0, 0, 0, 1}).value());
}

/// One of each thing that a scene can hold.
struct Everything {
  Scene scene;
  MaterialId wood = add_material(scene, 0.5, 0, "wood"), ice = add_material(scene, 0.1, 0, "ice");
  LinkId box, upper, lower, crank;
  ShapeId hull, mesh, ground;
  JointId shoulder, wrist, closing;

  Everything() {
    ground = scene.add_shape(scene.mechanism.world(), field(0.2), Transform::translation({9, 9, 0}), wood);
    box = scene.add_body("box", Shape::box({0.5, 0.5, 0.1}), 1, Transform::translation({0, 0, 1}), ice);
    upper = scene.mechanism.add_link("upper", Inertia::solid_box(1, {0.1, 0.1, 0.5}));
    lower = scene.mechanism.add_link("lower", Inertia::solid_box(1, {0.1, 0.1, 0.5}));
    crank = scene.mechanism.add_link("crank", Inertia::solid_box(1, {0.1, 0.1, 0.5}));
    shoulder = add("shoulder", JointKind::kRevolute, scene.mechanism.world(), upper, {-3, 0, 0});
    wrist = add("wrist", JointKind::kUniversal, upper, lower, {0, 0, 1});
    add("crank", JointKind::kRevolute, scene.mechanism.world(), crank, {-3, 1, 0});
    closing = *scene.mechanism.add_loop(
        {.name = "closing", .kind = JointKind::kDistance, .parent = lower, .child = crank, .distance = 1.5});
    hull = scene.add_shape(upper, tetrahedron(0.7), {}, wood);
    mesh = scene.add_shape(crank, tent(0.1), {}, wood);
    scene.mechanism.add_coupling({.name = "gear",
                                  .follower = scene.mechanism.find_joint("crank"),
                                  .leader = shoulder,
                                  .coefficients = {0, 2}});
    scene.pairs.push_back({wood, ice, Surface{.static_friction = 0.3, .kinetic_friction = 0.2}});
    scene.no_contact.emplace_back(box, upper);
  }

  JointId add(const char* name, JointKind kind, LinkId parent, LinkId child, const Vec3& at) {
    Joint joint{.name = name, .kind = kind, .parent = parent, .child = child, .axis = Vec3::UnitY()};
    joint.X_PF = Transform::translation(at);
    return *scene.mechanism.add_joint(joint);
  }
  ShapePlacement& placement(LinkId link) { return scene.mechanism.link(link).shapes[0]; }
  DofProperties& dof() { return scene.mechanism.joint(shoulder).dofs[0]; }
};

using Change = std::function<void(Everything&)>;

std::vector<std::pair<std::string, Change>> changes() {
  using E = Everything;
  const Transform turned{rotation_exp(Vec3(0.1, 0, 0)), Vec3::Zero()};
  return {
      {"friction", [](E& e) { e.placement(e.box).material = add_material(e.scene, 0.2); }},
      {"torsional friction", [](E& e) { e.scene.pairs[0].surface.torsional_friction = 0.01; }},
      {"restitution of a pair", [](E& e) { e.scene.pairs[0].surface.restitution = 0.5; }},
      {"no pair", [](E& e) { e.scene.pairs.clear(); }},
      {"material", [](E& e) { e.placement(e.box).material = e.wood; }},
      {"shape turned", [=](E& e) { e.placement(e.box).X_LS = turned; }},
      {"hull", [](E& e) { e.scene.shapes[e.hull] = tetrahedron(0.8); }},  // its radius is the same
      {"mesh", [](E& e) { e.scene.shapes[e.mesh] = tent(0.2); }},
      {"heightfield", [](E& e) { e.scene.shapes[e.ground] = field(0.3); }},
      {"category", [](E& e) { e.placement(e.box).category = 2; }},
      {"mask", [](E& e) { e.placement(e.box).mask = 1; }},
      {"group", [](E& e) { e.placement(e.box).group = -1; }},
      {"no contact", [](E& e) { e.scene.no_contact.clear(); }},
      {"axis", [](E& e) { e.scene.mechanism.joint(e.shoulder).axis = Vec3::UnitX(); }},
      {"second axis", [](E& e) { e.scene.mechanism.joint(e.wrist).second_axis = Vec3::UnitZ(); }},
      {"dry friction", [](E& e) { e.dof().dry_friction = 0.1; }},
      {"spring", [](E& e) { e.dof().stiffness = 3; }},
      {"rest of a spring", [](E& e) { e.dof().rest = 0.2; }},
      {"armature", [](E& e) { e.dof().armature = 0.2; }},
      {"effort limit", [](E& e) { e.dof().effort_limit = 5; }},
      {"distance", [](E& e) { e.scene.mechanism.joint(e.closing).distance = 1.4; }},
      {"where a loop closes", [=](E& e) { e.scene.mechanism.joint(e.closing).X_PF.p.z() = 0.1; }},
      {"coupling", [](E& e) { e.scene.mechanism.couplings()[0].coefficients[1] = 3; }},
  };
}

World world_of(const Change& change = {}) {
  Everything e;
  if (change) change(e);
  return make_world(std::move(e.scene));
}

TEST(Snapshot, OfASceneThatDiffersInOneValueIsRefused) {
  const Snapshot snapshot = world_of().snapshot();
  EXPECT_TRUE(world_of().restore(snapshot).empty());
  for (const auto& [name, change] : changes()) {
    World other = world_of(change);
    EXPECT_FALSE(other.restore(snapshot).empty()) << name;
    EXPECT_NE(other.scene_hash(), snapshot.scene) << name;
  }
}

// Names, and materials that nothing is made of, are not of what a step depends on.
TEST(Snapshot, WhatDoesNotMatterMayDiffer) {
  const Snapshot snapshot = world_of().snapshot();
  World other = world_of([](Everything& e) {
    add_material(e.scene, 0.9, 0, "unused");
    e.scene.mechanism.link(e.box).name = "crate";
  });
  EXPECT_TRUE(other.restore(snapshot).empty());
}

// ---- what is kept from step to step

/// One that was made now and restored does what `world` does.
void expect_same_future(World& world, const World& made, int steps = 20) {
  World other = made.clone();
  ASSERT_TRUE(other.restore(world.snapshot()).empty());
  World copy = world.clone();
  for (int i = 0; i < steps; ++i) {
    ASSERT_EQ(other.hash(), world.hash()) << "restored, in step " << i;
    ASSERT_EQ(copy.hash(), world.hash()) << "copied, in step " << i;
    for (World* w : {&world, &other, &copy}) w->step();
  }
}

// Boxes of what stands still are as large as the margin.
TEST(Snapshot, AMarginThatHasChangedHoldsForAllShapes) {
  Scene scene;
  const LinkId shelf = scene.mechanism.add_link("shelf", Inertia::solid_box(1, {1, 1, 0.1}));
  ASSERT_TRUE(
      scene.mechanism.add_joint({.name = "wall", .parent = scene.mechanism.world(), .child = shelf}).ok());
  scene.add_shape(shelf, Shape::box({1, 1, 0.1}));
  scene.add_body("box", Shape::box({0.2, 0.2, 0.2}), 1, Transform::translation({0, 0, 0.35}));
  WorldSettings settings{.contact_margin = 1e-3};
  World world = make_world(scene, settings, Vec3(0, 0, -1e-3));
  world.step(3);
  EXPECT_TRUE(world.contacts().empty()) << "they are 5 cm apart";
  settings.contact_margin = 0.06;
  ASSERT_TRUE(world.set_settings(settings).empty());
  World wide = make_world(scene, settings, Vec3(0, 0, -1e-3));
  ASSERT_TRUE(wide.restore(world.snapshot()).empty());
  world.step(), wide.step();
  EXPECT_FALSE(world.contacts().empty());
  EXPECT_EQ(world.contacts().size(), wide.contacts().size());
}

TEST(Snapshot, HoldsATreeThatWasFixedToTheWorldWhereItIsNow) {
  Scene scene;
  const MaterialId wood = add_material(scene, 0.5);
  scene.add_ground(wood);
  const LinkId post =
      scene.add_body("post", Shape::box({0.1, 0.1, 0.5}), 1, Transform::translation({0, 0, 0.5}), wood);
  scene.add_body("ball", Shape::sphere(0.1), 1, Transform::translation({0.19, 0, 1.5}), wood);
  const World made = make_world(std::move(scene), {.dt = 5e-3});
  World world = made.clone();
  ASSERT_TRUE(world.set_velocity(post, {Vec3::Zero(), Vec3(0.5, 0, 0)}));
  world.step(30);  // it moves right up to the moment when it is fixed
  ASSERT_TRUE(world
                  .attach_here(world.scene().mechanism.world(), post, world.pose(post),
                               {.name = "nail", .kind = JointKind::kFixed}, Joining::kTree)
                  .ok());
  expect_same_future(world, made, 150);
  EXPECT_FALSE(world.contacts().empty());
}

// On its way up it still knows the ground, which a body at rest is too far from.
TEST(Snapshot, HoldsWhatIsFrozenWhereItIsNow) {
  Scene scene;
  const MaterialId wood = add_material(scene, 0.5);
  scene.add_shape(scene.mechanism.world(), Shape::box({2, 2, 0.1}), Transform::translation({0, 0, -0.1}),
                  wood);
  const LinkId box =
      scene.add_body("box", Shape::box({0.3, 0.3, 0.1}), 1, Transform::translation({0, 0, 0.112}), wood);
  scene.add_body("ball", Shape::sphere(0.1), 1, Transform::translation({0.45, 0, 0.1}), wood);
  const World made = make_world(std::move(scene), {.dt = 5e-3});
  World world = made.clone();
  ASSERT_TRUE(world.set_velocity(box, {Vec3(0, 0, 3), Vec3::Zero()}));
  world.step();
  ASSERT_FALSE(world.contacts().empty());
  world.add_force(box, {1e300, 0, 0});
  world.step();
  ASSERT_TRUE(world.quarantined(box));
  expect_same_future(world, made, 100);
}

// ---- the size of a snapshot follows from what is there

TEST(Snapshot, DoesNotGrowWithWhatWasJoinedAndCut) {
  Scene scene;
  scene.add_ground();
  std::vector<LinkId> boxes;
  for (int i = 0; i < 4; ++i)
    boxes.push_back(scene.add_body("box" + std::to_string(i), Shape::box({0.1, 0.1, 0.1}), 1,
                                   Transform::translation({0.25 * i, 0, 0.1})));
  const World made = make_world(std::move(scene));
  World world = made.clone();
  const auto join_and_cut = [&](int i) {
    const LinkId a = boxes[i % 3], b = boxes[3];
    const Result<JointId> joint = world.attach_here(a, b, world.pose(b), {.name = "grip"}, Joining::kTree);
    ASSERT_TRUE(joint.ok()) << to_string(joint.errors());
    if (i % 5 == 0) world.step();
    ASSERT_TRUE(world.detach(*joint).empty());
  };
  for (int i = 0; i < 6; ++i) join_and_cut(i);
  const std::size_t size = world.snapshot().bytes.size();
  for (int i = 6; i < 300; ++i) join_and_cut(i);
  EXPECT_LE(world.snapshot().bytes.size(), size + 2000) << "contacts come and go";
  EXPECT_LE(world.scene().no_contact.size(), 3u);
  expect_same_future(world, made);
  ASSERT_TRUE(world.edit([&](Scene& s) { s.mechanism.link(boxes[0]).inertia.mass = 2; }).empty());
  world.step(10);
  EXPECT_LE(world.snapshot().bytes.size(), size + 2000);
}

// ---- snapshots that were made by other means

Snapshot summed(Snapshot forged) {
  const std::span<std::byte> bytes(forged.bytes);
  const std::uint64_t sum = checksum(std::span<const std::byte>(bytes.first(bytes.size() - 8)));
  std::memcpy(bytes.data() + bytes.size() - 8, &sum, 8);
  return forged;
}

/// Where these bytes are; there is one such place.
template <class T>
std::size_t find_in(const Snapshot& s, const T& value) {
  const auto* wanted = reinterpret_cast<const std::byte*>(&value);
  const auto at = std::search(s.bytes.begin(), s.bytes.end(), wanted, wanted + sizeof value);
  EXPECT_NE(at, s.bytes.end());
  return static_cast<std::size_t>(at - s.bytes.begin());
}

template <class T>
Snapshot with(Snapshot s, std::size_t at, const T& value) {
  std::memcpy(s.bytes.data() + at, &value, sizeof value);
  return summed(std::move(s));
}

TEST(Snapshot, LinksAndShapesThatAreNotThereAreRefusedEvenWithARightChecksum) {
  BoxOnGround s(0.5);
  World world = make_world(s.scene);
  world.step(5);
  const double place = 12345.678, force_at = 54321.25;
  world.add_spring({s.box, Vec3(place, 0, 0), Vec3::Zero(), 1, 1});
  world.add_force(s.box, Vec3(1, 2, 3), Vec3(force_at, 0, 0));
  const Snapshot pending = world.snapshot();
  const std::uint64_t hash = world.hash();
  const std::uint32_t nowhere = 1'000'000;
  EXPECT_TRUE(world.restore(summed(pending)).empty());
  for (const double mark : {place, force_at}) {
    const std::size_t link = find_in(pending, mark) - sizeof(LinkId);
    EXPECT_FALSE(world.restore(with(pending, link, nowhere)).empty()) << "no such link";
    EXPECT_FALSE(world.restore(with(pending, link + 4, nowhere)).empty()) << "another one was there";
  }
  EXPECT_FALSE(
      world.restore(with(pending, find_in(pending, force_at), std::numeric_limits<double>::quiet_NaN()))
          .empty());
  EXPECT_EQ(world.hash(), hash);
  world.step();
  ASSERT_FALSE(world.contacts().empty());
  const Snapshot after = world.snapshot();  // the force is one that was applied
  EXPECT_FALSE(world.restore(with(after, find_in(after, force_at) - sizeof(LinkId), nowhere)).empty());
  const Contact& c = world.contacts()[0];
  const std::size_t shape = find_in(after, c.point) - sizeof c.feature - 4 * sizeof(std::uint32_t);
  for (const std::int32_t none : {-1, 77}) EXPECT_FALSE(world.restore(with(after, shape, none)).empty());
  EXPECT_TRUE(world.restore(with(after, shape, c.collider_a)).empty());
}

// A link with such a rotation had a pose that is not finite, and was not said to be frozen.
TEST(Snapshot, RotationsThatAreNoneAreRefused) {
  Scene scene;
  scene.add_body("ball", Shape::sphere(0.3), 1, Transform::translation({0, 0, 1}));
  World world = make_world(scene);
  EXPECT_TRUE(world.restore(world.snapshot()).empty()) << "before the first step";
  world.step(3);
  const Snapshot good = world.snapshot();
  const std::size_t w = find_in(good, world.state().q[2]) + sizeof(double);  // after the position
  for (const double bad : {0.0, 1 + 1e-6, 1e300})
    EXPECT_FALSE(world.restore(with(good, w, bad)).empty()) << bad;
  EXPECT_TRUE(world.restore(with(good, w, 1.0)).empty());
}

/// An arm that reaches boxes, joined, cut, driven and pulled: some of each thing that a snapshot holds.
World busy_world() {
  Everything e;
  const LinkId ball =
      e.scene.add_body("ball", Shape::sphere(0.3), 1, Transform::translation({0, 0, 2}), e.wood);
  e.scene.add_ground(e.wood, -1);
  World world = make_world(std::move(e.scene), {.dt = 2e-3});
  world.step(10);
  EXPECT_TRUE(world.attach_here(e.box, ball, world.pose(ball), {.name = "grip"}, Joining::kTree).ok());
  EXPECT_TRUE(world.detach(e.wrist).empty());
  EXPECT_TRUE(world
                  .attach_here(e.upper, ball, world.pose(ball),
                               {.name = "rope", .kind = JointKind::kDistance, .distance = 1})
                  .ok());
  world.set_drive(e.shoulder, {.stiffness = 5, .damping = 1, .q_target = 1});
  world.set_breaking(e.shoulder, 1e4);
  world.add_spring({ball, Vec3::Zero(), Vec3(0, 0, 2), 3, 1});
  world.step(30);
  world.add_force(ball, Vec3(1, 0, 0));
  return world;
}

// Whatever a forged snapshot holds, it is refused or steps without harm.
TEST(Snapshot, ForgedOnesAreRefusedOrSafe) {
  const World origin = busy_world();
  const Snapshot good = origin.snapshot();
  World world = origin.clone();
  Random random(11);
  int taken = 0;
  for (int i = 0; i < 1500; ++i) {
    Snapshot bad = good;
    for (int k = 0; k <= i % 3; ++k) {
      const int at = 20 + random.below(static_cast<int>(bad.bytes.size()) - 36);
      const std::uint64_t kinds[] = {0, ~std::uint64_t{0}, random.bits(), 0x7ff0000000000000u, 1};
      std::memcpy(bad.bytes.data() + at, &kinds[random.below(5)],
                  static_cast<std::size_t>(1 + random.below(8)));
    }
    if (!world.restore(summed(bad)).empty()) continue;
    ++taken;
    world.step(2);
    (void)world.snapshot();
  }
  EXPECT_GT(taken, 100);
  EXPECT_LT(taken, 1400);
  ASSERT_TRUE(world.restore(good).empty());
  EXPECT_EQ(world.hash(), origin.hash());
}

}  // namespace
}  // namespace karakuri
