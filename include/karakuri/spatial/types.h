// The names for Eigen types used everywhere.
//
// Users compile with other flags than we do, and Eigen's alignment depends on the flags. So nothing that
// crosses the library's boundary may be over-aligned or owned by Eigen: 3-vectors and 3x3 matrices have no
// alignment, quaternions are declared unaligned, arrays are std::vector seen through Map and Ref.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>

namespace karakuri {

using Vec3 = Eigen::Vector3d;
using Mat3 = Eigen::Matrix3d;
using Quat = Eigen::Quaternion<double, Eigen::DontAlign>;

/// Arguments: any contiguous vector or matrix of doubles, seen without copying.
using VecIn = const Eigen::Ref<const Eigen::VectorXd>&;
using VecOut = Eigen::Ref<Eigen::VectorXd>;
using MatOut = Eigen::Ref<Eigen::MatrixXd, 0, Eigen::OuterStride<>>;

/// [v]x, so that [v]x u = v x u.
inline Mat3 skew(const Vec3& v) {
  Mat3 m;
  m << 0, -v.z(), v.y(), v.z(), 0, -v.x(), -v.y(), v.x(), 0;
  return m;
}

}  // namespace karakuri
