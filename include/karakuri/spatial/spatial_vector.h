// Motions (twists, accelerations) and forces (wrenches) as pairs of 3-vectors. Each is "at" a point and "in"
// a frame; the variable's name says which (V_WB_W: velocity of B in W, at B's origin, in W's axes).
#pragma once

#include "karakuri/spatial/transform.h"

namespace karakuri {

struct Motion {
  Vec3 angular = Vec3::Zero();  // [rad/s] for velocities
  Vec3 linear = Vec3::Zero();   // of the reference point [m/s]

  Motion operator+(const Motion& o) const { return {angular + o.angular, linear + o.linear}; }
  Motion operator-(const Motion& o) const { return {angular - o.angular, linear - o.linear}; }
  Motion operator*(double s) const { return {angular * s, linear * s}; }
  /// The same motion seen at a point displaced by `r` from the reference point.
  Motion shifted(const Vec3& r) const { return {angular, linear + angular.cross(r)}; }
  /// The same motion in axes rotated by R: R_AB takes one in B to one in A.
  Motion rotated(const Mat3& R) const { return {R * angular, R * linear}; }
};

struct Force {
  Vec3 moment = Vec3::Zero();  // about the reference point [N m]
  Vec3 force = Vec3::Zero();   // [N]

  Force operator+(const Force& o) const { return {moment + o.moment, force + o.force}; }
  Force operator-(const Force& o) const { return {moment - o.moment, force - o.force}; }
  Force operator*(double s) const { return {moment * s, force * s}; }
  /// The same wrench about a point displaced by `r` from the reference point.
  Force shifted(const Vec3& r) const { return {moment - r.cross(force), force}; }
  Force rotated(const Mat3& R) const { return {R * moment, R * force}; }
};

/// Power of a wrench on a motion at the same point.
inline double dot(const Force& f, const Motion& m) { return f.moment.dot(m.angular) + f.force.dot(m.linear); }

}  // namespace karakuri
