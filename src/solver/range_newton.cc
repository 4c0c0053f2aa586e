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
//
// A is larger where a contact presses less. Newton's method on classes cycles where many contacts open and
// close at once, as when the load moves over to an edge of a foot. With associated friction, λ the point of
// the cone nearest to x, F is the gradient of a convex function, and steps along which its slope is not
// allowed to turn round lead to its minimum from anywhere:
//
//   slip: λ_n = (x_n + μ e·x_t)/(1 + μ²), λ_t as in (4);   F(y + t d)·d ≥ −|F(y)·d| / 2                (6)
//
// Where nothing slips, that is the solution; where little does, its classes are right.
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
  if (p.storage == OperatorKind::kMatrixFree && p.unit_mass) {
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

/// G of a cone.
struct ClassMap {
  double normal[3] = {1, 0, 0};  // λ_n of x
  double mu = 0, turn = 1;
  const ProximalBlock& b;

  /// @param weight A + C of the tangents.
  ClassMap(const ProximalBlock& block, double friction, double weight, bool associated)
      : mu(friction), turn(weight / (weight + block.kappa)), b(block) {
    if (!associated) return;
    const double share = 1 / (1 + mu * mu);
    for (int k = 0; k < 2; ++k) normal[1 + k] = share * mu * b.e[k];
    normal[0] = share;
  }
  /// The map's number in row r and column c.
  double at(int r, int c) const {
    if (r == 0) return normal[c];
    const double along = c == 0 ? 0.0 : b.e[r - 1] * b.e[c - 1];
    return mu * b.e[r - 1] * normal[c] + (c == 0 ? 0.0 : turn * ((r == c ? 1.0 : 0.0) - along));
  }
  void apply(double* x) const {
    const double along = b.e[0] * x[1] + b.e[1] * x[2];
    x[0] = normal[0] * x[0] + normal[1] * x[1] + normal[2] * x[2];
    for (int i = 0; i < 2; ++i) x[1 + i] = mu * b.e[i] * x[0] + turn * (x[1 + i] - along * b.e[i]);
  }
};

/// Class of a cone whose impulse would be x without it, with associated friction.
void classify_nearest(double mu, double weight, const double* x, ProximalBlock& b) {
  const double t = std::sqrt(x[1] * x[1] + x[2] * x[2]);
  b.now = t <= mu * x[0] ? ProximalClass::kStick : ProximalClass::kSlip;
  if (b.now == ProximalClass::kStick) return;
  if (mu * t <= -x[0]) b.now = ProximalClass::kOpen;
  if (b.now == ProximalClass::kOpen) return;
  const double limit = mu * (x[0] + mu * t) / (1 + mu * mu);
  b.kappa = limit > 0 ? weight * (t - limit) / limit : kInfinity;
  for (int k = 0; k < 2; ++k) b.e[k] = t > 0 ? x[1 + k] / t : 0.0;
}

/// λ of (3) and (4) at the motion. @param search Whether classes are found anew, as in (6).
void update_impulses(const Problem& p, double alpha, bool search, Workspace::Memory& m) {
  RangeMemory& f = m.range;
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    ProximalBlock& b = m.proximal.blocks[i];
    const double pull = alpha * m.proximal.pull[i];
    double* lambda = m.proximal.lambda.data() + block.row;
    for (int r = 0; r < block.size; ++r) {
      const int row = block.row + r;
      lambda[r] = (pull * m.proximal.centre[row] - f.column[row]) / (pull + p.compliance[row]);
    }
    if (block.kind != RowKind::kCone) {
      if (search) classify_row(p, block, lambda[0], b);
      if (b.now == ProximalClass::kOpen) lambda[0] = b.held;
      continue;
    }
    const double mu = p.friction[block.row + 1], weight = pull + p.compliance[block.row + 1];
    if (search) classify_nearest(mu, weight, lambda, b);
    if (b.now == ProximalClass::kOpen) std::fill_n(lambda, 3, 0.0);
    if (b.now == ProximalClass::kSlip) ClassMap(b, mu, weight, search).apply(lambda);
  }
}

