// Proximal nonsmooth Newton on the Coulomb problem, guarded by Gauss-Seidel.
//
// Each block is classified by its augmented impulse x = z − ρ u (Alart and Curnier, Comput. Methods Appl.
// Mech. Eng. 92, 1991), in round coordinates:
//
//   x_n ≤ 0                    open    z = 0                                             (1)
//   |x_t| ≤ μ x_n              stick   u = 0                                             (2)
//   otherwise                  slip    u_n = 0,  z_t = μ z_n e − (u_⊥ / κ),  e = x_t/|x_t|,  (3)
//                                      κ = (|x_t| − μ z_n) / (ρ μ z_n)
//
// and box rows alike. The impulse is first snapped onto its class (z = 0 or z_t = μ z_n e), then moved along
// the directions `move` so that the velocity vanishes along `test`:
//
//   stick: move = test = 1;   slip: move = [(1, μ e), ⊥],  test = [(1, 0), ⊥]             (4)
//   (testᵀ (W + C + α ŵ) move + K) y = −testᵀ u,  K = κ on the ⊥ rows                     (5)
//
// so that open contacts cost nothing and slipping ones two unknowns instead of three. α ŵ_i (ŵ_i: mean
// diagonal of block i) is a proximal term about the present impulse. It picks one solution where W is
// singular, as it is whenever more rows than velocities are active, and bounds the step where a wrong class
// makes (5) contradict itself. A good step lowers α, a poor one raises it. Where a step finds nothing
// better, Gauss-Seidel sweeps on the proximal problem settle the classes of single contacts, which Newton's
// method is bad at.
#include <algorithm>
#include <cmath>

#include "core/simd.h"
#include "solver/memory.h"

