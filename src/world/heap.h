// Loose bodies in motion, swept eight contact patches at a time.
//
// A heap that tumbles has another problem in every step: what it needs are cheap sweeps from the last step's
// impulses, and an honest residual. Patches that share no body lie in the lanes of a vector, one patch in
// each; all that is known of a point is a few numbers, and nothing is assembled.
#pragma once

#include <cstdint>
#include <vector>

#include "core/lanes.h"
#include "karakuri/world/world.h"
#include "solver/accuracy.h"

namespace karakuri::world_detail {

inline constexpr int kLanes = 8;
using Lane = double __attribute__((vector_size(8 * kLanes)));

using Lanes = lanes::Three<Lane>;  // three numbers of each lane

/// One contact point of each of a group's patches.
struct HeapPoint {
  Lanes normal, tangent[2];
  Lanes arm, other_arm;        // from the centres of mass [m]
  Lane velocity[3];            // without impulses, with bias; at the end with impulses
  Lane impulse[3], before[3];  // before: at the end of the last sweep
  Lane friction;
  Lane inverse_nn, w_tn[2];    // of the point's own block of W
  Lane inverse_tt[3];          // xx, xy, yy
  Lane inverse_slip;           // 1 / largest eigenvalue of W_tt
  Lane mobility;               // mean diagonal
  Lane gap, push;              // of the position correction
  std::int32_t block[kLanes];  // of the world's rows; -1: none
};

/// Patches that share no body, in `count` points from `first` on.
struct HeapGroup {
  std::int32_t body[kLanes], other[kLanes];  // in Heap::bodies
  Lane inverse_mass, other_inverse_mass;
  Lane inertia[6], other_inertia[6];  // inverses: xx, yy, zz, xy, xz, yz
  std::int32_t first, count;
};

/// Velocity that impulses have given to a body, at its centre of mass.
struct alignas(32) HeapMotion {
  double v[4] = {}, w[4] = {};
};

struct HeapBody {
  std::int32_t index = 0;  // of the model's bodies
  double com[3] = {};
  double inverse_mass = 0;
  double inertia[6] = {};  // inverse, in the world
};

/// Points of one pair of bodies, of which there are at most four.
struct HeapPatch {
  std::int32_t body, other;
  std::int32_t block, count;  // in the island's blocks
  std::int32_t group, lane;
};

struct Heap {
  std::vector<HeapBody> bodies;  // the first one does not move
  std::vector<HeapMotion> motion, motion_before, shift;
  std::vector<HeapPatch> patches;
  std::vector<HeapGroup> groups;
  std::vector<HeapPoint> points;
  std::vector<std::int32_t> open;  // groups that are not full
  double theta = 1;                // of the extrapolation
};

struct Island;
struct Slot;

/// Whether an island is made of contacts of free bodies, rigid, with friction, without bounce.
bool is_heap(const World::Impl& w, const Island& island);
/// Root of the sum of squares of the speeds with which rows move, and with which a part of their depth is
/// about to be corrected: that changes directions of contacts, not what they carry.
double size_of_motion(const World::Impl& w, const Island& island, double h);
/// What solver/accuracy.h asks of an island, but for what changes. @param motion  size_of_motion()
solver::KnownMotion known_motion(const World::Impl& w, const Island& island, double motion, double h);

/// Adds to the velocities that are answered what impulses have given to a free body, at its centre of mass.
void answer_free_body(World::Impl& w, int body, const Vec3& v, const Vec3& spin);

/// Sweeps over an island if it is a heap in motion. @return Whether it was; then impulses, velocities,
/// corrections of positions and the island's report are written.
bool solve_heap(World::Impl& w, Island& island, Slot& slot, double h);

// ---- heap_sweep.cc

/// Prepares points and begins from their impulses.
void begin_heap(Heap& heap);
/// One accelerated sweep. @return Root of the sum of squares of what it changed, as velocities.
double sweep_heap(Heap& heap);
/// Natural map of the present impulses, as Measure::kScaled.
double residual_of_heap(const Heap& heap);
/// Velocities of the points at the present impulses go to `velocity`.
void end_heap(Heap& heap);
/// Sweeps over pseudo-impulses `push` that undo `gap`.
void sweep_positions(Heap& heap, int sweeps);

}  // namespace karakuri::world_detail
