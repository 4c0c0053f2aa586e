// Newton's method in the space of motions, for islands whose rows are many more than their ways to move.
//
// A robot that stands on 32 points has 96 rows of contact and feet that move in 12 ways. With
//
//   W = L Lᵀ,  L: rows x rank, by Cholesky's method with the largest pivot first             (1)
//   u = L y + C λ + q,  y = Lᵀ λ                                                             (2)
//
// the proximal problem about λ̄, u + A (λ − λ̄) with A = α ŵ of each block, needs per block only y:
//
//   x = (A λ̄ − (L y + q)) / (A + C)                                                          (3)
//   open: λ = 0;  stick: λ = x;  slip: λ_n = x_n, λ_t = μ x_n e + (A + C)/(A + C + κ) x_⊥     (4)
//
// with the classes and e, κ of Alart and Curnier (Comput. Methods Appl. Mech. Eng. 92, 1991) from the impulse
// and velocity before, λ − ρ u, as in newton.cc. What remains are as many equations as there are ways to
// move, which have one solution whatever the rows' redundancy:
//
//   λ = G x(y),   F = y − Lᵀ λ = 0,   F' = 1 + Lᵀ G (A + C)⁻¹ L                              (5)
//
// Impulses that are not unique stay near those of the last step. The proximal term vanishes as λ̄ follows λ.
// From the impulses of the last step this takes a few linear solves to rounding, where sweeps crawl. Where it
// does not help, whatever comes next starts from the best impulses so far.
#include <algorithm>
#include <cmath>

#include "core/simd.h"
#include "solver/access.h"
#include "solver/memory.h"

