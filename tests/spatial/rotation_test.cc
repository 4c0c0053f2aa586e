// Lie maps of rotations: exact at tiny angles, near pi, and beyond.
#include "karakuri/spatial/rotation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "karakuri/core/random.h"

namespace karakuri::test {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kEps = std::numeric_limits<double>::epsilon();

Vec3 random_direction(Random& random) {
  return Vec3(random.normal(), random.normal(), random.normal()).normalized();
}

/// From the smallest to just below pi, with both sides of the places where series take over.
std::vector<double> angles() {
  std::vector<double> all{0.0,    1e-300,   1e-100,   1e-20,     1e-12,    1e-8, 1e-6,
                          0.5e-4, 0.999e-4, 1.001e-4, 1.999e-4,  2.001e-4, 1e-3, 0.1,
                          0.2499, 0.2501,   1.0,      0.5 * kPi, 2.0,      3.0};
  for (double below : {1e-1, 1e-3, 1e-5, 1e-8, 1e-12}) all.push_back(kPi - below);
  return all;
}

/// The matrix exponential by its definition; 60 terms reach rounding up to |phi| = 2 pi.
Mat3 exponential_series(const Vec3& phi) {
  Mat3 sum = Mat3::Identity(), term = Mat3::Identity();
  for (int k = 1; k < 60; ++k) {
    term = term * skew(phi) / k;
    sum += term;
  }
  return sum;
}

TEST(Rotation, ExpIsTheMatrixExponential) {
  Random random(1);
  for (double angle : angles()) {
    const Vec3 phi = angle * random_direction(random);
    // terms of the series grow to 5 before they shrink, each rounded
    EXPECT_LT((rotation_exp(phi) - exponential_series(phi)).cwiseAbs().maxCoeff(), 20 * kEps) << angle;
  }
}

TEST(Rotation, ExpOfTinyAnglesKeepsEveryDigit) {
  for (double angle : {1e-300, 1e-20, 1e-8, 0.9e-4}) {
    const Quat q = quat_exp({0, angle, 0});
    EXPECT_NEAR(q.y() / std::sin(0.5 * angle), 1.0, 4 * kEps) << angle;
    EXPECT_EQ(q.x(), 0.0);
  }
}

TEST(Rotation, QuatLogUndoesExp) {
  Random random(2);
  for (double angle : angles()) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Vec3 phi = angle * random_direction(random);
      // relative: also a rotation by 1e-300 comes back with all digits
      EXPECT_LE((quat_log(quat_exp(phi)) - phi).norm(), 8 * kEps * angle) << angle;
    }
  }
}

TEST(Rotation, MatrixLogUndoesExp) {
  Random random(3);
  for (double angle : angles()) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Vec3 phi = angle * random_direction(random);
      // the entries of the matrix are rounded at 1e-16 of one, and so is the axis at angles of order one
      EXPECT_LE((rotation_log(rotation_exp(phi)) - phi).norm(), 20 * kEps * angle) << angle;
    }
  }
}

TEST(Rotation, LogTakesTheShortWay) {
  EXPECT_NEAR(quat_log(quat_exp({0, 0, 1.5 * kPi})).z(), -0.5 * kPi, 4 * kEps);
  EXPECT_NEAR(quat_log(quat_exp({0, 0, 100.0})).z(), 100.0 - 32 * kPi, 100 * kEps);
  Random random(4);
  for (int repeat = 0; repeat < 100; ++repeat) {
    const Quat q(random.normal(), random.normal(), random.normal(), random.normal());
    const Quat unit = normalized_or_identity(q);
    EXPECT_LE(quat_log(unit).norm(), kPi + 4 * kEps);
    EXPECT_EQ(quat_log(unit), quat_log(Quat(-unit.coeffs()))) << "q and -q are the same rotation";
  }
}

TEST(Rotation, LogAtHalfATurn) {
  const Vec3 axis = Vec3(1, 2, -2) / 3.0;
  EXPECT_NEAR(quat_log(Quat(0, axis.x(), axis.y(), axis.z())).norm(), kPi, 4 * kEps);
  const Vec3 phi = rotation_log(2 * axis * axis.transpose() - Mat3::Identity());
  EXPECT_NEAR(phi.norm(), kPi, 4 * kEps);
  EXPECT_NEAR(std::abs(phi.dot(axis)), kPi, 8 * kEps) << "either direction is right";
}

TEST(Rotation, LogRateIsTheDerivativeOfTheLog) {
  Random random(5);
  constexpr double kStep = 1e-5;  // central differences: errors of 1e-10, and rounding of 1e-11
  for (const double angle : angles()) {
    if (angle > kPi - 1e-3) continue;  // the log turns round there
    const Vec3 phi = angle * random_direction(random), w = random_direction(random);
    const Quat q = quat_exp(phi);
    const Vec3 ahead = quat_log(quat_exp(kStep * w) * q), back = quat_log(quat_exp(-kStep * w) * q);
    EXPECT_LT((quat_log_rate(phi) * w - (ahead - back) / (2 * kStep)).norm(), 1e-8) << angle;
  }
}

TEST(Rotation, NormalizedOrIdentity) {
  EXPECT_EQ(normalized_or_identity(Quat(0, 0, 0, 0)).w(), 1.0);
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (double bad : {nan, inf, -inf}) {
    const Quat q = normalized_or_identity(Quat(0.5, bad, 0.5, 0.5));
    EXPECT_EQ(q.w(), 1.0);
    EXPECT_EQ(q.x(), 0.0);
  }
  for (double size : {1.0, 1e-10, 1e10, 1e-200, 1e200}) {  // also where the square of the length is no double
    const Quat q = normalized_or_identity(Quat(3 * size, 0, -4 * size, 0));
    EXPECT_NEAR(q.w(), 0.6, 2 * kEps) << size;
    EXPECT_NEAR(q.y(), -0.8, 2 * kEps) << size;
  }
}

TEST(Rotation, FrameWithZ) {
  Random random(5);
  std::vector<Vec3> directions{{0, 0, 1}, {0, 0, -1}, {0, 0, 3}, {1, 0, 0}, {1e200, 0, 1e200}};
  for (double tilt : {1e-1, 1e-3, 1e-6, 1e-9, 1e-13, 1e-100, 1e-200}) {  // nearly straight down
    directions.push_back({tilt, -0.7 * tilt, -1});
  }
  for (int repeat = 0; repeat < 100; ++repeat) directions.push_back(random_direction(random));
  for (const Vec3& z : directions) {
    const Mat3 R = frame_with_z(z);
    const Vec3 n = z.stableNormalized();
    EXPECT_LT((R.transpose() * R - Mat3::Identity()).norm(), 10 * kEps) << z.transpose();
    EXPECT_GT(R.determinant(), 0);
    EXPECT_LT((R.col(2) - n).norm(), 4 * kEps) << z.transpose();
    // the short way: turned by the angle between the two and no more
    EXPECT_NEAR(rotation_log(R).norm(), std::atan2(std::hypot(n.x(), n.y()), n.z()), 20 * kEps)
        << z.transpose();
  }
}

}  // namespace
}  // namespace karakuri::test
