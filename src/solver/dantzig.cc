// Dantzig's problem: the box LCP, with friction bounds as ODE sets them.
//
//   w = A x + b;  x_i = l_i: w_i ≥ 0;  l_i < x_i < h_i: w_i = 0;  x_i = h_i: w_i ≤ 0         (1)
//
// by principal pivoting (Cottle and Dantzig 1968; Baraff, "Fast contact force computation for nonpenetrating
// rigid bodies", SIGGRAPH 1994, §4.3). C: rows held at w = 0, N: rows at a bound; A_CC is factored, and its
// factors follow rows that come and go (clamped_set.h). For given C
//
//   x_C = −A_CC⁻¹ (b_C + A_CN x_N),   w_N = A_NC x_C + A_NN x_N + b_N                        (2)
//
// Many pivots at once first: all rows that (2) shows on the wrong side change it (Júdice and Pires, Computers
// and Operations Research 21, 1994). That takes few rounds or goes round in circles; then rows change sides
// one at a time on the way from a problem that the present x solves to the one that is asked for, which ends
// for every P-matrix (parametric principal pivoting: Cottle, Pang, Stone, The Linear Complementarity Problem,
// 1992, §4.5):
//
//   b(t) = b0 + t (b − b0),   Δx_C = −A_CC⁻¹ Δb_C,   Δw_N = A_NC Δx_C + Δb_N                 (3)
//
// b0 puts the rows that are wrong on their right side by amounts that differ from row to row, so that no two
// change at once.
//
// Contacts: first all rows but tangents, without friction; then all rows, the tangents with the bounds ±μ_i
// λ_n of *that* solution, which are not corrected when λ_n changes afterwards (ODE's findex). An axis-aligned
// pyramid, and an approximation even of that: this is the method's model, the report says how far it is off.
//
// Rows are scaled to a diagonal of ones, so that no mass and no unit of length decides what is small. Where
// contacts are redundant, A is singular: a part ε of the diagonal is added to it, and its effect is taken
// away again by repetitions about the last solution, b ← b − ε x, while that brings A x + b nearer to (1).
#include <algorithm>
#include <cmath>
#include <utility>

#include "solver/access.h"

namespace karakuri::solver {

void densify(const Problem& p, Workspace::Memory& m, std::vector<double>& matrix) {
  const std::size_t n = p.q.size();
  matrix.assign(n * n, 0.0);
  Coupling& c = m.newton.coupling;
  build_coupling(p, n * n, c);
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& row = p.blocks[i];
    for (int e = c.start[i]; e < c.start[i + 1]; ++e) {
      const Block& column = p.blocks[c.entries[e].column];
      const double* w = c.values + c.entries[e].offset;
      for (int b = 0; b < column.size; ++b)
        for (int a = 0; a < row.size; ++a) matrix[(row.row + a) * n + column.row + b] = *w++;
    }
  }
  for (std::size_t i = 0; i < n; ++i) matrix[i * n + i] += p.compliance[i];
}

namespace {

constexpr double kRegular[] = {1e-6, 1e-4};  // ε; the second where pivoting fails with the first
constexpr int kRepetitions = 6;
constexpr double kFiner = 1e-3;  // of ε, where repetitions are slow
constexpr double kNearly = 1e3;  // times rounding: no smaller ε for that
constexpr int kMostRounds = 30;
constexpr int kPatience = 3;         // rounds without fewer wrong rows
constexpr double kRounding = 1e-13;  // of the largest b or x

enum Side : int { kAtLow, kAtHigh, kClamped, kOut };  // kOut: takes no part, or nothing moves it

/// Solves (1) from wherever x and the sides are.
template <class Set>
struct BoxPivoting {
  Budget& budget;
  PivotMemory& m;
  int n;
  int& pivots;
  int max_pivots;
  Set set;

  BoxPivoting(Budget& work, PivotMemory& memory, int rows, int& count, int most)
      : budget(work),
        m(memory),
        n(rows),
        pivots(count),
        max_pivots(most),
        set(memory.clamped, {memory.matrix.data(), rows}) {}

  double bound(int i) const { return m.side[i] == kAtHigh ? m.high[i] : m.low[i]; }

