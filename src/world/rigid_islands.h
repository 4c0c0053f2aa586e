// Islands of free bodies as solver/rigid_islands.h takes them, and what comes back.
#pragma once

#include "world/impl.h"

namespace karakuri::world_detail {

/// Whether an island is made of contacts of free bodies, rigid, with friction, without bounce.
bool is_rigid(const World::Impl& w, const Island& island);

/// Appends it to slot.rigid.
void state_rigid(const World::Impl& w, const Island& island, double h, double max_work, Slot& slot);

/// Impulses, velocities, corrections of positions and report of the k-th of slot.rigid, which is solved.
void take_answer(World::Impl& w, Island& island, int k, Slot& slot);

/// What does not depend on the island.
solver::RigidSettings rigid_settings(const World::Impl& w, double h);

}  // namespace karakuri::world_detail
