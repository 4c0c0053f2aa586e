// Lemke's method on the Stewart-Trinkle pyramid.
//
// Stewart and Trinkle (Int. J. Numer. Methods Eng. 39, 1996). Each contact has k directions d_j on the circle
// and
//
//   λ_t = Σ_j β_j s∘d_j,  β_j ≥ 0                                                          (1)
//   0 ≤ λ_n ⊥ u_n ≥ 0,   0 ≤ β_j ⊥ γ + d_j·(s∘u_t) ≥ 0,   0 ≤ γ ⊥ μ λ_n − Σ β_j ≥ 0          (2)
//
// (γ: sliding speed; s: scale of an elliptic cone). Box rows l ≤ λ ≤ h are 0 ≤ λ − l ⊥ u + ν ≥ 0, 0 ≤ ν ⊥ h −
// λ ≥ 0. The LCP w = M z + b, 0 ≤ w ⊥ z ≥ 0 is solved by complementary pivoting with the artificial variable
// z0 (Cottle, Pang, Stone, The Linear Complementarity Problem, 1992, §4.4):
//
//   w = M z + b + d z0,  d = 1                                                             (3)
//
// kept as a condensed tableau: basic = rhs + T * nonbasic. Equality rows are pivoted in first: their impulse
// becomes basic and free, their velocity stays nonbasic at zero.
//
// *Scaling.* Impulses are measured in units in which the diagonal of M is one, one unit for the normal and
// one for all tangents of a contact, and velocities so that the largest b is one. Neither masses nor lengths
// then decide which pivots are small.
//
// *Ties.* Redundant contacts make several variables reach zero at once, and a choice by chance may lead round
// in circles. The row that leaves is the lexicographically least (ibid., §4.9) of
//
//   (rhs_i, B⁻¹_i) / −T_ic                                                                 (4)
//
// B⁻¹ need not be kept: its column of w_j is minus the tableau's where w_j is nonbasic, and a unit vector
// else.
//
// *Rays.* M is copositive, so a ray means that the problem has no solution, as where a body is pinched, or
// that rounding has eaten it. Then ε is added to the diagonal of W, which makes M regular enough to end
// always, and the least ε that does is taken. What comes out is measured by (2) without ε; the report says
// whether it holds. Impulses that do not satisfy it are made admissible and shortened until they drive
// nothing (no_gain.cc).
#include <algorithm>
#include <cmath>
#include <numbers>

#include "solver/access.h"

namespace karakuri::solver {

namespace {

constexpr double kRegular[] = {0.0, 1e-6, 1e-4, 1e-2};  // ε, in turn
constexpr int kRepetitions = 8;
constexpr double kHolds = 1e-8;  // defect of (2), of the largest b
constexpr double kRounding = 1e-13;

enum Role : int { kPlain, kFree };  // PivotMemory::kind of an LCP variable

int faces_of(const Problem& p, const Block& block, int faces) {
  if (block.size == 1 || cone_scale(p, block).mu == 0.0) return 0;
  return block.size == 2 ? 2 : faces;
}

int variables_of(const Problem& p, const Block& block, int faces) {
  if (block.kind == RowKind::kCone) return 2 + faces_of(p, block, faces);
  return block.kind == RowKind::kBox ? 2 : block.size;
}

/// Index of the first variable of each block, and the number of all.
template <class F>
int for_each_block(const Problem& p, int faces, F&& f) {
  int k = 0;
  for (const Block& block : p.blocks) {
    f(k, block);
    k += variables_of(p, block, faces);
  }
  return k;
}

bool is_unbounded(const Problem& p, int row) {
  return p.lower[row] == -kInfinity && p.upper[row] == kInfinity;
}

double unit_of(double diagonal, double otherwise) {
  return diagonal > 0.0 ? 1.0 / std::sqrt(diagonal) : otherwise;
}

/// Everything that does not change from one ε to the next.
struct Lcp {
  const Problem& p;
  PivotMemory& m;
  int faces;
  int n;
  double size = 1.0;  // of the largest b

  double a(int i, int j) const { return m.matrix[static_cast<std::size_t>(i) * p.q.size() + j]; }

