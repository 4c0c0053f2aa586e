#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "karakuri/core/random.h"
#include "karakuri/spatial/rotation.h"
#include "scenes/scenes.h"

namespace karakuri::bench {

namespace {

constexpr double kBoxMass = 1000;  // [kg]
constexpr double kGap = 0.05;      // between neighbours in a row [m]
constexpr double kLoose = 0.02;    // they may be put from their places [m]

void add_box(Setup& setup, const Vec3& at) {
  add_solid(setup, Shape::box({0.5, 0.5, 0.5}), kBoxMass, Transform::translation(at));
}

/// `count` boxes beside each other, their middle at x = 0.
void add_row(Setup& setup, int count, double y, double z) {
  for (int k = 0; k < count; ++k) add_box(setup, {(1 + kGap) * (k - 0.5 * (count - 1)), y, z});
}

Vec3 random_turn(Random& random, double reach) {
  return {random.uniform(-reach, reach), random.uniform(-reach, reach), random.uniform(-reach, reach)};
}

}  // namespace

Setup pyramid(int rows) {
  Setup setup;
  setup.loose_by = kLoose;
  for (int r = 0; r < rows; ++r) add_row(setup, rows - r, 0, 0.5 + r);
  return setup;
}

Setup wall(int rows) {
  Setup setup;
  setup.loose_by = kLoose;
  for (int r = 0; r < rows; ++r) add_row(setup, 10 - r % 2, 0, 0.5 + r);
  return setup;
}

Setup solid_pyramid(int layers) {
  Setup setup;
  setup.loose_by = kLoose;
  for (int r = 0; r < layers; ++r) {
    const int n = layers - r;
    for (int k = 0; k < n; ++k) add_row(setup, n, (1 + kGap) * (k - 0.5 * (n - 1)), 0.5 + r);
  }
  return setup;
}

Setup pile(int nx, int ny, int nz, std::uint64_t seed) {
  Setup setup;
  Random random(11 + seed);
  for (int k = 0; k < nz; ++k) {
    for (int j = 0; j < ny; ++j) {
      for (int i = 0; i < nx; ++i) {
        const Vec3 at(1.4 * (i - 0.5 * (nx - 1)), 1.4 * (j - 0.5 * (ny - 1)), 1 + 1.4 * k);
        const Transform X{rotation_exp(random_turn(random, 0.15)), at + random_turn(random, 0.05)};
        add_solid(setup, Shape::box({0.5, 0.5, 0.5}), kBoxMass, X);
      }
    }
  }
  return setup;
}

// A card of half length l and half thickness t, turned by a from the vertical, reaches l cos a + t sin a
// above and below its middle, and l sin a + t cos a to each side.
Setup card_house(int levels) {
  constexpr double l = 0.5, w = 0.35, t = 0.01, mass = 1;
  const double a = 15 * std::numbers::pi / 180;
  const double up = l * std::cos(a) + t * std::sin(a), aside = l * std::sin(a) + t * std::cos(a);
  Setup setup;
  double z = 0;
  for (int pairs = levels; pairs > 0; --pairs) {
    for (int k = 0; k < pairs; ++k) {
      const double x = 4.1 * aside * (k - 0.5 * (pairs - 1));
      for (const double side : {-1.0, 1.0}) {
        const Transform X{rotation_exp(Vec3(0, -side * a, 0)), Vec3(x + side * aside, 0, z + up)};
        add_solid(setup, Shape::box({t, w, l}), mass, X);
      }
    }
    z += 2 * up;
    const double half = 2.05 * aside * std::max(1, pairs - 1);
    add_solid(setup, Shape::box({half, w, t}), mass * half / l, Transform::translation({0, 0, z + t}));
    z += 2 * t;
  }
  return setup;
}

Setup arch(int stones) {
  constexpr double inner = 3, outer = 4, half_width = 0.5, density = 1000;
  Setup setup;
  setup.floor_friction = setup.body_friction = 0.7;
  for (int k = 0; k < stones; ++k) {
    const double from = std::numbers::pi * k / stones, to = std::numbers::pi * (k + 1) / stones;
    const double middle = 0.5 * (from + to);
    const Vec3 centre = 0.5 * (inner + outer) * Vec3(std::cos(middle), 0, std::sin(middle));
    std::vector<Vec3> corners;
    for (const double angle : {from, to}) {
      for (const double r : {inner, outer}) {
        for (const double y : {-half_width, half_width}) {
          corners.push_back(Vec3(r * std::cos(angle), y, r * std::sin(angle)) - centre);
        }
      }
    }
    const Shape stone = Shape::hull(make_convex_hull(corners).value());
    add_solid(setup, stone, density * volume(stone), Transform::translation(centre));
  }
  return setup;
}

}  // namespace karakuri::bench
