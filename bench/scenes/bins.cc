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

Vec3 random_direction(Random& random) {
  const Vec3 v(random.normal(), random.normal(), random.normal());
  return v.normalized();
}

/// Anything, of about half a unit across and 1.04 at most.
Shape random_thing(Things things, double unit, Random& random) {
  const auto size = [&](double low, double high) { return unit * random.uniform(low, high); };
  const int kind = things == Things::kBoxes     ? 0
                   : things == Things::kSpheres ? 1
                   : things == Things::kHulls   ? 2
                                                : random.below(5);
  switch (kind) {
    case 0: {
      const double a = size(0.15, 0.3), b = size(0.15, 0.3), c = size(0.15, 0.3);
      return Shape::box({a, b, c});
    }
    case 1: return Shape::sphere(size(0.15, 0.35));
    case 2: {
      constexpr int kPoints = 14;
      const Vec3 axes(size(0.2, 0.4), size(0.2, 0.4), size(0.2, 0.4));
      std::vector<Vec3> points;
      for (int k = 0; k < kPoints; ++k) points.push_back(axes.cwiseProduct(random_direction(random)));
      return Shape::hull(make_convex_hull(points).value());
    }
    case 3: {
      const double radius = size(0.12, 0.2);
      return Shape::capsule(radius, size(0.1, 0.3));
    }
    default: {
      const double radius = size(0.15, 0.25);
      return Shape::cylinder(radius, size(0.15, 0.35));
    }
  }
}

Mat3 random_rotation(Random& random) {
  return rotation_exp(random.uniform(0, std::numbers::pi) * random_direction(random));
}

/// In layers of a square of half width `reach` from the height `z` on, a unit and a tenth apart. Nothing goes
/// within `clear` of the middle.
void drop(Setup& setup, Things things, int count, double unit, double reach, double z, double clear,
          Random& random) {
  constexpr double kDistance = 1.1, kReach = 0.02;
  const double pitch = kDistance * unit;
  const int columns = 1 + static_cast<int>(2 * (reach - 0.55 * unit) / pitch);
  for (int k = 0, at = 0; k < count; ++at) {
    const int i = at % columns, j = at / columns % columns, layer = at / columns / columns;
    const Vec3 middle(pitch * (i - 0.5 * (columns - 1)), pitch * (j - 0.5 * (columns - 1)),
                      z + pitch * layer);
    if (middle.head<2>().norm() < clear) continue;
    const Vec3 off =
        kReach * unit * Vec3(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1));
    const Shape shape = random_thing(things, unit, random);
    const Mat3 R = random_rotation(random);
    add_solid(setup, shape, kDensity * volume(shape), {R, middle + off});
    ++k;
  }
}

/// A rod that hangs down, from its upper end.
Part rod(double length, double radius) { return capsule({0, 0, -radius}, {0, 0, radius - length}, radius); }

}  // namespace

Setup bin(Things things, int count, std::uint64_t seed) {
  Setup setup;
  Random random(17 + seed);
  const double half = 0.5 * std::cbrt(0.8 * count);
  add_walls(setup, half, 2 * half);
  drop(setup, things, count, 1, half, 0.7, 0, random);
  return setup;
}

Setup drum(int spheres, std::uint64_t seed) {
  constexpr double kRadius = 2, kHalf = 1.1, kThick = 0.1, kRate = 1.2;
  constexpr int kStaves = 16;
  Setup setup;
  Random random(23 + seed);
  const Vec3 middle(0, 0, kRadius + 1);
  BodyPlan shell{.name = "drum", .X_PB = Transform::translation(middle)};
  shell.hinges.push_back(held(Vec3::UnitY(), 1e6));
  shell.hinges[0].servo.damping = 1e5;
  shell.hinges[0].servo.rate = kRate;
  const double side = kRadius * std::tan(std::numbers::pi / kStaves) + kThick;
  for (int k = 0; k < kStaves; ++k) {
    const Mat3 R = rotation_exp(Vec3(0, 2 * std::numbers::pi * k / kStaves, 0));
    shell.parts.push_back({Shape::box({kThick, kHalf, side}), {R, R * Vec3(kRadius + kThick, 0, 0)}, 100});
  }
  for (const double y : {-kHalf - kThick, kHalf + kThick})
    shell.parts.push_back(
        {Shape::box({kRadius + kThick, kThick, kRadius + kThick}), Transform::translation({0, y, 0}), 200});
  setup.bodies.push_back(std::move(shell));
  constexpr double kPitch = 0.31, kReach = kRadius - 0.25, kSide = kHalf - 0.2;
  int left = spheres;
  for (double z = -kReach; left > 0 && z < kReach; z += kPitch) {
    for (double x = -kReach; left > 0 && x < kReach; x += kPitch) {
      if (std::hypot(x, z) > kReach) continue;
      for (double y = -kSide; left > 0 && y <= kSide; y += kPitch, --left) {
        const Shape shape = Shape::sphere(random.uniform(0.1, 0.15));
        add_solid(setup, shape, kDensity * volume(shape), Transform::translation(middle + Vec3(x, y, z)));
      }
    }
  }
  return setup;
}

