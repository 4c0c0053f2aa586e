// Energy of a whole world, for tests of what makes none.
#pragma once

#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/world/world.h"

namespace karakuri::test {

struct Energy {
  double kinetic = 0, potential = 0;  // of gravity and of the joints' springs [J]
  double sum() const { return kinetic + potential; }
};

inline Energy energy_of(const World& world) {
  Workspace ws(world.model());
  update_poses(world.model(), world.state(), ws);
  update_velocities(world.model(), world.state(), ws);
  return {kinetic_energy(world.model(), world.state(), ws),
          potential_energy(world.model(), world.state(), ws)};
}

}  // namespace karakuri::test
