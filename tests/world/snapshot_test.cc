// What a snapshot holds beside the state, and of which scenes it is accepted.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

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

}  // namespace
}  // namespace karakuri
