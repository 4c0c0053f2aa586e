// Scenes, each in neutral terms. Where places are drawn at random, a seed other than 0 draws others; varied()
// changes sizes, masses and friction besides.
#pragma once

#include <cstdint>

#include "scenes/setup.h"

namespace karakuri::bench {

// ---- robots.cc
/// `count` of MuJoCo's humanoids (27 dofs, capsules and balls), number for number but for the limits on sums
/// of angles that stand for its hamstrings. Each at least two metres from the others, the torso 1.4 m high
/// and higher, turned and bent a little differently.
Setup falling_humanoids(int count, std::uint64_t seed = 0);
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
Setup pile(int nx, int ny, int nz, std::uint64_t seed = 0);
/// Pairs of cards that lean on each other, `levels` in the lowest row, with a long card on top of each row.
Setup card_house(int levels);
/// A half circle of wedge-shaped stones.
Setup arch(int stones);

// ---- struck.cc: free bodies that stand until something strikes them
/// Layers of three blocks, each across the one below, struck by a ball.
Setup struck_tower(int layers, std::uint64_t seed = 0);
/// Rows of ten bricks in running bond, struck by a ball.
Setup struck_wall(int rows, std::uint64_t seed = 0);
/// Rows of ten and nine logs in turn, in the hollows of those below, between two pairs of posts.
Setup logs_between_posts(int rows);

// ---- bins.cc: free bodies of sizes that differ, dropped in no good order
enum class Things {
  kBoxes,
  kSpheres,
  kHulls,
  kMixed
};  // hulls of 14 points; mixed: capsules and cylinders, too
/// Into a bin as wide as it will be filled high.
Setup bin(Things things, int count, std::uint64_t seed = 0);
/// Spheres in a drum on its side that turns.
Setup drum(int spheres, std::uint64_t seed = 0);
/// An arm that hangs over a bin and stirs what lies in it.
Setup stirred_bin(int things, std::uint64_t seed = 0);
/// A hand that goes to and fro in a bin, and closes and opens.
Setup hand_in_bin(int things, std::uint64_t seed = 0);

// ---- pits.cc
/// MuJoCo's humanoids, dropped into one pit.
Setup humanoids_in_pit(int count, std::uint64_t seed = 0);
/// Limp figures of eleven bodies, which rub on each other, likewise.
Setup ragdolls_in_pit(int count, std::uint64_t seed = 0);
/// A robot of four legs that trots on hills.
Setup quadruped_on_hills(std::uint64_t seed = 0);

}  // namespace karakuri::bench
