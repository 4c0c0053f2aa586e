// One block's velocity from the present impulses, and one block's change handed on, for each way to store W.
#pragma once

#include <algorithm>

#include "core/simd.h"
#include "solver/memory.h"

namespace karakuri::solver {

using namespace simd;  // NOLINT: private to the module

inline void dense_velocity(const Problem& p, const Block& block, const double* lambda, double* u) {
  const std::size_t n = p.q.size();
  const double* row = p.dense.data() + block.row * n;
  if (block.size == 3) return dot3(row, n, lambda, static_cast<int>(n), u);
  for (int r = 0; r < block.size; ++r, row += n) u[r] = dot(row, lambda, static_cast<int>(n));
}

/// Row of blocks that are all 3x3. The last column is loaded one value early, to stay inside the block.
inline void sparse_velocity3(const Problem& p, int i, const double* lambda, double* u) {
  V4 sum = broadcast(0.0);
  V4 late = broadcast(0.0);
  for (int e = p.entry_start[i]; e < p.entry_start[i + 1]; ++e) {
    const double* w = p.entry_values.data() + p.entries[e].offset;
    const double* x = lambda + p.blocks[p.entries[e].column].row;
    sum += load4(w) * broadcast(x[0]);
    sum += load4(w + 3) * broadcast(x[1]);
    late += load4(w + 5) * broadcast(x[2]);
  }
  for (int r = 0; r < 3; ++r) u[r] = sum[r] + late[r + 1];
}

inline void sparse_velocity(const Problem& p, int i, bool all3, const double* lambda, double* u) {
  if (all3) return sparse_velocity3(p, i, lambda, u);
  const Block& block = p.blocks[i];
  std::fill_n(u, block.size, 0.0);
  for (int e = p.entry_start[i]; e < p.entry_start[i + 1]; ++e) {
    const Block& column = p.blocks[p.entries[e].column];
    const double* w = p.entry_values.data() + p.entries[e].offset;
    const double* x = lambda + column.row;
    for (int c = 0; c < column.size; ++c)
      for (int r = 0; r < block.size; ++r) u[r] += *w++ * x[c];
  }
}

inline void free_velocity(const Problem& p, int i, const double* velocity, double* u) {
  const int size = p.blocks[i].size;
  std::fill_n(u, size, 0.0);
  for (int t = p.term_start[i]; t < p.term_start[i + 1]; ++t) {
    const Subsystem& s = p.subsystems[p.terms[t].subsystem];
    const double* j = p.jacobian.data() + p.terms[t].offset;
    const double* v = velocity + s.velocity;
    if (s.dof == 6) {
      const V4 v0 = load4(v);
      for (int r = 0; r < size; ++r, j += 6) u[r] += sum4(load4(j) * v0) + (j[4] * v[4] + j[5] * v[5]);
    } else {
      int r = 0;
      for (; r + 3 <= size; r += 3, j += 3 * s.dof) {
        double three[3];
        dot3(j, s.dof, v, s.dof, three);
        for (int k = 0; k < 3; ++k) u[r + k] += three[k];
      }
      for (; r < size; ++r, j += s.dof) u[r] += dot(j, v, s.dof);
    }
  }
}

inline void push_velocity(const Problem& p, int i, const double* change, double* velocity) {  // (4)
  const int size = p.blocks[i].size;
  for (int t = p.term_start[i]; t < p.term_start[i + 1]; ++t) {
    const Subsystem& s = p.subsystems[p.terms[t].subsystem];
    const double* y = p.response.data() + p.terms[t].offset;
    double* v = velocity + s.velocity;
    if (s.dof == 6 && size == 3) {
      store4(v, load4(v) + (load4(y) * broadcast(change[0]) + load4(y + 6) * broadcast(change[1]) +
                            load4(y + 12) * broadcast(change[2])));
      v[4] += y[4] * change[0] + y[10] * change[1] + y[16] * change[2];
      v[5] += y[5] * change[0] + y[11] * change[1] + y[17] * change[2];
    } else {
      int r = 0;
      for (; r + 3 <= size; r += 3, y += 3 * s.dof) axpy3(change + r, y, s.dof, v, s.dof);
      for (; r < size; ++r, y += s.dof) axpy(change[r], y, v, s.dof);
    }
  }
}

/// u of block i: W λ, without compliance and q.
inline void block_velocity(const Problem& p, const Workspace::Memory& m, int i, const double* lambda,
                           double* u) {
  switch (p.storage) {
    case OperatorKind::kDense: return dense_velocity(p, p.blocks[i], lambda, u);
    case OperatorKind::kBlockSparse: return sparse_velocity(p, i, m.local.all3, lambda, u);
    case OperatorKind::kMatrixFree:
      if (m.packed.in_use) return packed_velocity(m.packed, i, p.blocks[i].size, u);
      return free_velocity(p, i, m.velocity.data(), u);
  }
}

/// Tells the subsystems (if there are any) that block i's impulses have changed.
inline void block_changed(const Problem& p, Workspace::Memory& m, int i, const double* change) {
  if (p.storage != OperatorKind::kMatrixFree) return;
  if (m.packed.in_use) return packed_push(m.packed, i, p.blocks[i].size, change);
  push_velocity(p, i, change, m.velocity.data());
}

}  // namespace karakuri::solver
