// Projected Gauss-Seidel in lanes: islands in motion, swept eight contact patches at a time.
//
// What tumbles has another problem in every step: what it needs are cheap sweeps from the last step's
// impulses, and an honest residual. Patches that share no body lie in the lanes of a vector, one patch in
// each; all that is known of a point is a few numbers, and nothing is assembled.
#pragma once

#include <cstdint>
#include <vector>

#include "core/lanes.h"
#include "solver/rigid_islands.h"

namespace karakuri::solver {

inline constexpr int kSweepLanes = 8;
using Eight = double __attribute__((vector_size(8 * kSweepLanes)));
using Eight3 = lanes::Three<Eight>;  // three numbers of each lane

/// One contact point of each of a group's patches.
struct SweptPoint {
  Eight3 normal, tangent[2];
  Eight3 arm, other_arm;        // from the centres of mass [m]
  Eight velocity[3];            // without impulses, with bias; at the end with impulses
  Eight impulse[3], before[3];  // before: at the end of the last sweep
  Eight friction;
  Eight inverse_nn, w_tn[2];        // of the point's own block of W
  Eight inverse_tt[3];              // xx, xy, yy
  Eight inverse_slip;               // 1 / largest eigenvalue of W_tt
  Eight mobility;                   // mean diagonal
  Eight gap, push;                  // of the position correction
  std::int32_t index[kSweepLanes];  // of the island's points; -1: none
};

/// Patches that share no body, in `count` points from `first` on.
struct SweptGroup {
  std::int32_t body[kSweepLanes], other[kSweepLanes];  // 0: what does not move
  Eight inverse_mass, other_inverse_mass;
  Eight inertia[6], other_inertia[6];  // inverses: xx, yy, zz, xy, xz, yz
  std::int32_t first, count;
};

/// Velocity that impulses have given to a body, at its centre of mass.
struct alignas(32) SweptMotion {
  double v[4] = {}, w[4] = {};
};

/// Points of one pair of bodies, of which there are at most four.
struct SweptPatch {
  std::int32_t body, other;
  std::int32_t point, count;  // of the island
  std::int32_t group, lane;
};

struct LaneSweeps {
  std::vector<SweptMotion> motion, motion_before, shift;  // by body; the first one does not move
  std::vector<SweptPatch> patches;
  std::vector<SweptGroup> groups;
  std::vector<SweptPoint> points;
  std::vector<std::int32_t> open;  // groups that are not full
  double theta = 1;                // of the extrapolation
};

/// Sweeps over an island if it tumbles. Its answers are written, and `solved` if that is enough.
void sweep_in_lanes(RigidBatch& batch, RigidIsland& island, const RigidSettings& settings, LaneSweeps& s);

// ---- lane_sweep_kernels.cc

/// Prepares points and begins from their impulses. @param bodies  Of the island, and the one that does not
/// move.
void begin(std::size_t bodies, LaneSweeps& s);
/// One accelerated sweep. @return Root of the sum of squares of what it changed, as velocities.
double sweep(LaneSweeps& s);
/// Natural map of the present impulses, as Measure::kScaled.
double residual_of(const LaneSweeps& s);
/// Velocities of the points at the present impulses go to `velocity`.
void find_velocities(LaneSweeps& s);
/// Sweeps over pseudo-impulses `push` that undo `gap`.
void sweep_positions(LaneSweeps& s, int sweeps);

}  // namespace karakuri::solver
