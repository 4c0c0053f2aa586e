// Newton's method over the motions of subsystems, whose matrix is as sparse as their contacts.
//
// In velocities of unit mass, with A = α ŵ + C of each block as in proximal.h,
//
//   u = J v + q,   x = (α ŵ λ̄ - u) / A                                                        (1)
//   λ(v): x, put within its bounds; of a cone λ_n = max(0, x_n), |λ_t| <= μ λ_n along x_t          (2)
//   F(v) = v - Jᵀ λ(v) = 0                                                                    (3)
//   (1 + Jᵀ R J) d = F,   R = -dλ/du = 1/A {0; 1; (n + μ e) nᵀ + (μ x_n / |x_t|) q qᵀ},               (4)
//
// of what is open, sticks, and slips along e = x_t/|x_t| with q across it. But for how friction follows the
// normal impulse F is the gradient of a convex function: a step is shortened where d·F would turn round. As λ̄
// follows λ the proximal term vanishes.
#include <algorithm>
#include <cmath>

#include "core/simd.h"
#include "solver/sparse_patches.h"

namespace karakuri::solver {

using namespace simd;  // NOLINT: private to the module

namespace {

void prepare(const Problem& p, SparseMemory& s) {
  find_sparse_structure(p, kInfinity, s);
  s.root.resize(p.velocities());
  for (int i = 0; i < p.velocities(); ++i) s.root[i] = p.unit_mass ? 1.0 : std::sqrt(p.inverse_mass[i]);
  write_sparse_jacobian(p, s);
  s.unit.assign(s.velocities, 1.0);
  for (auto* v : {&s.v, &s.step, &s.force}) v->assign(s.velocities, 0.0);
  for (auto* r : {&s.lambda, &s.centre, &s.u, &s.along, &s.off}) r->resize(p.rows());
  s.response.assign(p.block_count(), {});
  s.classes.resize(p.block_count());
}

// ---- motions and rows

void gather(const SparseMemory& s, int patch, const double* from, double* to) {
  for (const int n : s.factors.clique(patch)) to = std::copy_n(from + s.place[n], s.widths[n], to);
}

void give(const SparseMemory& s, int patch, const double* from, double* to) {
  for (const int n : s.factors.clique(patch)) {
    double* at = to + s.place[n];
    for (int d = 0; d < s.widths[n]; ++d) at[d] -= *from++;
  }
}

/// Writes J v of all rows of a patch to `out`.
void rows_of(SparseMemory& s, int i, const double* v, double* out) {
  const SparsePatch& patch = s.patches[i];
  double* local = s.local.data();
  gather(s, i, v, local);
  rows_times(s.jacobian.data() + patch.jacobian, patch.row_count, patch.stride, local, out + patch.row);
}

/// force ← force - Jᵀ λ of a patch.
void push(SparseMemory& s, int i) {
  const SparsePatch& patch = s.patches[i];
  double* local = s.local.data();
  transposed_times(s.jacobian.data() + patch.jacobian, patch.row_count, patch.stride,
                   s.lambda.data() + patch.row, local);
  give(s, i, local, s.force.data());
}

/// (2) of a cone. @param x (1); out: the impulse.
template <class Found>
void bound_cone(double mu, double* x, Found&& found) {
  if (!(x[0] > 0.0)) {
    x[0] = x[1] = x[2] = 0.0;
    return found(ProximalClass::kOpen, 1.0, 0.0);
  }
  const double length = std::sqrt(x[1] * x[1] + x[2] * x[2]), most = mu * x[0];
  if (length <= most) return found(ProximalClass::kStick, 1.0, length);
  const double share = most / length;
  found(ProximalClass::kSlip, share, length);
  x[1] *= share;
  x[2] *= share;
}

class SparseProximal {
 public:
  SparseProximal(const Problem& p, Workspace::Memory& m) : p_(p), m_(m), s_(m.sparse) {
    for (double& x : s_.local) x = 0.0;
  }

  void set_alpha(double alpha) { alpha_ = alpha, factored_ = false; }

  /// v ← what the impulses give.
  void move_by(std::span<const double> lambda) {
    std::copy(lambda.begin(), lambda.end(), s_.lambda.begin());
    std::fill(s_.force.begin(), s_.force.end(), 0.0);
    for (int i = 0; i < patches(); ++i) push(s_, i);
    for (std::size_t d = 0; d < s_.v.size(); ++d) s_.v[d] = -s_.force[d];
  }
  void centre_on_impulses() { s_.centre = s_.lambda; }