namespace karakuri::solver {

namespace {

constexpr double kRankFloor = 1e-13;  // of the largest pivot: rounding
constexpr double kAlpha = 1e-3;       // (3) loses digits to it: rounding over α is the least residual
constexpr int kMostInner = 5;         // linear solves for one proximal problem
constexpr double kInnerGoal = 1e-3;   // of the residual at its start
constexpr double kOuterGain = 0.5;    // more of the residual left is a failure
constexpr double kStall = 3.0;  // beyond this factor a failure is one of the classes, not of α being large
constexpr int kMostFailures = 3;
constexpr double kDecrease = 0.03;  // of α
constexpr double kRecentreGain = 0.1;
constexpr double kStillMoving = 0.995;  // less gain than this is a contradiction, not a large α
constexpr double kTinyPivot = 1e-300;

int padded(int n) { return (n + 3) / 4 * 4; }

/// Columns of W, wherever it is.
void column_of(const Problem& p, int row, const RangeMemory& f, double* out) {
  if (p.storage == OperatorKind::kDense) {  // symmetric: a row is a column
    std::copy_n(p.dense.data() + static_cast<std::size_t>(row) * p.rows(), p.rows(), out);
    return;
  }
  std::fill_n(out, p.rows(), 0.0);
  const int i = f.block_of[row];
  for (int t = p.term_start[i]; t < p.term_start[i + 1]; ++t) {
    const int s = p.terms[t].subsystem, dof = p.subsystems[s].dof;
    const double* y = p.response.data() + p.terms[t].offset + (row - p.blocks[i].row) * dof;
    for (int k = f.users.start[s]; k < f.users.start[s + 1]; ++k) {
      const Users::User& user = f.users.list[k];
      const double* j = p.jacobian.data() + p.terms[user.term].offset;
      const Block& block = p.blocks[user.block];
      for (int r = 0; r < block.size; ++r, j += dof) out[block.row + r] += dot(j, y, dof);
    }
  }
}

void diagonal_of(const Problem& p, RangeMemory& f) {
  double w[kMaxBlockSize * kMaxBlockSize];
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    diagonal_block(p, i, w);
    for (int r = 0; r < block.size; ++r) {
      f.diagonal[block.row + r] = w[r * (block.size + 1)];
      f.block_of[block.row + r] = i;
    }
  }
}

/// out ← a + Σ_k x_k columns_k: all rows, four at a time.
void add_columns(const RangeMemory& f, int count, const double* x, const double* a, double* out) {
  for (int c = 0; c < f.padded; c += 4) {
    const double* column = f.columns.data() + c;
    V4 even = load4(a + c), odd = broadcast(0.0);
    int k = 0;
    for (; k + 2 <= count; k += 2, column += 2 * f.padded) {
      even += broadcast(x[k]) * load4(column);
      odd += broadcast(x[k + 1]) * load4(column + f.padded);
    }
    if (k < count) even += broadcast(x[k]) * load4(column);
    store4(out + c, even + odd);
  }
}

/// L row by row, with zeros up to a multiple of four.
void write_rows(int n, RangeMemory& f) {
  f.stride = padded(f.rank);
  f.factor.resize(static_cast<std::size_t>(n) * f.stride);
  for (int i = 0; i < n; ++i) {
    double* to = f.factor.data() + static_cast<std::size_t>(i) * f.stride;
    for (int k = 0; k < f.rank; ++k) to[k] = f.columns[static_cast<std::size_t>(k) * f.padded + i];
    std::fill(to + f.rank, to + f.stride, 0.0);
  }
}

/// (1). @return Whether the rank is below `limit`.
bool factor_range(const Problem& p, int limit, Workspace::Memory& m) {
  RangeMemory& f = m.range;
  const int n = p.rows();
  f.padded = padded(n);
  f.columns.resize(static_cast<std::size_t>(std::min(limit, n)) * f.padded);
  f.y.resize(padded(std::min(limit, n)));
  f.diagonal.resize(n);
  f.block_of.resize(n);
  f.column.assign(f.padded, 0.0);
  diagonal_of(p, f);
  if (p.storage == OperatorKind::kMatrixFree) list_users(p, f.users);
  const double largest = *std::max_element(f.diagonal.begin(), f.diagonal.end());
  for (f.rank = 0; f.rank < std::min(limit, n); ++f.rank) {
    const int pivot =
        static_cast<int>(std::max_element(f.diagonal.begin(), f.diagonal.end()) - f.diagonal.begin());
    const double d = f.diagonal[pivot];
    if (!(d > kRankFloor * largest)) break;
    column_of(p, pivot, f, f.column.data());
    for (int k = 0; k < f.rank; ++k) f.y[k] = -f.columns[static_cast<std::size_t>(k) * f.padded + pivot];
    double* next = f.columns.data() + static_cast<std::size_t>(f.rank) * f.padded;
    add_columns(f, f.rank, f.y.data(), f.column.data(), next);
    const double scale = 1.0 / std::sqrt(d);
    for (int i = 0; i < n; ++i) {
      next[i] *= scale;
      f.diagonal[i] -= next[i] * next[i];
    }
    f.diagonal[pivot] = 0.0;
  }
  return *std::max_element(f.diagonal.begin(), f.diagonal.end()) <= kRankFloor * largest;
}

/// G of (4) for a contact, row by row, from λ − ρ u. @return Its class.
RangeClass classify_cone(double mu, double rho, double weight, const double* lambda, const double* u,
                         double* g) {
  const double x_n = lambda[0] - rho * u[0];
  std::fill_n(g, 9, 0.0);
  if (!(x_n > 0.0)) return RangeClass::kOpen;
  const double x[2] = {lambda[1] - rho * u[1], lambda[2] - rho * u[2]};
  const double length = std::sqrt(x[0] * x[0] + x[1] * x[1]);
  g[0] = 1.0;
  if (mu == 0.0) return RangeClass::kSlip;
  if (length <= mu * x_n) {
    g[4] = g[8] = 1.0;
    return RangeClass::kStick;
  }
  const double limit = mu * std::max(lambda[0], 1e-12 * x_n);
  const double kappa = limit > 0.0 ? std::max(0.0, length - limit) / (rho * limit) : kInfinity;
  const double turn = weight / (weight + kappa);
  const double e[2] = {x[0] / length, x[1] / length};
  for (int i = 0; i < 2; ++i) {
    g[3 * (1 + i)] = mu * e[i];
    for (int k = 0; k < 2; ++k) g[3 * (1 + i) + 1 + k] = turn * ((i == k ? 1.0 : 0.0) - e[i] * e[k]);
  }
  return RangeClass::kSlip;
}

RangeClass classify_row(const Problem& p, const Block& block, double rho, double lambda, double u,
                        double* held) {
  *held = 0.0;
  if (block.kind == RowKind::kEquality || block.kind == RowKind::kLinear) return RangeClass::kStick;
  const double x = lambda - rho * u;
  const double low = block.kind == RowKind::kComplementarity ? 0.0 : p.lower[block.row];
  const double high = block.kind == RowKind::kComplementarity ? kInfinity : p.upper[block.row];
  if (x > low && x < high) return RangeClass::kStick;
  *held = x <= low ? low : high;
  return x <= low ? RangeClass::kOpen : RangeClass::kSlip;
}

/// Classes of all blocks at (λ, u).
void classify(const Problem& p, double alpha, Workspace::Memory& m) {
  RangeMemory& f = m.range;
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    RangeBlock& b = f.blocks[i];
    const double* lambda = f.lambda.data() + block.row;
    const double* u = f.u.data() + block.row;
    if (block.kind == RowKind::kCone) {
      const double weight = alpha / m.rho[i] + p.compliance[block.row + 1];
      b.now = classify_cone(p.friction[block.row + 1], m.rho[i], weight, lambda, u, b.g);
    } else {
      b.now = classify_row(p, block, m.rho[i], lambda[0], u[0], b.g);
    }
  }
}

