// The ways in which files write orientations.
#pragma once

#include "karakuri/spatial/types.h"

namespace karakuri::io {

inline Mat3 turn_x(double a) { return Eigen::AngleAxisd(a, Vec3::UnitX()).toRotationMatrix(); }
inline Mat3 turn_y(double a) { return Eigen::AngleAxisd(a, Vec3::UnitY()).toRotationMatrix(); }
inline Mat3 turn_z(double a) { return Eigen::AngleAxisd(a, Vec3::UnitZ()).toRotationMatrix(); }

/// Roll about x, then pitch about y, then yaw about z, all fixed axes (URDF, SDF).
inline Mat3 from_rpy(const Vec3& rpy) { return turn_z(rpy.z()) * turn_y(rpy.y()) * turn_x(rpy.x()); }

}  // namespace karakuri::io
