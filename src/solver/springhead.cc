// Gauss-Seidel row by row with incremental velocity, as in Springhead.
//
// Hasegawa, Mitake, Tazaki, "Springhead" (Algorithm 1), with what the printed algorithm lacks: λ is stored,
// the velocity change carries h (here part of W), and linear rows feed their own compliance back:
//
//   λ'_i = λ_i − w'_i / (A_ii + c_i)                                                     (1)
//   complementary rows: λ'_i ← max(0, λ'_i)                                              (2)
//   δλ_i = λ'_i − λ_i;  δv = M⁻¹Jᵀ δλ;  w' ← w' + J δv;  w'_i ← w'_i + c_i δλ_i            (3)
//
// c_i = 1/(D + hK) for implicit springs and dampers (linear rows). Contacts are a complementary normal and,
// axis by axis, "a condition similar to the complementary one" on the tangents, which is read as
//
//   −μ λ_n ≤ λ_t ≤ μ λ_n  with the newest λ_n                                            (4)
//
// a pyramid: up to √2 too much friction between the axes. W as a matrix gives w' without v; both are the same
// iteration.
#include <algorithm>
#include <cmath>

#include "solver/access.h"
#include "solver/sweep_until_still.h"

namespace karakuri::solver {

namespace {

void limits(const Problem& p, const Block& block, int r, const double* lambda, double& low, double& high) {
  low = -kInfinity;
  high = kInfinity;
  if (block.kind == RowKind::kBox) {
    low = p.lower[block.row + r];
    high = p.upper[block.row + r];
  } else if (block.kind == RowKind::kComplementarity || (block.kind == RowKind::kCone && r == 0)) {
    low = 0.0;  // (2)
  } else if (block.kind == RowKind::kCone) {
    high = p.friction[block.row + r] * lambda[0];  // (4)
    low = -high;
  }
}

double sweep(const Problem& p, Workspace::Memory& m, double* lambda) {
  double change = 0.0;
  double a[kMaxBlockSize * kMaxBlockSize];
  double w[kMaxBlockSize];
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    double* x = lambda + block.row;
    diagonal_block(p, i, a);
    block_velocity(p, m, i, lambda, w);
    double moved[kMaxBlockSize] = {};
    for (int r = 0; r < block.size; ++r) w[r] += p.compliance[block.row + r] * x[r] + p.q[block.row + r];
    for (int r = 0; r < block.size; ++r) {
      const double c = p.compliance[block.row + r];
      const double diagonal = a[r * (block.size + 1)] + c;
      double low = 0.0;
      double high = 0.0;
      limits(p, block, r, x, low, high);
      const double next = std::clamp(diagonal > 0.0 ? x[r] - w[r] / diagonal : x[r], low, high);  // (1)
      const double delta = next - x[r];
      x[r] = next;
      moved[r] = delta;
      change += delta * delta;
      for (int s = 0; s < block.size; ++s) w[s] += a[r * block.size + s] * delta;  // (3)
      w[r] += c * delta;
    }
    block_changed(p, m, i, moved);  // (3)
  }
  return std::sqrt(change);
}

}  // namespace

void springhead(const Problem& p, const Settings& settings, Workspace::Memory& m, std::span<double> lambda,
                Report& report) {
  sweep_until_still(p, settings, m, lambda, report, [&] { return sweep(p, m, lambda.data()); });
}

}  // namespace karakuri::solver
