#include <cmath>
#include <numbers>

#include "karakuri/core/random.h"
#include "karakuri/spatial/rotation.h"
#include "scenes/scenes.h"

namespace karakuri::bench {

namespace {

constexpr double kWood = 600, kStone = 2000;  // [kg/m^3]

void add_dense(Setup& setup, const Shape& shape, double density, const Transform& X_WB) {
  add_solid(setup, shape, density * volume(shape), X_WB);
}

/// A ball of stone that flies at the height `z` along `along` towards the middle, where it is in 0.3 s.
void strike(Setup& setup, double z, const Vec3& along, double radius, Random& random, std::uint64_t seed) {
  constexpr double kSpeed = 10, kTime = 0.3;
  const double reach = seed == 0 ? 0 : 1;
  const double speed = kSpeed * (1 + 0.3 * reach * random.uniform(-1, 1));
  const Vec3 aside = Vec3::UnitZ().cross(along);
  const Vec3 end =
      Vec3(0, 0, z * (1 + 0.3 * reach * random.uniform(-1, 1))) + 0.5 * reach * random.uniform(-1, 1) * aside;
  const double drop = 0.5 * 9.81 * kTime * kTime;
  const Shape ball = Shape::sphere(radius);
  add_dense(setup, ball, kStone,
            Transform::translation(end - kTime * speed * along + drop * Vec3::UnitZ() - radius * along));
  setup.bodies.back().velocity = speed * along;
}

}  // namespace

Setup struck_tower(int layers, std::uint64_t seed) {
  constexpr double kLength = 1.5, kHeight = 0.3, kGap = 0.01;
  constexpr double kWidth = (kLength - 2 * kGap) / 3;
  Setup setup;
  setup.loose_by = 0.45 * kGap;
  Random random(seed);
  const Shape block = Shape::box({0.5 * kLength, 0.5 * kWidth, 0.5 * kHeight});
  const Mat3 across = rotation_exp(Vec3(0, 0, 0.5 * std::numbers::pi));
  for (int layer = 0; layer < layers; ++layer) {
    const Mat3 R = layer % 2 == 0 ? Mat3(Mat3::Identity()) : across;
    for (int k = -1; k <= 1; ++k) {
      const Vec3 at = R * Vec3(0, k * (kWidth + kGap), 0) + Vec3(0, 0, kHeight * (layer + 0.5));
      add_dense(setup, block, kWood, {R, at});
    }
  }
  strike(setup, 0.6 * layers * kHeight, Vec3(1, 1, 0).normalized(), 0.4, random, seed);
  return setup;
}

Setup struck_wall(int rows, std::uint64_t seed) {
  constexpr double kLength = 1, kHeight = 0.4, kDepth = 0.5, kGap = 0.01;
  constexpr int kColumns = 10;
  Setup setup;
  setup.loose_by = 0.45 * kGap;
  Random random(seed);
  const Shape brick = Shape::box({0.5 * kLength, 0.5 * kDepth, 0.5 * kHeight});
  for (int row = 0; row < rows; ++row) {
    for (int k = 0; k < kColumns; ++k) {
      const double x = (kLength + kGap) * (k - 0.5 * (kColumns - 1) + (row % 2 == 0 ? -0.25 : 0.25));
      add_dense(setup, brick, kStone, Transform::translation({x, 0, kHeight * (row + 0.5)}));
    }
  }
  strike(setup, 0.6 * rows * kHeight, Vec3::UnitY(), 0.4, random, seed);
  return setup;
}

Setup logs_between_posts(int rows) {
  constexpr int kLong = 10;
  constexpr double kRadius = 0.15, kHalf = 1.2, kGap = 1e-3, kPost = 0.15;
  Setup setup;
  const Mat3 lying = rotation_exp(Vec3(0.5 * std::numbers::pi, 0, 0));
  const Shape log = Shape::cylinder(kRadius, kHalf);
  const double pitch = 2 * kRadius + kGap;  // along a row; from row to row they touch
  const double rise = std::sqrt(4 * kRadius * kRadius - 0.25 * pitch * pitch);
  for (int row = 0; row < rows; ++row) {
    const int count = kLong - row % 2;
    for (int k = 0; k < count; ++k) {
      add_dense(setup, log, kWood, {lying, {pitch * (k - 0.5 * (count - 1)), 0, kRadius + rise * row}});
    }
  }
  const double x = 0.5 * pitch * (kLong - 1) + kRadius + kGap + kPost, top = 0.5 * rise * rows + kRadius;
  for (const double side : {-1.0, 1.0}) {
    for (const double y : {-0.6 * kHalf, 0.6 * kHalf}) {
      add_fixed(setup, Shape::box({kPost, kPost, top}), Transform::translation({side * x, y, top}));
    }
  }
  return setup;
}

}  // namespace karakuri::bench
