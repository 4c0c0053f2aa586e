// LU factors of a matrix with a symmetric envelope, in memory that is used again.
//
//   A = L U, L unit lower by rows, U upper by columns                                  (1)
//   L_ij = (A_ij − Σ_{k<j} L_ik U_kj) / U_jj,   U_ji = A_ji − Σ_{k<j} L_jk U_ki        (2)
//
// Row i of L and column i of U start at first[i]; fill stays inside (George and Liu, Computer Solution of
// Large Sparse Positive Definite Systems, 1981, ch. 4). Every sum in (2) is a dot product of two contiguous
// arrays, which is why this beats a general sparse LU on contact problems, whose graphs are cliques of
// contacts around bodies: a well ordered envelope is half full. Eigen's SparseLU would allocate at every
// factorisation.
//
// There is no pivoting: the matrices are W + α with α > 0 plus friction coupling. A pivot below `tiny` is
// replaced by it; the caller judges the step by the residual of its own problem and raises α when it is poor.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace karakuri::solver {

class EnvelopeLu {
 public:
  /// @param first For each row its first column; first[i] ≤ i. Clears the values.
  void reset(std::span<const int> first);
  int size() const { return static_cast<int>(first_.size()); }

  double& at(int row, int column) {
    if (row == column) return diagonal_[row];
    return row > column ? lower_[start_[row] + column] : upper_[start_[column] + row];
  }

  /// @param tiny Least size of a pivot, > 0.
  void factor(double tiny);
  /// x ← A⁻¹ x.
  void solve(std::span<double> x) const;

 private:
  template <int Rows>
  void factor_panel(int begin, double tiny);

  std::vector<int> first_;
  std::vector<std::ptrdiff_t> start_;  // of row i's values, minus first_[i]: index by column directly
  std::vector<double> lower_;
  std::vector<double> upper_;
  std::vector<double> diagonal_;
  std::vector<double> inverse_;
};

/// Multiplications of a factorisation with this envelope.
double envelope_cost(std::span<const int> first);

}  // namespace karakuri::solver
