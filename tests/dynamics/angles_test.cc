// Cosines and sines against the C library in extended precision.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "dynamics/body_pass.h"
#include "support/test_models.h"

namespace karakuri::test {
namespace {

TEST(Angles, WithinTwoUnitsOfTheLastPlace) {
  const Model model = compile_or_die(chain(7));  // not a multiple of four
  Workspace ws(model);
  Random random(31);
  for (int repeat = 0; repeat < 200000; ++repeat) {
    double q[7];
    const double reach = std::pow(10.0, random.uniform(-8, 9));  // also beyond the vector code's reach of 1e6
    for (double& angle : q) angle = random.uniform(-reach, reach);
    kernel::evaluate_angles(model, q, ws);
    for (int k = 0; k < 7; ++k) {
      const long double c = std::cos(static_cast<long double>(q[k])),
                        s = std::sin(static_cast<long double>(q[k]));
      // two units of the last place of a result in [0.5, 1], of which 1.6 are used, or 1.5 where products and
      // sums are fused; smaller results have smaller units near zeros
      ASSERT_LT(std::abs(static_cast<double>(ws.cosine[k] - c)), 2.2e-16) << q[k];
      ASSERT_LT(std::abs(static_cast<double>(ws.sine[k] - s)), 2.2e-16) << q[k];
      if (std::abs(q[k]) < 0.5) {  // small angles keep their relative precision
        ASSERT_LE(std::abs(static_cast<double>(ws.sine[k] - s)), 2.3e-16 * std::abs(q[k])) << q[k];
      }
    }
  }
}

TEST(Angles, NotFiniteStaysNotFinite) {
  const Model model = compile_or_die(chain(4));
  Workspace ws(model);
  const double q[4] = {0.5, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(),
                       -1.0};
  kernel::evaluate_angles(model, q, ws);
  EXPECT_TRUE(std::isnan(ws.cosine[1]) && std::isnan(ws.sine[2]));
  EXPECT_DOUBLE_EQ(ws.cosine[0], std::cos(0.5));
  EXPECT_DOUBLE_EQ(ws.sine[3], std::sin(-1.0));
}

}  // namespace
}  // namespace karakuri::test
