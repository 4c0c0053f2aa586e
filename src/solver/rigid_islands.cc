#include "solver/rigid_islands.h"

#include "solver/banded_lanes.h"
#include "solver/choose.h"
#include "solver/lane_sweeps.h"

namespace karakuri::solver {

struct RigidWorkspace::Memory {
  BandMemory band;
  LaneSweeps sweeps;
};

RigidWorkspace::RigidWorkspace() : memory_(std::make_unique<Memory>()) {}
RigidWorkspace::~RigidWorkspace() = default;
RigidWorkspace::RigidWorkspace(RigidWorkspace&&) noexcept = default;
RigidWorkspace& RigidWorkspace::operator=(RigidWorkspace&&) noexcept = default;

void solve(RigidBatch& batch, const RigidSettings& settings, RigidWorkspace& workspace) {
  RigidWorkspace::Memory& m = workspace.memory();
  for (RigidIsland& island : batch.islands) {
    island.solved = island.corrected = false;
    island.report = {};
  }
  if (settings.backend != RigidBackend::kLaneSweeps) solve_in_lanes(batch, settings, m.band);
  if (settings.backend == RigidBackend::kBandedNewton) return;
  const bool forced = settings.backend == RigidBackend::kLaneSweeps;
  for (RigidIsland& island : batch.islands)
    if (!island.solved && (forced || may_be_swept(island.known, island.bodies)))
      sweep_in_lanes(batch, island, settings, m.sweeps);
}

}  // namespace karakuri::solver