  /// Makes C what the sides say: by a few updates, or all anew.
  void follow_sides() {
    int changes = 0, wanted = 0;
    for (int i = 0; i < n; ++i) {
      wanted += m.side[i] == kClamped ? 1 : 0;
      changes += (m.side[i] == kClamped) != set.contains(i) ? 1 : 0;
    }
    if (6 * changes > wanted) set.clear();
    for (int i = 0; i < n; ++i)
      if (m.side[i] != kClamped && set.contains(i)) remove(i);
    for (const int i : m.order) {
      if (budget.spent()) return;
      if (m.side[i] == kClamped && !set.contains(i) && !add(i)) m.side[i] = kOut;
    }
  }

  bool add(int row) {
    const bool added = set.add(row);
    count();
    return added;
  }
  void remove(int row) {
    set.remove(row);
    count();
  }
  void solve_clamped(double* y) {
    set.solve(y);
    count();
  }
  void count() { budget.spend(std::exchange(m.clamped.work, 0.0)); }

  /// (2)
  void evaluate() {
    budget.spend(static_cast<double>(n) * (n + set.size()));
    for (int i = 0; i < n; ++i) m.x[i] = m.side[i] == kClamped ? 0.0 : m.side[i] == kOut ? m.x[i] : bound(i);
    const auto members = set.members();
    for (std::size_t k = 0; k < members.size(); ++k) {
      const int i = members[k];
      m.dx[k] = -(m.b[i] + dot(m.matrix.data() + static_cast<std::size_t>(i) * n, m.x.data(), n));
    }
    solve_clamped(m.dx.data());
    for (std::size_t k = 0; k < members.size(); ++k) m.x[members[k]] = m.dx[k];
    for (int i = 0; i < n; ++i)
      m.w[i] = m.side[i] == kClamped || m.side[i] == kOut
                   ? 0.0
                   : m.b[i] + dot(m.matrix.data() + static_cast<std::size_t>(i) * n, m.x.data(), n);
  }

  /// The side on which row i belongs.
  int right_side(int i, double tiny_x, double tiny_w) const {
    if (m.side[i] == kOut || m.low[i] == m.high[i]) return m.side[i];
    if (m.side[i] == kClamped)
      return m.x[i] < m.low[i] - tiny_x ? kAtLow : m.x[i] > m.high[i] + tiny_x ? kAtHigh : kClamped;
    return (m.side[i] == kAtLow ? m.w[i] < -tiny_w : m.w[i] > tiny_w) ? kClamped : m.side[i];
  }

  /// Many pivots at once. @return Whether it came to an end.
  bool rounds() {
    int least = n + 1, patience = kPatience;
    for (int round = 0; round < kMostRounds && pivots <= max_pivots && !budget.spent(); ++round) {
      follow_sides();
      evaluate();
      const double tiny_x = kRounding * largest(m.x), tiny_w = kRounding * largest(m.b);
      int wrong = 0;
      for (int i = 0; i < n; ++i) {
        m.next_side[i] = right_side(i, tiny_x, tiny_w);
        wrong += m.next_side[i] != m.side[i] ? 1 : 0;
      }
      if (wrong == 0) return true;
      if (wrong < least) {
        least = wrong;
        patience = kPatience;
      } else if (--patience == 0) {
        return false;
      }
      pivots += wrong;
      std::copy(m.next_side.begin(), m.next_side.end(), m.side.begin());
    }
    return false;
  }

  static double largest(const std::vector<double>& v) {
    double most = 0.0;
    for (const double x : v) most = std::max(most, std::abs(x));
    return most;
  }

