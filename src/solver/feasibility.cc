// Is there any solution at all?
//
// û ∈ K* means only u_n ≥ 0, so friction cannot make a problem infeasible: it is a question about equality
// rows, bounds and normals. By Farkas' lemma they have no solution exactly if there is a direction d of
// impulses with
//
//   Wᵀ d = 0,  d admissible however long (d_n ≥ 0, d_t = 0, box rows only towards infinite bounds),  q·d < 0
//   (1)
//
// because then d·u = d·q < 0 for every λ, while a solution needs d·u ≥ 0. Such a d is what proximal
// iterations on the frictionless problem drift along: λ_{k+1} − λ_k → d (Pazy 1971). With Wᵀ d not quite zero
// in doubles, (1) still proves that every solution is at least |q·d| / |Wᵀ d| long; it is called infeasible
// where that is kHuge times the natural size of impulses.
// (1) also bounds what can be reached: rows are violated by |q·d| / |d| or more, and the natural map of a
// cone weighs a violation of u_n by 1/√(1 + μ²), so that
//
//   |natural map| ≥ |q·d| / (|d| √(1 + μ²))   for every λ (2)
#include <algorithm>
#include <cmath>

#include "solver/memory.h"

namespace karakuri::solver {

namespace {

constexpr double kHuge = 1e9;
constexpr double kClear = 1e-6;  // q·d against |q| |d|
constexpr int kDriftSteps = 6;

/// How much a block that nothing acts on breaks its law, and always will.
double violation(const Problem& p, const Block& block) {
  const double q = p.q[block.row];
  switch (block.kind) {
    case RowKind::kCone:
    case RowKind::kComplementarity: return std::max(0.0, -q);
    case RowKind::kBox:
      if (p.lower[block.row] > -kInfinity && p.upper[block.row] < kInfinity) return 0.0;
      return p.upper[block.row] == kInfinity ? std::max(0.0, -q) : std::max(0.0, q);
    default: break;
  }
  double sum = 0.0;
  for (int r = 0; r < block.size; ++r) sum += p.q[block.row + r] * p.q[block.row + r];
  return std::sqrt(sum);
}

void make_admissible(const Problem& p, const Block& block, double* d) {
  if (block.kind == RowKind::kCone) std::fill_n(d + 1, block.size - 1, 0.0);
  if (block.kind == RowKind::kCone || block.kind == RowKind::kComplementarity) d[0] = std::max(0.0, d[0]);
  if (block.kind == RowKind::kBox) {
    if (p.upper[block.row] < kInfinity) d[0] = std::min(0.0, d[0]);
    if (p.lower[block.row] > -kInfinity) d[0] = std::max(0.0, d[0]);
  }
}

/// out = (W + C)ᵀ d.
void apply_transpose(const Problem& p, const Coupling& c, std::span<const double> d, std::span<double> out) {
  for (int i = 0; i < p.rows(); ++i) out[i] = p.compliance[i] * d[i];
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& row = p.blocks[i];
    for (int e = c.start[i]; e < c.start[i + 1]; ++e) {
      const Block& column = p.blocks[c.entries[e].column];
      const double* w = c.values + c.entries[e].offset;
      for (int b = 0; b < column.size; ++b)
        for (int a = 0; a < row.size; ++a) out[column.row + b] += *w++ * d[row.row + a];
    }
  }
}

}  // namespace

bool proven_infeasible(const Problem& p, double wanted, Workspace::Memory& m) {
  double mu = 0.0;
  for (const double f : p.friction) mu = std::max(mu, f);
  const double target = wanted * std::hypot(1.0, mu);  // (2)
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
  apply_transpose(p, m.newton.coupling, d, m.u);
  double qd = 0.0;
  double norm_q = 0.0;
  double norm_d = 0.0;
  double plain_d = 0.0;
  double norm_wd = 0.0;
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    const double mean = m.newton.prox[i];
    if (!(mean > 0.0)) {
      if (violation(p, block) > target) return true;
      continue;
    }
    double own[kMaxBlockSize * kMaxBlockSize];
    diagonal_block(p, i, own);
    for (int r = block.row; r < block.row + block.size; ++r) {
      // rows of one block may differ by orders of magnitude: each has its own natural size
      const double diagonal = std::abs(own[(r - block.row) * (block.size + 1)]) + p.compliance[r];
      const double w = diagonal > 0.0 ? diagonal : mean;
      qd += p.q[r] * d[r];
      norm_q += p.q[r] * p.q[r] / w;
      norm_d += w * d[r] * d[r];
      plain_d += d[r] * d[r];
      norm_wd += m.u[r] * m.u[r] / w;
    }
  }
  if (!(-qd > target * std::sqrt(plain_d))) return false;  // (2): it can be solved as well as was asked
  return qd < -kClear * std::sqrt(norm_q * norm_d) && -qd > kHuge * std::sqrt(norm_q * norm_wd);
}

}  // namespace karakuri::solver
