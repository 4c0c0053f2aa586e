#include "karakuri/spatial/rotation.h"

#include <cmath>

namespace karakuri {

Quat quat_exp(const Vec3& phi) {
  const double angle2 = phi.squaredNorm();
  double c, s;  // cos(a/2), sin(a/2)/a
  if (constexpr double kSmall = 0.25; angle2 < kSmall * kSmall) {
    // series in (a/2)^2 < 1/64, whose next terms are below rounding; the quotient would lose digits
    const double x = 0.25 * angle2;
    c = 1 - x * (1.0 / 2) *
                (1 - x * (1.0 / 12) *
                         (1 - x * (1.0 / 30) *
                                  (1 - x * (1.0 / 56) * (1 - x * (1.0 / 90) * (1 - x * (1.0 / 132))))));
    s = 0.5 *
        (1 - x * (1.0 / 6) *
                 (1 - x * (1.0 / 20) * (1 - x * (1.0 / 42) * (1 - x * (1.0 / 72) * (1 - x * (1.0 / 110))))));
  } else {
    const double angle = std::sqrt(angle2);
    c = std::cos(0.5 * angle);
    s = std::sin(0.5 * angle) / angle;
  }
  return Quat(c, s * phi.x(), s * phi.y(), s * phi.z());
}

Vec3 quat_log(const Quat& q) {
  const Vec3 v = q.w() < 0 ? Vec3(-q.vec()) : Vec3(q.vec());
  const double s = v.norm();
  const double c = std::abs(q.w());
  // angle/sin(angle/2) with angle = 2 atan2(s, c); series in s/c below 1e-4
  const double scale = s < 1e-4 ? 2.0 / c * (1.0 - s * s / (3.0 * c * c)) : 2.0 * std::atan2(s, c) / s;
  return scale * v;
}

Mat3 quat_log_rate(const Vec3& phi) {
  const double square = phi.squaredNorm(), t = 0.5 * std::sqrt(square);
  constexpr double kSmall = 1e-4;  // of phi^2: what the series leaves out is below rounding
  const double c = square < kSmall ? 1.0 / 12 + square / 720 : (1 - t / std::tan(t)) / square;
  const Mat3 S = skew(phi);
  return Mat3::Identity() - 0.5 * S + c * S * S;
}

Mat3 rotation_exp(const Vec3& phi) { return quat_exp(phi).toRotationMatrix(); }

Vec3 rotation_log(const Mat3& R) { return quat_log(Quat(R)); }

Quat normalized_or_identity(const Quat& q) {
  double n = q.norm();
  if (!(n > 1e-150 && n < 1e150)) n = q.coeffs().stableNorm();  // its square is no double
  if (!(n > 0) || !std::isfinite(n)) return Quat::Identity();
  return Quat(q.coeffs() / n);
}

Mat3 frame_with_z(const Vec3& z) {
  // The rotation from e_z to n about e_z x n. Eigen's FromTwoVectors loses the digits of 1 + n_z near -z.
  constexpr double kRounding = 1e-15;  // of a unit vector's square: normals come so
  const Vec3 n = std::abs(z.squaredNorm() - 1) < kRounding ? z : Vec3(z.stableNormalized());
  const double across = n.x() * n.x() + n.y() * n.y();
  if (n.z() < 0 && across < 1e-300) return Vec3(1, -1, -1).asDiagonal();  // straight down: any way is short
  const double k = n.z() < 0 ? (1 - n.z()) / across : 1 / (1 + n.z());
  Mat3 R;
  R << 1 - k * n.x() * n.x(), -k * n.x() * n.y(), n.x(),  //
      -k * n.x() * n.y(), 1 - k * n.y() * n.y(), n.y(),   //
      -n.x(), -n.y(), n.z();
  return R;
}

}  // namespace karakuri
