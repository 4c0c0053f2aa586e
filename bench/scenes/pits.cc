#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "karakuri/core/random.h"
#include "karakuri/spatial/rotation.h"
#include "scenes/robot_parts.h"
#include "scenes/scenes.h"
#include "scenes/walls.h"

namespace karakuri::bench {

namespace {

constexpr double kPit = 1.5;  // half the width [m]

/// Where the k-th of those that are dropped begins: four in a layer, turned any way about z and tilted a
/// little.
Transform place_above_pit(int k, double low, double pitch, Random& random) {
  const Vec3 turn(random.uniform(-0.3, 0.3), random.uniform(-0.3, 0.3), random.uniform(-3, 3));
  const Vec3 at(0.5 * kPit * (k % 2 == 0 ? -1 : 1), 0.5 * kPit * (k / 2 % 2 == 0 ? -1 : 1),
                low + pitch * (k / 4));
  return {rotation_exp(turn), at};
}

Hinge limp(const Vec3& axis, double lower, double upper) {
  Hinge h = hinge(axis, lower, upper, 0, 0.5);
  h.armature = 0.005;
  return h;
}

/// Height 1.5 m, 45 kg.
void add_ragdoll(Setup& setup, const std::string& prefix, const Transform& X_WB) {
  RobotBuilder b(setup, prefix);
  const Vec3 x = Vec3::UnitX(), y = Vec3::UnitY();
  const int pelvis = b.add("pelvis", -1, X_WB, {}, {capsule({0, -0.08, 0}, {0, 0.08, 0}, 0.1)});
  const int chest = b.add("chest", pelvis, Vec3(0, 0, 0.15), {limp(y, -60, 30), limp(x, -30, 30)},
                          {capsule({0, 0, 0.08}, {0, 0, 0.22}, 0.13)});
  b.add("head", chest, Vec3(0, 0, 0.38), {limp(y, -45, 45), limp(x, -40, 40)}, {ball(0.1, {0, 0, 0.12})});
  for (const double side : {-1.0, 1.0}) {
    const std::string s = side < 0 ? ".right" : ".left";
    const int thigh =
        b.add("thigh" + s, pelvis, Vec3(0, 0.1 * side, -0.08), {limp(y, -110, 30), limp(x, -40, 40)},
              {capsule({0, 0, -0.08}, {0, 0, -0.36}, 0.065)});
    b.add("shin" + s, thigh, Vec3(0, 0, -0.42), {limp(y, 0, 140)},
          {capsule({0, 0, -0.05}, {0, 0, -0.4}, 0.05)});
    const int upper =
        b.add("upper arm" + s, chest, Vec3(0, 0.2 * side, 0.25), {limp(y, -150, 60), limp(x, -80, 80)},
              {capsule({0, 0, -0.05}, {0, 0, -0.26}, 0.045)});
    b.add("forearm" + s, upper, Vec3(0, 0, -0.3), {limp(y, -140, 0)},
          {capsule({0, 0, -0.03}, {0, 0, -0.26}, 0.035)});
    b.keep_apart(upper, pelvis);
  }
}

/// A smooth function of the place with waves of about `length`.
double hills(double x, double y, double length, const Vec3& phase) {
  const double k = 2 * std::numbers::pi / length;
  return std::sin(k * x + phase.x()) * std::cos(k * y + phase.y()) +
         0.4 * std::sin(2.3 * k * (x + y) + phase.z());
}

Shape terrain(Random& random) {
  constexpr int kPoints = 65;
  constexpr double kSize = 10, kHeight = 0.06, kWave = 1.5;
  const Vec3 phase(random.uniform(0, 6), random.uniform(0, 6), random.uniform(0, 6));
  std::vector<double> heights;
  for (int j = 0; j < kPoints; ++j) {
    for (int i = 0; i < kPoints; ++i) {
      const double x = kSize * (i / (kPoints - 1.0) - 0.5), y = kSize * (j / (kPoints - 1.0) - 0.5);
      heights.push_back(kHeight * (1.4 + hills(x, y, kWave, phase)));
    }
  }
  return Shape::heightfield(make_heightfield(kPoints, kPoints, kSize, kSize, std::move(heights)).value());
}

}  // namespace

Setup humanoids_in_pit(int count, std::uint64_t seed) {
  Setup setup = for_mujoco_humanoids();
  setup.crowded = true;
  Random random(37 + seed);
  add_walls(setup, kPit, 3);
  for (int k = 0; k < count; ++k)
    add_mujoco_humanoid(setup, fmt::format("{}.", k), place_above_pit(k, 1.6, 2.2, random));
  return setup;
}

Setup ragdolls_in_pit(int count, std::uint64_t seed) {
  Setup setup;
  setup.dt = 0.01;
  setup.crowded = true;
  setup.iterations = 50;
  Random random(41 + seed);
  add_walls(setup, kPit, 3);
  for (int k = 0; k < count; ++k)
    add_ragdoll(setup, fmt::format("{}.", k), place_above_pit(k, 1.2, 2, random));
  return setup;
}

Setup quadruped_on_hills(std::uint64_t seed) {
  constexpr double kUpper = 0.22, kLower = 0.22, kBend = 0.6;
  Setup setup;
  setup.dt = 0.005;
  setup.floor_friction = setup.body_friction = 0.8;
  setup.iterations = 50;
  Random random(43 + seed);
  add_fixed(setup, terrain(random), Transform::identity());
  RobotBuilder b(setup, "");
  const Vec3 x = Vec3::UnitX(), y = Vec3::UnitY();
  const int trunk = b.add("trunk", -1, Vec3(0, 0, 0.2 + (kUpper + kLower) * std::cos(kBend)), {},
                          {block(12, {0.25, 0.12, 0.06}, {0, 0, 0})});
  for (const double front : {-1.0, 1.0}) {
    for (const double side : {-1.0, 1.0}) {
      const std::string s = fmt::format("{}{}", front < 0 ? "hind" : "fore", side < 0 ? ".right" : ".left");
      const double swing = 0.25 * front * side;  // legs across each other go together
      const int hip = b.add(s + ".hip", trunk, Vec3(0.2 * front, 0.12 * side, 0), {held(x, 200)},
                            {block(0.7, {0.03, 0.03, 0.03}, {0, 0.04 * side, 0})});
      const int thigh = b.add(s + ".thigh", hip, Vec3(0, 0.09 * side, 0), {held(y, 300, kBend, swing)},
                              {block(1, {0.02, 0.015, 0.09}, {0, 0, -0.5 * kUpper})});
      b.add(s + ".shin", thigh, Vec3(0, 0, -kUpper), {held(y, 300, -2 * kBend, 0.5 * swing)},
            {block(0.2, {0.012, 0.012, 0.09}, {0, 0, -0.5 * kLower}),
             {Shape::sphere(0.025), Transform::translation({0, 0, -kLower}), 0.1}});
    }
  }
  return setup;
}

}  // namespace karakuri::bench