/// L y + q.
void update_motion(RangeMemory& f) { add_columns(f, f.rank, f.y.data(), f.q.data(), f.column.data()); }

/// (3), (4) and what u that leaves, at the motion.
void update_impulses(const Problem& p, double alpha, Workspace::Memory& m) {
  RangeMemory& f = m.range;
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    const RangeBlock& b = f.blocks[i];
    const double pull = alpha / m.rho[i];
    double x[kMaxBlockSize];
    for (int r = 0; r < block.size; ++r) {
      const int row = block.row + r;
      x[r] = (pull * f.centre[row] - f.column[row]) / (pull + p.compliance[row]);
    }
    double* lambda = f.lambda.data() + block.row;
    for (int r = 0; r < block.size; ++r) {
      if (block.kind == RowKind::kCone)
        lambda[r] = b.g[3 * r] * x[0] + b.g[3 * r + 1] * x[1] + b.g[3 * r + 2] * x[2];
      else
        lambda[r] = b.now == RangeClass::kStick ? x[r] : b.g[0];
      f.u[block.row + r] = (lambda[r] - x[r]) * (pull + p.compliance[block.row + r]);
    }
  }
}

/// Rows G (A + C)⁻¹ L of (5).
void scale_rows(const Problem& p, double alpha, Workspace::Memory& m) {
  RangeMemory& f = m.range;
  f.active = 0;
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    const RangeBlock& b = f.blocks[i];
    const double* first = f.factor.data() + static_cast<std::size_t>(block.row) * f.stride;
    double inverse[kMaxBlockSize];
    for (int r = 0; r < block.size; ++r) inverse[r] = 1.0 / (alpha / m.rho[i] + p.compliance[block.row + r]);
    if (block.kind == RowKind::kCone ? b.now == RangeClass::kOpen : b.now != RangeClass::kStick) continue;
    for (int r = 0; r < block.size; ++r) {
      double* out = f.scaled.data() + static_cast<std::size_t>(f.active) * f.stride;
      f.rows[f.active++] = block.row + r;
      if (block.kind != RowKind::kCone || b.now == RangeClass::kStick) {
        for (int k = 0; k < f.stride; ++k) out[k] = inverse[r] * first[r * f.stride + k];
        continue;
      }
      const double a0 = b.g[3 * r] * inverse[0], a1 = b.g[3 * r + 1] * inverse[1],
                   a2 = b.g[3 * r + 2] * inverse[2];
      for (int k = 0; k < f.stride; ++k)
        out[k] = a0 * first[k] + a1 * first[f.stride + k] + a2 * first[2 * f.stride + k];
    }
  }
}

/// A tile of F', four rows from i on and `kVectors` times four columns from j on.
template <int kVectors>
void assemble_tile(RangeMemory& f, int i, int j) {
  V4 sum[4][kVectors] = {};
  for (int k = 0; k < f.active; ++k) {
    const double* left = f.factor.data() + static_cast<std::size_t>(f.rows[k]) * f.stride + i;
    const double* right = f.scaled.data() + static_cast<std::size_t>(k) * f.stride + j;
    V4 of_right[kVectors];
    for (int c = 0; c < kVectors; ++c) of_right[c] = load4(right + 4 * c);
    for (int r = 0; r < 4; ++r)
      for (int c = 0; c < kVectors; ++c) sum[r][c] += broadcast(left[r]) * of_right[c];
  }
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < kVectors; ++c)
      store4(f.matrix.data() + static_cast<std::size_t>(i + r) * f.stride + j + 4 * c, sum[r][c]);
}