  /// x within its bounds and b0 that it solves; Δb in m.db.
  void begin_path() {
    for (int i = 0; i < n; ++i) {
      if (m.side[i] != kClamped) continue;
      if (m.x[i] <= m.low[i]) m.side[i] = kAtLow;
      if (m.x[i] >= m.high[i]) m.side[i] = kAtHigh;
    }
    follow_sides();
    for (int i = 0; i < n; ++i)
      if (m.side[i] == kAtLow || m.side[i] == kAtHigh) m.x[i] = bound(i);
    double spread = 0.0;
    for (int i = 0; i < n; ++i) {
      m.db[i] = 0.0;
      if (m.side[i] == kOut) continue;
      m.w[i] = m.b[i] + dot(m.matrix.data() + static_cast<std::size_t>(i) * n, m.x.data(), n);
      spread += spread < 0.382 ? 0.618033988749895 : -0.381966011250105;  // in [0, 1), all different
      double wanted = 0.0;
      if (m.side[i] == kAtLow) wanted = m.w[i] >= 0.0 ? m.w[i] : -(0.5 + spread) * m.w[i];
      if (m.side[i] == kAtHigh) wanted = m.w[i] <= 0.0 ? m.w[i] : -(0.5 + spread) * m.w[i];
      m.db[i] = m.w[i] - wanted;
      m.w[i] = wanted;
    }
  }

  struct Event {
    double length;
    int row = -1;
    int side = kOut;
  };

  void path_direction() {
    budget.spend(static_cast<double>(n) * n);
    const auto members = set.members();
    m.dx.assign(n, 0.0);
    for (std::size_t k = 0; k < members.size(); ++k) m.dw[k] = -m.db[members[k]];
    solve_clamped(m.dw.data());
    for (std::size_t k = 0; k < members.size(); ++k) m.dx[members[k]] = m.dw[k];
    for (int i = 0; i < n; ++i)
      m.dw[i] = m.side[i] > kAtHigh
                    ? 0.0
                    : m.db[i] + dot(m.matrix.data() + static_cast<std::size_t>(i) * n, m.dx.data(), n);
  }

  Event next_event(double left) const {
    Event event{left};
    const auto nearer = [&](double length, int row, int side) {
      if (length < event.length) event = {std::max(0.0, length), row, side};
    };
    for (int i = 0; i < n; ++i) {
      if (m.side[i] == kClamped) {
        if (m.dx[i] < 0.0) nearer((m.low[i] - m.x[i]) / m.dx[i], i, kAtLow);
        if (m.dx[i] > 0.0) nearer((m.high[i] - m.x[i]) / m.dx[i], i, kAtHigh);
      } else if (m.side[i] != kOut && m.low[i] < m.high[i]) {
        const bool closes = m.side[i] == kAtLow ? m.dw[i] < 0.0 : m.dw[i] > 0.0;
        if (closes) nearer(-m.w[i] / m.dw[i], i, kClamped);
      }
    }
    return event;
  }

  /// (3). @return False when the pivots ran out.
  bool path() {
    begin_path();
    double left = 1.0;
    while (left > 0.0) {
      if (++pivots > max_pivots || budget.spent()) return false;
      path_direction();
      const Event event = next_event(left);
      left -= event.length;
      for (int i = 0; i < n; ++i) {
        m.x[i] += event.length * m.dx[i];
        m.w[i] += event.length * m.dw[i];
      }
      if (event.row < 0) break;
      const int i = event.row;
      if (event.side == kClamped) {
        m.side[i] = add(i) ? kClamped : kOut;
      } else {
        m.side[i] = event.side;
        m.x[i] = bound(i);
        remove(i);
      }
      m.w[i] = 0.0;
    }
    evaluate();
    return true;
  }

  bool solve() {
    const bool whole = rounds() || (!budget.spent() && path());
    for (int i = 0; i < n; ++i) m.x[i] = std::clamp(m.x[i], m.low[i], m.high[i]);
    return whole;
  }
};

// ---- scaling

/// Whether A is symmetric but for rounding.
bool is_symmetric(const PivotMemory& m, int n) {
  constexpr double kAlike = 1e-9;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < i; ++j) {
      const double a = m.matrix[static_cast<std::size_t>(i) * n + j];
      const double b = m.matrix[static_cast<std::size_t>(j) * n + i];
      if (std::abs(a - b) * m.scale[i] * m.scale[j] > kAlike) return false;
    }
  return true;
}

