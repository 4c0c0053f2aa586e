// Newton's method in the space of impulses, for small dense problems: nothing is factored but the equations
// of the rows that act. With the unknowns of the classes of proximal.h,
//
//   stick: the impulse of each row;  slip: λ_n with its friction, and s                        (1)
//   λ = λ_held + P z,   (Eᵀ (W + C + A) P + κ) z = Eᵀ (A λ̄ − q − W λ_held)                     (2)
//
// P: [(1, μ e), ⊥] and E: [(1, 0), ⊥] of a contact that slips, ones of a row that sticks. Open rows cost
// nothing and slipping contacts two unknowns. The matrix is W with a little on its diagonal, so that it is
// factored as it stands. Rows that stick come first: their part is symmetric, and half of it is enough. It is
// kept column by column, its size rounded up to four by ones on the diagonal. Problems are so small, and
// their classes so different, that loops and branches cost as much as the arithmetic: rows are copied by
// fours, whatever their number.
#include <algorithm>
#include <cmath>

#include "core/simd.h"
#include "solver/access.h"
#include "solver/proximal.h"

namespace karakuri::solver {

namespace {

constexpr double kTinyPivot = 1e-300;
constexpr int kSpare = 3;  // numbers that are written too many, by fours

/// Unknowns that are the impulses of a block's rows.
void list_rows(const Problem& p, const Block& block, double pull, ImpulseMemory& f) {
  for (int r = 0; r < block.size; r += 4)
    f.pieces.push_back({f.count + r, block.row + r, std::min(4, block.size - r)});
  for (int r = 0; r < block.size; ++r) f.stiffness[f.count++] = pull + p.compliance[block.row + r];
}

void list_slip(const Problem& p, const ProximalBlock& b, int row, double pull, ImpulseMemory& f) {
  const double mu = p.friction[row + 1];
  SlipUnknowns& slip = f.slips.emplace_back();
  slip = {f.count, row, {mu * b.e[0], mu * b.e[1]}, {}};
  f.stiffness[f.count++] = pull + p.compliance[row];
  if (!std::isfinite(b.kappa)) return;
  slip.turn[0] = -b.e[1];
  slip.turn[1] = b.e[0];
  f.stiffness[f.count++] = pull + p.compliance[row + 1] + b.kappa;
}

/// (1) of all blocks, those that slip last.
void list_unknowns(const Problem& p, double alpha, Workspace::Memory& m) {
  ImpulseMemory& f = m.impulse;
  f.count = 0;
  f.pieces.clear();
  f.slips.clear();
  int sticking = 0, slipping = 0;
  for (int i = 0, blocks = p.block_count(); i < blocks; ++i) {  // classes are hard to predict: no branches
    const ProximalClass now = m.proximal.blocks[i].now;
    f.sticking[sticking] = f.slipping[slipping] = i;
    sticking += now == ProximalClass::kStick ? 1 : 0;
    slipping += now == ProximalClass::kSlip ? 1 : 0;
  }
  const double* pull = m.proximal.pull.data();
  for (const int i : std::span(f.sticking).first(sticking)) list_rows(p, p.blocks[i], alpha * pull[i], f);
  f.symmetric = f.count;
  for (const int i : std::span(f.slipping).first(slipping))
    list_slip(p, m.proximal.blocks[i], p.blocks[i].row, alpha * pull[i], f);
  f.padded = (f.count + 3) / 4 * 4;
  f.stride = f.padded + 4;
}

/// Eᵀ x of all unknowns. What pieces and contacts write beyond their own is corrected by those that follow:
/// so nothing depends on sizes. @param x With kSpare numbers behind it, whatever they are.
void test_rows(const ImpulseMemory& f, const double* x, double* out) {
  for (const RowPiece& piece : f.pieces) store4(out + piece.index, load4(x + piece.row));
  for (const SlipUnknowns& slip : f.slips) {
    const double* at = x + slip.row;
    out[slip.index] = at[0];
    out[slip.index + 1] = slip.turn[0] * at[1] + slip.turn[1] * at[2];
  }
  for (int i = f.count; i < f.padded; ++i) out[i] = 0.0;
}

/// W P of a contact that slips. W is symmetric: its rows are columns.
void move_by(const Problem& p, const SlipUnknowns& slip, double* press, double* turn) {
  const int n = p.rows();
  const double *normal = p.dense.data() + static_cast<std::size_t>(slip.row) * n, *t = normal + n, *s = t + n;
  for (int i = 0; i < n; ++i) {
    press[i] = normal[i] + slip.press[0] * t[i] + slip.press[1] * s[i];
    turn[i] = slip.turn[0] * t[i] + slip.turn[1] * s[i];
  }
}

/// W P of all unknowns, with kSpare numbers behind each column: the last rows of W, which have none, are
/// copied.
void list_moves(const Problem& p, ImpulseMemory& f) {
  const int n = p.rows(), next = n + kSpare;
  double* to = f.moved.data();
  for (const RowPiece& piece : f.pieces) {
    for (int k = 0; k < piece.size; ++k) {
      const double* row = p.dense.data() + static_cast<std::size_t>(piece.row + k) * n;
      const bool last = piece.row + k + 2 >= n;
      if (last) std::copy_n(row, n, to);
      f.moves[piece.index + k] = last ? to : row;
      if (last) to += next;
    }
  }
  for (const SlipUnknowns& slip : f.slips) {
    move_by(p, slip, to, to + next);
    f.moves[slip.index] = to;
    f.moves[slip.index + 1] = to + next;
    to += 2 * next;
  }
}

/// Columns that are symmetric, in whole panels.
int mirrored_columns(const ImpulseMemory& f) { return f.slips.empty() ? f.padded : f.symmetric / 4 * 4; }

/// Rows of the matrix that stick; of columns that are symmetric without what is above their panel. Piece by
/// piece and not column by column, as test_rows() does it: many columns in one loop, and few loops.
void fill_sticking(ImpulseMemory& f) {
  const int mirrored = std::min(f.count, mirrored_columns(f));
  for (const RowPiece& piece : f.pieces) {
    const auto copy = [&](int begin, int end) {
      double* out = f.matrix.data() + static_cast<std::size_t>(begin) * f.stride + piece.index;
      for (int c = begin; c < end; ++c, out += f.stride) store4(out, load4(f.moves[c] + piece.row));
    };
    copy(0, std::min(mirrored, (piece.index + piece.size + 3) / 4 * 4));
    copy(mirrored, f.count);
  }
}

/// Rows of the matrix that slip.
void fill_slipping(ImpulseMemory& f) {
  for (const SlipUnknowns& slip : f.slips) {
    double* out = f.matrix.data() + slip.index;
    for (int c = 0; c < f.count; ++c, out += f.stride) {
      const double* at = f.moves[c] + slip.row;
      out[0] = at[0];
      out[1] = slip.turn[0] * at[1] + slip.turn[1] * at[2];
    }
  }
}

/// The matrix of (2).
void assemble(const Problem& p, ImpulseMemory& f) {
  list_moves(p, f);
  fill_sticking(f);
  fill_slipping(f);
  double* a = f.matrix.data();
  for (int c = 0; c < f.count; ++c) a[static_cast<std::size_t>(c) * (f.stride + 1)] += f.stiffness[c];
  for (int i = f.count; i < f.padded; ++i) {
    double *row = a + i, *column = a + static_cast<std::size_t>(i) * f.stride;
    for (int c = 0; c < f.padded; ++c, row += f.stride) *row = column[c] = 0.0;
    column[i] = 1.0;
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

  void store(double* columns, int stride, int i) const {
    store4(columns + i, c0);
    store4(columns + stride + i, c1);
    store4(columns + 2 * stride + i, c2);
    store4(columns + 3 * stride + i, c3);
  }

  /// Rows become columns.
  void transpose() { simd::transpose(c0, c1, c2, c3); }
};

void broadcast4(const double* x, V4 (&out)[4]) {
  for (int k = 0; k < 4; ++k) out[k] = broadcast(x[k]);
}

double inverse_of(double pivot) { return 1.0 / (std::abs(pivot) >= kTinyPivot ? pivot : kTinyPivot); }

/// The 4 x 4 on the diagonal, factored.
struct Corner {
  V4 u01, u02, u12, u03, u13, u23;  // of U, each four times
  V4 i0, i1, i2, i3;                // inverses of its diagonal, four times

  /// @param a Where L and U go, with the inverses on the diagonal.
  Corner(Panel x, double* a, int stride) {
    const V4 zero = {};
    i0 = broadcast(inverse_of(x.c0[0]));
    const V4 l0 = __builtin_shufflevector(x.c0 * i0, zero, 4, 1, 2, 3);
    u01 = broadcast(x.c1[0]), u02 = broadcast(x.c2[0]), u03 = broadcast(x.c3[0]);
    x.c1 -= l0 * u01;
    x.c2 -= l0 * u02;
    x.c3 -= l0 * u03;
    i1 = broadcast(inverse_of(x.c1[1]));
    const V4 l1 = __builtin_shufflevector(x.c1 * i1, zero, 4, 5, 2, 3);
    u12 = broadcast(x.c2[1]), u13 = broadcast(x.c3[1]);
    x.c2 -= l1 * u12;
    x.c3 -= l1 * u13;
    i2 = broadcast(inverse_of(x.c2[2]));
    const V4 l2 = __builtin_shufflevector(x.c2 * i2, zero, 4, 5, 6, 3);
    u23 = broadcast(x.c3[2]);
    x.c3 -= l2 * u23;
    i3 = broadcast(inverse_of(x.c3[3]));
    x.c0 = __builtin_shufflevector(i0, l0, 0, 5, 6, 7);
    x.c1 = __builtin_shufflevector(__builtin_shufflevector(x.c1, i1, 0, 5, 2, 3), l1, 0, 1, 6, 7);
    x.c2 = __builtin_shufflevector(__builtin_shufflevector(x.c2, i2, 0, 1, 6, 3), l2, 0, 1, 2, 7);
    x.c3 = __builtin_shufflevector(x.c3, i3, 0, 1, 2, 7);
    x.store(a, stride, 0);
  }

  /// x ← x U⁻¹: rows of L below. @return The same times U's diagonal: where A is symmetric, U's columns.
  Panel divide(Panel& x) const {
    Panel u = x;
    x.c0 = u.c0 * i0;
    u.c1 -= x.c0 * u01;
    x.c1 = u.c1 * i1;
    u.c2 = u.c2 - x.c0 * u02 - x.c1 * u12;
    x.c2 = u.c2 * i2;
    u.c3 = u.c3 - x.c0 * u03 - x.c1 * u13 - x.c2 * u23;
    x.c3 = u.c3 * i3;
    return u;
  }
};

/// x ← L⁻¹ x, L of a corner.
void solve_unit(const double* corner, int stride, Panel& x) {
  const V4 zero = {};
  const V4 l0 = __builtin_shufflevector(load4(corner), zero, 4, 1, 2, 3);
  const V4 l1 = __builtin_shufflevector(load4(corner + stride), zero, 4, 5, 2, 3);
  const V4 l2 = __builtin_shufflevector(load4(corner + 2 * stride), zero, 4, 5, 6, 3);
  for (V4* v : {&x.c0, &x.c1, &x.c2, &x.c3}) {
    *v -= l0 * broadcast((*v)[0]);
    *v -= l1 * broadcast((*v)[1]);
    *v -= l2 * broadcast((*v)[2]);
  }
}

/// Four rows, from i on, of four columns, from c on: what the first k columns of L and rows of U leave of
/// them.
Panel reduce(const double* a, int stride, int i, int c, int k) {
  const double *u = a + static_cast<std::size_t>(c) * stride, *l = a + i;
  Panel x(u, stride, i);
  for (int j = 0; j < k; ++j, l += stride) {
    const V4 by = load4(l);
    x.c0 -= by * broadcast(u[j]);
    x.c1 -= by * broadcast(u[stride + j]);
    x.c2 -= by * broadcast(u[2 * stride + j]);
    x.c3 -= by * broadcast(u[3 * stride + j]);
  }
  return x;
}

/// A ← L and U of A = L U, without pivoting, four columns at a time. L has ones on its diagonal; U's is kept
/// inverted. Of the columns that are symmetric only what is below the diagonal is read.
void factor_matrix(ImpulseMemory& f) {
  const int n = f.padded, stride = f.stride, mirrored = mirrored_columns(f);
  double* a = f.matrix.data();
  for (int c = 0; c < n; c += 4) {
    double* columns = a + static_cast<std::size_t>(c) * stride;
    if (c >= mirrored) {
      for (int i = 0; i < c; i += 4) {
        Panel x = reduce(a, stride, i, c, i);
        solve_unit(a + static_cast<std::size_t>(i) * stride + i, stride, x);
        x.store(columns, stride, i);
      }
    }
    const Corner corner(reduce(a, stride, c, c, c), columns + c, stride);
    for (int i = c + 4; i < n; i += 4) {
      Panel x = reduce(a, stride, i, c, c);
      Panel u = corner.divide(x);
      x.store(columns, stride, i);
      if (i >= mirrored) continue;
      u.transpose();
      u.store(a + static_cast<std::size_t>(i) * stride, stride, c);
    }
  }
}

/// Four rows of one column: less the multiples of those above them in a triangle with ones on its diagonal.
void solve_unit(const double* triangle, int stride, double* x) {
  x[1] -= triangle[1] * x[0];
  x[2] -= triangle[2] * x[0] + triangle[stride + 2] * x[1];
  x[3] -= triangle[3] * x[0] + triangle[stride + 3] * x[1] + triangle[2 * stride + 3] * x[2];
}

/// x ← A⁻¹ x.
void solve_factored(const ImpulseMemory& f, double* x) {
  const int n = f.padded, stride = f.stride;
  const double* a = f.matrix.data();
  V4 by[4];
  for (int k = 0; k < n; k += 4) {
    const double* columns = a + static_cast<std::size_t>(k) * stride;
    solve_unit(columns + k, stride, x + k);
    broadcast4(x + k, by);
    for (int i = k + 4; i < n; i += 4) Panel(columns, stride, i).subtract(by, x + i);
  }
  for (int k = n - 4; k >= 0; k -= 4) {
    const double* columns = a + static_cast<std::size_t>(k) * stride;
    for (int c = 3; c >= 0; --c) {
      const double* column = columns + static_cast<std::size_t>(c) * stride + k;
      x[k + c] *= column[c];
      for (int r = 0; r < c; ++r) x[k + r] -= column[r] * x[k + c];
    }
    broadcast4(x + k, by);
    for (int i = 0; i < k; i += 4) Panel(columns, stride, i).subtract(by, x + i);
  }
}

class Impulses final : public ProximalSpace {
 public:
  Impulses(const Problem& p, Workspace::Memory& m) : p_(p), m_(m) {
    ImpulseMemory& f = m.impulse;
    const std::size_t most = p.rows() + kSpare;
    f.sticking.resize(p.block_count());
    f.slipping.resize(p.block_count());
    f.moves.resize(most);
    for (std::vector<double>* v : {&f.stiffness, &f.column}) v->resize(most);
    f.x.resize(most + kSpare);
    f.moved.resize(std::max(f.moved.size(), most * most));
    f.matrix.resize(std::max(f.matrix.size(), most * (most + 4)));
  }

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
    pull(alpha);
    test_rows(f, f.column.data(), f.x.data());
    solve_factored(f, f.x.data());
    spread(m_.proximal.lambda);
  }

 private:
  /// Impulses of all rows from the unknowns.
  void spread(std::vector<double>& lambda) const {
    constexpr double kOnes[8] = {1, 1, 1, 1, 0, 0, 0, 0};
    const ImpulseMemory& f = m_.impulse;
    const int rows = p_.rows();
    std::fill(lambda.begin(), lambda.end(), 0.0);
    for (const RowPiece& piece : f.pieces) {
      const double* x = f.x.data() + piece.index;
      double* to = lambda.data() + piece.row;
      if (piece.row + 4 <= rows)
        store4(to,
               load4(x) * load4(kOnes + 4 - piece.size));  // what comes after it is written later, or zero
      else
        for (int r = 0; r < piece.size; ++r) to[r] = x[r];
    }
    for (const SlipUnknowns& slip : f.slips) {
      const double* x = f.x.data() + slip.index;  // what comes after the last unknown is multiplied by zero
      double* to = lambda.data() + slip.row;
      to[0] = x[0];
      for (int t = 0; t < 2; ++t) to[1 + t] = slip.press[t] * x[0] + slip.turn[t] * x[1];
    }
    for (const int i : f.held) lambda[p_.blocks[i].row] = m_.proximal.blocks[i].held;
  }

  /// q and what the held rows add to it.
  void add_held() {
    ImpulseMemory& f = m_.impulse;
    f.held.clear();
    for (int i = 0, blocks = p_.block_count(); i < blocks; ++i) {
      const ProximalBlock& b = m_.proximal.blocks[i];
      if (p_.blocks[i].kind != RowKind::kBox || b.now != ProximalClass::kOpen || b.held == 0) continue;
      if (f.held.empty()) f.q.assign(p_.q.begin(), p_.q.end());
      f.held.push_back(i);
      const double* row = p_.dense.data() + static_cast<std::size_t>(p_.blocks[i].row) * p_.rows();
      axpy(b.held, row, f.q.data(), p_.rows());
    }
    q_ = f.held.empty() ? p_.q.data() : f.q.data();
  }

  /// column ← A λ̄ − q.
  void pull(double alpha) {
    ImpulseMemory& f = m_.impulse;
    for (int i = 0; i < p_.block_count(); ++i) {
      const Block& block = p_.blocks[i];
      for (int r = block.row; r < block.row + block.size; ++r)
        f.column[r] = alpha * m_.proximal.pull[i] * m_.proximal.centre[r] - q_[r];
    }
  }

  const Problem& p_;
  Workspace::Memory& m_;
  const double* q_ = nullptr;  // rows
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
