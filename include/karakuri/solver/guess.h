// A first guess for things that stand on each other.
#pragma once

#include <span>

#include "karakuri/solver/solve.h"

namespace karakuri::solver {

/// Impulses that let every subsystem rest on those below it, from the highest down: each is balanced by its
/// contacts with lower ones, which are taken to be at rest, and hands its load on to them. Where everything
/// is carried from below (piles, walls, pyramids) this is a solution; sweeps would need the square of the
/// height to find it.
/// @param problem  kMatrixFree.
/// @param level    By subsystem: how far above the ground; blocks with one term stand on it, level 0.
/// @param q_above  By row: the part of q that is due to the higher of the block's subsystems, with bias.
/// @param lambda   In: where to start from, zeros or a warm start. Out: the guess; what is no contact, or
/// lies between
///                 equals, stays as it was.
void guess_from_above(const Problem& problem, std::span<const int> level, std::span<const double> q_above,
                      Workspace& workspace, std::span<double> lambda);

}  // namespace karakuri::solver
