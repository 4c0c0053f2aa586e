// Block Gauss-Seidel with exact local solves, accelerated.
//
//   u_i = Σ_j W_ij λ_j + C_i λ_i + q_i          with the newest λ                       (1)
//   λ_i ← the λ that solves block i alone for   u = u_i + Ŵ_ii (λ − λ_i)                 (2)
//   Ŵ_ii = sym(W_ii) + C_i + ε                  ε: see local_coulomb.cc                  (3)
//   v ← v + Σ_s Y_is Δλ_i                       matrix-free: instead of (1)'s sum        (4)
//
// Jean and Moreau (1992) with the local solver of local_coulomb.h. Because (2) starts from the present u_i,
// its fixed points solve the problem itself, also where W_ii is singular or not quite symmetric.
//
// Between sweeps the impulses are extrapolated as Nesterov (1983) does for gradients,
//
//   y_k = λ_k + β_k (λ_k − λ_{k−1}),  β_k = (θ_k − 1) / θ_{k+1},  θ_{k+1} = (1 + √(1 + 4 θ_k²)) / 2   (5)
//   restart (θ = 1) when (λ_{k+1} − y_k)·(λ_{k+1} − λ_k) < 0                                           (6)
//
// with the restart of O'Donoghue and Candès (Found. Comput. Math. 15, 2015). There is no proof for (2) with
// friction; what is measured is in docs/solvers.md. It needs all sweeps in the same direction: a forward
// sweep repeated is one map, forward and backward in turn are two. Trees that are walked along are swept
// without: their joints are exact, so that sweeps converge fast, and with (5) they do not at all.
//
// The true residual costs as much as a sweep. It is taken only when the step length |Δλ| suggests that the
// target has been reached, with the ratio between the two learned at the last check.
#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "solver/access.h"
#include "solver/memory.h"
#include "solver/walk.h"

namespace karakuri::solver {

namespace {

constexpr double kFloor = 1e-9;  // (3), relative to the mean diagonal; as in local_coulomb.cc

void prepare_rows(const Block& block, const double* w, const double* compliance, LocalBlocks& local) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, kMaxBlockSize, kMaxBlockSize>;
  const int n = block.size;
  Matrix a = Eigen::Map<const Eigen::MatrixXd>(w, n, n);
  a = (0.5 * (a + a.transpose())).eval();
  for (int r = 0; r < n; ++r) a(r, r) += compliance[r];
  const double mean = a.diagonal().cwiseAbs().sum() / n;
  const std::size_t offset = local.inverse.size();
  local.inverse.resize(offset + n * n, 0.0);
  if (!(mean > 0.0) || !std::isfinite(mean)) return;  // nothing here moves anything: λ stays
  a.diagonal().array() += kFloor * mean;
  const Eigen::LDLT<Matrix> factor(a);
  Matrix inverse = Matrix::Identity(n, n);
  factor.solveInPlace(inverse);
  // an indefinite block (W is not J M⁻¹ Jᵀ then) has no exact local solve: a damped step instead
  const bool usable = factor.info() == Eigen::Success && factor.isPositive() && inverse.allFinite();
  if (!usable) inverse = Matrix::Identity(n, n) / (a.norm() + kFloor * mean);
  Eigen::Map<Eigen::MatrixXd>(local.inverse.data() + offset, n, n) = inverse;
}

}  // namespace

void prepare_blocks(const Problem& p, Workspace::Memory& m) {
  LocalBlocks& local = m.local;
  local.index.clear();
  local.contacts.clear();
  local.cones.clear();
  local.inverse.clear();
  double w[kMaxBlockSize * kMaxBlockSize] = {};
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    diagonal_block(p, i, w);
    if (block.kind != RowKind::kCone) {
      local.index.push_back(static_cast<int>(local.inverse.size()));
      prepare_rows(block, w, m.compliance.data() + block.row, local);
    } else if (block.size == 3) {
      local.index.push_back(static_cast<int>(local.contacts.size()));
      prepare_local(p, block, w, m.compliance.data() + block.row, local.contacts.emplace_back());
    } else {
      local.index.push_back(static_cast<int>(local.cones.size()));
      prepare_local(p, block, w, m.compliance.data() + block.row, local.cones.emplace_back());
    }
  }
}

namespace {

/// (2) for rows that are not cones. @return |Δλ|².
double update_rows(const Problem& p, const Block& block, const double* inverse, const double* u,
                   double* lambda) {
  double change = 0.0;
  double next[kMaxBlockSize];
  for (int r = 0; r < block.size; ++r) {
    next[r] = lambda[r];
    for (int c = 0; c < block.size; ++c) next[r] -= inverse[c * block.size + r] * u[c];
  }
  for (int r = 0; r < block.size; ++r) {
    if (block.kind == RowKind::kComplementarity) next[r] = std::max(0.0, next[r]);
    if (block.kind == RowKind::kBox)
      next[r] = std::clamp(next[r], p.lower[block.row + r], p.upper[block.row + r]);
    change += (next[r] - lambda[r]) * (next[r] - lambda[r]);
    lambda[r] = next[r];
  }
  return change;
}

double update_block(const Problem& p, int i, LocalBlocks& local, const double* u, double* lambda) {
  const Block& block = p.blocks[i];
  const int index = local.index[i];
  if (block.kind != RowKind::kCone) return update_rows(p, block, local.inverse.data() + index, u, lambda);
  if (block.size == 3) {
    LocalCone<2>& cone = local.contacts[index];
    return cone.dead ? 0.0 : update_local(cone, u, lambda);
  }
  LocalCone<-1>& cone = local.cones[index];
  return cone.dead ? 0.0 : update_local(cone, u, lambda);
}

}  // namespace