/// A, scaled to a diagonal of ones, and b. Rows that nothing moves take no part.
void scale_rows(const Problem& p, Workspace::Memory& memory) {
  PivotMemory& m = memory.pivot;
  const int n = p.rows();
  densify(p, memory, m.matrix);
  m.scale.resize(n);
  for (int i = 0; i < n; ++i) {
    const double d = m.matrix[static_cast<std::size_t>(i) * (n + 1)];
    m.scale[i] = d > 0.0 ? 1.0 / std::sqrt(d) : 0.0;
  }
  const bool symmetric = m.symmetric = is_symmetric(m, n);
  for (int i = 0; i < n; ++i) {
    double* row = m.matrix.data() + static_cast<std::size_t>(i) * n;
    for (int j = 0; j < n; ++j) row[j] *= m.scale[i] * m.scale[j];
  }
  for (int i = 0; i < n && symmetric; ++i)
    for (int j = 0; j < i; ++j)
      m.matrix[static_cast<std::size_t>(j) * n + i] = m.matrix[static_cast<std::size_t>(i) * n + j];
}

/// Rows in an order that keeps couplings close.
void order_rows(const Problem& p, Workspace::Memory& memory) {
  Coupling& c = memory.newton.coupling;
  order_blocks(c);
  memory.pivot.order.clear();
  for (const int b : c.order)
    for (int r = 0; r < p.blocks[b].size; ++r) memory.pivot.order.push_back(p.blocks[b].row + r);
}

/// @return The bound of a scaled impulse.
double scaled(double bound, double scale) { return bound == 0.0 ? 0.0 : bound / scale; }

/// Bounds and first sides of all rows; tangents take no part yet. @param start Impulses to start from.
void set_bounds(const Problem& p, std::span<const double> start, PivotMemory& m) {
  for (const Block& block : p.blocks) {
    for (int r = 0; r < block.size; ++r) {
      const int i = block.row + r;
      double low = -kInfinity, high = kInfinity;
      if (block.kind == RowKind::kComplementarity || block.kind == RowKind::kCone) low = 0.0;
      if (block.kind == RowKind::kBox) low = p.lower[i], high = p.upper[i];
      m.low[i] = scaled(low, m.scale[i]);
      m.high[i] = scaled(high, m.scale[i]);
      m.side[i] = start[i] > low && start[i] < high ? kClamped : start[i] <= low ? kAtLow : kAtHigh;
      const bool tangent = block.kind == RowKind::kCone && r > 0;
      m.x[i] = 0.0;
      if (tangent || m.scale[i] == 0.0) {
        m.side[i] = kOut;
        m.low[i] = m.high[i] = 0.0;
      }
    }
  }
}

/// Bounds of the tangents from the present normal impulses. @param start Impulses to start from: those at
/// their bounds slip.
void set_friction(const Problem& p, std::span<const double> start, PivotMemory& m) {
  constexpr double kSlips = 1.0 - 1e-9;
  for (const Block& block : p.blocks) {
    if (block.kind != RowKind::kCone) continue;
    const double normal = std::max(0.0, m.x[block.row] * m.scale[block.row]);
    for (int r = 1; r < block.size; ++r) {
      const int i = block.row + r;
      if (m.scale[i] == 0.0) continue;
      const double most = p.friction[i] * normal;
      m.high[i] = scaled(most, m.scale[i]);
      m.low[i] = -m.high[i];
      const double before = p.friction[i] * start[block.row] * kSlips;
      m.side[i] = most == 0.0 ? kAtLow : kClamped;
      if (most > 0.0 && before > 0.0 && std::abs(start[i]) >= before)
        m.side[i] = start[i] < 0.0 ? kAtLow : kAtHigh;
    }
  }
}

// ---- one problem

/// Largest distance of a row from (1), without ε.
double defect(const PivotMemory& m, const std::vector<double>& b, int n, double regular) {
  double most = 0.0;
  for (int i = 0; i < n; ++i) {
    if (m.side[i] == kOut || m.low[i] == m.high[i]) continue;
    const double w =
        b[i] - regular * m.x[i] + dot(m.matrix.data() + static_cast<std::size_t>(i) * n, m.x.data(), n);
    most = std::max(most, std::abs(m.x[i] - std::clamp(m.x[i] - w, m.low[i], m.high[i])));
  }
  return most;
}

