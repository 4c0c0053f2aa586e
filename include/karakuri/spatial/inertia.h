// Mass, centre of mass and rotational inertia of one rigid body.
#pragma once

#include <optional>
#include <string>

#include "karakuri/spatial/transform.h"

namespace karakuri {

struct Inertia {
  double mass = 0;                // [kg]
  Vec3 com = Vec3::Zero();        // centre of mass in the body frame [m]
  Mat3 about_com = Mat3::Zero();  // rotational inertia about the centre of mass, in the body's axes [kg m^2]

  static Inertia point_mass(double mass, const Vec3& com) { return {mass, com, Mat3::Zero()}; }
  static Inertia solid_box(double mass, const Vec3& full_size);
  static Inertia solid_sphere(double mass, double radius);
  /// Axis along z.
  static Inertia solid_cylinder(double mass, double radius, double length);
  /// Axis along z; `length` is the cylinder's part, without the caps.
  static Inertia solid_capsule(double mass, double radius, double length);

  /// About the body frame's origin.
  Mat3 about_origin() const { return about_com - mass * skew(com) * skew(com); }
  /// The same body seen in frame A, when X_AB is the pose of this inertia's frame.
  Inertia in_frame(const Transform& X_AB) const {
    return {mass, X_AB * com, X_AB.R * about_com * X_AB.R.transpose()};
  }
  /// Both bodies as one; frames must agree.
  Inertia operator+(const Inertia& other) const;
};

/// Why no real body has this inertia: the rest of a sentence about the link, or nothing when it is fine. A
/// point mass and a thin rod pass: whether a joint can move them is the model's question.
std::optional<std::string> find_flaw(const Inertia& inertia);

}  // namespace karakuri
