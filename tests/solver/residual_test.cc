// The measures themselves: zero exactly at solutions, whatever ρ; and not fooled by sizes.
#include "karakuri/solver/residual.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

namespace karakuri::solver {
namespace {

Problem one_contact(double mu) {
  Problem p;
  p.clear(OperatorKind::kDense);
  p.add_cone(mu);
  p.dense = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  return p;
}

TEST(Residual, ZeroAtOpenStickAndSlipForEveryRho) {
  const Problem p = one_contact(0.5);
  struct Case {
    std::array<double, 3> lambda;
    std::array<double, 3> u;
  };
  const Case cases[] = {
      {{0, 0, 0}, {0.3, 2, -1}},                 // open, flying off
      {{2, 0.6, -0.8}, {0, 0, 0}},               // stick, on the cone
      {{2, 0.6, 0.8}, {0, -3 * 0.6, -3 * 0.8}},  // slip: friction against the velocity
      {{2, 0.1, 0.0}, {0, 0, 0}},                // stick inside
  };
  for (const Case& c : cases)
    for (const double rho : {1e-3, 1.0, 1e3})
      EXPECT_LT(natural_map(p, c.lambda, c.u, std::array{rho}), 1e-12 / rho);
}

TEST(Residual, SeesEveryKindOfError) {
  const Problem p = one_contact(0.5);
  const std::array<double, 3> still{0, 0, 0};
  EXPECT_NEAR(natural_map(p, std::array{0.0, 0.0, 0.0}, std::array{-1.0, 0.0, 0.0}), 1.0, 1e-15);  // sinks in
  EXPECT_GT(natural_map(p, std::array{1.0, 1.0, 0.0}, still), 0.3);                      // outside the cone
  EXPECT_GT(natural_map(p, std::array{1.0, 0.5, 0.0}, std::array{0.0, 1.0, 0.0}), 0.4);  // pushes along
  EXPECT_GT(natural_map(p, std::array{1.0, 0.0, 0.0}, std::array{1.0, 0.0, 0.0}),
            0.7);  // pulls at a distance
}

TEST(Residual, HugeImpulsesDoNotHideVelocities) {
  // λ − (λ − u) is zero in doubles for λ = 1e17: the residual must still say that u = −1.5
  const Problem p = one_contact(0.5);
  EXPECT_GE(natural_map(p, std::array{1e17, 0.0, 0.0}, std::array{-1.5, 0.0, 0.0}), 1.5);
  EXPECT_GE(natural_map(p, std::array{1e17, 0.5e17, 0.0}, std::array{-1.5, 0.1, 0.0}), 1.0);
  Problem row;
  row.clear(OperatorKind::kDense);
  row.add_complementarity();
  EXPECT_GE(natural_map(row, std::array{1e17}, std::array{-1.5}), 1.5);
}

TEST(Residual, FrictionlessContactsAreComplementarityRows) {
  const Problem p = one_contact(0.0);
  EXPECT_NEAR(natural_map(p, std::array{0.0, 0.0, 0.0}, std::array{-1.0, 5.0, 0.0}), 1.0, 1e-15);
  EXPECT_NEAR(natural_map(p, std::array{0.0, 0.0, 0.0}, std::array{1.0, 5.0, 0.0}), 0.0, 1e-15);
  EXPECT_NEAR(natural_map(p, std::array{2.0, 0.0, 0.0}, std::array{0.0, 5.0, 0.0}), 0.0, 1e-15);
}

TEST(Residual, DirectionErrorIsTheAngle) {
  const Problem p = one_contact(0.5);
  for (const double degrees : {0.0, 1e-4, 31.0, 90.0, 180.0}) {
    const double a = degrees * std::numbers::pi / 180.0;
    const std::array<double, 3> lambda{2, -std::cos(a), -std::sin(a)};
    const Residuals r = measure_all(p, lambda, std::array{0.0, 3.0, 0.0}, 1e-9, 1e-9);
    EXPECT_NEAR(r.direction_error, a, 1e-14 + 1e-14 * a);
    EXPECT_EQ(measure_all(p, lambda, std::array{0.0, 3.0, 0.0}, 10.0, 1e-9).direction_error,
              0.0);  // too slow
  }
}

TEST(Residual, ViolationAndComplementarity) {
  Problem p;
  p.clear(OperatorKind::kDense);
  p.add_complementarity();
  p.add_box(-1.0, 1.0);
  const Residuals r = measure_all(p, std::array{-0.25, 1.5}, std::array{2.0, 0.0}, 1e-9, 1e-9);
  EXPECT_DOUBLE_EQ(r.violation, 0.5);
  EXPECT_DOUBLE_EQ(r.complementarity, 0.5);
}

TEST(Residual, ScaledMeasureDoesNotDependOnTheUnitOfMass) {
  double first = 0.0;
  for (const double kilogram : {1.0, 1e-3, 1e6}) {
    Problem p = one_contact(0.5);
    for (double& w : p.dense) w *= kilogram;
    std::array<double, 1> rho{};
    block_rho(p, rho);
    const double f =
        natural_map(p, std::array{0.3 / kilogram, 0.1 / kilogram, 0.0}, std::array{0.1, 0.4, 0.0}, rho);
    if (first == 0.0) first = f;
    EXPECT_NEAR(f, first, 1e-12 * first);
  }
}

}  // namespace
}  // namespace karakuri::solver