  /// The impulse rows and coefficients of every variable that is an impulse, in its unit.
  void list_directions() const {
    m.directions.assign(n, {});
    double mean = 0.0;
    for (int i = 0; i < p.rows(); ++i) mean += std::abs(a(i, i)) / p.rows();
    const double otherwise = unit_of(mean, 1.0);
    for_each_block(p, faces, [&](int k, const Block& block) {
      if (block.kind == RowKind::kCone) return add_cone(k, block, otherwise);
      for (int r = 0; r < block.size; ++r) {
        const int i = block.row + r;
        const bool from_above =
            block.kind == RowKind::kBox && p.lower[i] == -kInfinity && p.upper[i] < kInfinity;
        const double unit = unit_of(a(i, i), otherwise);
        m.directions[k + r] = {i, 1, {from_above ? -unit : unit, 0}, unit};
      }
    });
  }

  void add_cone(int k, const Block& block, double otherwise) const {
    const ConeScale scale = cone_scale(p, block);
    const double normal = unit_of(a(block.row, block.row), otherwise);
    m.directions[k] = {block.row, 1, {normal, 0}, normal};
    const int count = faces_of(p, block, faces);
    double most = 0.0;
    for (int r = 1; r < block.size; ++r)
      most = std::max(most, scale.s[r] * scale.s[r] * a(block.row + r, block.row + r));
    const double unit = unit_of(most, otherwise);
    for (int j = 0; j < count; ++j) {
      const double angle = 2.0 * std::numbers::pi * j / count;
      m.directions[k + 1 + j] = {
          block.row + 1, block.size - 1, {unit * scale.s[1] * std::cos(angle), 0}, unit};
      if (block.size == 3) m.directions[k + 1 + j].c[1] = unit * scale.s[2] * std::sin(angle);
    }
  }

  /// μ in the units of a contact's impulses.
  double friction(int k, const Block& block) const {
    if (faces_of(p, block, faces) == 0) return 0.0;
    return cone_scale(p, block).mu * m.directions[k].unit / m.directions[k + 1].unit;
  }

  double along(const Direction& d, const double* rows) const {
    double sum = 0.0;
    for (int r = 0; r < d.size; ++r) sum += d.c[r] * rows[d.row + r];
    return sum;
  }

  /// z of each impulse to λ = x0 + Σ z d, b_size included.
  void write_impulses(std::span<double> lambda) const {
    std::copy(m.x.begin(), m.x.end(), lambda.begin());
    for (int k = 0; k < n; ++k) {
      const Direction& d = m.directions[k];
      for (int r = 0; r < d.size; ++r) lambda[d.row + r] += size * m.z[k] * d.c[r];
    }
  }

  /// Makes z what impulses may be.
  void make_admissible() const {
    for (int k = 0; k < n; ++k)
      if (m.kind[k] != kFree) m.z[k] = std::max(0.0, m.z[k]);
    for_each_block(p, faces, [&](int k, const Block& block) {
      if (block.kind == RowKind::kBox && !is_unbounded(p, block.row))
        m.z[k] = std::min(m.z[k], width(k, block.row));
      if (block.kind != RowKind::kCone) return;
      const int count = faces_of(p, block, faces);
      double sum = 0.0;
      for (int j = 1; j <= count; ++j) sum += m.z[k + j];
      const double most = friction(k, block) * m.z[k];
      for (int j = 1; j <= count && sum > most; ++j) m.z[k + j] *= most / sum;
    });
  }

  /// Of a box, in its unit.
  double width(int k, int row) const { return (p.upper[row] - p.lower[row]) / m.directions[k].unit / size; }

