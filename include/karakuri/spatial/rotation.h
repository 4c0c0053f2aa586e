// Rotations and their Lie maps.
//   exp([phi]x) = E + sin|phi|/|phi| [phi]x + (1 - cos|phi|)/|phi|^2 [phi]x^2       (Rodrigues)
// Small angles use the series, so that nothing is lost or divided by zero at phi -> 0.
#pragma once

#include "karakuri/spatial/types.h"

namespace karakuri {

/// The unit quaternion of the rotation by |phi| about phi [rad].
Quat quat_exp(const Vec3& phi);
/// The rotation vector of a unit quaternion, the short way round: |result| <= pi.
Vec3 quat_log(const Quat& q);

/// The matrix that takes the angular velocity w of q, dq/dt = (0, w) q / 2, to the rate of phi = quat_log(q):
///   d phi/dt = (E - [phi]x / 2 + (1 - t cot t) / |phi|^2 [phi]x^2) w,   t = |phi| / 2
Mat3 quat_log_rate(const Vec3& phi);

Mat3 rotation_exp(const Vec3& phi);
Vec3 rotation_log(const Mat3& R);

/// The quaternion scaled to length one; the identity when it is zero or not finite.
Quat normalized_or_identity(const Quat& q);

/// The rotation whose third column is the direction of `z`, the short way from the z axis. @pre z is not zero
Mat3 frame_with_z(const Vec3& z);

}  // namespace karakuri
