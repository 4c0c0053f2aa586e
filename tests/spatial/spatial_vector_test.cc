// Motions, forces and transforms: what must not depend on where and in which axes they are seen.
#include "karakuri/spatial/spatial_vector.h"

#include <gtest/gtest.h>

#include "karakuri/core/random.h"
#include "karakuri/spatial/packed.h"
#include "karakuri/spatial/rotation.h"

namespace karakuri::test {
namespace {

// A handful of operations on numbers of order one.
constexpr double kRounding = 1e-14;

Vec3 any(Random& random) { return {random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1)}; }

TEST(SpatialVector, PowerDependsOnNeitherPointNorAxes) {
  Random random(1);
  for (int repeat = 0; repeat < 20; ++repeat) {
    const Motion m{any(random), any(random)};
    const Force f{any(random), any(random)};
    const Vec3 r = any(random);
    const Mat3 R = rotation_exp(any(random));
    EXPECT_NEAR(dot(f.shifted(r), m.shifted(r)), dot(f, m), kRounding);
    EXPECT_NEAR(dot(f.rotated(R), m.rotated(R)), dot(f, m), kRounding);
  }
}

TEST(SpatialVector, VelocityOfAPointOfATurningBody) {
  const Motion spin{{0, 0, 2}, {1, 0, 0}};
  EXPECT_EQ(spin.shifted({0.5, 0, 0}).linear, Vec3(1, 1, 0));
  const Force push{{0, 0, 0}, {0, 3, 0}};
  EXPECT_EQ(push.shifted({-0.5, 0, 0}).moment, Vec3(0, 0, 1.5));
}

TEST(Transform, ComposesAndInverts) {
  Random random(2);
  const Transform X_AB{rotation_exp(any(random)), any(random)}, X_BC{rotation_exp(any(random)), any(random)};
  const Vec3 p = any(random);
  EXPECT_LT((X_AB * X_BC * p - X_AB * (X_BC * p)).norm(), kRounding);
  EXPECT_LT((X_AB.inverse() * (X_AB * p) - p).norm(), kRounding);
  EXPECT_LT((X_AB.inverse_apply(p) - X_AB.inverse() * p).norm(), kRounding);
}

TEST(Packed, HoldsTheSameNumbersInAFixedLayout) {
  static_assert(sizeof(Packed3) == 32 && alignof(Packed3) == 32 && sizeof(Packed33) == 96);
  Random random(3);
  const Vec3 v = any(random);
  const Mat3 m = rotation_exp(v);
  EXPECT_EQ(Vec3(Packed3(v)), v);
  EXPECT_EQ(Mat3(Packed33(m)), m);
}

}  // namespace
}  // namespace karakuri::test
