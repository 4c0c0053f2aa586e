// Positions are corrected by pseudo-impulses p >= 0 along normals that move positions and never velocities,
//   W p + a W_ii p + gap+ >= 0,   gap+ = error + slop + h u+                                              (1)
// of which a step undoes a part.
#pragma once

#include <algorithm>

namespace karakuri::solver {

/// a of (1): what stands on a contact asks for a multiple of its own push.
inline constexpr double kGivesWay = 1e-3;
/// Of the slop: deeper than this beyond it, positions are corrected.
inline constexpr double kTooDeep = 0.5;

struct PositionCorrection {
  bool wanted = false;
  double step = 0;       // h [s]
  double share = 0;      // of a gap, that one step undoes
  double slop = 0;       // [m]
  double max_speed = 0;  // with which gaps are undone [m/s]

  /// gap+ of (1). @param u  Velocity along the normal at the end of the step.
  double gap(double error, double u) const { return error + step * u + slop; }
  bool is_too_deep(double gap) const { return gap < -kTooDeep * slop; }
  /// Speed with which a part of an overlap is about to be undone: that changes directions of contacts, not
  /// what they carry. @param error  At the start of the step.
  double speed_due(double error) const {
    constexpr double kPart = 0.1;
    const double too_deep = std::max(0.0, -error - 1.5 * slop);
    return kPart * share * too_deep / step;
  }
  /// What one step undoes of a gap that is negative; else the gap.
  double undone(double gap) const { return gap >= 0 ? gap : std::max(share * gap, -step * max_speed); }
};

}  // namespace karakuri::solver
