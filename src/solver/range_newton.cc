// Newton's method in the space of motions, for islands whose rows are many more than their ways to move.
//
// A robot that stands on 32 points has 96 rows of contact and feet that move in 12 ways. With
//
//   W = L Lᵀ,  L: rows x rank, by Cholesky's method with the largest pivot first             (1)
//   u = L y + C λ + q,  y = Lᵀ λ                                                             (2)
//
// the proximal problem of proximal.h needs per block only y:
//
//   x = (A λ̄ − (L y + q)) / (A + C)                                                          (3)
//   open: λ = 0;  stick: λ = x;  slip: λ_n = x_n, λ_t = μ x_n e + (A + C)/(A + C + κ) x_⊥     (4)
//
// What remains are as many equations as there are ways to move:
//
//   λ = G x(y),   F = y − Lᵀ λ = 0,   F' = 1 + Lᵀ G (A + C)⁻¹ L                              (5)
#include <algorithm>
#include <cmath>

#include "core/simd.h"
#include "solver/access.h"
#include "solver/proximal.h"

namespace karakuri::solver {

namespace {

constexpr double kRankFloor = 1e-13;  // of the largest pivot: rounding
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
  f.written.resize(static_cast<std::size_t>(n) * f.stride);
  for (int i = 0; i < n; ++i) {
    double* to = f.written.data() + static_cast<std::size_t>(i) * f.stride;
    for (int k = 0; k < f.rank; ++k) to[k] = f.columns[static_cast<std::size_t>(k) * f.padded + i];
    std::fill(to + f.rank, to + f.stride, 0.0);
  }
  f.factor = f.written.data();
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

/// L, which problems in coordinates of unit mass come with. @return Whether it has a usable rank.
bool find_range(const Problem& p, Workspace::Memory& m) {
  RangeMemory& f = m.range;
  if (p.unit_mass) {
    f.rank = f.stride = p.velocities();
    f.factor = p.jacobian.data();
    return true;
  }
  const int limit = p.storage == OperatorKind::kMatrixFree ? std::min(p.velocities(), p.rows()) : p.rows();
  if (!factor_range(p, limit, m)) return false;
  write_rows(p.rows(), f);
  return true;
}

/// column ← L y + q.
void update_motion(const Problem& p, RangeMemory& f) {
  rows_times(f.factor, p.rows(), f.stride, f.y.data(), f.column.data());
  for (int i = 0; i < p.rows(); ++i) f.column[i] += p.q[i];
}

/// (3) of one block, and (4) in place of it. @param x In: (3), out: λ.
void apply_class(const ProximalBlock& b, double mu, double turn, double* x) {
  if (b.now == ProximalClass::kOpen) std::fill_n(x, 3, 0.0);
  if (b.now != ProximalClass::kSlip) return;
  const double along = b.e[0] * x[1] + b.e[1] * x[2];
  for (int i = 0; i < 2; ++i) x[1 + i] = mu * b.e[i] * x[0] + turn * (x[1 + i] - along * b.e[i]);
}

/// Share of x_⊥ that is left in (4). @param weight A + C of the tangents.
double turn_of(const ProximalBlock& b, double weight) { return weight / (weight + b.kappa); }

/// λ of (3) and (4) at the motion.
void update_impulses(const Problem& p, double alpha, Workspace::Memory& m) {
  RangeMemory& f = m.range;
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    const ProximalBlock& b = m.proximal.blocks[i];
    const double pull = alpha / m.rho[i];
    double* lambda = m.proximal.lambda.data() + block.row;
    for (int r = 0; r < block.size; ++r) {
      const int row = block.row + r;
      lambda[r] = (pull * m.proximal.centre[row] - f.column[row]) / (pull + p.compliance[row]);
    }
    if (block.kind == RowKind::kCone)
      apply_class(b, p.friction[block.row + 1], turn_of(b, pull + p.compliance[block.row + 1]), lambda);
    else if (b.now == ProximalClass::kOpen)
      lambda[0] = b.held;
  }
}

/// Rows G (A + C)⁻¹ L of (5).
void scale_rows(const Problem& p, double alpha, Workspace::Memory& m) {
  RangeMemory& f = m.range;
  f.active = 0;
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    const ProximalBlock& b = m.proximal.blocks[i];
    if (b.now == ProximalClass::kOpen) continue;
    const double* first = f.factor + static_cast<std::size_t>(block.row) * f.stride;
    const double pull = alpha / m.rho[i], mu = p.friction[block.row + (block.size > 1 ? 1 : 0)];
    for (int r = 0; r < block.size; ++r) {
      double* out = f.scaled.data() + static_cast<std::size_t>(f.active) * f.stride;
      f.rows[f.active++] = block.row + r;
      const double inverse = 1.0 / (pull + p.compliance[block.row + r]);
      if (b.now == ProximalClass::kStick || r == 0) {
        for (int k = 0; k < f.stride; ++k) out[k] = inverse * first[r * f.stride + k];
        continue;
      }
      const double turn = turn_of(b, pull + p.compliance[block.row + r]) * inverse, e = b.e[r - 1];
      const double a0 = mu * e / (pull + p.compliance[block.row]);
      const double a1 = turn * ((r == 1 ? 1.0 : 0.0) - e * b.e[0]);
      const double a2 = turn * ((r == 2 ? 1.0 : 0.0) - e * b.e[1]);
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
    const double* left = f.factor + static_cast<std::size_t>(f.rows[k]) * f.stride + i;
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

class Motions final : public ProximalSpace {
 public:
  Motions(const Problem& p, Workspace::Memory& m) : p_(p), m_(m) {}

  double first_alpha() const override { return 1e-3; }  // rounding over α is the least residual

  void factor(double alpha) override {
    scale_rows(p_, alpha, m_);
    assemble(m_.range);
    solver::factor(m_.range);
  }

  void solve(double alpha) override {
    RangeMemory& f = m_.range;
    update_impulses(p_, alpha, m_);  // linear: where y comes from does not matter
    transposed_times(f.factor, p_.rows(), f.stride, m_.proximal.lambda.data(), f.residual.data());
    for (int i = 0; i < f.stride; ++i) f.residual[i] -= f.y[i];
    solve_factored(f, f.residual.data());
    for (int i = 0; i < f.rank; ++i) f.y[i] += f.residual[i];
    update_motion(p_, f);
    update_impulses(p_, alpha, m_);
  }

 private:
  const Problem& p_;
  Workspace::Memory& m_;
};

}  // namespace

void range_newton(const Problem& p, int max_solves, double acceptable, Workspace::Memory& m,
                  std::span<const double> lambda, Report& report) {
  RangeMemory& f = m.range;
  if (!find_range(p, m)) return;
  f.residual.resize(f.stride);
  f.y.resize(f.stride);
  f.column.resize(p.rows());
  f.matrix.resize(static_cast<std::size_t>(f.stride) * f.stride);
  f.scaled.resize(static_cast<std::size_t>(p.rows()) * f.stride);
  f.rows.resize(p.rows());
  transposed_times(f.factor, p.rows(), f.stride, lambda.data(), f.y.data());
  update_motion(p, f);
  Motions motions(p, m);
  proximal_newton(p, max_solves, acceptable, motions, m, lambda, report);
}

}  // namespace karakuri::solver