  /// v ← as if all contacts stuck that do not open faster than others close: from no impulses at all, a step
  /// closes one layer of a stack after the other.
  void close_contacts() {
    double fastest = 0.0;
    for (const Block& block : p_.blocks)
      if (opens(block)) fastest = std::max(fastest, -p_.q[block.row]);
    for (int b = 0; b < p_.block_count(); ++b) {
      const Block& block = p_.blocks[b];
      const bool closed = !opens(block) || p_.q[block.row] <= fastest;
      s_.classes[b] = closed ? ProximalClass::kStick : ProximalClass::kOpen;
      s_.response[b] = {.normal = weight_of(b, 0), .even = weight_of(b, block.size - 1)};
      for (int r = 0; r < block.size; ++r)
        s_.lambda[block.row + r] = closed ? -weight_of(b, r) * p_.q[block.row + r] : 0.0;
    }
    std::fill(s_.force.begin(), s_.force.end(), 0.0);
    for (int i = 0; i < patches(); ++i) push(s_, i);
    factor();
    for (std::size_t d = 0; d < s_.v.size(); ++d) s_.v[d] = -s_.force[d];
    s_.factors.solve(s_.v);
  }

  /// Impulses, classes and F at v.
  void evaluate() {
    s_.force = s_.v;
    for (int i = 0; i < patches(); ++i) {
      const SparsePatch& patch = s_.patches[i];
      rows_of(s_, i, s_.v.data(), s_.u.data());
      for (int r = patch.row; r < patch.row + patch.row_count; ++r) s_.u[r] += p_.q[r];
      for (int b = patch.block; b < patch.block + patch.block_count; ++b) respond(b);
      push(s_, i);
    }
  }

  /// One step of (4).
  void step() {
    if (!factored_) factor();
    std::copy(s_.force.begin(), s_.force.end(), s_.step.begin());
    s_.factors.solve(s_.step);
    const double length = search();
    for (std::size_t d = 0; d < s_.v.size(); ++d) s_.v[d] -= length * s_.step[d];
    evaluate();
  }

  /// Whether the classes are those that were factored.
  bool keeps_classes() const { return s_.classes == s_.factored; }
  void forget_factors() { factored_ = false; }
  bool has_factors() const { return factored_; }

  /// Natural map of the impulses at the motion that they give. @param inner Out: how far that is from v.
  double measure(double* inner) {
    double sum = 0.0;
    for (int i = 0; i < patches(); ++i) rows_of(s_, i, s_.force.data(), s_.off.data());
    for (int r = 0; r < p_.rows(); ++r) {
      sum += s_.off[r] * s_.off[r];
      s_.off[r] = s_.u[r] - s_.off[r] + p_.compliance[r] * s_.lambda[r];
    }
    *inner = std::sqrt(sum);
    return natural_map(p_, s_.lambda, s_.off, m_.rho);
  }

 private:
  int patches() const { return static_cast<int>(s_.patches.size()); }

  double pull_of(int block) const { return alpha_ / m_.rho[block]; }

  /// (2) and R of (4).
  void respond(int b) {
    const Block& block = p_.blocks[b];
    const double pull = pull_of(b);
    double* lambda = s_.lambda.data() + block.row;
    for (int r = 0; r < block.size; ++r) {
      const int row = block.row + r;
      lambda[r] = (pull * s_.centre[row] - s_.u[row]) / (pull + p_.compliance[row]);
    }
    SparseResponse& out = s_.response[b];
    ProximalClass& now = s_.classes[b];
    if (block.kind == RowKind::kCone) {
      const double normal = 1.0 / (pull + p_.compliance[block.row]);
      const double tangent = 1.0 / (pull + p_.compliance[block.row + 1]);
      double x[2] = {lambda[1], lambda[2]};
      bound_cone(p_.friction[block.row + 1], lambda, [&](ProximalClass c, double share, double length) {
        now = c;
        out.normal = c == ProximalClass::kOpen ? 0.0 : normal;
        out.even = c == ProximalClass::kStick ? tangent : 0.0;
        out.across = c == ProximalClass::kSlip ? share * tangent : 0.0;
        if (c == ProximalClass::kSlip) out.e[0] = x[0] / length, out.e[1] = x[1] / length;
      });
      return;
    }
    now = ProximalClass::kStick;
    out.even = 1.0 / (pull + p_.compliance[block.row]);
    if (block.kind == RowKind::kEquality || block.kind == RowKind::kLinear) return;
    const double low = block.kind == RowKind::kBox ? p_.lower[block.row] : 0.0;
    const double high = block.kind == RowKind::kBox ? p_.upper[block.row] : kInfinity;
    if (lambda[0] > low && lambda[0] < high) return;
    lambda[0] = lambda[0] <= low ? low : high;
    now = ProximalClass::kOpen;
    out.even = 0.0;
  }