namespace karakuri::solver {

using namespace simd;  // NOLINT: private to the module

namespace {

constexpr double kFirstAlpha = 1e-3;
constexpr double kMaxAlpha = 1e2;
constexpr double kMinAlpha = 1e-10;
constexpr double kGrowth = 10.0;                          // of the merit in a full step
constexpr double kMeritGoal = 1e-4;                       // the merit is a square: residual down by 100
constexpr double kTinyPivot = 1e-300;                     // only against division by zero; see envelope_lu.h
constexpr std::size_t kMaxValues = std::size_t{1} << 27;  // 1 GiB of W at most

void set_identity(NewtonBlock& b, int size) {
  b.count = size;
  b.whole = true;
  std::fill_n(b.stiffness, size, 0.0);
}

void hold(NewtonBlock& b) {
  b.count = 0;
  b.whole = false;
}

void classify_row(const Problem& p, const Block& block, double rho, double u, double& lambda,
                  NewtonBlock& b) {
  const double low = block.kind == RowKind::kComplementarity ? 0.0 : p.lower[block.row];
  const double high = block.kind == RowKind::kComplementarity ? kInfinity : p.upper[block.row];
  const double x = lambda - rho * u;
  if (x > low && x < high) return set_identity(b, 1);
  lambda = x <= low ? low : high;
  hold(b);
}

/// Columns of an orthogonal basis of the complement of the unit vector e in t dimensions (Householder).
void complement(const double* e, int t, int k, double* out) {
  const double sign = e[0] >= 0.0 ? 1.0 : -1.0;
  // v = e + sign e_0; H = 1 − v vᵀ / (1 + |e_0|) maps e to an axis; its other columns span the complement
  const double v_k = e[k];
  for (int i = 0; i < t; ++i) {
    const double v_i = e[i] + (i == 0 ? sign : 0.0);
    out[i] = (i == k ? 1.0 : 0.0) - v_i * v_k / (1.0 + std::abs(e[0]));
  }
}

void set_slip(const ConeScale& scale, const Block& block, const double* e, double kappa, double* lambda,
              NewtonBlock& b) {
  const int size = block.size;
  const int t = size - 1;
  b.count = scale.mu > 0.0 ? t : 1;
  b.whole = false;
  std::fill_n(b.move, size * b.count, 0.0);
  std::fill_n(b.test, size * b.count, 0.0);
  b.move[0] = b.test[0] = 1.0;
  b.stiffness[0] = 0.0;
  for (int i = 0; i < t; ++i) {
    b.move[1 + i] = scale.s[1 + i] * scale.mu * e[i];
    lambda[1 + i] = b.move[1 + i] * lambda[0];
  }
  for (int k = 1; k < b.count; ++k) {
    double axis[kMaxBlockSize];
    complement(e, t, k, axis);
    b.stiffness[k] = kappa;
    for (int i = 0; i < t; ++i)
      b.move[k * size + 1 + i] = b.test[k * size + 1 + i] = scale.s[1 + i] * axis[i];
  }
}

template <int T>
void classify_cone(const Block& block, const LocalCone<T>& cone, const double* u, double* lambda,
                   NewtonBlock& b) {
  const ConeScale& scale = cone.scale;
  const int t = block.size - 1;
  const double rho_n = cone.inverse_nn;
  double mean = 0.0;
  for (int k = 0; k < t; ++k) mean += cone.l[k];
  const double rho_t = t / mean;
  const double x_n = lambda[0] - rho_n * u[0];
  if (cone.dead || !(x_n > 0.0)) {  // (1)
    std::fill_n(lambda, block.size, 0.0);
    return hold(b);
  }
  double x[kMaxBlockSize] = {};
  double length = 0.0;
  bool whole = cone.round;
  for (int i = 0; i < t; ++i) {
    const double s = scale.s[1 + i];
    x[i] = (s > 0.0 ? lambda[1 + i] / s : 0.0) - rho_t * s * u[1 + i];
    length += x[i] * x[i];
    whole = whole && s > 0.0;
  }
  length = std::sqrt(length);
  if (scale.mu > 0.0 && length <= scale.mu * x_n) {  // (2)
    if (whole) return set_identity(b, block.size);
    b.count = 0;
    b.whole = false;
    for (int i = 0; i <= t; ++i) {
      if (scale.s[i] == 0.0) continue;
      std::fill_n(b.move + b.count * block.size, block.size, 0.0);
      b.move[b.count * block.size + i] = scale.s[i];
      b.stiffness[b.count++] = 0.0;
    }
    std::copy_n(b.move, b.count * block.size, b.test);
    return;
  }
  for (int i = 0; i < t; ++i) x[i] = length > 0.0 ? x[i] / length : 0.0;  // (3)
  const double limit = scale.mu * std::max(lambda[0], 1e-12 * x_n);
  const double kappa = limit > 0.0 ? std::max(0.0, length - limit) / (rho_t * limit) : 0.0;
  lambda[0] = std::max(lambda[0], 0.0);
  set_slip(scale, block, x, std::min(kappa, 1e12 / rho_t), lambda, b);
}

/// Classes of all blocks at (λ, u), and λ snapped onto them.
void classify(const Problem& p, const Workspace::Memory& m, const double* u, double* lambda,
              std::vector<NewtonBlock>& blocks) {
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    NewtonBlock& b = blocks[i];
    double* x = lambda + block.row;
    const int index = m.local.index[i];
    if (block.kind == RowKind::kEquality || block.kind == RowKind::kLinear) {
      set_identity(b, block.size);
      if (!(m.newton.prox[i] > 0.0)) hold(b);
    } else if (block.kind != RowKind::kCone) {
      classify_row(p, block, m.local.inverse[index], u[block.row], *x, b);
      if (!(m.newton.prox[i] > 0.0)) hold(b);
    } else if (block.size == 3) {
      classify_cone(block, m.local.contacts[index], u + block.row, x, b);
    } else {
      classify_cone(block, m.local.cones[index], u + block.row, x, b);
    }
  }
}

/// Numbers the reduced unknowns in the order of the blocks' places and finds the envelope of (5).
void number_unknowns(NewtonMemory& n) {
  const Coupling& c = n.coupling;
  n.first.clear();
  for (const int i : c.order) {
    NewtonBlock& b = n.blocks[i];
    b.begin = static_cast<int>(n.first.size());
    int first = b.begin;
    for (int e = c.start[i]; e < c.start[i + 1] && b.count > 0; ++e) {
      const int j = c.entries[e].column;
      if (n.blocks[j].count > 0 && c.place[j] < c.place[i]) first = std::min(first, n.blocks[j].begin);
    }
    n.first.insert(n.first.end(), b.count, first);
  }
}

/// out (row count x column count, column by column) = testᵀ W move.
void reduce(const NewtonBlock& row, int rows, const NewtonBlock& column, int columns, const double* w,
            double* out) {
  double half[kMaxBlockSize * kMaxBlockSize];  // W move: rows x column.count
  const double* wm = w;
  if (!column.whole) {
    for (int c = 0; c < column.count; ++c) {
      for (int r = 0; r < rows; ++r) {
        double sum = 0.0;
        for (int k = 0; k < columns; ++k) sum += w[k * rows + r] * column.move[c * columns + k];
        half[c * rows + r] = sum;
      }
    }
    wm = half;
  }
  for (int c = 0; c < column.count; ++c) {
    for (int a = 0; a < row.count; ++a) {
      if (row.whole) {
        out[c * row.count + a] = wm[c * rows + a];
        continue;
      }
      double sum = 0.0;
      for (int r = 0; r < rows; ++r) sum += row.test[a * rows + r] * wm[c * rows + r];
      out[c * row.count + a] = sum;
    }
  }
}

void assemble(const Problem& p, double alpha, NewtonMemory& n) {
  const Coupling& c = n.coupling;
  n.lu.reset(n.first);
  double w[kMaxBlockSize * kMaxBlockSize];
  double out[kMaxBlockSize * kMaxBlockSize];
  for (int i = 0; i < p.block_count(); ++i) {
    const NewtonBlock& row = n.blocks[i];
    const Block& block = p.blocks[i];
    if (row.count == 0) continue;
    for (int e = c.start[i]; e < c.start[i + 1]; ++e) {
      const int j = c.entries[e].column;
      const NewtonBlock& column = n.blocks[j];
      if (column.count == 0) continue;
      const double* values = c.values + c.entries[e].offset;
      if (i == j) {
        std::copy_n(values, block.size * block.size, w);
        for (int r = 0; r < block.size; ++r)
          w[r * (block.size + 1)] += p.compliance[block.row + r] + alpha * n.prox[i];
        values = w;
      }
      reduce(row, block.size, column, p.blocks[j].size, values, out);
      for (int b = 0; b < column.count; ++b)
        for (int a = 0; a < row.count; ++a) n.lu.at(row.begin + a, column.begin + b) = out[b * row.count + a];
      if (i == j)
        for (int a = 0; a < row.count; ++a) n.lu.at(row.begin + a, row.begin + a) += row.stiffness[a];
    }
  }
}

void right_hand_side(const Problem& p, const double* u, NewtonMemory& n) {
  n.step.resize(n.first.size());
  for (int i = 0; i < p.block_count(); ++i) {
    const NewtonBlock& b = n.blocks[i];
    const Block& block = p.blocks[i];
    for (int a = 0; a < b.count; ++a) {
      double sum = b.whole ? u[block.row + a] : 0.0;
      for (int r = 0; r < block.size && !b.whole; ++r) sum += b.test[a * block.size + r] * u[block.row + r];
      n.step[b.begin + a] = -sum;
    }
  }
}

/// trial = snapped + t * move * y, projected onto cones and bounds.
void make_trial(const Problem& p, double t, NewtonMemory& n) {
  for (int i = 0; i < p.block_count(); ++i) {
    const NewtonBlock& b = n.blocks[i];
    const Block& block = p.blocks[i];
    double* x = n.trial.data() + block.row;
    std::copy_n(n.snapped.data() + block.row, block.size, x);
    for (int a = 0; a < b.count; ++a) {
      const double y = t * n.step[b.begin + a];
      if (b.whole) x[a] += y;
      for (int r = 0; r < block.size && !b.whole; ++r) x[r] += b.move[a * block.size + r] * y;
    }
    if (block.kind == RowKind::kComplementarity) x[0] = std::max(0.0, x[0]);
    if (block.kind == RowKind::kBox) x[0] = std::clamp(x[0], p.lower[block.row], p.upper[block.row]);
    if (block.kind != RowKind::kCone) continue;
    const ConeScale scale = cone_scale(p, block);
    for (int r = 1; r < block.size; ++r) x[r] = scale.s[r] > 0.0 ? x[r] / scale.s[r] : 0.0;
    project_cone(x, block.size, scale.mu);
    for (int r = 1; r < block.size; ++r) x[r] *= scale.s[r];
  }
}

/// Velocities of the true problem (m.u) and of the proximal one (n.u) at λ, and the merit of the latter.
/// Keeps λ as the best if it is.
double evaluate(const Problem& p, double alpha, std::span<const double> lambda, Workspace::Memory& m) {
  NewtonMemory& n = m.newton;
  check(p, lambda, m);
  double merit = 0.0;
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    const double pull = alpha * n.prox[i];
    for (int r = block.row; r < block.row + block.size; ++r)
      n.u[r] = m.u[r] + pull * (lambda[r] - n.centre[r]);
    if (!(n.prox[i] > 0.0)) continue;
    const double rho = 1.0 / (n.prox[i] + pull);
    merit += block_natural_map(p, i, lambda, n.u, rho) / rho;
  }
  return merit;
}