  /// Largest defect of the LCP at z. @param u Velocities of the rows at these impulses.
  double defect(const double* u) const {
    double most = 0.0;
    const auto meets = [&](double z, double w) { most = std::max(most, std::abs(std::min(z, w))); };
    for_each_block(p, faces, [&](int k, const Block& block) {
      const auto speed = [&](int j) { return along(m.directions[j], u) / size; };
      if (block.kind == RowKind::kCone) {
        meets(m.z[k], speed(k));
        const int count = faces_of(p, block, faces);
        const double mu = friction(k, block);
        double sum = 0.0, slip = 0.0;  // the sliding speed that fits best
        for (int j = 1; j <= count; ++j) slip = std::max(slip, -speed(k + j));
        for (int j = 1; j <= count; ++j) {
          meets(m.z[k + j], slip + speed(k + j));
          sum += m.z[k + j];
        }
        meets(slip, mu * m.z[k] - sum);
      } else if (block.kind == RowKind::kBox && !is_unbounded(p, block.row)) {
        const double x = m.z[k], w = speed(k);
        most = std::max(most, std::abs(x - std::clamp(x - w, 0.0, std::max(0.0, width(k, block.row)))));
      } else {
        for (int r = 0; r < block.size; ++r) {
          if (m.kind[k + r] == kPlain && block.kind == RowKind::kComplementarity)
            meets(m.z[k + r], speed(k + r));
          if (m.kind[k + r] == kFree) most = std::max(most, std::abs(speed(k + r)));
        }
      }
    });
    return most;
  }
};

struct Tableau {
  PivotMemory& m;
  int n;
  std::size_t stride() const { return static_cast<std::size_t>(n) + 2; }  // n columns, z0, rhs
  double* row(int i) const { return m.tableau.data() + i * stride(); }
  double& rhs(int i) const { return row(i)[n + 1]; }
  // ids: w_k = k, z_k = n + k, z0 = 2n. set: basic by row; place: nonbasic by column; where: back.
  double pivot_cost() const { return static_cast<double>(n) * (n + 2); }
  int complement(int id) const { return id < n ? id + n : id - n; }
  bool is_basic(int id) const { return m.where[id] >= 0; }
  int column_of(int id) const { return -1 - m.where[id]; }
  bool takes_part(int id) const { return id == 2 * n || m.kind[id % n] != kFree; }

  void pivot(int r, int c) const {
    double* p = row(r);
    const double inverse = 1.0 / p[c];
    for (int k = 0; k < n + 2; ++k) p[k] *= -inverse;
    p[c] = inverse;
    for (int i = 0; i < n; ++i) {
      double* t = row(i);
      const double factor = t[c];
      if (i == r || factor == 0.0) continue;
      t[c] = 0.0;
      axpy(factor, p, t, n + 2);
    }
    std::swap(m.set[r], m.place[c]);
    m.where[m.set[r]] = r;
    m.where[m.place[c]] = -1 - c;
  }

  /// B⁻¹ of row i, in the column of w_j.
  double inverse_at(int i, int j) const {
    if (is_basic(j)) return m.where[j] == i ? 1.0 : 0.0;
    const double x = -row(i)[column_of(j)];
    return std::abs(x) < 1e-12 ? 0.0 : x;  // what is left of a zero must not decide
  }