/// Rows G (A + C)⁻¹ L of (5), or of (6).
void scale_rows(const Problem& p, double alpha, bool associated, Workspace::Memory& m) {
  RangeMemory& f = m.range;
  f.active = 0;
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    const ProximalBlock& b = m.proximal.blocks[i];
    if (b.now == ProximalClass::kOpen) continue;
    const double* first = f.factor + static_cast<std::size_t>(block.row) * f.stride;
    const double pull = alpha * m.proximal.pull[i];
    double inverse[kMaxBlockSize];
    for (int r = 0; r < block.size; ++r) inverse[r] = 1.0 / (pull + p.compliance[block.row + r]);
    for (int r = 0; r < block.size; ++r) {
      double* out = f.scaled.data() + static_cast<std::size_t>(f.active) * f.stride;
      f.rows[f.active++] = block.row + r;
      if (b.now == ProximalClass::kStick) {
        for (int k = 0; k < f.stride; ++k) out[k] = inverse[r] * first[r * f.stride + k];
        continue;
      }
      const ClassMap map(b, p.friction[block.row + 1], pull + p.compliance[block.row + 1], associated);
      const double a[3] = {map.at(r, 0) * inverse[0], map.at(r, 1) * inverse[1], map.at(r, 2) * inverse[2]};
      for (int k = 0; k < f.stride; ++k)
        out[k] = a[0] * first[k] + a[1] * first[f.stride + k] + a[2] * first[2 * f.stride + k];
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

/// Contacts pull the more towards the centre, the less they press: what changes in redundant impulses is then
/// shared as the load is, and contacts neither leave their cones nor open before the others.
void set_pull(const Problem& p, std::span<const double> lambda, Workspace::Memory& m) {
  constexpr double kLeastShare = 0.01;  // of the mean load
  double sum = 0;
  int pressing = 0;
  for (const Block& block : p.blocks) {
    if (block.kind != RowKind::kCone || !(lambda[block.row] > 0)) continue;
    sum += lambda[block.row];
    ++pressing;
  }
  std::vector<double>& pull = m.proximal.pull;
  pull.resize(p.block_count());
  for (int i = 0; i < p.block_count(); ++i) {
    const bool shares = pressing > 0 && p.blocks[i].kind == RowKind::kCone;
    const double share = shares ? lambda[p.blocks[i].row] * pressing / sum : 1;
    pull[i] = 1 / (m.rho[i] * std::max(kLeastShare, share));
  }
}

class Motions final : public ProximalSpace {
 public:
  Motions(const Problem& p, Workspace::Memory& m) : p_(p), m_(m) {}

  double first_alpha() const override { return 1e-3; }  // rounding over α is the least residual
  bool is_redundant() const override { return true; }

  void factor(double alpha) override { factor(alpha, false); }

  void solve(double alpha) override {
    RangeMemory& f = m_.range;
    update_impulses(p_, alpha, false, m_);  // linear: where y comes from does not matter
    update_residual();
    solve_factored(f, f.residual.data());
    for (int i = 0; i < f.rank; ++i) f.y[i] += f.residual[i];
    update_motion(p_, f);
    update_impulses(p_, alpha, false, m_);
  }

  /// By (6), from where solve() has gone.
  int search(double alpha, int most) override {
    evaluate(alpha);
    for (int k = 1;; ++k) {
      factor(alpha, true);
      const bool whole = descend(alpha);
      if (k == most || (whole && keeps_classes())) {
        factor(alpha, false);
        return k;
      }
    }
  }

 private:
  /// residual ← −F.
  void update_residual() {
    RangeMemory& f = m_.range;
    transposed_times(f.factor, p_.rows(), f.stride, m_.proximal.lambda.data(), f.residual.data());
    for (int i = 0; i < f.stride; ++i) f.residual[i] -= f.y[i];
  }

  /// F of (6) at y.
  void evaluate(double alpha) {
    update_motion(p_, m_.range);
    update_impulses(p_, alpha, true, m_);
    update_residual();
  }

  void factor(double alpha, bool associated) {
    RangeMemory& f = m_.range;
    scale_rows(p_, alpha, associated, m_);
    assemble(f);
    solver::factor(f);
    f.classes.clear();
    for (const ProximalBlock& b : m_.proximal.blocks) f.classes.push_back(b.now);
  }

  /// One step along d = −F'⁻¹ F, shortened where the slope would turn round. @return Whether it was not.
  bool descend(double alpha) {
    constexpr int kMostTrials = 5;
    constexpr double kTurn = 0.5;
    RangeMemory& f = m_.range;
    f.from = f.y;
    f.step = f.residual;
    solve_factored(f, f.step.data());
    const auto slope = [&] { return dot(f.residual.data(), f.step.data(), f.rank); };
    const double start = slope();
    double low = 0, high = 1, at_low = start, at_high = 0, t = 1;
    for (int trial = 0;; ++trial) {
      for (int i = 0; i < f.rank; ++i) f.y[i] = f.from[i] + t * f.step[i];
      evaluate(alpha);
      const double now = slope();
      const bool fits = now >= -kTurn * start && (t == 1 || now <= kTurn * start);
      if (fits || trial == kMostTrials) return t == 1;
      (now < 0 ? high : low) = t;
      (now < 0 ? at_high : at_low) = now;
      t = low + (high - low) * std::clamp(at_low / (at_low - at_high), 0.1, 0.9);
    }
  }

  /// Whether the classes are those of the last factor.
  bool keeps_classes() const {
    const std::vector<ProximalBlock>& now = m_.proximal.blocks;
    return std::equal(now.begin(), now.end(), m_.range.classes.begin(),
                      [](const ProximalBlock& b, ProximalClass before) { return b.now == before; });
  }

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
  f.from.resize(f.stride);
  f.step.resize(f.stride);
  f.column.resize(p.rows());
  f.matrix.resize(static_cast<std::size_t>(f.stride) * f.stride);
  f.scaled.resize(static_cast<std::size_t>(p.rows()) * f.stride);
  f.rows.resize(p.rows());
  transposed_times(f.factor, p.rows(), f.stride, lambda.data(), f.y.data());
  update_motion(p, f);
  set_pull(p, lambda, m);
  Motions motions(p, m);
  proximal_newton(p, max_solves, acceptable, motions, m, lambda, report);
}

}  // namespace karakuri::solver