/// One step of (5) for the proximal problem from λ with merit `before`. @return The merit reached; λ is
/// replaced where a step was taken. A full step may raise the merit a little: Newton's method often has to
/// pass such a point when classes change.
/// Where the budget does not last for it, it is spent and no step is taken.
double newton_step(const Problem& p, double alpha, double before, Workspace::Memory& m,
                   std::span<double> lambda) {
  NewtonMemory& n = m.newton;
  std::copy(lambda.begin(), lambda.end(), n.snapped.begin());
  classify(p, m, n.u.data(), n.snapped.data(), n.blocks);
  number_unknowns(n);
  const double cost = envelope_cost(n.first) + static_cast<double>(n.coupling.storage.size());
  const bool affordable = m.budget.has(cost);
  m.budget.spend(affordable ? cost : m.budget.most);
  if (!affordable) return before;
  evaluate(p, alpha, n.snapped, m);
  assemble(p, alpha, n);
  right_hand_side(p, n.u.data(), n);
  n.lu.factor(kTinyPivot);
  n.lu.solve(n.step);
  for (double t = 1.0; t > 0.01; t *= 0.5) {
    make_trial(p, t, n);
    const double merit = evaluate(p, alpha, n.trial, m);
    if (!(merit < (t == 1.0 ? kGrowth : 1.0) * before)) continue;
    std::copy(n.trial.begin(), n.trial.end(), lambda.begin());
    return merit;
  }
  return before;
}