  /// (4) without rhs: whether row i comes before row k.
  bool is_before(int i, int k, int c) const {
    const double si = -row(i)[c], sk = -row(k)[c];
    for (int j = 0; j < n; ++j) {
      if (m.kind[j] == kFree) continue;
      const double a = inverse_at(i, j) / si, b = inverse_at(k, j) / sk;
      if (std::abs(a - b) > 1e-9 * (std::abs(a) + std::abs(b))) return a < b;
    }
    return i < k;
  }
};

/// (3) with z nonbasic.
void fill(const Lcp& lcp, const Tableau& t, double regular) {
  const Problem& p = lcp.p;
  PivotMemory& m = lcp.m;
  m.tableau.assign(static_cast<std::size_t>(t.n) * t.stride(), 0.0);
  for (int i = 0; i < t.n; ++i) {
    m.set[i] = i;
    m.place[i] = t.n + i;
    m.where[i] = i;
    m.where[t.n + i] = -1 - i;
  }
  m.place[t.n] = 2 * t.n;
  m.where[2 * t.n] = -1 - t.n;
  for (int i = 0; i < t.n; ++i) {
    const Direction& a = m.directions[i];
    if (a.size == 0) continue;
    for (int j = 0; j < t.n; ++j) {
      const Direction& b = m.directions[j];
      double sum = 0.0;
      for (int r = 0; r < a.size; ++r)
        for (int c = 0; c < b.size; ++c) {
          const bool own = a.row + r == b.row + c;
          sum += a.c[r] * b.c[c] * lcp.a(a.row + r, b.row + c) * (own ? 1.0 + regular : 1.0);
        }
      t.row(i)[j] = sum;
    }
    t.rhs(i) = lcp.along(a, m.w.data()) / lcp.size;
  }
  for_each_block(p, lcp.faces, [&](int k, const Block& block) {
    if (block.kind == RowKind::kCone) {
      const int count = faces_of(p, block, lcp.faces);
      const int gamma = k + 1 + count;
      t.row(gamma)[k] = lcp.friction(k, block);
      for (int j = 1; j <= count; ++j) {
        t.row(gamma)[k + j] = -1.0;
        t.row(k + j)[gamma] = 1.0;
      }
    } else if (block.kind == RowKind::kBox) {
      const double width = lcp.width(k, block.row);
      const bool bounded = std::isfinite(width);
      t.row(k)[k + 1] = bounded ? 1.0 : 0.0;
      t.row(k + 1)[k] = bounded ? -1.0 : 0.0;
      t.rhs(k + 1) = bounded ? width : 1.0;
    }
  });
}

/// Makes the impulses of equality rows basic, largest pivot first; dependent ones are left out.
void pivot_free(const Tableau& t, Budget& budget) {
  PivotMemory& m = t.m;
  while (!budget.spent()) {
    budget.spend(t.pivot_cost());
    int best = -1;
    double size = 1e-12;
    for (int i = 0; i < t.n; ++i) {
      if (m.kind[i] != kFree || m.set[i] != i) continue;
      const double d = std::abs(t.row(i)[i]);
      if (d > size) {
        size = d;
        best = i;
      }
    }
    if (best < 0) return;
    t.pivot(best, best);
  }
}

/// Row that blocks the growth of column c, or −1. z0 leaves where it may; ties by (4), but not with pivots
/// that are small beside another's.
int blocking_row(const Tableau& t, int c) {
  constexpr double kSmall = 1e-6;
  double widest = 0.0, largest = 1.0;
  for (int i = 0; i < t.n; ++i) {
    widest = std::max(widest, std::abs(t.row(i)[c]));
    if (t.takes_part(t.m.set[i])) largest = std::max(largest, std::abs(t.rhs(i)));
  }
  const double slack = kRounding * largest;
  const auto falls = [&](int i) { return t.takes_part(t.m.set[i]) && t.row(i)[c] < -1e-10 * widest; };
  double reach = kInfinity;
  for (int i = 0; i < t.n; ++i)
    if (falls(i)) reach = std::min(reach, (std::max(0.0, t.rhs(i)) + slack) / -t.row(i)[c]);
  const auto blocks = [&](int i) { return falls(i) && std::max(0.0, t.rhs(i)) <= reach * -t.row(i)[c]; };
  double steepest = 0.0;
  for (int i = 0; i < t.n; ++i)
    if (blocks(i)) steepest = std::max(steepest, -t.row(i)[c]);
  int best = -1;
  for (int i = 0; i < t.n; ++i) {
    if (!blocks(i) || -t.row(i)[c] < kSmall * steepest) continue;
    if (t.m.set[i] == 2 * t.n) return i;
    if (best < 0 || t.is_before(i, best, c)) best = i;
  }
  return best;
}

/// @return False on a ray or when the pivots ran out.
bool complementary_pivoting(const Tableau& t, int max_pivots, Budget& budget, Report& report) {
  PivotMemory& m = t.m;
  int worst = -1;
  for (int i = 0; i < t.n; ++i)  // of equals the last: (4) of the first pivot
    if (t.takes_part(m.set[i]) && t.rhs(i) < 0.0 && (worst < 0 || t.rhs(i) <= t.rhs(worst))) worst = i;
  if (worst < 0) return true;
  int leaving = m.set[worst];
  t.pivot(worst, t.n);
  for (int k = 0; k < max_pivots; ++k) {
    if (budget.spent()) return false;
    ++report.pivots;
    budget.spend(t.pivot_cost());
    const int c = t.column_of(t.complement(leaving));
    const int r = blocking_row(t, c);
    if (r < 0) return false;
    leaving = m.set[r];
    t.pivot(r, c);
    if (leaving == 2 * t.n) return true;
  }
  return false;
}

/// z of one ε about impulses `centre`, and the impulses that it stands for. @return Their defect.
double attempt(const Lcp& lcp, double regular, const std::vector<double>& centre, int max_pivots,
               Workspace::Memory& memory, std::span<double> lambda, Report& report) {
  PivotMemory& m = lcp.m;
  const Tableau t{m, lcp.n};
  for (int i = 0; i < lcp.p.rows(); ++i) m.w[i] = m.b0[i] - regular * lcp.a(i, i) * (centre[i] - m.x[i]);
  memory.budget.spend(4.0 * t.pivot_cost());
  fill(lcp, t, regular);
  pivot_free(t, memory.budget);
  for (int i = 0; i < t.n; ++i) t.row(i)[t.n] = t.takes_part(m.set[i]) ? 1.0 : 0.0;
  complementary_pivoting(t, max_pivots, memory.budget, report);
  for (int k = 0; k < t.n; ++k) m.z[k] = t.is_basic(t.n + k) ? t.rhs(m.where[t.n + k]) : 0.0;
  lcp.make_admissible();
  lcp.write_impulses(lambda);
  row_velocities(lcp.p, lambda, memory.velocity, memory.u);
  const double defect = lcp.defect(memory.u.data());
  return std::isfinite(defect) ? defect : kInfinity;
}

/// Leaves the best impulses in m.kept. @return Their defect.
double solve_repeatedly(const Lcp& lcp, int max_pivots, Workspace::Memory& memory, std::span<double> lambda,
                        Report& report) {
  PivotMemory& m = lcp.m;
  double least = kInfinity;
  m.kept = m.x;
  for (const double regular : kRegular) {
    double before = kInfinity;
    for (int k = 0; k < (regular > 0.0 ? kRepetitions : 1); ++k) {
      m.dx.assign(lambda.begin(), lambda.end());
      const double defect = attempt(lcp, regular, k == 0 ? m.x : m.dx, max_pivots, memory, lambda, report);
      if (defect < least) {
        least = defect;
        m.kept.assign(lambda.begin(), lambda.end());
      }
      if (least <= kHolds || memory.budget.spent()) return least;
      if (!(defect < 0.5 * before)) break;
      before = defect;
    }
  }
  return least;
}

/// λ = x0 + (directions) z: box rows start at their finite bound. m.b0: the velocities there.
void start_at_bounds(const Problem& p, PivotMemory& m) {
  const int rows = p.rows();
  m.x.assign(rows, 0.0);
  for (const Block& block : p.blocks) {
    if (block.kind != RowKind::kBox) continue;
    const int i = block.row;
    if (p.lower[i] > -kInfinity)
      m.x[i] = p.lower[i];
    else if (p.upper[i] < kInfinity)
      m.x[i] = p.upper[i];
  }
  m.b0.assign(p.q.begin(), p.q.end());
  for (int i = 0; i < rows; ++i)
    m.b0[i] += dot(m.matrix.data() + static_cast<std::size_t>(i) * rows, m.x.data(), rows);
}

void set_kinds(const Problem& p, int faces, PivotMemory& m) {
  for_each_block(p, faces, [&](int k, const Block& block) {
    if (block.kind == RowKind::kBox && is_unbounded(p, block.row)) m.kind[k] = kFree;
    if (block.kind == RowKind::kEquality || block.kind == RowKind::kLinear)
      std::fill_n(m.kind.begin() + k, block.size, static_cast<int>(kFree));
  });
}

}  // namespace

int lemke_size(const Problem& p, int faces) {
  return for_each_block(p, faces, [](int, const Block&) {});
}

void lemke(const Problem& p, const Settings& settings, Workspace::Memory& memory, std::span<double> lambda,
           Report& report) {
  PivotMemory& m = memory.pivot;
  Lcp lcp{p, m, settings.pyramid_faces, lemke_size(p, settings.pyramid_faces)};
  memory.budget.spend(4.0 * p.rows() * p.rows());
  densify(p, memory, m.matrix);
  start_at_bounds(p, m);
  lcp.list_directions();
  double largest = 0.0;
  for (int k = 0; k < lcp.n; ++k)
    largest = std::max(largest, std::abs(lcp.along(m.directions[k], m.b0.data())));
  lcp.size = largest > 0.0 ? largest : 1.0;
  m.set.resize(lcp.n);
  m.place.resize(lcp.n + 1);
  m.where.resize(2 * static_cast<std::size_t>(lcp.n) + 1);
  m.z.assign(lcp.n, 0.0);
  m.kind.assign(lcp.n, kPlain);
  set_kinds(p, lcp.faces, m);
  m.w.resize(p.rows());
  const int max_pivots = std::min(settings.max_pivots, 100 + 20 * lcp.n);
  const double least = solve_repeatedly(lcp, max_pivots, memory, lambda, report);
  std::copy(m.kept.begin(), m.kept.end(), lambda.begin());
  shorten_to_no_gain(p, memory, lambda);
  report.status = least <= kHolds ? Status::kStalled : Status::kIterationLimit;
}

}  // namespace karakuri::solver
