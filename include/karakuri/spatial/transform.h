// Rigid transforms. X_AB is the pose of frame B in frame A: p_A = X_AB * p_B.
#pragma once

#include "karakuri/spatial/types.h"

namespace karakuri {

struct Transform {
  Mat3 R = Mat3::Identity();  // columns: axes of B in A
  Vec3 p = Vec3::Zero();      // origin of B in A [m]

  static Transform identity() { return {}; }
  static Transform translation(const Vec3& p) { return {Mat3::Identity(), p}; }
  static Transform rotation(const Mat3& R) { return {R, Vec3::Zero()}; }

  Vec3 operator*(const Vec3& point) const { return R * point + p; }
  Transform operator*(const Transform& X) const { return {R * X.R, R * X.p + p}; }
  Transform inverse() const { return {R.transpose(), -(R.transpose() * p)}; }
  /// inverse() * point, without making the inverse.
  Vec3 inverse_apply(const Vec3& point) const { return R.transpose() * (point - p); }
};

}  // namespace karakuri
