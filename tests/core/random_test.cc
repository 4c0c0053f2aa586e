// Random numbers are the same everywhere, and random.
#include "karakuri/core/random.h"

#include <gtest/gtest.h>

#include <cmath>

namespace karakuri::test {
namespace {

TEST(Random, IsSplitmix64) {
  Random random(1234567);
  // the published sequence of this seed
  EXPECT_EQ(random.bits(), 6457827717110365317u);
  EXPECT_EQ(random.bits(), 3203168211198807973u);
  EXPECT_EQ(random.bits(), 9817491932198370423u);
}

TEST(Random, StateIsAllThereIsToSave) {
  Random random(5);
  for (int i = 0; i < 10; ++i) random.bits();
  Random restored(random.state());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(restored.bits(), random.bits());
}

TEST(Random, Moments) {
  constexpr int kDraws = 100'000;
  Random random(7);
  double mean = 0, variance = 0, uniform = 0;
  int counts[6] = {};
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.normal();
    mean += x / kDraws;
    variance += x * x / kDraws;
    const double u = random.uniform(2, 4);
    ASSERT_GE(u, 2);
    ASSERT_LT(u, 4);
    uniform += u / kDraws;
    ++counts[random.below(6)];
  }
  // five standard deviations: 1, sqrt(2) and 1/sqrt(3), each over sqrt(100000) = 316
  EXPECT_NEAR(mean, 0, 5.0 / 316);
  EXPECT_NEAR(variance, 1, 5.0 * 1.42 / 316);
  EXPECT_NEAR(uniform, 3, 5.0 * 0.58 / 316);
  for (int count : counts) EXPECT_NEAR(count, kDraws / 6.0, 5 * std::sqrt(kDraws * 5.0 / 36));
}

}  // namespace
}  // namespace karakuri::test
