#include "karakuri/spatial/inertia.h"

#include <Eigen/Eigenvalues>
#include <numbers>

#include "core/compose.h"

namespace karakuri {

Inertia Inertia::solid_box(double mass, const Vec3& full_size) {
  const Vec3 s = full_size.cwiseProduct(full_size);
  return {mass, Vec3::Zero(), (mass / 12.0 * Vec3(s.y() + s.z(), s.z() + s.x(), s.x() + s.y())).asDiagonal()};
}

Inertia Inertia::solid_sphere(double mass, double radius) {
  return {mass, Vec3::Zero(), 0.4 * mass * radius * radius * Mat3::Identity()};
}

Inertia Inertia::solid_cylinder(double mass, double radius, double length) {
  const double across = mass * (3.0 * radius * radius + length * length) / 12.0;
  return {mass, Vec3::Zero(), Vec3(across, across, 0.5 * mass * radius * radius).asDiagonal()};
}

Inertia Inertia::solid_capsule(double mass, double radius, double length) {
  // Weights by volume; a hemisphere's centre of mass is 3r/8 from its flat side and its inertia about that
  // centre, across the axis, is (2/5 - 9/64) m r^2.
  const double v_cylinder = std::numbers::pi * radius * radius * length;
  const double v_caps = 4.0 / 3.0 * std::numbers::pi * radius * radius * radius;
  const double m_cylinder = mass * v_cylinder / (v_cylinder + v_caps);
  const double m_caps = mass - m_cylinder;
  const double offset = 0.5 * length + 0.375 * radius;
  const double along = 0.5 * m_cylinder * radius * radius + 0.4 * m_caps * radius * radius;
  const double across = m_cylinder * (3.0 * radius * radius + length * length) / 12.0 +
                        m_caps * ((0.4 - 9.0 / 64.0) * radius * radius + offset * offset);
  return {mass, Vec3::Zero(), Vec3(across, across, along).asDiagonal()};
}

Inertia Inertia::operator+(const Inertia& o) const {
  const double total = mass + o.mass;
  if (!(total > 0)) return {total, Vec3::Zero(), about_com + o.about_com};
  const Vec3 center = (mass * com + o.mass * o.com) / total;
  const Mat3 d1 = skew(com - center), d2 = skew(o.com - center);
  return {total, center, about_com - mass * d1 * d1 + o.about_com - o.mass * d2 * d2};
}

std::optional<std::string> find_flaw(const Inertia& in) {
  if (!std::isfinite(in.mass) || !in.com.allFinite() || !in.about_com.allFinite()) {
    return "has a number that is not finite";
  }
  if (!(in.mass > 0)) return compose("has mass {:g} kg, but a moving link needs a mass above zero", in.mass);
  const double size = in.about_com.cwiseAbs().maxCoeff();
  if ((in.about_com - in.about_com.transpose()).cwiseAbs().maxCoeff() > 1e-9 * size) {
    return "has a rotational inertia that is not symmetric";
  }
  const Eigen::SelfAdjointEigenSolver<Mat3> eigen(in.about_com, Eigen::EigenvaluesOnly);
  const Vec3& m = eigen.eigenvalues();  // ascending principal moments
  // 1e-6: model files carry six digits, and a flat plate meets the triangle inequality with equality
  const double slack = 1e-6 * size;
  if (m[0] < -slack) {
    return compose(
        "has a rotational inertia that is not positive definite (principal moments {:g}, {:g}, {:g})", m[0],
        m[1], m[2]);
  }
  if (m[0] + m[1] < m[2] - slack) {
    return compose(
        "has principal moments {:g}, {:g}, {:g}, which violate the triangle inequality: "
        "no real body has one above the sum of the other two",
        m[0], m[1], m[2]);
  }
  return std::nullopt;
}

}  // namespace karakuri