/// Sets the sweeps, local solves and the centre of the proximal problem about λ.
void set_proximal(const Problem& p, double alpha, std::span<const double> lambda, Workspace::Memory& m) {
  NewtonMemory& n = m.newton;
  std::copy(lambda.begin(), lambda.end(), n.centre.begin());
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    const double pull = alpha * n.prox[i];
    for (int r = block.row; r < block.row + block.size; ++r) {
      m.compliance[r] = p.compliance[r] + pull;
      m.q[r] = p.q[r] - pull * lambda[r];
    }
  }
  prepare_blocks(p, m);
}

/// Solves the proximal problem about λ until its merit has fallen by 1e-4. @return The number of linear
/// solves that took, or −1 where it was given up.
int solve_proximal(const Problem& p, double alpha, Workspace::Memory& m, std::span<double> lambda,
                   Report& report) {
  set_proximal(p, alpha, lambda, m);
  const double start = evaluate(p, alpha, lambda, m);
  double best = start;
  int poor = 0;
  int sweeps = 0;
  for (int k = 0; k < 12 && !m.budget.spent(); ++k) {
    m.budget.spend(sweeps * sweep_cost(p));
    for (int s = 0; s < sweeps; ++s, ++report.sweeps) gauss_seidel_sweep(p, m, lambda.data());
    const double before = evaluate(p, alpha, lambda, m);
    if (m.best_residual <= m.target || before < kMeritGoal * start) return k;
    const double after = newton_step(p, alpha, before, m, lambda);
    ++report.newton_iterations;
    if (m.best_residual <= m.target || after < kMeritGoal * start) return k;
    sweeps = after >= before ? std::clamp(2 * sweeps, 2, 16) : 0;
    if (after > 0.5 * best && ++poor > 3) return -1;
    best = std::min(best, after);
  }
  return -1;
}

