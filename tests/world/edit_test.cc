// Values of a scene that change while it runs.
#include <gtest/gtest.h>

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
