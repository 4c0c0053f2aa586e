// Momentum of a whole world, for tests of what conserves it.
#pragma once

#include <algorithm>

#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/world/world.h"

namespace karakuri::test {

/// About the origin.
inline Force momentum_of(const World& world) {
  Workspace ws(world.model());
  update_poses(world.model(), world.state(), ws);
  update_velocities(world.model(), world.state(), ws);
  return momentum(world.model(), ws, Vec3::Zero());
}

inline double size_of(const Force& f) { return std::max(f.moment.norm(), f.force.norm()); }

}  // namespace karakuri::test
