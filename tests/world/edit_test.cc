// Values of a scene that change while it runs.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "world/scenes.h"

namespace karakuri {
namespace {

using test::BoxOnGround;
using test::make_world;

TEST(Edit, AChangedMassActsAtOnceAndNothingElseChanges) {
  BoxOnGround s(0.5);
  World world = make_world(std::move(s.scene), {.dt = 1e-3});
  world.set_velocity(s.box, {Vec3::Zero(), Vec3(3, 0, 0)});
  int calls = 0;
  world.add_hook([&](World&) { ++calls; });
  world.step(100);
  const State before = world.state();
  const auto heavier = [&](Scene& scene) {
    Inertia& inertia = scene.mechanism.link(s.box).inertia;
    inertia.mass *= 10;
    inertia.about_com *= 10;
  };
  EXPECT_TRUE(world.edit(heavier).empty());
  EXPECT_EQ(world.state().q, before.q);
  EXPECT_EQ(world.state().v, before.v);
  EXPECT_EQ(world.time(), before.time);
  EXPECT_EQ(world.scene().mechanism.link(s.box).inertia.mass, 10);
  world.step();
  EXPECT_EQ(calls, 101);
  // sliding does not depend on the mass; what it presses with does
  EXPECT_NEAR(world.velocity(s.box).linear.x(), 3 - 0.5 * 9.8 * 0.101, 1e-9);
  EXPECT_NEAR(world.contact_force(s.box).force.z(), 98, 1e-3);
}

TEST(Edit, WhatIsWrongIsToldAndLeavesTheWorldAsItIs) {
  BoxOnGround s(0.5);
  World world = make_world(std::move(s.scene));
  world.step(10);
  const std::uint64_t before = world.hash();
  EXPECT_FALSE(world.edit([&](Scene& scene) { scene.mechanism.link(s.box).inertia.mass = -1; }).empty());
  EXPECT_FALSE(world.edit([&](Scene& scene) { scene.mechanism.link(s.box).shapes.clear(); }).empty());
  EXPECT_FALSE(world.edit([&](Scene& scene) { scene.add_body("more", Shape::sphere(-1), 1, {}); }).empty());
  EXPECT_EQ(world.hash(), before);
  EXPECT_EQ(world.scene().mechanism.find_link("more"), LinkId{});
}

TEST(Edit, WhatIsTakenAwayIsNamed) {
  BoxOnGround s(0.5);
  World world = make_world(std::move(s.scene));
  const auto flaws = world.edit([&](Scene& scene) { scene.mechanism.link(s.box).shapes.clear(); });
  ASSERT_EQ(flaws.size(), 1u);
  EXPECT_EQ(flaws[0].what, "there are 1 shapes where 2 were");
  const auto fixed = world.edit([&](Scene& scene) {
    scene.mechanism.joint(scene.mechanism.find_joint("box")).kind = JointKind::kSpherical;
  });
  ASSERT_FALSE(fixed.empty());
  EXPECT_NE(to_string(fixed).find("joint 'box'"), std::string::npos);
}

/// A box more, half a metre above the first.
void add_box(Scene& scene) {
  scene.add_body("more", Shape::box(Vec3::Constant(0.5)), 2, Transform::translation(Vec3(0, 0, 1.5)));
}

TEST(Edit, WhatIsPreparedBesideIsTheSameAsIfItWereMadeAtOnce) {
  BoxOnGround s(0.5), t(0.5);
  World at_once = make_world(std::move(s.scene), {.dt = 1e-3}),
        beside = make_world(std::move(t.scene), {.dt = 1e-3});
  for (World* w : {&at_once, &beside}) w->set_velocity(s.box, {Vec3::Zero(), Vec3(3, 0, 0)});
  SceneEdit prepared(beside, add_box);
  EXPECT_TRUE(prepared.prepare().empty());
  // what it was begun from has gone on meanwhile, under other settings
  for (World* w : {&at_once, &beside}) {
    w->step(50);
    WorldSettings settings = w->settings();
    settings.dt = 2e-3;
    ASSERT_TRUE(w->set_settings(settings).empty());
    ASSERT_TRUE(w->set_gravity(Vec3(0, 0, -5)));
  }
  ASSERT_TRUE(beside.fits(prepared));
  EXPECT_TRUE(at_once.edit(add_box).empty());
  EXPECT_TRUE(beside.edit(std::move(prepared)).empty());
  for (World* w : {&at_once, &beside}) w->step(200);
  EXPECT_EQ(at_once.hash(), beside.hash());
  EXPECT_LT(beside.velocity(beside.scene().mechanism.find_link("more")).linear.z(), 0.01);
  EXPECT_GT(beside.pose(beside.scene().mechanism.find_link("more")).p.z(), 1);
}

TEST(Edit, WhatWasPreparedForAnotherSceneIsRefused) {
  BoxOnGround s(0.5);
  World world = make_world(std::move(s.scene), {.dt = 1e-3});
  SceneEdit prepared(world, add_box);
  EXPECT_TRUE(prepared.prepare().empty());
  EXPECT_TRUE(world.edit([&](Scene& scene) { scene.mechanism.link(s.box).inertia.mass *= 2; }).empty());
  EXPECT_FALSE(world.fits(prepared));
  const std::uint64_t before = world.hash();
  EXPECT_FALSE(world.edit(std::move(prepared)).empty());
  EXPECT_EQ(world.hash(), before);
}

// Each says which of several it is.
TEST(Flaws, OfASceneSayWhere) {
  const auto errors = [](const std::function<void(Scene&, BoxOnGround&)>& spoil) {
    BoxOnGround s(0.5);
    spoil(s.scene, s);
    const auto world = World::make(s.scene);
    return world.ok() ? std::string() : to_string(world.errors());
  };
  EXPECT_EQ(errors([](Scene&, BoxOnGround&) {}), "");
  const std::string pair = errors([](Scene& scene, BoxOnGround& s) {
    scene.pairs = {{s.material, s.material, {}}, {s.material, MaterialId{}, {}}};
  });
  EXPECT_NE(pair.find("Scene::pairs[1]"), std::string::npos) << pair;
  EXPECT_NE(pair.find("second material"), std::string::npos) << pair;
  const std::string apart =
      errors([](Scene& scene, BoxOnGround& s) { scene.no_contact.emplace_back(s.box, LinkId{99, 1}); });
  EXPECT_NE(apart.find("Scene::no_contact[0]"), std::string::npos) << apart;
  EXPECT_NE(apart.find("'box'"), std::string::npos) << apart;
  const std::string start =
      errors([](Scene& scene, BoxOnGround&) { scene.initial.push_back({JointId{99, 1}}); });
  EXPECT_NE(start.find("Scene::initial[0]"), std::string::npos) << start;
  EXPECT_NE(start.find("does not exist"), std::string::npos) << start;
}

TEST(Edit, WakesWhatSleeps) {
  BoxOnGround s(0.5);
  World world = make_world(std::move(s.scene));
  world.step(1000);
  ASSERT_FALSE(world.awake(s.box));
  EXPECT_TRUE(world.edit([](Scene&) {}).empty());
  EXPECT_TRUE(world.awake(s.box));
}

TEST(Clock, CanBeSet) {
  BoxOnGround s(0.5);
  World world = make_world(std::move(s.scene), {.dt = 0.25});
  EXPECT_TRUE(world.set_time(7));
  EXPECT_FALSE(world.set_time(std::nan("")));
  world.step();
  EXPECT_EQ(world.time(), 7.25);
}

}  // namespace
}  // namespace karakuri
