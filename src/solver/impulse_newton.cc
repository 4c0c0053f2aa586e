// Newton's method in the space of impulses, for small dense problems: nothing is factored but the equations
// of the rows that act. With the unknowns of the classes of proximal.h,
//
//   stick: the impulse of each row;  slip: λ_n with its friction, and s                        (1)
//   λ = λ_held + P z,   (Eᵀ (W + C + A) P + κ) z = Eᵀ (A λ̄ − q − W λ_held)                     (2)
//
// P: [(1, μ e), ⊥] and E: [(1, 0), ⊥] of a contact that slips, ones of a row that sticks. Open rows cost
// nothing and slipping contacts two unknowns. The matrix is W with a little on its diagonal, so that it is
// factored as it stands. Rows that stick come first: their part is symmetric, and half of it is enough. It is
// kept column by column, its size rounded up to four by ones on the diagonal.
#include <algorithm>
#include <cmath>

#include "core/simd.h"
#include "solver/access.h"
#include "solver/proximal.h"

namespace karakuri::solver {

namespace {

constexpr double kTinyPivot = 1e-300;

void list_unknown(int row, double stiffness, ImpulseMemory& f) {
  f.rows.push_back(row);
  f.stiffness.push_back(stiffness);
}

/// An unknown that is the impulse of a row.
void list_row(int row, double stiffness, ImpulseMemory& f) {
  const int index = static_cast<int>(f.rows.size());
  list_unknown(row, stiffness, f);
  const RowRun last = f.runs.empty() ? RowRun{} : f.runs.back();
  if (last.count > 0 && last.index + last.count == index && last.row + last.count == row)
    ++f.runs.back().count;
  else
    f.runs.push_back({index, row, 1});
}

void list_slip(const Problem& p, const ProximalBlock& b, int row, double pull, ImpulseMemory& f) {
  const double mu = p.friction[row + 1];
  f.slips.push_back({static_cast<int>(f.rows.size()), row, false, {mu * b.e[0], mu * b.e[1]}});
  list_row(row, pull + p.compliance[row], f);
  if (!std::isfinite(b.kappa)) return;
  f.slips.push_back({static_cast<int>(f.rows.size()), row, true, {-b.e[1], b.e[0]}});
  list_unknown(row, pull + p.compliance[row + 1] + b.kappa, f);
}

/// (1) of all blocks, those that slip last.
void list_unknowns(const Problem& p, double alpha, Workspace::Memory& m) {
  ImpulseMemory& f = m.impulse;
  f.rows.clear();
  f.stiffness.clear();
  f.runs.clear();
  f.slips.clear();
  f.slipping.clear();
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    const ProximalBlock& b = m.proximal.blocks[i];
    if (b.now == ProximalClass::kSlip) f.slipping.push_back(i);
    if (b.now != ProximalClass::kStick) continue;
    const double pull = alpha * m.proximal.pull[i];
    for (int row = block.row; row < block.row + block.size; ++row) list_row(row, pull + p.compliance[row], f);
  }
  f.symmetric = static_cast<int>(f.rows.size());
  for (const int i : f.slipping)
    list_slip(p, m.proximal.blocks[i], p.blocks[i].row, alpha * m.proximal.pull[i], f);
}

/// Eᵀ x of all unknowns.
void test_rows(const ImpulseMemory& f, const double* x, double* out) {
  for (const RowRun& run : f.runs) {  // a few numbers: a call of copy() takes longer
    const double* from = x + run.row;
    double* to = out + run.index;
    int left = run.count;
    for (; left >= 4; left -= 4, from += 4, to += 4) store4(to, load4(from));
    if (left > 0) to[0] = from[0];
    if (left > 1) to[1] = from[1];
    if (left > 2) to[2] = from[2];
  }
  for (const SlipUnknown& slip : f.slips)
    if (slip.turns) out[slip.index] = slip.along[0] * x[slip.row + 1] + slip.along[1] * x[slip.row + 2];
}

/// W P of a contact that slips; W is symmetric, so its rows are columns.
void move_by(const Problem& p, const SlipUnknown& slip, double* column) {
  const int n = p.rows();
  const double *normal = p.dense.data() + static_cast<std::size_t>(slip.row) * n, *t = normal + n, *s = t + n;
  const double press = slip.turns ? 0.0 : 1.0;
  for (int i = 0; i < n; ++i) column[i] = press * normal[i] + slip.along[0] * t[i] + slip.along[1] * s[i];
}

/// The matrix of (2).
void assemble(const Problem& p, ImpulseMemory& f) {
  const int count = static_cast<int>(f.rows.size());
  f.stride = (count + 3) / 4 * 4;
  f.matrix.resize(static_cast<std::size_t>(f.stride) * f.stride);
  f.column.resize(p.rows());
  double* out = f.matrix.data();
  auto slip = f.slips.begin();
  for (int c = 0; c < count; ++c, out += f.stride) {
    const double* column = p.dense.data() + static_cast<std::size_t>(f.rows[c]) * p.rows();
    if (slip != f.slips.end() && slip->index == c) {
      move_by(p, *slip++, f.column.data());
      column = f.column.data();
    }
    test_rows(f, column, out);
    std::fill(out + count, out + f.stride, 0.0);
    out[c] += f.stiffness[c];
  }
  for (int c = count; c < f.stride; ++c, out += f.stride) {
    std::fill_n(out, f.stride, 0.0);
    out[c] = 1.0;
  }
}

/// Four rows, from i on, of four columns that are `stride` apart.
struct Panel {
  V4 c0, c1, c2, c3;

