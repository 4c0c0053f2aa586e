// What the methods need of the settings, and what they are said to do.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "world/scenes.h"

namespace karakuri {
namespace {

using solver::Friction;
using solver::Method;
using test::BoxOnGround;
using test::make_world;

constexpr Method kAll[] = {Method::kDefault, Method::kBlock,        Method::kNewton,
                           Method::kPgs,     Method::kPgsIsotropic, Method::kSpringhead,
                           Method::kDantzig, Method::kLemke,        Method::kQuickstep};

/// Where a flaw is found; empty: nowhere.
std::string flaw_of(const WorldSettings& settings) {
  const std::vector<Diagnostic> flaws = find_flaws(settings);
  EXPECT_LE(flaws.size(), 1u) << to_string(flaws);
  for (const Diagnostic& d : flaws) EXPECT_FALSE(d.remedy.empty()) << d.what;
  return flaws.empty() ? "" : flaws[0].where;
}

TEST(MethodLimits, SettingsUnderWhichAMethodDoesNothingAreRefused) {
  for (const Method method : kAll) {
    SCOPED_TRACE(name_of(method));
    EXPECT_EQ(flaw_of({.solver = method}), "");
    EXPECT_EQ(flaw_of({.solver = method, .max_sweeps = 0}), "settings: max_sweeps");
    EXPECT_EQ(flaw_of({.solver = method, .max_newton = 0}),
              method == Method::kNewton ? "settings: max_newton" : "");
    EXPECT_EQ(flaw_of({.solver = method, .quickstep_iterations = 0}), "settings: quickstep_iterations");
    for (const double relaxation : {0.0, -1.0, 2.0})
      EXPECT_EQ(flaw_of({.solver = method, .quickstep_relaxation = relaxation}),
                "settings: quickstep_relaxation");
    for (const int faces : {0, 3, 5, 18})
      EXPECT_NE(flaw_of({.solver = method, .pyramid_faces = faces}), "") << faces;
  }
  EXPECT_FALSE(World::make(Scene{}, {.solver = Method::kNewton, .max_newton = 0}).ok());
  World world = make_world(Scene{});
  EXPECT_FALSE(world.set_settings({.solver = Method::kNewton, .max_newton = 0}).empty());
}

TEST(MethodLimits, FrictionOtherThanTheConesIsNoted) {
  for (const Method method : kAll) {
    SCOPED_TRACE(name_of(method));
    const std::vector<Diagnostic> notes = find_notes({.solver = method});
    ASSERT_EQ(notes.size(), friction_of(method) == Friction::kCone ? 0u : 1u);
    if (notes.empty()) continue;
    EXPECT_EQ(notes[0].severity, Severity::kNote);
    EXPECT_NE(notes[0].what.find(std::string(name_of(method))), std::string::npos);
    EXPECT_NE(notes[0].what.find(std::string(describe(friction_of(method)))), std::string::npos);
    EXPECT_TRUE(find_notes({.contact = ContactModel::kPyramid, .solver = method}).empty());
    EXPECT_TRUE(find_notes({.contact = ContactModel::kNone, .solver = method}).empty());
  }
}

// Between two edges of a pyramid of 8 faces friction is Coulomb's times cos(22.5 degrees); a pyramid of 16
// has an edge there.
TEST(MethodLimits, LemkesFacesAreChosen) {
  constexpr double kSpeed = 9.8, kFriction = 0.5, kStep = 1.0 / 200;
  const double way = kSpeed * kSpeed / (2 * kFriction * 9.8) - kStep * kSpeed / 2;
  for (const int faces : {8, 16}) {
    BoxOnGround s(kFriction);
    World world =
        make_world(std::move(s.scene), {.dt = kStep, .solver = Method::kLemke, .pyramid_faces = faces});
    const double angle = std::numbers::pi / 8;
    world.set_velocity(s.box, {Vec3::Zero(), kSpeed * Vec3(std::cos(angle), std::sin(angle), 0)});
    while (world.time() < 4) world.step();
    const double gone = world.pose(s.box).p.head<2>().norm();
    if (faces == 16) EXPECT_NEAR(gone, way, 1e-6);
    if (faces == 8) EXPECT_GT(gone, way * 1.04);
  }
}

// Over-relaxation comes to the friction of a pyramid when it is given the time; in 20 iterations nearly.
TEST(MethodLimits, QuickstepStopsABoxAsAPyramidDoes) {
  constexpr double kSpeed = 9.8, kFriction = 0.5, kStep = 1.0 / 200;
  const double way = kSpeed * kSpeed / (2 * kFriction * 9.8);
  for (const int iterations : {20, 400}) {
    for (const bool aslant : {false, true}) {
      BoxOnGround s(kFriction);
      World world =
          make_world(std::move(s.scene),
                     {.dt = kStep, .solver = Method::kQuickstep, .quickstep_iterations = iterations});
      const double angle = aslant ? std::numbers::pi / 4 : 0.0;
      world.set_velocity(s.box, {Vec3::Zero(), kSpeed * Vec3(std::cos(angle), std::sin(angle), 0)});
      while (world.time() < 4) world.step();
      const double expected = way / (aslant ? std::numbers::sqrt2 : 1.0) - kStep * kSpeed / 2;
      EXPECT_NEAR(world.pose(s.box).p.head<2>().norm(), expected, (iterations == 20 ? 0.05 : 1e-3) * way)
          << iterations << (aslant ? " aslant" : "");
      EXPECT_NEAR(world.pose(s.box).p.z(), 0.1, 1e-3);
      EXPECT_EQ(world.report().refused, 0);
    }
  }
}

}  // namespace
}  // namespace karakuri
