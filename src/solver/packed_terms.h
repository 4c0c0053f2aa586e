// A matrix-free operator in velocities of unit mass, in fours of which only those are kept that rows act on.
//
// Where responses are Jacobians times an inverse mass m⁻¹ of each velocity (Problem::inverse_mass), with
//
//   y = √m v,   K = J √m⁻¹                                                      (1)
//   W = K Kᵀ,   y = Kᵀ λ                                                        (2)
//
// one array K serves for both ways, where J and M⁻¹Jᵀ are two. A contact on the foot of a robot moves a leg
// and the trunk and leaves the arms alone: K holds fours of velocities, and those that are all zero are left
// out. A sweep reads less than half of what it reads of J and M⁻¹Jᵀ.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/simd.h"
#include "karakuri/solver/problem.h"

namespace karakuri::solver {

struct PackedTerms {
  bool in_use = false;
  std::vector<std::int32_t> start;   // by block: its first four; one more for the end
  std::vector<std::int32_t> at;      // by four: where it is in y
  std::vector<std::size_t> value;    // by block: where its rows begin in `values`
  std::vector<double> values;        // by four: a row of the block after the other
  std::vector<double> y;             // velocities, those of each subsystem filled up to whole fours
  std::vector<double> root;          // by velocity: √m⁻¹
  std::vector<std::int32_t> places;  // by subsystem: its first in y
};

/// Whether the operator can be packed.
bool suits_packing(const Problem& problem);
/// Packs it; y is zero. @pre suits_packing()
void pack_terms(const Problem& problem, PackedTerms& packed);

/// u ← K y of a block of `size` rows.
inline void packed_velocity(const PackedTerms& t, int block, int size, double* u) {
  using namespace simd;
  const double* k = t.values.data() + t.value[block];
  const std::int32_t first = t.start[block], end = t.start[block + 1];
  if (size == 3) {
    V4 a = broadcast(0.0), b = a, c = a;
    for (std::int32_t f = first; f < end; ++f, k += 12) {
      const V4 y = load4(t.y.data() + t.at[f]);
      a += load4(k) * y;
      b += load4(k + 4) * y;
      c += load4(k + 8) * y;
    }
    u[0] = sum4(a), u[1] = sum4(b), u[2] = sum4(c);
    return;
  }
  for (int r = 0; r < size; ++r, k += 4) {
    V4 sum = broadcast(0.0);
    const double* row = k;
    for (std::int32_t f = first; f < end; ++f, row += 4 * size)
      sum += load4(row) * load4(t.y.data() + t.at[f]);
    u[r] = sum4(sum);
  }
}

/// y ← y + Kᵀ x of a block of `size` rows.
inline void packed_push(PackedTerms& t, int block, int size, const double* x) {
  using namespace simd;
  const double* k = t.values.data() + t.value[block];
  const std::int32_t first = t.start[block], end = t.start[block + 1];
  if (size == 3) {
    const V4 a = broadcast(x[0]), b = broadcast(x[1]), c = broadcast(x[2]);
    for (std::int32_t f = first; f < end; ++f, k += 12) {
      double* y = t.y.data() + t.at[f];
      store4(y, load4(y) + (load4(k) * a + load4(k + 4) * b + load4(k + 8) * c));
    }
    return;
  }
  for (std::int32_t f = first; f < end; ++f) {
    double* y = t.y.data() + t.at[f];
    V4 sum = load4(y);
    for (int r = 0; r < size; ++r, k += 4) sum += load4(k) * broadcast(x[r]);
    store4(y, sum);
  }
}

/// u ← K Kᵀ λ of all rows; leaves y = Kᵀ λ.
void packed_apply(const Problem& problem, std::span<const double> lambda, PackedTerms& packed, double* u);

}  // namespace karakuri::solver