  Panel(const double* columns, int stride, int i)
      : c0(load4(columns + i)),
        c1(load4(columns + stride + i)),
        c2(load4(columns + 2 * stride + i)),
        c3(load4(columns + 3 * stride + i)) {}

  /// x less the multiples of the columns.
  void subtract(const V4 (&by)[4], double* x) const {
    store4(x, load4(x) - by[0] * c0 - by[1] * c1 - by[2] * c2 - by[3] * c3);
  }
};

void broadcast4(const double* x, V4 (&out)[4]) {
  for (int k = 0; k < 4; ++k) out[k] = broadcast(x[k]);
}

/// Four rows of one column: less the multiples of those above them in a triangle with ones on its diagonal.
void solve_unit(const double* triangle, int stride, double* x) {
  x[1] -= triangle[1] * x[0];
  x[2] -= triangle[2] * x[0] + triangle[stride + 2] * x[1];
  x[3] -= triangle[3] * x[0] + triangle[stride + 3] * x[1] + triangle[2 * stride + 3] * x[2];
}

/// The 4 x 4 on the diagonal: L and U in place, U's diagonal inverted.
void factor_corner(double* a, int stride) {
  for (int k = 0; k < 4; ++k) {
    double* pivot = a + static_cast<std::size_t>(k) * stride;
    const double inverse = 1.0 / (std::abs(pivot[k]) >= kTinyPivot ? pivot[k] : kTinyPivot);
    pivot[k] = inverse;
    for (int i = k + 1; i < 4; ++i) pivot[i] *= inverse;
    for (int c = k + 1; c < 4; ++c) {
      double* column = a + static_cast<std::size_t>(c) * stride;
      for (int i = k + 1; i < 4; ++i) column[i] -= column[k] * pivot[i];
    }
  }
}

/// Columns of L below a corner that is factored; four rows from i on.
void divide_by_corner(const double* corner, int stride, double* columns, int i) {
  const auto u = [&](int r, int c) { return broadcast(corner[static_cast<std::size_t>(c) * stride + r]); };
  double *x0 = columns + i, *x1 = x0 + stride, *x2 = x1 + stride, *x3 = x2 + stride;
  const V4 l0 = load4(x0) * u(0, 0);
  const V4 l1 = (load4(x1) - l0 * u(0, 1)) * u(1, 1);
  const V4 l2 = (load4(x2) - l0 * u(0, 2) - l1 * u(1, 2)) * u(2, 2);
  const V4 l3 = (load4(x3) - l0 * u(0, 3) - l1 * u(1, 3) - l2 * u(2, 3)) * u(3, 3);
  store4(x0, l0);
  store4(x1, l1);
  store4(x2, l2);
  store4(x3, l3);
}

/// Four rows of one column of U: L⁻¹ of a factored corner times what stands there or, where A is symmetric,
/// D Lᵀ of the rows of L that are found already.
void finish_column(const double* corner, int stride, const double* pivots, const double* columns, int c,
                   double* x) {
  if (!pivots) return solve_unit(corner, stride, x);
  for (int r = 0; r < 4; ++r) x[r] = pivots[r] * columns[static_cast<std::size_t>(r) * stride + c];
}

/// A ← L and U of A = L U, without pivoting, four columns at a time. L has ones on its diagonal; U's is kept
/// inverted. Of the columns that are symmetric only what is below the diagonal is read.
void factor_matrix(ImpulseMemory& f) {
  const int n = f.stride;
  const int symmetric = f.slips.empty() ? n : f.symmetric / 4 * 4;  // columns, in whole panels
  double* a = f.matrix.data();
  for (int k = 0; k < n; k += 4) {
    double* columns = a + static_cast<std::size_t>(k) * n;
    double* corner = columns + k;
    factor_corner(corner, n);
    for (int i = k + 4; i < n; i += 4) divide_by_corner(corner, n, columns, i);
    double pivots[4];
    for (int r = 0; r < 4; ++r) pivots[r] = 1 / corner[static_cast<std::size_t>(r) * n + r];
    for (int c = k + 4; c < n; c += 2) {  // two columns share what is loaded of the panel
      double *one = a + static_cast<std::size_t>(c) * n, *two = one + n;
      const bool mirrored = c < symmetric;
      finish_column(corner, n, mirrored ? pivots : nullptr, columns, c, one + k);
      finish_column(corner, n, mirrored ? pivots : nullptr, columns, c + 1, two + k);
      V4 by_one[4], by_two[4];
      broadcast4(one + k, by_one);
      broadcast4(two + k, by_two);
      for (int i = mirrored ? c / 4 * 4 : k + 4; i < n; i += 4) {
        const Panel panel(columns, n, i);
        panel.subtract(by_one, one + i);
        panel.subtract(by_two, two + i);
      }
    }
  }
}

/// x ← A⁻¹ x.
void solve_factored(const ImpulseMemory& f, double* x) {
  const int n = f.stride;
  const double* a = f.matrix.data();
  V4 by[4];
  for (int k = 0; k < n; k += 4) {
    const double* columns = a + static_cast<std::size_t>(k) * n;
    solve_unit(columns + k, n, x + k);
    broadcast4(x + k, by);
    for (int i = k + 4; i < n; i += 4) Panel(columns, n, i).subtract(by, x + i);
  }
  for (int k = n - 4; k >= 0; k -= 4) {
    const double* columns = a + static_cast<std::size_t>(k) * n;
    for (int c = 3; c >= 0; --c) {
      const double* column = columns + static_cast<std::size_t>(c) * n + k;
      x[k + c] *= column[c];
      for (int r = 0; r < c; ++r) x[k + r] -= column[r] * x[k + c];
    }
    broadcast4(x + k, by);
    for (int i = 0; i < k; i += 4) Panel(columns, n, i).subtract(by, x + i);
  }
}

class Impulses final : public ProximalSpace {
 public:
  Impulses(const Problem& p, Workspace::Memory& m) : p_(p), m_(m) {}