  /// Of one block, λ of (2) at velocities `u`, times the velocities `along`.
  double power(int b, double length) const {
    const Block& block = p_.blocks[b];
    const double pull = pull_of(b);
    double x[kMaxBlockSize];
    for (int r = 0; r < block.size; ++r) {
      const int row = block.row + r;
      x[r] = (pull * s_.centre[row] - (s_.u[row] - length * s_.along[row])) / (pull + p_.compliance[row]);
    }
    const double* along = s_.along.data() + block.row;
    if (block.kind == RowKind::kCone) {
      bound_cone(p_.friction[block.row + 1], x, [](ProximalClass, double, double) {});
      return x[0] * along[0] + x[1] * along[1] + x[2] * along[2];
    }
    if (block.kind == RowKind::kComplementarity) x[0] = std::max(0.0, x[0]);
    if (block.kind == RowKind::kBox) x[0] = std::clamp(x[0], p_.lower[block.row], p_.upper[block.row]);
    double sum = 0.0;
    for (int r = 0; r < block.size; ++r) sum += x[r] * along[r];
    return sum;
  }

  /// How far to go along the step: where d·F turns round, near to where it vanishes.
  double search() {
    constexpr double kTurned = 0.5, kShortEnough = 0.2;
    constexpr int kMostTrials = 5;
    for (int i = 0; i < patches(); ++i) rows_of(s_, i, s_.step.data(), s_.along.data());
    const int n = static_cast<int>(s_.step.size());
    const double at_zero = dot(s_.step.data(), s_.force.data(), n),
                 square = dot(s_.step.data(), s_.step.data(), n);
    const double without = at_zero + dot(s_.lambda.data(), s_.along.data(), p_.rows());
    const auto slope = [&](double length) {
      double sum = without - length * square;
      for (int b = 0; b < p_.block_count(); ++b) sum -= power(b, length);
      return sum;
    };
    double low = 0.0, high = 1.0, at_low = at_zero, at_high = slope(1.0);
    if (!(at_zero > 0.0 && at_high < -kTurned * at_zero)) return 1.0;
    double best = 1.0, least = std::abs(at_high);
    int side = 0;
    for (int trial = 0; trial < kMostTrials; ++trial) {
      const double t = (low * at_high - high * at_low) / (at_high - at_low), now = slope(t);
      if (std::abs(now) < least) least = std::abs(now), best = t;
      if (least <= kShortEnough * at_zero) return best;
      if (now > 0.0) {
        low = t, at_low = now;
        if (side == 1) at_high *= 0.5;
        side = 1;
      } else {
        high = t, at_high = now;
        if (side == -1) at_low *= 0.5;
        side = -1;
      }
    }
    return low > 0.0 ? low : best;
  }

  // ---- (4)

  class Matrices final : public CliqueMatrices {
   public:
    explicit Matrices(const SparseProximal& of) : of_(of) {}
    void write(int clique, int stride, double* lower, double* upper) const override {
      of_.write_matrix(clique, stride, lower, upper);
    }

   private:
    const SparseProximal& of_;
  };

  void factor() {
    const bool symmetric =
        std::find(s_.classes.begin(), s_.classes.end(), ProximalClass::kSlip) == s_.classes.end();
    s_.factors.factor(s_.unit, Matrices(*this), symmetric);
    s_.factored = s_.classes;
    factored_ = true;
  }

  /// Writes R J of one cone. @param g  Three rows, as those of j.
  void respond_along(int b, int stride, const double* j, double* g) const {
    const SparseResponse& r = s_.response[b];
    // even on both tangents, or `across` on q = (-e_1, e_0); friction follows what presses
    const double a = r.even + r.across * r.e[1] * r.e[1], c = r.even + r.across * r.e[0] * r.e[0];
    const double mixed = -r.across * r.e[0] * r.e[1];
    const double follows =
        s_.classes[b] == ProximalClass::kSlip ? p_.friction[p_.blocks[b].row + 1] * r.normal : 0.0;
    for (int k = 0; k < stride; k += 4) {
      const V4 n = load4(j + k), s = load4(j + stride + k), t = load4(j + 2 * stride + k);
      store4(g + k, broadcast(r.normal) * n);
      store4(g + stride + k, broadcast(a) * s + broadcast(mixed) * t + broadcast(follows * r.e[0]) * n);
      store4(g + 2 * stride + k, broadcast(mixed) * s + broadcast(c) * t + broadcast(follows * r.e[1]) * n);
    }
  }

