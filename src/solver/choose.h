// Which backend takes an island, from what is known before anything is factored: the one place where that is
// decided. Numbers are counts of bodies, rows and multiplications; docs/solvers.md has what was measured.
#pragma once

#include <cstddef>

#include "solver/accuracy.h"

namespace karakuri::solver {

// ---- how rows are stated

/// Whether W is written out. A sweep over dense rows costs rows^2, over response vectors rows times dofs, and
/// the latter need no products of all pairs: measured, they break even where this turns.
bool is_stated_dense(std::size_t rows);
/// Whether rows that act on so few bodies are stated in these bodies' ways to move.
bool is_stated_by_bodies(std::size_t rows, std::size_t bodies);
/// Whether rows on a tree of so many dofs carry no responses over all of it, but hand them from link to link:
/// those would be as long as the tree for each row.
bool is_walked(int dofs);

// ---- rigid_islands.h

/// Fewer bodies are solved on their rows at once: filling lanes costs more than the solution.
inline constexpr int kLeastRigidBodies = 4;
/// 6 x 6 blocks beside the diagonal, beyond which factors of a band cost more than sweeps.
inline constexpr int kMostBand = 3;

/// Whether an island may be one of those that share lanes: what waits for the largest of four must not be
/// large.
bool may_be_banded(int bodies);
/// Whether sweeps in lanes may take it: it moves, and what they leave over does not stir up what stands.
bool may_be_swept(const KnownMotion& known, int bodies);

// ---- island.h

/// Whether subsystems move in so few ways that Newton's method over them is dense, and first of the default.
bool has_few_motions(const Problem& problem);
/// Whether few steps of the solver are enough for many more digits: of trees that are walked along, sweeps
/// are.
bool is_soon_exact(const Problem& problem);
/// Whether sweeps may need a guess from above: bodies are many.
bool may_be_mended(const Problem& problem);

}  // namespace karakuri::solver