Setup stirred_bin(int things, std::uint64_t seed) {
  constexpr double kHalf = 0.8, kUnit = 0.25, kUpper = 0.5, kStick = 0.8;
  Setup setup;
  setup.dt = 0.01;
  Random random(29 + seed);
  RobotBuilder b(setup, "");
  add_walls(setup, kHalf, 1);
  Hinge turn = held(Vec3::UnitZ(), 2000);
  turn.servo.rate = 2;
  const int upper = b.add("column", -1, Vec3(0, 0, kUpper + kStick + 0.15), {turn}, {rod(kUpper, 0.05)});
  const int stick = b.add("stick", upper, Vec3(0, 0, -kUpper), {held(Vec3::UnitY(), 2000, 0.35, 0.25)},
                          {rod(kStick, 0.03)});
  b.add("paddle", stick, Vec3(0, 0, -kStick), {held(Vec3::UnitY(), 500, 0, 0.3)},
        {block(1, {0.12, 0.015, 0.08}, {0, 0, -0.05})});
  drop(setup, Things::kMixed, things, kUnit, kHalf, 0.2, 0.42, random);
  return setup;
}

Setup hand_in_bin(int things, std::uint64_t seed) {
  constexpr double kHalf = 0.35, kUnit = 0.1, kArm = 0.4, kFinger = 0.06;
  Setup setup;
  setup.dt = 0.005;
  setup.floor_friction = setup.body_friction = 0.8;
  Random random(31 + seed);
  RobotBuilder b(setup, "");
  add_walls(setup, kHalf, 0.4);
  const Vec3 x = Vec3::UnitX(), y = Vec3::UnitY(), z = Vec3::UnitZ();
  const int arm = b.add("arm", -1, Vec3(0, 0, 2 * kArm + 0.2), {held(x, 500, 0, 0.1), held(y, 500, 0, 0.15)},
                        {rod(kArm, 0.04)});
  const int fore =
      b.add("forearm", arm, Vec3(0, 0, -kArm), {held(y, 500, 0, -0.2)}, {rod(kArm - 0.05, 0.035)});
  const int palm = b.add("palm", fore, Vec3(0, 0, -kArm), {held(z, 50, 0, 0.3)},
                         {block(0.4, {0.04, 0.015, 0.04}, {0, 0, 0.005})});
  const auto finger = [&](const std::string& name, const Vec3& at, double turn) {
    const Transform X{rotation_exp(Vec3(0, 0, turn)), at};
    const int near = b.add(name + "0", palm, X, {held(x, 5, -0.3, 0.6)}, {rod(kFinger, 0.008)});
    const int middle =
        b.add(name + "1", near, Vec3(0, 0, -kFinger), {held(x, 5, -0.3, 0.6)}, {rod(0.8 * kFinger, 0.008)});
    b.add(name + "2", middle, Vec3(0, 0, -0.8 * kFinger), {held(x, 3, -0.2, 0.4)},
          {rod(0.6 * kFinger, 0.008)});
  };
  for (const double at : {-0.03, -0.01, 0.01, 0.03})
    finger(fmt::format("finger{}", at), {at, 0.01, -0.04}, 0);
  finger("thumb", {0, -0.02, -0.04}, std::numbers::pi);
  drop(setup, Things::kMixed, things, kUnit, kHalf, 0.08, 0.2, random);
  return setup;
}

}  // namespace karakuri::bench
