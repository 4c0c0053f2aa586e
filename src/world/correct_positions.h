// What is undone of depths, and how much rows give way that ask for it; equations in correct_positions.cc.
#pragma once

#include <algorithm>

#include "world/impl.h"

namespace karakuri::world_detail {

inline constexpr double kGivesWay =
    1e-3;  // a of (2): what stands on a contact asks for a multiple of its own push
inline constexpr double kGivesWayMass = 1e-3;  // b of (2)

/// What one step undoes of a gap at its end that is negative; else the gap.
inline double undone(const StabilizationSettings& s, double gap, double h) {
  return gap >= 0 ? gap : std::max(s.erp * gap, -h * s.max_speed);
}

/// The same of a contact or limit at the velocities that the step was solved with; 0 for other rows.
double wanted_shift(const World::Impl& w, const RowBlock& block, double h);

}  // namespace karakuri::world_detail
