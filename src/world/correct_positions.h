// What is undone of depths, and how much rows give way that ask for it; equations in correct_positions.cc.
#pragma once

#include "solver/position_correction.h"
#include "world/impl.h"

namespace karakuri::world_detail {

inline constexpr double kGivesWayMass = 1e-3;  // b of (2); a is solver::kGivesWay

inline solver::PositionCorrection correction_of(const StabilizationSettings& s, double h) {
  return {.wanted = s.kind == Stabilization::kPosition,
          .step = h,
          .share = s.erp,
          .slop = s.slop,
          .max_speed = s.max_speed};
}

/// What one step undoes of the gap of a contact or limit, at the velocities that the step was solved with; 0
/// for other rows.
double wanted_shift(const World::Impl& w, const RowBlock& block, double h);

}  // namespace karakuri::world_detail
