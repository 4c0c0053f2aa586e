// The mass matrix in branch-sparse form, and its factor.
//
// M_jk is zero unless one dof is an ancestor of the other, and the factor M = L^T D L keeps that pattern
// (Featherstone, RBDA, §6.5). So row k holds only the entries of k's path, from the root to k itself:
// Dof::depth + 1 numbers from Dof::row on. The path of an ancestor is a prefix of k's, so the inner loops of
// the factorisation run over contiguous memory.
#pragma once

#include <vector>

#include "karakuri/dynamics/workspace.h"
#include "karakuri/model/state.h"

namespace karakuri {

struct MassMatrix {
  explicit MassMatrix(const Model& model) { fit(model); }
  void fit(const Model& model) {
    entries.resize(static_cast<std::size_t>(model.mass_matrix_size));
    inverse_diagonal.resize(static_cast<std::size_t>(model.nv));
  }

  std::vector<double> entries;  // rows as above; crba() writes M, factor() turns it into L (unit) and D
  std::vector<double> inverse_diagonal;  // nv, 1/D; factor()
};

/// M(q) by the composite-rigid-body algorithm (RBDA §6.2), armature included.
/// @pre Sizes match `model`. Never allocates. Leaves poses and composite inertias in ws.
void crba(const Model& model, const State& state, Workspace& ws, MassMatrix& M);
/// The same from poses that are in ws already.
void crba(const Model& model, Workspace& ws, MassMatrix& M);

/// M -> L, D in place.
void factor(const Model& model, MassMatrix& M);
/// x <- M^-1 x.  @pre factor()
void solve(const Model& model, const MassMatrix& factored, VecOut x);
/// y <- M x.  @pre crba(), not factored
void multiply(const Model& model, const MassMatrix& M, VecIn x, VecOut y);
/// The whole symmetric matrix, nv x nv.  @pre crba(), not factored
void to_dense(const Model& model, const MassMatrix& M, MatOut dense);

}  // namespace karakuri
