// The scenes of this benchmark.
#pragma once

#include "setup.h"

namespace karakuri::bench {

// ---- robots.cc
/// `count` of MuJoCo's humanoids (27 dofs, capsules and balls), number for number but for the limits on sums
/// of angles that stand for its hamstrings. Each at least two metres from the others, the torso 1.4 m high
/// and higher, turned and bent a little differently.
Setup falling_humanoids(int count);
/// A humanoid of 36 dofs held upright by servos, its arms swinging, with `contacts` balls under its feet.
Setup standing_humanoid(int contacts);
/// Capsules in a row, joined by hinges about y and z in turn, that lie down on the floor.
Setup chain_on_floor(int links);

// ---- stacks.cc: boxes are cubes of 1 m and 1000 kg
/// Rows of n, n - 1, ... 1 in one plane.
Setup pyramid(int rows);
/// Rows of 10 and 9 in turn, in one plane.
Setup wall(int rows);
/// Layers of n x n, ... 1 x 1.
Setup solid_pyramid(int layers);
/// nx x ny x nz, let go above the floor in no good order.
Setup pile(int nx, int ny, int nz);
/// Pairs of cards that lean on each other, `levels` in the lowest row, with a long card on top of each row.
Setup card_house(int levels);
/// A half circle of wedge-shaped stones.
Setup arch(int stones);

}  // namespace karakuri::bench
