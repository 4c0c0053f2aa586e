// A tree as one rigid body.
#pragma once

#include <Eigen/Cholesky>

#include "karakuri/dynamics/centroidal.h"

namespace karakuri {

/// A velocity of a rigid body, in the world.
struct RigidMotion {
  Vec3 center, linear, angular;  // the linear one is that of `center`
};

/// Angular velocity at which its inertia has this angular momentum about its centre.
inline Vec3 spin_with(const TreeMotion& m, const Vec3& moment) { return m.inertia.ldlt().solve(moment); }

/// The one with the same momentum.
inline RigidMotion rigid_motion(const TreeMotion& m) {
  return {m.center, m.momentum.force / m.mass, spin_with(m, m.momentum.moment)};
}

}  // namespace karakuri
