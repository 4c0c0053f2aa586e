// How readily each degree of freedom gives way: the diagonal of M^-1, in O(n).
#pragma once

#include "karakuri/dynamics/workspace.h"

namespace karakuri {

/// Writes (M^-1)_ii of the dofs of one tree, what is free to move being free: 1 / (M^-1)_ii is the inertia
/// that an effort on that dof alone meets.
/// @param ws  With poses and the articulated factor. Overwrites ws.articulated of the tree.
/// @pre articulated_factor() or aba() for these poses; the tree's root is not Body::alone.
void inverse_mass_diagonal(const Model& model, const Tree& tree, Workspace& ws, VecOut out);

}  // namespace karakuri
