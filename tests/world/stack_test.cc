// Stacks stand: deep, heavy on top, and for long.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "world/scenes.h"

namespace karakuri {
namespace {

using test::add_material;
using test::make_world;

struct Stack {
  Scene scene;
  MaterialId stone;
  std::vector<LinkId> boxes;

  explicit Stack(double friction = 0.5) {
    stone = add_material(scene, friction);
    scene.add_ground(stone);
  }
  void add(const Vec3& at, double mass = 1) {
    boxes.push_back(scene.add_body("box" + std::to_string(boxes.size()), Shape::box({0.5, 0.5, 0.5}), mass,
                                   Transform::translation(at), stone));
  }
};

struct Outcome {
  double penetration = 0;  // deepest of all steps [m]
  double moved = 0;        // of any box, from half time on [m]
  bool asleep = false;     // at the end
};

Outcome run(Stack stack, double seconds, bool sleeps) {
  const std::vector<LinkId> boxes = stack.boxes;
  WorldSettings settings{.dt = 1.0 / 60};
  settings.sleep.enabled = sleeps;
  World world = make_world(std::move(stack.scene), settings, {0, 0, -9.81});
  Outcome out;
  std::vector<Vec3> middle;
  const int steps = static_cast<int>(60 * seconds);
  for (int k = 0; k < steps; ++k) {
    world.step();
    out.penetration = std::max(out.penetration, world.report().penetration);
    if (k == steps / 2)
      for (const LinkId box : boxes) middle.push_back(world.pose(box).p);
  }
  for (std::size_t i = 0; i < boxes.size(); ++i)
    out.moved = std::max(out.moved, (world.pose(boxes[i]).p - middle[i]).norm());
  out.asleep = true;
  for (const LinkId box : boxes) out.asleep = out.asleep && !world.awake(box);
  return out;
}

Stack pyramid(int rows) {
  Stack s;
  for (int r = 0; r < rows; ++r)
    for (int i = 0; i < rows - r; ++i) s.add({1.05 * (i - 0.5 * (rows - r)), 0, 0.5 + r});
  return s;
}

TEST(Stack, APyramidOf105BoxesStands) {
  const Outcome out = run(pyramid(14), 10, false);
  EXPECT_LE(out.penetration, 0.5e-3);
  EXPECT_LE(out.moved, 1e-5);
}

TEST(Stack, APyramidOf44RowsStandsAndSleepsSlow) {
  const Outcome awake = run(pyramid(44), 10, false);
  EXPECT_LE(awake.penetration, 0.5e-3);
  EXPECT_LE(awake.moved, 1e-5);
  EXPECT_TRUE(run(pyramid(44), 2, true).asleep);
}

TEST(Stack, AWallStands) {
  Stack s;
  for (int r = 0; r < 10; ++r)
    for (int i = 0; i < (r % 2 ? 9 : 10); ++i) s.add({1.02 * i + (r % 2 ? 0.51 : 0), 0, 0.5 + r});
  ASSERT_EQ(s.boxes.size(), 95u);
  const Outcome out = run(std::move(s), 10, false);
  EXPECT_LE(out.penetration, 0.5e-3);
  EXPECT_LE(out.moved, 1e-5);
}

TEST(Stack, AThousandTimesHeavierBoxStandsOnTop) {
  Stack s;
  for (int k = 0; k < 5; ++k) s.add({0, 0, 0.5 + k}, k == 4 ? 1000 : 1);
  const Outcome out = run(std::move(s), 10, false);
  EXPECT_LE(out.penetration, 0.5e-3);
  EXPECT_LE(out.moved, 1e-5);
}

TEST(Stack, APyramidThatFallsIntoPlaceComesToRest) {
  Stack s;
  for (int r = 0; r < 6; ++r)
    for (int i = 0; i < 6 - r; ++i) s.add({1.05 * (i - 0.5 * (6 - r)), 0, 0.55 + 1.05 * r});
  const Outcome out = run(std::move(s), 10, false);
  EXPECT_LE(out.penetration, 0.5e-3);
  EXPECT_LE(out.moved, 1e-5);
}

// ---- what stands by friction alone

/// Two cards lean on each other in each tent; a level of tents carries a lid that carries the next, of one
/// tent less.
Stack card_house(int levels) {
  constexpr double kHalf = 0.5, kWidth = 0.35, kThin = 0.01;  // of a card [m]
  constexpr double kLean = 15 * std::numbers::pi / 180;
  // of its middle above its lowest corner, and aside of where the two meet
  const double rise = kHalf * std::cos(kLean) + kThin * std::sin(kLean);
  const double aside = kHalf * std::sin(kLean) + kThin * std::cos(kLean);
  Stack s;
  const auto add = [&](const Vec3& half, double mass, const Transform& X) {
    s.boxes.push_back(
        s.scene.add_body("card" + std::to_string(s.boxes.size()), Shape::box(half), mass, X, s.stone));
  };
  double floor = 0;
  for (int tents = levels; tents > 0; --tents) {
    for (int k = 0; k < 2 * tents; ++k) {
      const double side = k % 2 == 0 ? -1 : 1, middle = 4.1 * aside * (k / 2 - 0.5 * (tents - 1));
      const Mat3 lean = Eigen::AngleAxisd(-side * kLean, Vec3::UnitY()).toRotationMatrix();
      add({kThin, kWidth, kHalf}, 1, Transform{lean, {middle + side * aside, 0, floor + rise}});
    }
    const double lid = 2.05 * aside * std::max(1, tents - 1);  // half of its length
    add({lid, kWidth, kThin}, lid / kHalf, Transform::translation({0, 0, floor + 2 * rise + kThin}));
    floor += 2 * (rise + kThin);
  }
  return s;
}

TEST(Stack, ACardHouseStandsSlow) {
  const Outcome out = run(card_house(3), 10, false);
  EXPECT_LT(out.penetration, 5e-4);
  EXPECT_LT(out.moved, 1e-5);  // from 5 to 10 s
}

/// Half a ring of wedges, pressed together by their weight.
Stack arch(int stones, double friction) {
  constexpr double kInner = 3, kOuter = 4, kHalfWidth = 0.5, kDensity = 1000;
  Stack s(friction);
  for (int k = 0; k < stones; ++k) {
    const auto along = [&](double part) {
      const double angle = std::numbers::pi * (k + part) / stones;
      return Vec3(std::cos(angle), 0, std::sin(angle));
    };
    const Vec3 middle = 0.5 * (kInner + kOuter) * along(0.5);
    std::vector<Vec3> corners;
    for (const double part : {0.0, 1.0})
      for (const double radius : {kInner, kOuter})
        for (const double y : {-kHalfWidth, kHalfWidth})
          corners.push_back(radius * along(part) + Vec3(0, y, 0) - middle);
    const Shape wedge = Shape::hull(make_convex_hull(corners).value());
    s.boxes.push_back(s.scene.add_body("wedge" + std::to_string(k), wedge, kDensity * volume(wedge),
                                       Transform::translation(middle), s.stone));
  }
  return s;
}

TEST(Stack, AnArchStandsSlow) {
  const Outcome out = run(arch(21, 0.7), 10, false);
  EXPECT_LT(out.penetration, 5e-4);
  EXPECT_LT(out.moved, 1e-5);
}

// It is friction that holds it.
TEST(Stack, AnArchWithoutFrictionFalls) { EXPECT_GT(run(arch(21, 0), 2, false).moved, 0.1); }

}  // namespace
}  // namespace karakuri