/// The proximal term's size from step to step. After a failure it comes down slowly for a while, longer after
/// each one: otherwise the same failure would be met again and again.
struct Schedule {
  double alpha = kFirstAlpha;
  int patience = 0;
  int hold = 0;

  /// @param solves What solve_proximal returned.
  void next(int solves) {
    double factor = solves == 0 ? 0.03 : solves == 1 ? 0.1 : solves <= 3 ? 0.3 : 1.0;
    if (solves < 0) {
      factor = 5.0;
      patience = std::min(2 * patience + 1, 16);
      hold = patience;
    } else if (hold > 0) {
      factor = 0.7;
      --hold;
    }
    alpha = std::clamp(alpha * factor, kMinAlpha, kMaxAlpha);
  }
};

}  // namespace

double coupling_cost(const Problem& p, Workspace::Memory& m) {
  constexpr double kWriting = 5;  // it is written as it grows, which takes longer than multiplying
  if (p.storage != OperatorKind::kMatrixFree) return 2.0 * static_cast<double>(p.rows()) * p.rows();
  Users& users = m.newton.coupling.users;
  list_users(p, users);
  double cost = 0.0;
  for (std::size_t s = 0; s < p.subsystems.size(); ++s) {
    double rows = 0.0;  // that act on it
    for (int k = users.start[s]; k < users.start[s + 1]; ++k) rows += p.blocks[users.list[k].block].size;
    cost += kWriting * rows * rows * p.subsystems[s].dof;
  }
  return cost;
}

bool prepare_newton(const Problem& p, Workspace::Memory& m) {
  NewtonMemory& n = m.newton;
  m.budget.spend(coupling_cost(p, m));
  if (!p.links.empty() || !build_coupling(p, kMaxValues, n.coupling)) return false;
  order_blocks(n.coupling);
  n.blocks.resize(p.block_count());
  n.snapped.resize(p.rows());
  n.trial.resize(p.rows());
  n.centre.resize(p.rows());
  n.u.resize(p.rows());
  n.prox.resize(p.block_count());
  double w[kMaxBlockSize * kMaxBlockSize];
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    diagonal_block(p, i, w);
    double trace = 0.0;
    for (int r = 0; r < block.size; ++r)
      trace += std::abs(w[r * (block.size + 1)]) + p.compliance[block.row + r];
    n.prox[i] = trace / block.size;
  }
  return true;
}

double newton_cost(const Problem& p, Workspace::Memory& m) {
  NewtonMemory& n = m.newton;
  for (int i = 0; i < p.block_count(); ++i) set_identity(n.blocks[i], p.blocks[i].size);
  number_unknowns(n);
  return envelope_cost(n.first);
}

void proximal_step(const Problem& p, double alpha, Workspace::Memory& m, std::span<double> lambda,
                   Report& report) {
  m.q.resize(p.rows());
  m.compliance.resize(p.rows());
  solve_proximal(p, alpha, m, lambda, report);
}

void newton(const Problem& p, int max_solves, Workspace::Memory& m, std::span<double> lambda,
            Report& report) {
  m.q.assign(p.q.begin(), p.q.end());
  m.compliance.assign(p.compliance.begin(), p.compliance.end());
  prepare_blocks(p, m);
  Schedule schedule;
  const int end = report.newton_iterations + max_solves;
  // a proximal problem may be found solved without any linear solve, so both are counted
  for (int k = 0;
       k < max_solves && report.newton_iterations < end && m.best_residual > m.target && !m.budget.spent();
       ++k)
    schedule.next(solve_proximal(p, schedule.alpha, m, lambda, report));
}

}  // namespace karakuri::solver