double gauss_seidel_sweep(const Problem& p, Workspace::Memory& m, double* lambda) {
  double change = 0.0;
  const bool walks = !p.links.empty();
  if (walks) begin_walk(p, lambda, m);
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    double u[kMaxBlockSize];
    if (walks) reach(p, i, m);
    block_velocity(p, m, i, lambda, u);
    double* x = lambda + block.row;
    for (int r = 0; r < block.size; ++r)
      u[r] += m.compliance[block.row + r] * x[r] + m.q[block.row + r];  // (1)
    double before[kMaxBlockSize];
    std::copy_n(x, block.size, before);
    const double step = update_block(p, i, m.local, u, x);  // (2)
    change += step;
    if (step == 0.0) continue;
    for (int r = 0; r < block.size; ++r) before[r] = x[r] - before[r];
    walks ? push_along(p, i, before, m) : block_changed(p, m, i, before);
  }
  return std::sqrt(change);
}

double check(const Problem& p, std::span<const double> lambda, Workspace::Memory& m) {
  if (p.storage == OperatorKind::kDense) {
    apply_operator(p, lambda, m.velocity, m.u);
  } else if (m.packed.in_use) {
    packed_apply(p, lambda, m.packed, m.u.data());
  } else {
    if (p.storage == OperatorKind::kMatrixFree) velocity_change(p, lambda, m.velocity);
    for (int i = 0; i < p.block_count(); ++i)
      block_velocity(p, m, i, lambda.data(), m.u.data() + p.blocks[i].row);
  }
  for (int i = 0; i < p.rows(); ++i) m.u[i] += p.compliance[i] * lambda[i] + p.q[i];
  const double residual = natural_map(p, lambda, m.u, m.rho);
  m.budget.spend(sweep_cost(p));
  if (residual < m.best_residual) {
    m.best_residual = residual;
    std::copy(lambda.begin(), lambda.end(), m.best.begin());
    m.best_u.assign(m.u.begin(), m.u.end());
  }
  return residual;
}

namespace {

/// (5): x ← x + β (x − x_previous), x_previous ← x.
void extrapolate(double beta, std::span<double> x, std::span<double> previous) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double now = x[i];
    x[i] += beta * (now - previous[i]);
    previous[i] = now;
  }
}

/// Left side of (6), each block weighed by its mobility so that the unit of mass does not matter.
double agreement(const Problem& p, const Workspace::Memory& m, std::span<const double> lambda) {
  const Momentum& a = m.momentum;
  double sum = 0.0;
  for (int i = 0; i < p.rows(); ++i) sum += (lambda[i] - a.start[i]) * (lambda[i] - a.previous[i]);
  return sum;
}

/// What matrix-free sweeps keep up to date.
std::vector<double>& velocities_of(Workspace::Memory& m) { return m.packed.in_use ? m.packed.y : m.velocity; }

void restart(const Problem& p, Workspace::Memory& m, std::span<const double> lambda) {
  m.momentum.theta = 1.0;
  m.momentum.previous.assign(lambda.begin(), lambda.end());
  if (p.storage == OperatorKind::kMatrixFree) m.momentum.previous_velocity = velocities_of(m);
}

}  // namespace

double accelerated_sweep(const Problem& p, Workspace::Memory& m, std::span<double> lambda) {
  Momentum& a = m.momentum;
  if (!p.links.empty()) return gauss_seidel_sweep(p, m, lambda.data());
  const double next = 0.5 * (1.0 + std::sqrt(1.0 + 4.0 * a.theta * a.theta));
  const double beta = (a.theta - 1.0) / next;
  a.theta = next;
  extrapolate(beta, lambda, a.previous);
  if (p.storage == OperatorKind::kMatrixFree) extrapolate(beta, velocities_of(m), a.previous_velocity);
  a.start.assign(lambda.begin(), lambda.end());
  const double step = gauss_seidel_sweep(p, m, lambda.data());
  if (!(agreement(p, m, lambda) >= 0.0)) a.theta = 1.0;  // (6)
  return step;
}

void begin_sweeps(const Problem& p, Workspace::Memory& m, std::span<const double> lambda) {
  m.q.assign(p.q.begin(), p.q.end());
  m.compliance.assign(p.compliance.begin(), p.compliance.end());
  prepare_blocks(p, m);
  restart(p, m, lambda);
}

namespace {

/// Of the blocks: what |Δλ| may be as velocity, before anything is known of it.
double largest_mobility(const Workspace::Memory& m) {
  return m.rho.empty() ? 1.0 : 1.0 / *std::min_element(m.rho.begin(), m.rho.end());
}

}  // namespace

void block_gauss_seidel(const Problem& p, int sweeps, Workspace::Memory& m, std::span<double> lambda,
                        Report& report) {
  if (m.best_residual <= m.target) return;
  double ratio = largest_mobility(m);  // residual / |Δλ|
  constexpr int kFirstCheck = 5;       // teaches the ratio
  constexpr int kCheckEvery = 25;
  for (int k = 0; k < sweeps; ++k) {
    const double step = accelerated_sweep(p, m, lambda);
    ++report.sweeps;
    m.budget.spend(sweep_cost(p));
    const bool spent = m.budget.spent();
    if (!spent && ratio * step > m.target && k + 1 != kFirstCheck && (k + 1) % kCheckEvery != 0 &&
        k + 1 < sweeps)
      continue;
    const double residual = check(p, lambda, m);
    if (residual <= m.target || step == 0.0 || spent) return;
    if (!(residual <
          1e3 * m.best_residual)) {  // diverging, or not finite: back to the best, without momentum
      std::copy(m.best.begin(), m.best.end(), lambda.begin());
      check(p, lambda, m);
      restart(p, m, lambda);
    }
    ratio = residual / step;
  }
}

}  // namespace karakuri::solver
