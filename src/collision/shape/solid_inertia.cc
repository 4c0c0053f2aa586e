// Mass properties of solids at constant density.
//   cone of radius r, height l:  V = pi r^2 l / 3, centre l/4 above the base,
//     I_axis = 3/10 m r^2,  I_across (about the centre) = 3/20 m r^2 + 3/80 m l^2                     (1)
//   ellipsoid:  V = 4/3 pi a b c,  I_x = m (b^2 + c^2) / 5                                            (2)
#include <numbers>

#include "karakuri/collision/shape.h"

namespace karakuri {

namespace {

constexpr double kPi = std::numbers::pi;

Inertia cone(double density, double r, double l) {
  const double m = density * kPi * r * r * l / 3;
  const double across = m * (0.15 * r * r + 0.0375 * l * l);
  return {m, Vec3(0, 0, -0.25 * l), Vec3(across, across, 0.3 * m * r * r).asDiagonal()};  // (1)
}

Inertia ellipsoid(double density, const Vec3& s) {
  const double m = density * 4 / 3 * kPi * s.prod();
  const Vec3 q = s.cwiseProduct(s);
  return {m, Vec3::Zero(), (m / 5 * Vec3(q.y() + q.z(), q.z() + q.x(), q.x() + q.y())).asDiagonal()};  // (2)
}

Inertia scaled(const Inertia& unit, double density) {
  return {unit.mass * density, unit.com, unit.about_com * density};
}

}  // namespace

Inertia solid_inertia(const Shape& shape, double density) {
  const Vec3& s = shape.size();
  const double r = s.x(), l = 2 * s.z();
  switch (shape.kind()) {
    case ShapeKind::kSphere: return Inertia::solid_sphere(density * 4 / 3 * kPi * r * r * r, r);
    case ShapeKind::kCapsule: return Inertia::solid_capsule(density * kPi * r * r * (l + 4.0 / 3 * r), r, l);
    case ShapeKind::kBox: return Inertia::solid_box(density * 8 * s.prod(), 2 * s);
    case ShapeKind::kCylinder: return Inertia::solid_cylinder(density * kPi * r * r * l, r, l);
    case ShapeKind::kCone: return cone(density, r, l);
    case ShapeKind::kEllipsoid: return ellipsoid(density, s);
    case ShapeKind::kHull: return scaled(shape.as_hull().solid, density);
    case ShapeKind::kMesh: return scaled(shape.as_mesh().solid, density);
    case ShapeKind::kCompound: {
      Inertia sum;
      for (const Compound::Part& p : shape.as_compound().parts) {
        sum = sum + solid_inertia(p.shape, density).in_frame(p.pose);
      }
      return sum;
    }
    case ShapeKind::kPlane:
    case ShapeKind::kHeightfield: return {};
  }
  return {};
}

}  // namespace karakuri