  /// Less only costs digits of impulses that are not unique; larger, slow parts of W need a second factor.
  double first_alpha() const override { return 1e-5; }

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
    f.x.assign(f.stride, 0.0);
    test_rows(f, f.column.data(), f.x.data());
    solve_factored(f, f.x.data());
    for (int i = 0; i < p_.block_count(); ++i) {
      const Block& block = p_.blocks[i];
      const bool held = block.size == 1 && at.blocks[i].now == ProximalClass::kOpen;
      std::fill_n(at.lambda.data() + block.row, block.size, held ? at.blocks[i].held : 0.0);
    }
    for (const SlipUnknown& slip : f.slips) {
      for (int t = 0; t < 2; ++t) at.lambda[slip.row + 1 + t] += slip.along[t] * f.x[slip.index];
      if (slip.turns) f.x[slip.index] = 0;  // nothing of it is along the normal
    }
    for (std::size_t k = 0; k < f.rows.size(); ++k) at.lambda[f.rows[k]] += f.x[k];
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
        f.column[r] = alpha * m_.proximal.pull[i] * m_.proximal.centre[r] - f.q[r];
    }
  }

  const Problem& p_;
  Workspace::Memory& m_;
};

}  // namespace

void impulse_newton(const Problem& p, int max_solves, double acceptable, Workspace::Memory& m,
                    std::span<const double> lambda, Report& report) {
  m.proximal.pull.resize(p.block_count());
  for (int i = 0; i < p.block_count(); ++i) m.proximal.pull[i] = 1 / m.rho[i];
  Impulses impulses(p, m);
  proximal_newton(p, max_solves, acceptable, impulses, m, lambda, report);
}

}  // namespace karakuri::solver
