// The rows of a box LCP that are held at zero velocity (Baraff's clamped set C) and the factors of their part
// of A, kept up to date as rows come and go.
//
// Symmetric A (LdlSet): A_CC = L D Lᵀ, one row of L for each row of C in the order of their coming. A row
// that comes appends g = L⁻¹ a, L_k = g / d, and
//
//   d_k = a_kk − Σ g_j² / d_j                                                              (1)
//
// A row that goes leaves behind the column v of L below it, whose outer product is added to what follows:
//
//   L₃' D₃' L₃'ᵀ = L₃ D₃ L₃ᵀ + d v vᵀ                                                      (2)
//
// a positive update, which is stable (Gill, Golub, Murray, Saunders, Math. Comp. 28, 1974, method C1). Rows
// of L start at their first number that is not zero, and (2) moves no start: an order that keeps couplings
// close makes stacks cheap.
//
// Other A (InverseSet): the inverse of A_CC, bordered. Dearer; for operators that are not symmetric.
#pragma once

#include <span>
#include <vector>

namespace karakuri::solver {

/// A part of the problem's matrix, n x n, row by row.
struct SquareMatrix {
  const double* values = nullptr;
  int n = 0;
  double at(int r, int c) const { return values[static_cast<std::size_t>(r) * n + c]; }
  const double* row(int r) const { return values + static_cast<std::size_t>(r) * n; }
};

/// What both ways have in common: who is in the set, and where.
struct ClampedMemory {
  std::vector<int> members;      // rows of A by place in the set
  std::vector<int> place;        // place by row; -1: not in the set
  std::vector<int> start, slot;  // by place: where its row of L starts, and where that is kept
  std::vector<double> factor;    // n x n: rows of L, or the inverse
  std::vector<double> diagonal;  // by place: D
  std::vector<double> g, left;   // n
  double work = 0;               // multiplications, to be taken by whoever counts them
};

class LdlSet {
 public:
  LdlSet(ClampedMemory& memory, SquareMatrix a);
  void clear();
  int size() const { return static_cast<int>(m_.members.size()); }
  bool contains(int row) const { return m_.place[row] >= 0; }
  std::span<const int> members() const { return m_.members; }
  /// False, with nothing done, where A_CC would be singular.
  bool add(int row);
  void remove(int row);
  /// y = A_CC⁻¹ y, by place.
  void solve(double* y) const;

 private:
  double* factor_row(int place) const {
    return m_.factor.data() + static_cast<std::size_t>(m_.slot[place]) * a_.n;
  }
  void forward(double* g, int from, int to) const;

  ClampedMemory& m_;
  SquareMatrix a_;
};

class InverseSet {
 public:
  InverseSet(ClampedMemory& memory, SquareMatrix a);
  void clear();
  int size() const { return static_cast<int>(m_.members.size()); }
  bool contains(int row) const { return m_.place[row] >= 0; }
  std::span<const int> members() const { return m_.members; }
  bool add(int row);
  void remove(int row);
  void solve(double* y) const;

 private:
  double* inverse(int place) const { return m_.factor.data() + static_cast<std::size_t>(place) * a_.n; }

  ClampedMemory& m_;
  SquareMatrix a_;
};

}  // namespace karakuri::solver
