// Banded Newton in lanes: small islands of rigid bodies, solved four at a time, one in each lane of a vector.
//
// Where few bodies touch each other, they can be ordered so that what each of them touches is near it: the
// equations of motion of such an island are a narrow band of 6 x 6 blocks, and Newton's method costs as much
// as a few sweeps. Lanes share the places of bodies and of the patches between them, so that nothing has to
// be gathered on the way. A lane whose island is solved takes the next one.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/lanes.h"
#include "solver/rigid_islands.h"

namespace karakuri::solver {

inline constexpr int kBandLanes = 4;
inline constexpr int kWidestBand = 8;  // 6 x 6 blocks beside the diagonal
using Four = double __attribute__((vector_size(8 * kBandLanes)));
using Four3 = lanes::Three<Four>;
using ByLane = std::array<double, kBandLanes>;

/// A velocity and angular velocity, or an impulse and its moment, about the island's origin.
struct BandMotion {
  Four3 v = {}, w = {};
};

struct BandBody {
  Four3 com;  // from the island's origin [m]
  Four mass, inverse_mass;
  Four inertia[6];          // about the origin: xx, yy, zz, xy, xz, yz
  Four inverse_inertia[6];  // about the centre of mass
};

struct BandPoint {
  Four3 normal, tangent[2];
  Four3 at;       // from the island's origin [m]
  Four given[3];  // velocity without impulses, with bias
  Four impulse[3], centre[3];
  Four friction, mobility, inverse_mobility;
  Four even, normal_only, across;  // of d(impulse)/d(velocity), see banded_newton.cc
  Four e[2];                       // direction in which it slips, of its tangents
  Four u[3], step[3];              // velocity at `motion`, and its change by `step`
  std::int32_t index[kBandLanes];  // in RigidBatch::points; -1: none
};

/// Points between two bodies of all lanes; `other` comes before `body` and may be 0, what does not move.
struct BandPatch {
  std::int32_t body, other;
  std::int32_t first, count;  // in Band::points
};

/// The same of one island.
struct IslandPatch {
  std::int32_t body, other;
  std::int32_t point, count;  // in RigidBatch::points
  double sign;                // -1: the points' own body is `other`
  std::int32_t place = 0;     // in BandGroup::places
};

/// An island that is to be solved so.
struct BandIsland {
  RigidIsland* island;
  std::int32_t first_body, bodies;  // in BandGroup::bodies
  std::int32_t first_patch, patches;
  std::int32_t band;  // largest distance of bodies that touch
  bool is_carried;    // by what does not move: it does not fall as a whole
};

/// Islands that take turns in the lanes, and places for the patches of all of them.
struct BandGroup {
  std::vector<BandIsland> islands;
  std::vector<std::int32_t> bodies;  // in RigidBatch::bodies, in their order in the band
  std::vector<IslandPatch> patches;
  std::vector<BandPatch> places;
  int most_bodies = 0, points = 0;
  // ---- while it is listed
  std::vector<std::int32_t> order, place_of;
  std::vector<BandPatch> merged;
};

/// What stands in the lanes.
struct Band {
  int bodies = 0;                                             // that move; the most that any lane at work has
  int band = 0;                                               // likewise
  std::vector<BandBody> body;                                 // 0: what does not move, not used
  std::vector<BandPatch> patches;                             // that any lane at work has
  std::vector<BandPoint> points;                              // of all places of the group
  std::vector<BandMotion> motion, step, trial, force, error;  // by body
  std::vector<std::array<Four, 21>> diagonal;                 // by body, from 1 on
  std::vector<std::array<Four, 36>> below;                    // by body and distance
  std::array<const BandIsland*, kBandLanes> lane{};           // who stands there; null: nobody
};

/// A point whose distance is corrected by a pseudo-impulse along its normal.
struct PushPoint {
  Four3 normal, at;
  Four3 turn;             // at x normal
  BandMotion change;      // by a unit impulse: of the relative motion of its two bodies
  Four gap, push;         // [m], [kg m]
  Four inverse_mobility;  // along the normal
  std::int32_t index[kBandLanes];
};

/// Islands that are solved, and whose positions are not corrected yet.
struct BandPushes {
  int lanes = 0;  // in use
  std::vector<BandBody> body;
  std::vector<BandPatch> patches;  // the group's places, with as many points as any lane has; 0: none
  std::vector<PushPoint> points;
  std::vector<BandMotion> motion;  // by body
};

/// Scratch of one thread.
struct BandMemory {
  BandGroup group;
  Band band;
  BandPushes pushes;
};

/// Solves those of a batch that `suits` chooses and whose matrix is a narrow band, as many as that succeeds
/// for: their answers are written, and `solved` is set.
void solve_in_lanes(RigidBatch& batch, const RigidSettings& settings, BandMemory& memory);

}  // namespace karakuri::solver
