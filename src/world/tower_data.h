// Small islands of loose bodies, solved four at a time, one in each lane of a vector.
//
// Where few bodies stand on each other, what each of them touches is near it in a row: the equations of
// motion of such an island are a narrow band of 6 x 6 blocks, and Newton's method costs as much as a few
// sweeps. Lanes share the places of bodies and of the patches between them, so that nothing has to be
// gathered on the way.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "karakuri/world/world.h"
#include "world/lane_math.h"

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
  Tower given[3];  // velocity without impulses, with bias; at the end with impulses
  Tower impulse[3], centre[3];
  Tower friction, mobility, inverse_mobility;
  Tower even, normal_only, across;  // of d(impulse)/d(velocity), see towers_newton.cc
  Tower e[2];                       // direction in which it slips, of its tangents
  Tower gap, push, inverse_nn;      // of the position correction
  std::int32_t block[kTowerLanes];  // of the world's rows; -1: none
};

/// Points between two bodies of all lanes; `other` comes before `body` and may be 0, the world.
struct TowerPatch {
  std::int32_t body, other;
  std::int32_t first, count;  // in Towers::points
};

/// The same of one lane.
struct LanePatch {
  std::int32_t body, other;
  std::int32_t block, count;  // in the island's blocks, which follow each other
  double sign;                // -1: the row's own body is `other`
};

struct Towers {
  int bodies = 0;               // without the world
  int band = 0;                 // largest distance of bodies that touch
  std::vector<TowerBody> body;  // 0: the world, not used
  std::vector<TowerPatch> patches;
  std::vector<TowerPoint> points;
  std::vector<TowerMotion> motion, step, trial, force, error;  // by body
  std::vector<std::array<Tower, 21>> diagonal;                 // by body, from 1 on
  std::vector<std::array<Tower, 36>> below;                    // by body and distance
  // ---- while it is gathered
  std::array<std::vector<LanePatch>, kTowerLanes> lane_patches;
  std::vector<std::int32_t> lane_bodies, order, place;
};

}  // namespace karakuri::world_detail
