#include "karakuri/spatial/rotation.h"

#include <cmath>

namespace karakuri {

Quat quat_exp(const Vec3& phi) {
  const double angle2 = phi.squaredNorm();
  const double angle = std::sqrt(angle2);
  // sin(a/2)/a; the series is exact to rounding below 1e-4, where the quotient would lose digits
  const double s = angle < 1e-4 ? 0.5 - angle2 / 48.0 : std::sin(0.5 * angle) / angle;
  return Quat(std::cos(0.5 * angle), s * phi.x(), s * phi.y(), s * phi.z());
}

Vec3 quat_log(const Quat& q) {
  const Vec3 v = q.w() < 0 ? Vec3(-q.vec()) : Vec3(q.vec());
  const double s = v.norm();
  const double c = std::abs(q.w());
  // angle/sin(angle/2) with angle = 2 atan2(s, c); series in s/c below 1e-4
  const double scale = s < 1e-4 ? 2.0 / c * (1.0 - s * s / (3.0 * c * c)) : 2.0 * std::atan2(s, c) / s;
  return scale * v;
}

Mat3 rotation_exp(const Vec3& phi) { return quat_exp(phi).toRotationMatrix(); }

Vec3 rotation_log(const Mat3& R) { return quat_log(Quat(R)); }

Quat normalized_or_identity(const Quat& q) {
  const double n = q.norm();
  if (!(n > 0) || !std::isfinite(n)) return Quat::Identity();
  return Quat(q.coeffs() / n);
}

Mat3 frame_with_z(const Vec3& z) { return Quat::FromTwoVectors(Vec3::UnitZ(), z).toRotationMatrix(); }

}  // namespace karakuri
