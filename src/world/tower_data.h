// Small islands of loose bodies, solved four at a time, one in each lane of a vector.
//
// Where few bodies stand on each other, what each of them touches is near it in a row: the equations of
// motion of such an island are a narrow band of 6 x 6 blocks, and Newton's method costs as much as a few
// sweeps. Lanes share the places of bodies and of the patches between them, so that nothing has to be
// gathered on the way. A lane whose island is solved takes the next one.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/lanes.h"
#include "karakuri/world/world.h"

namespace karakuri::world_detail {

struct Island;
struct Slot;

inline constexpr int kTowerLanes = 4;
using Tower = double __attribute__((vector_size(8 * kTowerLanes)));
using Tower3 = lanes::Three<Tower>;
using ByLane = std::array<double, kTowerLanes>;

/// A velocity and angular velocity, or an impulse and its moment, about the island's origin.
struct TowerMotion {
  Tower3 v = {}, w = {};
};

struct TowerBody {
  Tower3 com;  // from the island's origin [m]
  Tower mass, inverse_mass;
  Tower inertia[6];                 // about the origin: xx, yy, zz, xy, xz, yz
  Tower inverse_inertia[6];         // about the centre of mass
  std::int32_t index[kTowerLanes];  // of the model's bodies; -1: none
};

struct TowerPoint {
  Tower3 normal, tangent[2];
  Tower3 at;       // from the island's origin [m]
  Tower given[3];  // velocity without impulses, with bias
  Tower impulse[3], centre[3];
  Tower friction, mobility, inverse_mobility;
  Tower even, normal_only, across;  // of d(impulse)/d(velocity), see towers_newton.cc
  Tower e[2];                       // direction in which it slips, of its tangents
  Tower u[3], step[3];              // velocity at `motion`, and its change by `step`
  std::int32_t block[kTowerLanes];  // of the world's rows; -1: none
};

/// Points between two bodies of all lanes; `other` comes before `body` and may be 0, the world.
struct TowerPatch {
  std::int32_t body, other;
  std::int32_t first, count;  // in Towers::points
};

/// The same of one island.
struct IslandPatch {
  std::int32_t body, other;
  std::int32_t block, count;  // in the island's blocks, which follow each other
  double sign;                // -1: the row's own body is `other`
  std::int32_t place = 0;     // in TowerGroup::places
};

/// An island that is to be solved as a tower.
struct TowerIsland {
  Island* island;
  std::int32_t first_body, bodies;  // in TowerGroup::bodies; without the world
  std::int32_t first_patch, patches;
  std::int32_t band;  // largest distance of bodies that touch
  bool is_carried;    // by the world: it does not fall as a whole
};

/// Islands that take turns in the lanes, and places for the patches of all of them.
struct TowerGroup {
  std::vector<TowerIsland> islands;
  std::vector<std::int32_t> bodies;  // of the model, in their order in the band
  std::vector<IslandPatch> patches;
  std::vector<TowerPatch> places;
  int most_bodies = 0, points = 0;
  // ---- while it is listed
  std::vector<std::int32_t> found, order, place_of;
  std::vector<TowerPatch> merged;
};

/// What stands in the lanes.
struct Towers {
  int bodies = 0;                   // without the world; the most that any lane at work has
  int band = 0;                     // likewise
  std::vector<TowerBody> body;      // 0: the world, not used
  std::vector<TowerPatch> patches;  // that any lane at work has
  std::vector<TowerPoint> points;   // of all places of the group
  std::vector<TowerMotion> motion, step, trial, force, error;  // by body
  std::vector<std::array<Tower, 21>> diagonal;                 // by body, from 1 on
  std::vector<std::array<Tower, 36>> below;                    // by body and distance
  std::array<const TowerIsland*, kTowerLanes> lane{};          // who stands there; null: nobody
};

/// A point whose distance is corrected by a pseudo-impulse along its normal.
struct PushPoint {
  Tower3 normal, at;
  Tower3 turn;             // at x normal
  TowerMotion change;      // by a unit impulse: of the relative motion of its two bodies
  Tower gap, push;         // [m], [kg m]
  Tower inverse_mobility;  // along the normal
  std::int32_t block[kTowerLanes];
};

/// Islands that are solved, and whose positions are not corrected yet.
struct TowerPushes {
  int lanes = 0;  // in use
  std::vector<TowerBody> body;
  std::vector<TowerPatch> patches;  // the group's places, with as many points as any lane has; 0: none
  std::vector<PushPoint> points;
  std::vector<TowerMotion> motion;  // by body
};

/// Scratch of one thread.
struct TowerScratch {
  TowerGroup group;
  Towers towers;
  TowerPushes pushes;
};

}  // namespace karakuri::world_detail
