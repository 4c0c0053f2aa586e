// Newton's method in the space of impulses, for small dense problems: nothing is factored but the equations
// of the rows that act. With the unknowns of the classes of proximal.h,
//
//   stick: the impulse of each row;  slip: λ_n with its friction, and s                        (1)
//   λ = λ_held + P z,   (Eᵀ (W + C + A) P + κ) z = Eᵀ (A λ̄ − q − W λ_held)                     (2)
//
// P: [(1, μ e), ⊥] and E: [(1, 0), ⊥] of a contact that slips, ones of a row that sticks. Open rows cost
// nothing and slipping contacts two unknowns. The matrix is W with a little on its diagonal, so that it is
// factored as it stands. It is kept column by column, its size rounded up to four by ones on the diagonal.
#include <algorithm>
#include <cmath>

#include "core/simd.h"
#include "solver/access.h"
#include "solver/proximal.h"

namespace karakuri::solver {

namespace {

constexpr double kTinyPivot = 1e-300;

void list_row(int row, double stiffness, ImpulseMemory& f) {
  f.unknowns.push_back({.row = row, .kind = Unknown::kRow, .stiffness = stiffness});
}

/// (1) of all blocks.
void list_unknowns(const Problem& p, double alpha, Workspace::Memory& m) {
  ImpulseMemory& f = m.impulse;
  f.unknowns.clear();
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    const ProximalBlock& b = m.proximal.blocks[i];
    const double pull = alpha / m.rho[i];
    if (b.now == ProximalClass::kOpen) continue;
    if (b.now == ProximalClass::kStick) {
      for (int row = block.row; row < block.row + block.size; ++row)
        list_row(row, pull + p.compliance[row], f);
      continue;
    }
    const double mu = p.friction[block.row + 1];
    f.unknowns.push_back({.row = block.row,
                          .kind = Unknown::kPress,
                          .along = {mu * b.e[0], mu * b.e[1]},
                          .stiffness = pull + p.compliance[block.row]});
    if (std::isfinite(b.kappa))
      f.unknowns.push_back({.row = block.row,
                            .kind = Unknown::kTurn,
                            .along = {-b.e[1], b.e[0]},
                            .stiffness = pull + p.compliance[block.row + 1] + b.kappa});
  }
}

/// Eᵀ of one unknown times the rows x.
double tested(const Unknown& k, const double* x) {
  if (k.kind == Unknown::kTurn) return k.along[0] * x[k.row + 1] + k.along[1] * x[k.row + 2];
  return x[k.row];
}

/// W P of one unknown; W is symmetric, so its rows are columns.
const double* moved(const Problem& p, const Unknown& k, double* column) {
  const int n = p.rows();
  const double* row = p.dense.data() + static_cast<std::size_t>(k.row) * n;
  if (k.kind == Unknown::kRow) return row;
  const double press = k.kind == Unknown::kPress ? 1.0 : 0.0;
  for (int i = 0; i < n; ++i)
    column[i] = press * row[i] + k.along[0] * row[n + i] + k.along[1] * row[2 * n + i];
  return column;
}

/// The matrix of (2).
void assemble(const Problem& p, ImpulseMemory& f) {
  const int count = static_cast<int>(f.unknowns.size());
  f.stride = (count + 3) / 4 * 4;
  f.matrix.resize(static_cast<std::size_t>(f.stride) * f.stride);
  f.column.resize(p.rows());
  double* out = f.matrix.data();
  for (int c = 0; c < f.stride; ++c, out += f.stride) {
    if (c < count) {
      const double* column = moved(p, f.unknowns[c], f.column.data());
      for (int r = 0; r < count; ++r) out[r] = tested(f.unknowns[r], column);
      std::fill(out + count, out + f.stride, 0.0);
      out[c] += f.unknowns[c].stiffness;
    } else {
      std::fill_n(out, f.stride, 0.0);
      out[c] = 1.0;
    }
  }
}

/// x less the multiples of four columns, from `begin` on.
void subtract(const double* columns, int stride, const double* by, double* x, int begin) {
  const V4 b0 = broadcast(by[0]), b1 = broadcast(by[1]), b2 = broadcast(by[2]), b3 = broadcast(by[3]);
  const double *l0 = columns, *l1 = l0 + stride, *l2 = l1 + stride, *l3 = l2 + stride;
  for (int i = begin; i < stride; i += 4) {
    store4(x + i, load4(x + i) - ((b0 * load4(l0 + i) + b1 * load4(l1 + i)) +
                                  (b2 * load4(l2 + i) + b3 * load4(l3 + i))));
  }
}

/// Four rows, from k on, of one column: less the multiples of those above them in the triangle of ones at
/// (k, k).
void solve_unit(const double* triangle, int stride, double* x) {
  x[1] -= triangle[1] * x[0];
  x[2] -= triangle[2] * x[0] + triangle[stride + 2] * x[1];
  x[3] -= triangle[3] * x[0] + triangle[stride + 3] * x[1] + triangle[2 * stride + 3] * x[2];
}

/// One column of L, from its diagonal on; the columns that are left of it in the block are subtracted
/// already.
void scale_column(double* a, int k, int stride) {
  double* column = a + static_cast<std::size_t>(k) * stride;
  const double pivot = std::abs(column[k]) >= kTinyPivot ? column[k] : kTinyPivot;
  const double inverse = 1.0 / pivot;
  column[k] = inverse;
  int i = k + 1;
  for (; i % 4 != 0; ++i) column[i] *= inverse;
  for (; i < stride; i += 4) store4(column + i, load4(column + i) * broadcast(inverse));
}

/// A ← L and U of A = L U, without pivoting. L has ones on its diagonal; U's is kept inverted.
void factor_matrix(ImpulseMemory& f) {
  const int n = f.stride;
  double* a = f.matrix.data();
  for (int k = 0; k < n; k += 4) {
    double* block = a + static_cast<std::size_t>(k) * n;
    for (int c = 0; c < 4; ++c) {  // the block's own columns
      double* column = block + static_cast<std::size_t>(c) * n;
      for (int j = 0; j < c; ++j) {
        const double* left = block + static_cast<std::size_t>(j) * n;
        const double by = column[k + j];
        for (int i = k + j + 1; i < k + 4; ++i) column[i] -= by * left[i];
        for (int i = k + 4; i < n; i += 4)
          store4(column + i, load4(column + i) - broadcast(by) * load4(left + i));
      }
      scale_column(a, k + c, n);
    }
    for (int c = k + 4; c < n; ++c) {
      double* column = a + static_cast<std::size_t>(c) * n;
      solve_unit(block + k, n, column + k);
      subtract(block, n, column + k, column, k + 4);
    }
  }
}

/// x ← A⁻¹ x.
void solve_factored(const ImpulseMemory& f, double* x) {
  const int n = f.stride;
  const double* a = f.matrix.data();
  for (int k = 0; k < n; k += 4) {
    const double* block = a + static_cast<std::size_t>(k) * n;
    solve_unit(block + k, n, x + k);
    subtract(block, n, x + k, x, k + 4);
  }
  for (int k = n - 4; k >= 0; k -= 4) {
    const double* block = a + static_cast<std::size_t>(k) * n;
    for (int c = 3; c >= 0; --c) {
      const double* column = block + static_cast<std::size_t>(c) * n + k;
      x[k + c] *= column[c];
      for (int r = 0; r < c; ++r) x[k + r] -= column[r] * x[k + c];
    }
    const V4 b0 = broadcast(x[k]), b1 = broadcast(x[k + 1]), b2 = broadcast(x[k + 2]),
             b3 = broadcast(x[k + 3]);
    for (int i = 0; i < k; i += 4) {
      store4(x + i, load4(x + i) - ((b0 * load4(block + i) + b1 * load4(block + n + i)) +
                                    (b2 * load4(block + 2 * n + i) + b3 * load4(block + 3 * n + i))));
    }
  }
}

class Impulses final : public ProximalSpace {
 public:
  Impulses(const Problem& p, Workspace::Memory& m) : p_(p), m_(m) {}