/// F' of (5), row by row.
void assemble(RangeMemory& f) {
  for (int i = 0; i < f.stride; i += 4) {
    int j = 0;
    for (; j + 8 <= f.stride; j += 8) assemble_tile<2>(f, i, j);
    if (j < f.stride) assemble_tile<1>(f, i, j);
  }
  for (int i = 0; i < f.rank; ++i) f.matrix[static_cast<std::size_t>(i) * (f.stride + 1)] += 1.0;
}

/// Four rows, from `first` on, less their multiples of the pivot's; columns from `begin` on, a multiple of
/// four.
void eliminate4(double* first, const double* pivot, const double* factors, int begin, int stride) {
  for (int c = begin; c < stride; c += 4) {
    const V4 from = load4(pivot + c);
    for (int r = 0; r < 4; ++r) {
      double* at = first + static_cast<std::size_t>(r) * stride + c;
      store4(at, load4(at) - broadcast(factors[r]) * from);
    }
  }
}

/// A ← U, lower ← L of A = L U, without pivoting: A is 1 + Lᵀ D L. Diagonal of U: inverse.
void factor(RangeMemory& f) {
  const int n = f.rank, stride = f.stride;
  f.lower.resize(f.matrix.size());
  for (int p = 0; p < n; ++p) {
    double* pivot = f.matrix.data() + static_cast<std::size_t>(p) * stride;
    const double inverse = 1.0 / (std::abs(pivot[p]) >= kTinyPivot ? pivot[p] : kTinyPivot);
    const int begin = p / 4 * 4;
    for (int i = p + 1; i < stride;) {
      double* row = f.matrix.data() + static_cast<std::size_t>(i) * stride;
      double factors[4];
      const int count = i + 4 <= stride ? 4 : 1;
      for (int r = 0; r < count; ++r) {
        factors[r] = row[static_cast<std::size_t>(r) * stride + p] * inverse;
        f.lower[static_cast<std::size_t>(i + r) * stride + p] = factors[r];
      }
      if (count == 4)
        eliminate4(row, pivot, factors, begin, stride);
      else
        axpy(-factors[0], pivot + begin, row + begin, stride - begin);
      i += count;
    }
    pivot[p] = inverse;
  }
}

/// x ← A⁻¹ x.
void solve_factored(const RangeMemory& f, double* x) {
  for (int p = 1; p < f.rank; ++p) x[p] -= dot(f.lower.data() + static_cast<std::size_t>(p) * f.stride, x, p);
  for (int p = f.rank - 1; p >= 0; --p) {
    const double* row = f.matrix.data() + static_cast<std::size_t>(p) * f.stride;
    x[p] = (x[p] - dot(row + p + 1, x + p + 1, f.rank - p - 1)) * row[p];
  }
}

/// Natural map of the proximal problem.
double proximal_residual(const Problem& p, const Workspace::Memory& m) {
  const RangeMemory& f = m.range;
  double sum = 0.0;
  for (int i = 0; i < p.block_count(); ++i)
    sum += block_natural_map(p, i, f.lambda, f.u, m.rho[i]) / (m.rho[i] * m.rho[i]);
  return std::sqrt(sum);
}

/// residual ← y − Lᵀ λ: all of it at once, row after row.
void find_residual(const Problem& p, RangeMemory& f) {
  for (int k = 0; k < f.stride; k += 4) {
    V4 even = load4(f.y.data() + k), odd = broadcast(0.0);
    const double* row = f.factor.data() + k;
    int i = 0;
    for (; i + 2 <= p.rows(); i += 2, row += 2 * f.stride) {
      even -= broadcast(f.lambda[i]) * load4(row);
      odd -= broadcast(f.lambda[i + 1]) * load4(row + f.stride);
    }
    if (i < p.rows()) even -= broadcast(f.lambda[i]) * load4(row);
    store4(f.residual.data() + k, even + odd);
  }
}

/// y and λ that solve (5) with the classes as they are and F' factored, from the motion at y.
void take_step(const Problem& p, double alpha, Workspace::Memory& m) {
  RangeMemory& f = m.range;
  update_impulses(p, alpha, m);
  find_residual(p, f);
  solve_factored(f, f.residual.data());
  for (int i = 0; i < f.rank; ++i) f.y[i] -= f.residual[i];
  update_motion(f);
  update_impulses(p, alpha, m);
}

/// Solves the proximal problem about the centre, down to `goal`. @return Linear solves taken.
int solve_proximal(const Problem& p, double alpha, double goal, int most, Workspace::Memory& m) {
  RangeMemory& f = m.range;
  for (int k = 1; k <= most; ++k) {
    classify(p, alpha, m);
    scale_rows(p, alpha, m);
    assemble(f);
    factor(f);
    take_step(p, alpha, m);
    if (k == most || proximal_residual(p, m) <= goal) return k;
  }
  return most;
}

