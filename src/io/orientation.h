// The ways in which files write orientations.
#pragma once

#include <cmath>
#include <numbers>
#include <optional>
#include <span>

#include "karakuri/spatial/types.h"

namespace karakuri::io {

inline Mat3 turn_x(double a) { return Eigen::AngleAxisd(a, Vec3::UnitX()).toRotationMatrix(); }
inline Mat3 turn_y(double a) { return Eigen::AngleAxisd(a, Vec3::UnitY()).toRotationMatrix(); }
inline Mat3 turn_z(double a) { return Eigen::AngleAxisd(a, Vec3::UnitZ()).toRotationMatrix(); }

/// Roll about x, then pitch about y, then yaw about z, all fixed axes (URDF, SDF).
inline Mat3 from_rpy(const Vec3& rpy) { return turn_z(rpy.z()) * turn_y(rpy.y()) * turn_x(rpy.x()); }

/// The same in degrees; right angles give exact zeros and ones.
inline Mat3 from_rpy_degrees(const Vec3& rpy) {
  return from_rpy(rpy * (std::numbers::pi / 180)).unaryExpr([](double x) {
    const double whole = std::round(x);
    return std::abs(x - whole) < 1e-15 ? whole + 0.0 : x;
  });
}

/// From w, x, y, z of any length but zero.
inline std::optional<Mat3> from_quaternion(std::span<const double> q) {
  const Eigen::Quaterniond quaternion(q[0], q[1], q[2], q[3]);
  const double length = quaternion.norm();
  if (!(length > 1e-150) || !std::isfinite(length)) return std::nullopt;
  return quaternion.normalized().toRotationMatrix();
}

}  // namespace karakuri::io
