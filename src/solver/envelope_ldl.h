// Symmetric, possibly singular systems A x = b with a small envelope, in memory that is used again.
//
//   A' = S A S,  S = diag(A)^-1/2,   (A' + e) = L D L^T                             (1)
//   x += S (A' + e)^-1 S (b - A x)                                                  (2)
//
// Row i of A starts at column first[i]; fill stays inside (George & Liu, Computer Solution of Large Sparse
// Positive Definite Systems, 1981, ch. 4). (2) repeated converges for every right side that A can reach,
// whatever its rank: the proximal point method. Rows that nothing answers (A_ii = 0) get x_i = 0.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace karakuri::solver {

class EnvelopeLdl {
 public:
  /// @param first For each row its first column; first[i] <= i. Clears the values.
  void reset(std::span<const int> first);
  int size() const { return static_cast<int>(first_.size()); }
  double value_count() const { return static_cast<double>(a_.size()); }
  /// @pre first[row] <= column <= row
  double& at(int row, int column) { return a_[start_[row] + column]; }

  void factor();
  /// x <- A^+ b after some rounds of (2): three leave rounding of what answers at all, one is enough for a
  /// caller who repeats it with what is left. `b` is overwritten.
  void solve(std::span<double> b, std::span<double> x, int rounds);

 private:
  void subtract_product(std::span<const double> x, std::span<double> b) const;

  std::vector<int> first_;
  std::vector<std::ptrdiff_t> start_;  // of row i's values, minus first_[i]: index by column directly
  std::vector<double> a_, l_;          // by rows, diagonal last
  std::vector<double> scale_, step_;
};

}  // namespace karakuri::solver
