// The structure of sparse_newton.cc: nodes, patches, and their Jacobians.
#pragma once

#include "solver/memory.h"

namespace karakuri::solver {

inline constexpr int kMostPatchRows = 30;

/// Nodes and patches of a problem, and their order. @return Whether factors take at most `most`
/// multiplications; where they do not, there is no order.
bool find_sparse_structure(const Problem& problem, double most, SparseMemory& s);
/// The Jacobian of each patch over its nodes, in velocities of unit mass. @pre s.root
void write_sparse_jacobian(const Problem& problem, SparseMemory& s);

}  // namespace karakuri::solver