  void factor(double alpha) override {
    list_unknowns(p_, alpha, m_);
    assemble(p_, m_.impulse);
    factor_matrix(m_.impulse);
    add_held();
  }

  void solve(double alpha) override {
    ImpulseMemory& f = m_.impulse;
    ProximalMemory& at = m_.proximal;
    pull(alpha);
    const int count = static_cast<int>(f.unknowns.size());
    f.x.assign(f.stride, 0.0);
    for (int k = 0; k < count; ++k) f.x[k] = tested(f.unknowns[k], f.column.data());
    solve_factored(f, f.x.data());
    for (int i = 0; i < p_.block_count(); ++i) {
      const Block& block = p_.blocks[i];
      const bool held = block.size == 1 && at.blocks[i].now == ProximalClass::kOpen;
      std::fill_n(at.lambda.data() + block.row, block.size, held ? at.blocks[i].held : 0.0);
    }
    for (int k = 0; k < count; ++k) spread(f.unknowns[k], f.x[k], at.lambda.data());
  }

 private:
  /// q and what the held rows add to it.
  void add_held() {
    ImpulseMemory& f = m_.impulse;
    f.q.assign(p_.q.begin(), p_.q.end());
    for (int i = 0; i < p_.block_count(); ++i) {
      const ProximalBlock& b = m_.proximal.blocks[i];
      if (p_.blocks[i].kind == RowKind::kCone || b.now != ProximalClass::kOpen || b.held == 0) continue;
      const double* row = p_.dense.data() + static_cast<std::size_t>(p_.blocks[i].row) * p_.rows();
      axpy(b.held, row, f.q.data(), p_.rows());
    }
  }

  /// column ← A λ̄ − q.
  void pull(double alpha) {
    ImpulseMemory& f = m_.impulse;
    for (int i = 0; i < p_.block_count(); ++i) {
      const Block& block = p_.blocks[i];
      for (int r = block.row; r < block.row + block.size; ++r)
        f.column[r] = alpha / m_.rho[i] * m_.proximal.centre[r] - f.q[r];
    }
  }

  static void spread(const Unknown& k, double z, double* lambda) {
    if (k.kind != Unknown::kTurn) lambda[k.row] += z;
    if (k.kind == Unknown::kRow) return;
    for (int t = 0; t < 2; ++t) lambda[k.row + 1 + t] += k.along[t] * z;
  }

  const Problem& p_;
  Workspace::Memory& m_;
};

}  // namespace

void impulse_newton(const Problem& p, int max_solves, double acceptable, Workspace::Memory& m,
                    std::span<const double> lambda, Report& report) {
  Impulses impulses(p, m);
  proximal_newton(p, max_solves, acceptable, impulses, m, lambda, report);
}

}  // namespace karakuri::solver
