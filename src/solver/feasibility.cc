// Is there any solution at all?
//
// û ∈ K* means only u_n ≥ 0, so friction cannot make a problem infeasible: it is a question about equality
// rows, bounds and normals. By Farkas' lemma they have no solution exactly if there is a direction d of
// impulses with
//
//   W d = 0,  d admissible however long (d_n ≥ 0, d_t = 0, box rows only towards infinite bounds),  q·d < 0
//   (1)
//
// because then d·u = d·q < 0 for every λ, while a solution needs d·u ≥ 0. Such a d is what proximal
// iterations on the frictionless problem drift along: λ_{k+1} − λ_k → d (Pazy 1971). With W d not quite zero
// in doubles, (1) still proves that every solution is at least |q·d| / |W d| long; it is called infeasible
// where that is kHuge times the natural size of impulses.
#include <algorithm>
#include <cmath>

#include "solver/memory.h"

namespace karakuri::solver {

namespace {

constexpr double kHuge = 1e5;
constexpr double kClear = 1e-6;  // q·d against |q| |d|
constexpr int kDriftSteps = 6;

bool violated(const Problem& p, const Block& block) {
  const double q = p.q[block.row];
  switch (block.kind) {
    case RowKind::kCone:
    case RowKind::kComplementarity: return q < 0.0;
    case RowKind::kBox:
      return (q < 0.0 && p.upper[block.row] == kInfinity) || (q > 0.0 && p.lower[block.row] == -kInfinity);
    default: break;
  }
  return std::any_of(p.q.begin() + block.row, p.q.begin() + block.row + block.size,
                     [](double x) { return x != 0.0; });
}

void make_admissible(const Problem& p, const Block& block, double* d) {
  if (block.kind == RowKind::kCone) std::fill_n(d + 1, block.size - 1, 0.0);
  if (block.kind == RowKind::kCone || block.kind == RowKind::kComplementarity) d[0] = std::max(0.0, d[0]);
  if (block.kind == RowKind::kBox) {
    if (p.upper[block.row] < kInfinity) d[0] = std::min(0.0, d[0]);
    if (p.lower[block.row] > -kInfinity) d[0] = std::max(0.0, d[0]);
  }
}

}  // namespace

bool proven_infeasible(const Problem& p, Workspace::Memory& m) {
  Problem& smooth = m.frictionless;
  smooth = p;
  std::fill(smooth.friction.begin(), smooth.friction.end(), 0.0);
  m.target = 0.0;
  m.best_residual = kInfinity;
  if (!prepare_newton(smooth, m)) return false;
  std::vector<double>& lambda = m.drift;
  lambda.assign(p.rows(), 0.0);
  Report unused;
  for (int k = 0; k < kDriftSteps; ++k) proximal_step(smooth, 1e-4, m, lambda, unused);
  std::vector<double>& d = m.newton.trial;
  for (int i = 0; i < p.rows(); ++i) d[i] = lambda[i] - m.newton.centre[i];
  for (const Block& block : p.blocks) make_admissible(p, block, d.data() + block.row);
  row_velocities(p, d, m.velocity, m.u);  // (W + C) d + q
  double qd = 0.0;
  double norm_q = 0.0;
  double norm_d = 0.0;
  double norm_wd = 0.0;
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    const double w = m.newton.prox[i];
    if (!(w > 0.0)) {
      if (violated(p, block)) return true;
      continue;
    }
    for (int r = block.row; r < block.row + block.size; ++r) {
      qd += p.q[r] * d[r];
      norm_q += p.q[r] * p.q[r] / w;
      norm_d += w * d[r] * d[r];
      norm_wd += (m.u[r] - p.q[r]) * (m.u[r] - p.q[r]) / w;
    }
  }
  return qd < -kClear * std::sqrt(norm_q * norm_d) && -qd > kHuge * std::sqrt(norm_q * norm_wd);
}

}  // namespace karakuri::solver
