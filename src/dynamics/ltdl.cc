// M = L^T D L without fill-in (Featherstone, RBDA, table 6.3). For k from the last dof to the first, for each
// ancestor i of k:
//   a = M_ki / M_kk,   M_ij <- M_ij - a M_kj  for j on the path of i,   L_ki = a (1)
#include <cassert>

#include "core/simd.h"
#include "karakuri/dynamics/mass_matrix.h"

namespace karakuri {

void factor(const Model& model, MassMatrix& M) {
  double* entries = M.entries.data();
  for (int k = model.nv - 1; k >= 0; --k) {
    const Dof& dof = model.dofs[k];
    double* row = entries + dof.row;
    const double inverse = 1.0 / row[dof.depth];
    M.inverse_diagonal[k] = inverse;
    const std::int32_t* path = model.paths.data() + dof.path;
    for (int d = dof.depth - 1; d >= 0; --d) {
      const double a = row[d] * inverse;
      simd::axpy(-a, row, entries + model.dofs[path[d]].row, d + 1);  // (1)
      row[d] = a;
    }
  }
}

void solve(const Model& model, const MassMatrix& F, VecOut x_out) {
  assert(x_out.size() == model.nv);
  double* x = x_out.data();
  const double* entries = F.entries.data();
  for (int k = model.nv - 1; k >= 0; --k) {  // L^T
    const Dof& dof = model.dofs[k];
    const double *row = entries + dof.row, xk = x[k];
    const std::int32_t* path = model.paths.data() + dof.path;
    for (int d = 0; d < dof.depth; ++d) x[path[d]] -= row[d] * xk;
  }
  for (int k = 0; k < model.nv; ++k) {  // D, then L
    const Dof& dof = model.dofs[k];
    const double* row = entries + dof.row;
    const std::int32_t* path = model.paths.data() + dof.path;
    double sum = x[k] * F.inverse_diagonal[k];
    for (int d = 0; d < dof.depth; ++d) sum -= row[d] * x[path[d]];
    x[k] = sum;
  }
}

void multiply(const Model& model, const MassMatrix& M, VecIn x, VecOut y) {
  y.setZero();
  for (int k = 0; k < model.nv; ++k) {
    const Dof& dof = model.dofs[k];
    const double* row = M.entries.data() + dof.row;
    const std::int32_t* path = model.paths.data() + dof.path;
    for (int d = 0; d < dof.depth; ++d) {
      y[k] += row[d] * x[path[d]];
      y[path[d]] += row[d] * x[k];
    }
    y[k] += row[dof.depth] * x[k];
  }
}

void to_dense(const Model& model, const MassMatrix& M, MatOut dense) {
  dense.setZero();
  for (int k = 0; k < model.nv; ++k) {
    const Dof& dof = model.dofs[k];
    for (int d = 0; d <= dof.depth; ++d) {
      const int j = model.paths[dof.path + d];
      dense(k, j) = dense(j, k) = M.entries[dof.row + d];
    }
  }
}

}  // namespace karakuri
