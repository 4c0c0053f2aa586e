// Rows that act on few bodies in these bodies' ways to move. With B the rows as wrenches on the bodies that
// carry them, and K what wrenches on these bodies do to them,
//
//   W = B K Bᵀ,   K = R Rᵀ by Cholesky's method with the largest pivot first, of K with a diagonal of ones,
//   J = B R,      W = J Jᵀ                                                                               (1)
//
// so that the rows' responses to each other need neither be written out nor multiplied.
#pragma once

#include <vector>

namespace karakuri::solver {

struct MobilityRoot {
  std::vector<double> root;  // R, rows `stride` apart
  int stride = 0;
  int motions = 0;  // columns of R, rounded up to four; what is too much is zero
  std::vector<double> scale, left;
};

/// R of (1). @param mobility  K, n x n: of each body three moments, then three forces, which have other
/// units.
void find_mobility_root(const std::vector<double>& mobility, int n, MobilityRoot& out);

}  // namespace karakuri::solver
