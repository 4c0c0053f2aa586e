// Successive over-relaxation row by row, as ODE's quick step has it.
//
// Smith, Open Dynamics Engine User Guide, §8 and its dWorldQuickStep: from λ = 0, for a fixed number of
// iterations (20) and in an order that is drawn anew every eighth,
//
//   λ'_i = λ_i − ω u_i / (W_ii + c_i),   u = (W + C) λ + q,   ω = 1.3                       (1)
//   complementary rows: λ'_i ← max(0, λ'_i);  boxes: between their bounds                   (2)
//   tangents: −μ_i λ_n ≤ λ'_i ≤ μ_i λ_n with the newest λ_n of their contact                (3)
//
// (c: ODE's CFM.) At first rows that bound others come before those that are bounded by them. There is no
// test of convergence: what the iterations leave is the method's own error, and the report tells it. Friction
// is bounded axis by axis. The draw is the same in every solve, so that the same problem has the same answer.
#include <algorithm>
#include <cmath>

#include "karakuri/core/random.h"
#include "solver/access.h"

namespace karakuri::solver {

namespace {

constexpr int kDrawEvery = 8;

bool is_tangent(const Block& block, int r) { return block.kind == RowKind::kCone && r > 0; }

/// Rows in their first order, and their steps (1).
void list_rows(const Problem& p, double relaxation, Workspace::Memory& m) {
  m.relaxed.clear();
  double diagonal[kMaxBlockSize];
  for (const bool tangents : {false, true}) {
    for (int b = 0; b < p.block_count(); ++b) {
      const Block& block = p.blocks[b];
      block_diagonal(p, b, diagonal);
      for (int r = 0; r < block.size; ++r) {
        const double d = diagonal[r] + p.compliance[block.row + r];
        if (is_tangent(block, r) == tangents) m.relaxed.push_back({b, r, d > 0.0 ? relaxation / d : 0.0});
      }
    }
  }
}

void draw_order(Random& random, std::vector<RelaxedRow>& rows) {
  for (int i = 1; i < static_cast<int>(rows.size()); ++i) std::swap(rows[i], rows[random.below(i + 1)]);
}

/// u of one row: W λ, without compliance and q.
double row_velocity(const Problem& p, const Workspace::Memory& m, const RelaxedRow& row,
                    const double* lambda) {
  const Block& block = p.blocks[row.block];
  double u = 0.0;
  switch (p.storage) {
    case OperatorKind::kDense: {
      const std::size_t n = p.q.size();
      return dot(p.dense.data() + (block.row + row.r) * n, lambda, static_cast<int>(n));
    }
    case OperatorKind::kBlockSparse:
      for (int e = p.entry_start[row.block]; e < p.entry_start[row.block + 1]; ++e) {
        const Block& column = p.blocks[p.entries[e].column];
        const double* w = p.entry_values.data() + p.entries[e].offset + row.r;
        for (int c = 0; c < column.size; ++c) u += w[c * block.size] * lambda[column.row + c];
      }
      return u;
    case OperatorKind::kMatrixFree:
      for (int t = p.term_start[row.block]; t < p.term_start[row.block + 1]; ++t) {
        const Subsystem& s = p.subsystems[p.terms[t].subsystem];
        u +=
            dot(p.jacobian.data() + p.terms[t].offset + row.r * s.dof, m.velocity.data() + s.velocity, s.dof);
      }
      return u;
  }
  return u;
}

/// Tells the subsystems (if there are any) that one row's impulse has changed.
void row_changed(const Problem& p, Workspace::Memory& m, const RelaxedRow& row, double change) {
  if (p.storage != OperatorKind::kMatrixFree) return;
  for (int t = p.term_start[row.block]; t < p.term_start[row.block + 1]; ++t) {
    const Subsystem& s = p.subsystems[p.terms[t].subsystem];
    axpy(change, p.response.data() + p.terms[t].offset + row.r * s.dof, m.velocity.data() + s.velocity,
         s.dof);
  }
}

double bounded(const Problem& p, const RelaxedRow& row, const double* block_lambda, double x) {
  const Block& block = p.blocks[row.block];
  const int i = block.row + row.r;
  if (block.kind == RowKind::kBox) return std::clamp(x, p.lower[i], p.upper[i]);  // (2)
  if (is_tangent(block, row.r)) {
    const double most = p.friction[i] * block_lambda[0];  // (3)
    return std::clamp(x, -most, most);
  }
  const bool pushes = block.kind == RowKind::kComplementarity || block.kind == RowKind::kCone;
  return pushes ? std::max(0.0, x) : x;
}

void iterate(const Problem& p, Workspace::Memory& m, double* lambda) {
  for (const RelaxedRow& row : m.relaxed) {
    if (row.step == 0.0) continue;
    const Block& block = p.blocks[row.block];
    double& x = lambda[block.row + row.r];
    const int i = block.row + row.r;
    const double u = row_velocity(p, m, row, lambda) + p.compliance[i] * x + p.q[i];
    const double next = bounded(p, row, lambda + block.row, x - row.step * u);  // (1)
    row_changed(p, m, row, next - x);
    x = next;
  }
}

}  // namespace

void quickstep(const Problem& p, const Settings& settings, Workspace::Memory& m, std::span<double> lambda,
               Report& report) {
  write_none(p, lambda);
  if (p.storage == OperatorKind::kMatrixFree) velocity_change(p, lambda, m.velocity);
  list_rows(p, settings.quickstep_relaxation, m);
  Random random(1);
  for (int k = 0; k < settings.quickstep_iterations && !m.budget.spent(); ++k) {
    m.budget.spend(sweep_cost(p));
    if (k > 0 && k % kDrawEvery == 0) draw_order(random, m.relaxed);
    iterate(p, m, lambda.data());
    ++report.sweeps;
  }
  report.status = Status::kIterationLimit;
}

}  // namespace karakuri::solver