  /// out ← the lower triangle of Σ a_l b_lᵀ.
  static void add_products(int count, const double* const* a, const double* const* b, int stride,
                           double* out) {
    for (int c = 0; c < stride; c += 4)
      for (int k = c; k < stride; k += 4) {
        V4 sum[4] = {};
        for (int l = 0; l < count; ++l) {
          const V4 y = load4(a[l] + k);
          for (int d = 0; d < 4; ++d) sum[d] += broadcast(b[l][c + d]) * y;
        }
        for (int d = 0; d < 4; ++d) store4(out + (c + d) * stride + k, sum[d]);
      }
  }

  /// lower ← Jᵀ R J of a patch; upper ← its transpose, unless that is null.
  void write_matrix(int i, int stride, double* lower, double* upper) const {
    const SparsePatch& patch = s_.patches[i];
    const double* j = s_.jacobian.data() + patch.jacobian;
    const double *rows[kMostPatchRows], *products[kMostPatchRows];
    double* g = s_.product.data();
    int active = 0;
    for (int b = patch.block; b < patch.block + patch.block_count; ++b) {
      const int size = p_.blocks[b].size;
      if (s_.classes[b] == ProximalClass::kOpen) {
        j += size * stride;
        continue;
      }
      if (p_.blocks[b].kind == RowKind::kCone)
        respond_along(b, stride, j, g);
      else
        for (int l = 0; l < size; ++l)
          for (int k = 0; k < stride; k += 4)
            store4(g + l * stride + k, broadcast(weight_of(b, l)) * load4(j + l * stride + k));
      for (int l = 0; l < size; ++l, j += stride, g += stride) {
        rows[active] = j;
        products[active++] = g;
      }
    }
    add_products(active, rows, products, stride, lower);
    if (upper) add_products(active, products, rows, stride, upper);
  }

  /// 1/A of a row.
  double weight_of(int b, int r) const { return 1.0 / (pull_of(b) + p_.compliance[p_.blocks[b].row + r]); }

  static bool opens(const Block& block) {
    return block.kind == RowKind::kCone || block.kind == RowKind::kComplementarity;
  }

  const Problem& p_;
  Workspace::Memory& m_;
  SparseMemory& s_;
  double alpha_ = 1.0;
  bool factored_ = false;
};

}  // namespace

bool suits_sparse(const Problem& p) {
  if (p.storage != OperatorKind::kMatrixFree || !p.links.empty() || p.block_count() < 2) return false;
  if (!p.unit_mass && static_cast<int>(p.inverse_mass.size()) != p.velocities()) return false;
  return std::all_of(p.blocks.begin(), p.blocks.end(), [&](const Block& b) {
    if (b.kind != RowKind::kCone) return true;
    return b.size == 3 && p.friction[b.row + 1] == p.friction[b.row + 2] &&
           p.compliance[b.row + 1] == p.compliance[b.row + 2];
  });
}

namespace {

constexpr double kFactorSpeed = 0.25;  // time of a multiplication in the factorisation relative to a sweep's
constexpr double kPasses = 6.0;        // sweeps that the rest of a solve takes: matrices, search, velocities

}  // namespace

double sparse_cost(const Problem& p, const Workspace::Memory& m) {
  return kFactorSpeed * m.sparse.factors.factor_cost() + kPasses * sweep_cost(p);
}

bool sparse_pays(const Problem& p, double sweeps, Workspace::Memory& m) {
  const double most = (sweeps - kPasses) * sweep_cost(p) / kFactorSpeed;
  return most > 0 && find_sparse_structure(p, most, m.sparse);
}

namespace {

/// Whether all rows give way, as where positions are corrected: then there is one solution without any
/// proximal term.
bool is_soft(const Problem& p, const Workspace::Memory& m) {
  constexpr double kSoft = 1e-4;  // of the row's own mobility
  for (int b = 0; b < p.block_count(); ++b)
    for (int r = p.blocks[b].row; r < p.blocks[b].row + p.blocks[b].size; ++r)
      if (!(p.compliance[r] * m.rho[b] >= kSoft)) return false;
  return true;
}

/// The course of α, as the centre follows the impulses. What a large one leaves over in the slow ways to move
/// comes back as velocity in the next step, and a stack swings for ever: no solution counts before α is fine.
/// About impulses that are far from a solution, contacts go to and fro between their classes unless α begins
/// large.
class Course {
 public:
  /// @param share  Residual of the start, of that without impulses.
  Course(bool soft, double share) : soft_(soft), alpha_(soft ? kSoftFirst : share > kFar ? kFirst : kFine) {}