/// λ projected onto cones and bounds.
void project(const Problem& p, std::span<double> lambda) {
  for (const Block& block : p.blocks) {
    double* x = lambda.data() + block.row;
    if (block.kind == RowKind::kCone) project_cone(x, block.size, p.friction[block.row + 1]);
    if (block.kind == RowKind::kComplementarity) x[0] = std::max(0.0, x[0]);
    if (block.kind == RowKind::kBox) x[0] = std::clamp(x[0], p.lower[block.row], p.upper[block.row]);
  }
}

/// Lets the centre follow λ, as long as the classes stand that: F' stays as it is, and each time the residual
/// falls by about α. @param slow Out: whether it still fell, but by little: α is too large for this W.
/// @return The residual.
double recentre(const Problem& p, double alpha, Workspace::Memory& m, bool* slow) {
  RangeMemory& f = m.range;
  *slow = false;
  project(p, f.lambda);
  double residual = check(p, f.lambda, m);
  while (residual > m.target) {
    f.centre.assign(f.lambda.begin(), f.lambda.end());
    take_step(p, alpha, m);
    project(p, f.lambda);
    const double next = check(p, f.lambda, m);
    if (!(next < kRecentreGain * residual)) {
      *slow = next < kStillMoving * residual;
      f.lambda.assign(m.best.begin(), m.best.end());
      return check(p, f.lambda, m);
    }
    residual = next;
  }
  return residual;
}

/// y = Lᵀ λ, and the motion.
void start_from_impulses(const Problem& p, RangeMemory& f) {
  std::fill(f.y.begin(), f.y.end(), 0.0);
  find_residual(p, f);
  for (int k = 0; k < f.rank; ++k) f.y[k] = -f.residual[k];
  update_motion(f);
}

}  // namespace

bool suits_range(const Problem& p, int limit) {
  if (p.block_count() < 2 || !p.links.empty()) return false;  // one local solve is exact
  const int motions = p.storage == OperatorKind::kMatrixFree ? p.velocities() : p.rows();
  if (p.storage == OperatorKind::kBlockSparse || motions > limit) return false;
  return std::all_of(p.blocks.begin(), p.blocks.end(), [&](const Block& b) {
    if (b.kind != RowKind::kCone) return true;
    return b.size == 3 && p.friction[b.row + 1] == p.friction[b.row + 2] &&
           p.compliance[b.row + 1] == p.compliance[b.row + 2];
  });
}

void range_newton(const Problem& p, int max_solves, double acceptable, Workspace::Memory& m,
                  std::span<double> lambda, Report& report) {
  RangeMemory& f = m.range;
  const int limit = p.storage == OperatorKind::kMatrixFree ? std::min(p.velocities(), p.rows()) : p.rows();
  if (!factor_range(p, limit, m)) return;
  write_rows(p.rows(), f);
  f.residual.resize(f.stride);
  f.q.assign(f.padded, 0.0);
  std::copy(p.q.begin(), p.q.end(), f.q.begin());
  f.matrix.resize(static_cast<std::size_t>(f.stride) * f.stride);
  f.scaled.resize(static_cast<std::size_t>(p.rows()) * f.stride);
  f.rows.resize(p.rows());
  f.blocks.resize(p.block_count());
  f.lambda.assign(lambda.begin(), lambda.end());
  double alpha = kAlpha;
  double before = m.best_residual;
  int failures = 0;
  for (int left = max_solves; left > 0 && failures < kMostFailures;) {
    f.centre.assign(f.lambda.begin(), f.lambda.end());
    f.u.assign(m.u.begin(), m.u.end());
    start_from_impulses(p, f);
    const int solves = solve_proximal(p, alpha, kInnerGoal * before, std::min(kMostInner, left), m);
    left -= solves;
    report.newton_iterations += solves;
    bool slow = false;
    const double after = recentre(p, alpha, m, &slow);
    if (after <= m.target) return;
    if (after < kOuterGain * before) {
      before = after;
      if (slow) alpha *= kDecrease;
      continue;
    }
    if (m.best_residual <= acceptable && !slow) return;
    ++failures;
    alpha *= after < kStall * before ? kDecrease : 10.0;
    f.lambda.assign(m.best.begin(), m.best.end());
    before = check(p, f.lambda, m);
  }
}

}  // namespace karakuri::solver
