// Stacks stand: deep, heavy on top, and for long.
#include <gtest/gtest.h>

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

  Stack() {
    stone = add_material(scene, 0.5);
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

}  // namespace
}  // namespace karakuri
