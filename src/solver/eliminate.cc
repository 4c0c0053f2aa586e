// Rows that hold whatever happens are eliminated before anything is searched for.
//
// Loops and couplings (equality rows, E, with the linear ones) are linear equations; only the rest, R, has
// laws with cases. A walker of twelve legs has 180 rows of loops, 80 dofs and 7 ways to move: what is left
// for its feet is a problem in 7 directions. With all rows scaled to a diagonal of ones and B = W_EE + C_E,
//
//   B = L_E L_Eᵀ by Cholesky's method with the largest pivot first, L_R = W_RE L_E⁻ᵀ               (1)
//   u_R = (W_RR − L_R L_Rᵀ + C_R) λ_R + q_R + L_R y₀,   L_E y₀ = −q_E                               (2)
//   L_Eᵀ λ_E = y₀ − L_Rᵀ λ_R                                                                        (3)
//
// Where rows are redundant, L_E has more rows than columns: y₀ is then the nearest in the sense of least
// squares and λ_E the shortest. Both come from G = L_Eᵀ L_E, and what digits that costs is taken back by
// repeating (2) and (3) with the velocities that are left. Rows that move nothing are left out.
#include <algorithm>
#include <cmath>

#include "core/simd.h"
#include "solver/memory.h"

namespace karakuri::solver {

using namespace simd;  // NOLINT: private to the module

namespace {

constexpr double kDead = 1e-13;       // of the largest diagonal: rounding
constexpr double kRankFloor = 1e-13;  // of a diagonal of ones
constexpr double kHeldFloor = 1e-11;  // of its diagonal before: what E leaves of a row that it holds
constexpr int kMostMotions = 160;     // the matrices are dense
constexpr int kMostRows = 400;
constexpr int kMostRefinements = 3;
constexpr int kColdSolves = 30;  // at least, from nothing: they are small

bool is_held(RowKind kind) { return kind == RowKind::kEquality || kind == RowKind::kLinear; }

std::ptrdiff_t padded(int n) { return (n + 3) / 4 * 4; }

double* line(std::vector<double>& matrix, int row, std::ptrdiff_t stride) {
  return matrix.data() + row * stride;
}
const double* line(const std::vector<double>& matrix, int row, std::ptrdiff_t stride) {
  return matrix.data() + row * stride;
}

/// Held rows that move anything, then all others.
void list_rows(const Problem& p, HeldMemory& e) {
  e.diagonal.resize(p.rows());
  for (int i = 0; i < p.block_count(); ++i) block_diagonal(p, i, e.diagonal.data() + p.blocks[i].row);
  for (int i = 0; i < p.rows(); ++i) e.diagonal[i] += p.compliance[i];
  const double most = *std::max_element(e.diagonal.begin(), e.diagonal.end());
  e.rows.clear();
  e.place.assign(p.rows(), -1);
  for (const bool held : {true, false}) {
    for (const Block& block : p.blocks) {
      for (int row = block.row; row < block.row + block.size && is_held(block.kind) == held; ++row) {
        if (held && !(e.diagonal[row] > kDead * most)) continue;
        e.place[row] = static_cast<int>(e.rows.size());
        e.rows.push_back(row);
      }
    }
    if (held) e.held = static_cast<int>(e.rows.size());
  }
  e.scale.resize(e.rows.size());
  for (std::size_t k = 0; k < e.rows.size(); ++k)
    e.scale[k] = e.diagonal[e.rows[k]] > 0 ? 1 / std::sqrt(e.diagonal[e.rows[k]]) : 0;
}

/// Jacobian and response of the listed rows, each written out over all velocities.
void write_out(const Problem& p, HeldMemory& e) {
  const std::ptrdiff_t width = padded(p.velocities());
  e.jacobian.assign(e.rows.size() * width, 0.0);
  e.response.assign(e.rows.size() * width, 0.0);
  for (int i = 0; i < p.block_count(); ++i) {
    for (int t = p.term_start[i]; t < p.term_start[i + 1]; ++t) {
      const Subsystem& s = p.subsystems[p.terms[t].subsystem];
      for (int r = 0; r < p.blocks[i].size; ++r) {
        const int k = e.place[p.blocks[i].row + r];
        if (k < 0) continue;
        const std::ptrdiff_t from = p.terms[t].offset + r * s.dof, to = k * width + s.velocity;
        axpy(e.scale[k], p.jacobian.data() + from, e.jacobian.data() + to, s.dof);
        axpy(e.scale[k], p.response.data() + from, e.response.data() + to, s.dof);
      }
    }
  }
}

/// Scaled W of the listed rows, without compliance.
void write_operator(const Problem& p, HeldMemory& e) {
  const int n = e.count();
  e.stride = padded(n);
  e.w.resize(n * e.stride);
  if (p.storage == OperatorKind::kDense) {
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        e.w[i * e.stride + j] =
            e.scale[i] * e.scale[j] * p.dense[static_cast<std::size_t>(e.rows[i]) * p.rows() + e.rows[j]];
    return;
  }
  write_out(p, e);
  const int width = static_cast<int>(padded(p.velocities()));
  for (int i = 0; i < n; ++i) {
    const double* x = line(e.jacobian, i, width);
    double* out = line(e.w, i, e.stride);
    int j = 0;
    for (; j + 3 <= i + 1; j += 3) dot3(line(e.response, j, width), width, x, width, out + j);
    for (; j <= i; ++j) out[j] = dot(line(e.response, j, width), x, width);
    for (j = 0; j < i; ++j) e.w[j * e.stride + i] = out[j];
  }
}

/// (1): rows of L_E and L_R, `rank` columns; `pivots` in their order.
void factor_held(const Problem& p, HeldMemory& e) {
  const int n = e.count();
  e.factor.assign(n * e.stride, 0.0);
  e.left.assign(n, 0.0);
  for (int i = 0; i < n; ++i) e.left[i] = e.w[i * (e.stride + 1)];
  for (int i = 0; i < e.held; ++i) e.left[i] += e.scale[i] * e.scale[i] * p.compliance[e.rows[i]];
  e.pivots.clear();
  for (int k = 0; k < e.held; ++k) {
    const int pivot =
        static_cast<int>(std::max_element(e.left.begin(), e.left.begin() + e.held) - e.left.begin());
    const double d = e.left[pivot];
    if (!(d > kRankFloor)) break;
    const double inverse = 1 / std::sqrt(d);
    const double *from = line(e.w, pivot, e.stride), *above = line(e.factor, pivot, e.stride);
    for (int i = 0; i < n; ++i) {
      if (i < e.held && e.left[i] < 0) continue;  // a pivot already
      double* row = line(e.factor, i, e.stride);
      row[k] = i == pivot ? std::sqrt(d) : (from[i] - dot(row, above, k)) * inverse;
      e.left[i] -= row[k] * row[k];
      if (i < e.held) e.left[i] = std::max(e.left[i], 0.0);
    }
    e.left[pivot] = -1;
    e.pivots.push_back(pivot);
  }
}

/// G = L_Eᵀ L_E = K Kᵀ, of redundant rows. @return Whether it is positive, as far as numbers go.
bool factor_gram(HeldMemory& e) {
  const int r = e.rank();
  e.gram.assign(r * e.stride, 0.0);
  for (int i = 0; i < e.held; ++i) {
    const double* row = line(e.factor, i, e.stride);
    for (int a = 0; a < r; ++a)
      if (row[a] != 0) axpy(row[a], row, line(e.gram, a, e.stride), a + 1);
  }
  for (int i = 0; i < r; ++i) {
    double* row = line(e.gram, i, e.stride);
    for (int j = 0; j <= i; ++j) {
      const double* other = line(e.gram, j, e.stride);
      const double left = row[j] - dot(row, other, j);
      if (i == j && !(left > 0)) return false;
      row[j] = i == j ? std::sqrt(left) : left / other[j];
    }
  }
  return true;
}

void solve_gram(const HeldMemory& e, double* y) {
  const int r = e.rank();
  for (int i = 0; i < r; ++i)
    y[i] = (y[i] - dot(line(e.gram, i, e.stride), y, i)) / e.gram[i * (e.stride + 1)];
  for (int i = r - 1; i >= 0; --i) {
    y[i] /= e.gram[i * (e.stride + 1)];
    axpy(-y[i], line(e.gram, i, e.stride), y, i);
  }
}

/// y with L_E y = b, or nearest to it.
void solve_range(const HeldMemory& e, const std::vector<double>& b, std::vector<double>& y) {
  y.assign(e.stride, 0.0);
  if (e.redundant) {
    for (int i = 0; i < e.held; ++i) axpy(b[i], line(e.factor, i, e.stride), y.data(), e.rank());
    return solve_gram(e, y.data());
  }
  for (int k = 0; k < e.rank(); ++k) {
    const double* row = line(e.factor, e.pivots[k], e.stride);
    y[k] = (b[e.pivots[k]] - dot(row, y.data(), k)) / row[k];
  }
}

/// x with L_Eᵀ x = y, the shortest. Overwrites y.
void solve_impulses(const HeldMemory& e, std::vector<double>& y, std::vector<double>& x) {
  x.assign(e.held, 0.0);
  if (e.redundant) {
    solve_gram(e, y.data());
    for (int i = 0; i < e.held; ++i) x[i] = dot(line(e.factor, i, e.stride), y.data(), e.rank());
    return;
  }
  for (int k = e.rank() - 1; k >= 0; --k) {
    const double* row = line(e.factor, e.pivots[k], e.stride);
    x[e.pivots[k]] = y[k] / row[k];
    axpy(-x[e.pivots[k]], row, y.data(), k);
  }
}

void copy_laws(const Problem& p, const Block& block, Problem& rest) {
  switch (block.kind) {
    case RowKind::kComplementarity: rest.add_complementarity(); break;
    case RowKind::kBox: rest.add_box(p.lower[block.row], p.upper[block.row]); break;
    case RowKind::kCone:
      rest.add_cone(std::span(p.friction.data() + block.row + 1, static_cast<std::size_t>(block.size - 1)));
      break;
    case RowKind::kEquality:
    case RowKind::kLinear: return;
  }
  const int first = rest.rows() - block.size;
  std::copy_n(p.compliance.begin() + block.row, block.size, rest.compliance.begin() + first);
}

/// (2)
void state_rest(const Problem& p, HeldMemory& e) {
  Problem& rest = e.rest;
  rest.clear(OperatorKind::kDense);
  for (const Block& block : p.blocks) copy_laws(p, block, rest);
  const int n = rest.rows();
  rest.dense.assign(static_cast<std::size_t>(n) * n, 0.0);
  for (int i = 0; i < n; ++i) {
    const int a = e.held + i;
    const double* row = line(e.factor, a, e.stride);
    rest.q[i] = p.q[e.rows[a]];
    if (e.scale[a] > 0) rest.q[i] += dot(row, e.y.data(), e.rank()) / e.scale[a];
    for (int j = 0; j <= i && e.left[a] > kHeldFloor; ++j) {
      const int b = e.held + j;
      if (!(e.left[b] > kHeldFloor)) continue;
      const double value = (e.w[a * e.stride + b] - dot(row, line(e.factor, b, e.stride), e.rank())) /
                           (e.scale[a] * e.scale[b]);
      rest.dense[static_cast<std::size_t>(i) * n + j] = rest.dense[static_cast<std::size_t>(j) * n + i] =
          value;
    }
  }
}

/// (3), from y₀ in e.y.
void recover(HeldMemory& e, std::span<double> lambda) {
  for (int i = e.held; i < e.count(); ++i) {
    if (e.scale[i] > 0)
      axpy(-lambda[e.rows[i]] / e.scale[i], line(e.factor, i, e.stride), e.y.data(), e.rank());
  }
  solve_impulses(e, e.y, e.x);
  for (int i = 0; i < e.held; ++i) lambda[e.rows[i]] = e.scale[i] * e.x[i];
}

/// Takes what velocity is left along the held rows.
double refine(const Problem& p, Workspace::Memory& m, std::span<double> lambda, double residual) {
  HeldMemory& e = *m.held;
  for (int k = 0; k < kMostRefinements && residual > m.target; ++k) {
    for (int i = 0; i < e.held; ++i) e.b[i] = -e.scale[i] * m.u[e.rows[i]];
    solve_range(e, e.b, e.y);
    solve_impulses(e, e.y, e.x);
    for (int i = 0; i < e.held; ++i) lambda[e.rows[i]] += e.scale[i] * e.x[i];
    const double next = check(p, lambda, m);
    if (!(next < 0.5 * residual)) return next;
    residual = next;
  }
  return residual;
}

/// From the impulses before; where that does not go all the way, from nothing: of so few directions Newton's
/// method finds the classes by itself, and old ones may be in its way.
void solve_rest(const Problem& p, Settings settings, Workspace::Memory& m, std::span<double> lambda,
                Report& report) {
  HeldMemory& e = *m.held;
  const int n = e.rest.rows();
  double best = kInfinity;
  settings.explain_failure = false;
  settings.acceptable = 0;
  settings.rho = {};
  settings.absolute = 0.3 * (settings.tolerance * norm_q(p) + settings.absolute);  // the held rows need some
  e.x.resize(n);
  for (int i = 0; i < n; ++i) e.x[i] = lambda[e.rows[e.held + i]];
  for (const Method method : {Method::kDefault, Method::kNewton}) {
    settings.method = method;
    settings.max_work = std::max(0.0, m.budget.most - m.budget.used);
    const Result<Report> solved = solve(e.rest, settings, e.solver, e.x);
    if (!solved.ok()) return;
    m.budget.spend(solved->work);
    report.sweeps += solved->sweeps;
    report.newton_iterations += solved->newton_iterations;
    if (solved->residual < best)
      for (int i = 0; i < n; ++i) lambda[e.rows[e.held + i]] = e.x[i];
    best = std::min(best, solved->residual);
    if (best <= solved->target) return;
    std::fill(e.x.begin(), e.x.end(), 0.0);
    settings.max_newton = std::max(settings.max_newton, kColdSolves);
  }
}

}  // namespace

bool suits_elimination(const Problem& p) {
  if (p.storage == OperatorKind::kBlockSparse || !p.links.empty()) return false;
  if (p.rows() > kMostRows || p.velocities() > kMostMotions) return false;
  return std::any_of(p.blocks.begin(), p.blocks.end(),
                     [](const Block& b) { return b.kind == RowKind::kEquality; });
}

double eliminate(const Problem& p, const Settings& settings, Workspace::Memory& m, std::span<double> lambda,
                 Report& report) {
  if (!m.held) m.held = std::make_unique<HeldMemory>();
  HeldMemory& e = *m.held;
  list_rows(p, e);
  m.budget.spend(static_cast<double>(p.rows()) * p.rows() * (e.held + std::min(p.rows(), p.velocities())));
  write_operator(p, e);
  factor_held(p, e);
  e.redundant = e.rank() < e.held && factor_gram(e);
  e.b.resize(e.held);
  for (int i = 0; i < e.held; ++i) e.b[i] = -e.scale[i] * p.q[e.rows[i]];
  solve_range(e, e.b, e.y);
  if (e.count() > e.held) {
    state_rest(p, e);
    solve_rest(p, settings, m, lambda, report);
  }
  recover(e, lambda);
  report.newton_iterations += 1;
  report.method = Method::kNewton;
  report.backend = Backend::kElimination;
  return refine(p, m, lambda, check(p, lambda, m));
}

}  // namespace karakuri::solver