/// Sets ε.
void regularize(PivotMemory& m, int n, double regular) {
  for (int i = 0; i < n; ++i) m.matrix[static_cast<std::size_t>(i) * (n + 1)] = m.diagonal[i] + regular;
}

/// One repetition about x. Where it does not take half of the defect `reached` away, x stays the better one.
/// @return Whether to go on.
template <class Set>
bool repeat(BoxPivoting<Set>& box, PivotMemory& m, int n, double regular, double* reached) {
  m.kept = m.x;
  m.kept_side = m.side;
  for (int i = 0; i < n; ++i) m.b[i] = m.b0[i] - regular * m.x[i];
  const double before = *reached;
  box.budget.spend(static_cast<double>(n) * n);
  const double now = box.solve() ? defect(m, m.b0, n, regular) : kInfinity;
  *reached = std::min(before, now);
  if (!(now < before)) {
    m.x = m.kept;
    m.side = m.kept_side;
  }
  return now < 0.5 * before;
}

/// Solves for the bounds that are set, and takes the effect of ε away: by repetitions, and where they are
/// slow, because masses differ by much, by a smaller ε. @return False when the pivots ran out.
template <class Set>
bool solve_repeatedly(BoxPivoting<Set>& box, PivotMemory& m, int n, double regular) {
  regularize(m, n, regular);
  box.set.clear();
  m.b = m.b0;
  if (!box.solve()) return false;
  double reached = defect(m, m.b0, n, regular);
  const double enough = kRounding * BoxPivoting<Set>::largest(m.b0);
  for (const double share : {1.0, kFiner, kFiner * kFiner}) {
    if (box.budget.spent() || reached <= kNearly * enough) break;
    if (share < 1.0) {
      regularize(m, n, share * regular);
      box.set.clear();
    }
    for (int k = 0; k < kRepetitions && reached > enough; ++k)
      if (!repeat(box, m, n, share * regular, &reached)) break;
  }
  return true;
}

template <class Set>
bool solve_with(const Problem& p, const Settings& settings, std::span<const double> start, double regular,
                Workspace::Memory& memory, Report& report) {
  PivotMemory& m = memory.pivot;
  const int n = p.rows();
  for (int i = 0; i < n; ++i) m.b0[i] = p.q[i] * m.scale[i];
  set_bounds(p, start, m);
  const int limit = report.pivots + std::min(settings.max_pivots, 100 + 10 * n);
  BoxPivoting<Set> box(memory.budget, m, n, report.pivots, limit);
  if (!solve_repeatedly(box, m, n, regular)) return false;
  set_friction(p, start, m);
  return solve_repeatedly(box, m, n, regular) && !memory.budget.spent();
}

void write_impulses(const Problem& p, const PivotMemory& m, std::span<double> lambda) {
  for (int i = 0; i < p.rows(); ++i) lambda[i] = m.x[i] * m.scale[i];
}

}  // namespace

void dantzig(const Problem& p, const Settings& settings, Workspace::Memory& memory, std::span<double> lambda,
             Report& report) {
  PivotMemory& m = memory.pivot;
  const int n = p.rows();
  memory.budget.spend(4.0 * n * n);
  scale_rows(p, memory);
  order_rows(p, memory);
  for (auto* v : {&m.x, &m.low, &m.high, &m.dx, &m.dw, &m.w, &m.b, &m.b0, &m.db, &m.kept}) v->assign(n, 0.0);
  for (auto* v : {&m.side, &m.next_side, &m.kept_side}) v->assign(n, kOut);
  bool whole = false;
  m.diagonal.resize(n);
  for (int i = 0; i < n; ++i) m.diagonal[i] = m.matrix[static_cast<std::size_t>(i) * (n + 1)];
  for (const double regular : kRegular) {
    whole = m.symmetric ? solve_with<LdlSet>(p, settings, lambda, regular, memory, report)
                        : solve_with<InverseSet>(p, settings, lambda, regular, memory, report);
    if (whole || memory.budget.spent()) break;
  }
  write_impulses(p, m, lambda);
  shorten_to_no_gain(p, memory, lambda);
  report.status = whole ? Status::kStalled : Status::kIterationLimit;
}

}  // namespace karakuri::solver