  double alpha() const { return alpha_; }
  bool is_fine() const { return soft_ || alpha_ <= kFine; }
  bool has_stalled() const { return stalls_ > kMostStalls; }

  /// A proximal problem took so many solves; its residual is so much of the one before. @return Whether α
  /// changes.
  bool follow(bool is_enough, double gain, int solves) {
    constexpr double kKeep = 0.25;  // where the residual falls to this, α is small enough
    constexpr double kLeast = 1e-6;
    const bool fails = !is_enough && gain > kGain && alpha_ < kRoom;
    if (fails) ++stalls_;
    if (gain <= kKeep && !is_enough) return false;
    alpha_ = soft_ ? kLeast
                   : std::max(kLeast, alpha_ * (solves <= 1   ? 0.02
                                                : solves <= 2 ? 0.1
                                                : solves <= 5 ? 0.3
                                                              : 0.5));
    return true;
  }
  /// Where a problem is not solved. @return Whether there is another to try.
  bool go_back() {
    constexpr double kCoarser = 5.0, kCoarsest = 1.0;
    alpha_ *= kCoarser;
    return alpha_ <= kCoarsest;
  }

  static constexpr double kGain = 0.8;  // more of the residual left is no gain

 private:
  static constexpr double kFirst = 0.1, kFine = 2e-3, kSoftFirst = 1e-2;
  static constexpr double kFar = 0.03;
  static constexpr double kRoom = 0.5;  // α above which little gain means nothing yet
  static constexpr int kMostStalls = 1;
  bool soft_;
  double alpha_;
  int stalls_ = 0;
};

/// The impulses that are nearer to a solution: those given, or none. @return Residual without any.
double choose_start(const Problem& p, Workspace::Memory& m) {
  m.nothing.resize(p.rows());
  write_none(p, m.nothing);
  return check(p, m.nothing, m);
}

}  // namespace

void sparse_newton(const Problem& p, int max_solves, double acceptable, Workspace::Memory& m,
                   Report& report) {
  constexpr double kInner = 0.3;   // of the residual may be left of (3)
  constexpr double kSteady = 0.3;  // of what is left of (3): old factors that bring less are found anew
  constexpr int kMostInner = 15;   // solves of one proximal problem
  SparseMemory& s = m.sparse;
  const double needed = choose_start(p, m);
  const bool starts_from_none = std::all_of(m.best.begin(), m.best.end(), [](double x) { return x == 0.0; });
  prepare(p, s);
  SparseProximal newton(p, m);
  Course course(is_soft(p, m), m.best_residual / needed);
  newton.set_alpha(course.alpha());
  newton.move_by(m.best);
  newton.centre_on_impulses();
  if (starts_from_none) newton.close_contacts();
  newton.evaluate();
  if (!newton.keeps_classes()) newton.forget_factors();
  double last = m.best_residual, before = kInfinity;
  int solves = 0;
  for (int k = 0; k < max_solves && !m.budget.spent(); ++k) {
    m.budget.spend(s.factors.solve_cost() + 4.0 * sweep_cost(p));
    if (!newton.has_factors()) m.budget.spend(s.factors.factor_cost() + 2.0 * sweep_cost(p));
    newton.step();
    ++report.newton_iterations;
    ++solves;
    double inner = 0.0;
    const double residual = newton.measure(&inner);
    const bool is_solved = inner <= kInner * residual, is_enough = residual <= m.target;
    if (is_enough || is_solved || k + 1 == max_solves) check(p, s.lambda, m);
    if (m.best_residual <= m.target && course.is_fine()) return;
    if (is_solved) {
      const double gain = residual / last;
      if (course.is_fine() && gain > Course::kGain && m.best_residual <= acceptable) return;
      if (course.follow(is_enough, gain, solves)) newton.set_alpha(course.alpha());
      if (course.has_stalled()) return;
      last = std::min(last, residual);
      newton.centre_on_impulses();
    } else if (solves >= kMostInner) {
      if (!course.go_back()) return;
      newton.set_alpha(course.alpha());
      newton.move_by(s.centre);
    } else {
      if (!newton.keeps_classes() || inner > kSteady * before) newton.forget_factors();
      before = inner;
      continue;
    }
    solves = 0;
    before = kInfinity;
    newton.evaluate();
    if (!newton.keeps_classes()) newton.forget_factors();
  }
}

}  // namespace karakuri::solver
