// Dantzig's method for the box LCP, with friction bounds as ODE sets them.
//
//   w = A x + b;  x_i = l_i: w_i ≥ 0;  l_i < x_i < h_i: w_i = 0;  x_i = h_i: w_i ≤ 0         (1)
//
// Baraff, "Fast contact force computation for nonpenetrating rigid bodies" (SIGGRAPH 1994), §4.3, after
// Cottle and Dantzig. Rows enter one at a time. C: rows held at w = 0, N: rows at a bound. While row i is not
// yet right, x_i moves by ±1 and C follows so that w_C stays zero:
//
//   Δx_C = −A_CC⁻¹ A_Ci Δx_i,   Δw_N = A_NC Δx_C + A_Ni Δx_i                                 (2)
//
// until row i is right or another row meets a bound (C → N) or loses its excess (N → C). A_CC⁻¹ is kept and
// bordered.
//
// Contacts: first all rows but tangents, without friction; then the tangents one by one with the bounds ±μ_i
// λ_n of *that* solution, which are not corrected when λ_n changes afterwards (ODE's findex). An axis-aligned
// pyramid, and an approximation even of that: this is the method's model, the report says how far it is off.
//
// A tiny diagonal (ODE: CFM) keeps A_CC regular where contacts are redundant; it is raised only where
// pivoting fails.
#include <algorithm>
#include <cmath>

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

constexpr double kRegular[] = {1e-6, 1e-4};  // of the mean diagonal; the second where the first fails
constexpr int kPasses = 3;

/// The set C with the inverse of A_CC; rows of `inverse` are `stride` apart.
class FreeSet {
 public:
  FreeSet(PivotMemory& memory, int n) : m_(memory), n_(n) {
    m_.set.clear();
    m_.place.assign(n, -1);
    m_.inverse.resize(static_cast<std::size_t>(n) * n);
    m_.column.resize(2 * static_cast<std::size_t>(n));
  }
  int size() const { return static_cast<int>(m_.set.size()); }
  int row(int k) const { return m_.set[k]; }
  bool contains(int i) const { return m_.place[i] >= 0; }

  /// y = −A_CC⁻¹ A_Ci.
  void follow(int i, double* y) const {
    for (int a = 0; a < size(); ++a) m_.column[a] = at(row(a), i);
    for (int a = 0; a < size(); ++a) y[a] = -dot(inverse(a), m_.column.data(), size());
  }

  /// Borders the inverse with row i. False where that would be singular.
  bool add(int i, double tiny) {
    const int k = size();
    double* left = m_.column.data() + n_;  // A_iC A_CC⁻¹
    std::fill_n(left, k, 0.0);
    for (int a = 0; a < k; ++a) axpy(at(i, row(a)), inverse(a), left, k);
    double schur = at(i, i);
    for (int a = 0; a < k; ++a) schur -= left[a] * at(row(a), i);
    if (!(schur > tiny)) return false;
    std::vector<double>& y = m_.dx;
    follow(i, y.data());
    for (int a = 0; a < k; ++a) {
      axpy(-y[a] / schur, left, inverse(a), k);
      inverse(a)[k] = y[a] / schur;
    }
    for (int a = 0; a < k; ++a) inverse(k)[a] = -left[a] / schur;
    inverse(k)[k] = 1.0 / schur;
    m_.place[i] = k;
    m_.set.push_back(i);
    return true;
  }

  void remove(int i) {
    const int last = size() - 1;
    const int k = m_.place[i];
    if (k != last) {
      std::swap_ranges(inverse(k), inverse(k) + size(), inverse(last));
      for (int a = 0; a < size(); ++a) std::swap(inverse(a)[k], inverse(a)[last]);
      std::swap(m_.set[k], m_.set[last]);
      m_.place[m_.set[k]] = k;
    }
    const double corner = inverse(last)[last];
    for (int a = 0; a < last && corner != 0.0; ++a)
      axpy(-inverse(a)[last] / corner, inverse(last), inverse(a), last);
    m_.set.pop_back();
    m_.place[i] = -1;
  }

 private:
  double at(int r, int c) const { return m_.matrix[static_cast<std::size_t>(r) * n_ + c]; }
  double* inverse(int a) const { return m_.inverse.data() + static_cast<std::size_t>(a) * n_; }

  PivotMemory& m_;
  int n_;
};

struct Event {
  double length = kInfinity;
  int row = -1;  // that changes sides; the moving row itself where it is done
  bool to_bound = false;
};

void nearer(Event& event, double length, int row, bool to_bound) {
  if (length < event.length) event = {std::max(0.0, length), row, to_bound};
}

/// How far row i can move in direction `sign` before something happens.
Event next_event(const PivotMemory& m, const FreeSet& free, std::span<const unsigned char> seen, int i,
                 double sign, const double* dx, double tiny) {
  Event event;
  if (std::abs(m.dw[i]) > tiny) nearer(event, -m.w[i] / (sign * m.dw[i]), i, false);
  if (event.length < 0.0) event = {};
  const double bound = sign > 0.0 ? m.high[i] : m.low[i];
  nearer(event, std::abs(bound - m.x[i]), i, true);
  for (int a = 0; a < free.size(); ++a) {
    const int j = free.row(a);
    const double d = sign * dx[a];
    if (d == 0.0) continue;
    nearer(event, ((d > 0.0 ? m.high[j] : m.low[j]) - m.x[j]) / d, j, true);
  }
  for (std::size_t j = 0; j < seen.size(); ++j) {
    const int row = static_cast<int>(j);
    if (!seen[j] || row == i || free.contains(row) || m.low[j] == m.high[j]) continue;
    const double d = sign * m.dw[j];
    const bool at_low = m.x[j] == m.low[j];
    if (at_low ? d < -tiny : d > tiny) nearer(event, std::max(0.0, -m.w[j] / d), row, false);
  }
  return event;
}

struct Dantzig {
  PivotMemory& m;
  int n;
  double scale;  // mean diagonal
  int max_pivots;
  Report& report;
  FreeSet free{m, n};
  std::vector<unsigned char>& seen;

  /// Makes row i right while all rows seen before stay so. False when the pivots ran out.
  bool drive(int i) {
    const double* row = m.matrix.data() + static_cast<std::size_t>(i) * n;
    m.w[i] += dot(row, m.x.data(), n);
    seen[i] = 1;
    const double tiny = 1e-14 * scale;
    for (;;) {
      if (m.x[i] <= m.low[i] && m.w[i] >= 0.0) return true;
      if (m.x[i] >= m.high[i] && m.w[i] <= 0.0) return true;
      if (m.w[i] == 0.0) return free.add(i, tiny), true;
      if (++report.pivots > max_pivots) return false;
      const double sign = m.w[i] < 0.0 ? 1.0 : -1.0;
      free.follow(i, m.dx.data());
      for (int j = 0; j < n; ++j) {
        if (!seen[j] || free.contains(j)) continue;
        const double* a = m.matrix.data() + static_cast<std::size_t>(j) * n;
        m.dw[j] = a[i];
        for (int k = 0; k < free.size(); ++k) m.dw[j] += a[free.row(k)] * m.dx[k];
      }
      const Event event = next_event(m, free, seen, i, sign, m.dx.data(), tiny);
      if (event.row < 0 || !std::isfinite(event.length)) return true;  // a ray: best effort, see the residual
      move(i, sign * event.length);
      if (!settle(event, i, sign, tiny)) return true;
    }
  }

  void move(int i, double length) {
    m.x[i] += length;
    for (int a = 0; a < free.size(); ++a) m.x[free.row(a)] += length * m.dx[a];
    for (int j = 0; j < n; ++j)
      if (seen[j] && !free.contains(j)) m.w[j] += length * m.dw[j];
  }

  /// The row of the event changes sides. False where the moving row is done.
  bool settle(const Event& event, int i, double sign, double tiny) {
    const int j = event.row;
    if (j == i) {
      if (event.to_bound) {
        m.x[i] = sign > 0.0 ? m.high[i] : m.low[i];
      } else {
        m.w[i] = 0.0;
        free.add(i, tiny);
      }
      return false;
    }
    if (event.to_bound) {
      m.x[j] = std::abs(m.x[j] - m.low[j]) < std::abs(m.x[j] - m.high[j]) ? m.low[j] : m.high[j];
      m.w[j] = 0.0;
      free.remove(j);
    } else {
      m.w[j] = 0.0;
      // a row that depends on those already free cannot join them; it then stays at its bound with w = 0
      if (!free.add(j, tiny)) return true;
    }
    return true;
  }
};

void set_bounds(const Problem& p, PivotMemory& m) {
  for (const Block& block : p.blocks) {
    for (int r = 0; r < block.size; ++r) {
      const int i = block.row + r;
      m.low[i] = -kInfinity;
      m.high[i] = kInfinity;
      if (block.kind == RowKind::kComplementarity || block.kind == RowKind::kCone) m.low[i] = 0.0;
      if (block.kind == RowKind::kBox) {
        m.low[i] = p.lower[i];
        m.high[i] = p.upper[i];
      }
      m.x[i] = std::clamp(0.0, m.low[i], m.high[i]);
    }
  }
}

/// One pass about the solution `centre` of the last. @return False when the pivots ran out.
bool pass(const Problem& p, const Settings& settings, double regular, std::span<const double> centre,
          Workspace::Memory& memory, Report& report) {
  PivotMemory& m = memory.pivot;
  const int n = p.rows();
  densify(p, memory, m.matrix);
  double scale = 0.0;
  for (int i = 0; i < n; ++i) scale += std::abs(m.matrix[static_cast<std::size_t>(i) * (n + 1)]) / n;
  for (int i = 0; i < n; ++i) m.matrix[static_cast<std::size_t>(i) * (n + 1)] += regular * scale;
  for (auto* v : {&m.x, &m.low, &m.high, &m.dx, &m.dw}) v->assign(n, 0.0);
  m.w.assign(p.q.begin(), p.q.end());
  for (int i = 0; i < n; ++i) m.w[i] -= regular * scale * centre[i];
  memory.flags.assign(n, 0);
  set_bounds(p, m);
  const int limit = report.pivots + std::min(settings.max_pivots, 100 + 10 * n);
  Dantzig method{m, n, scale, limit, report, FreeSet(m, n), memory.flags};
  for (const Block& block : p.blocks)
    for (int r = 0; r < (block.kind == RowKind::kCone ? 1 : block.size); ++r)
      if (!method.drive(block.row + r)) return false;
  for (const Block& block : p.blocks) {
    for (int r = 1; r < block.size && block.kind == RowKind::kCone; ++r) {
      m.high[block.row + r] = p.friction[block.row + r] * std::max(0.0, m.x[block.row]);
      m.low[block.row + r] = -m.high[block.row + r];
    }
  }
  for (const Block& block : p.blocks)
    for (int r = 1; r < block.size && block.kind == RowKind::kCone; ++r)
      if (!method.drive(block.row + r)) return false;
  return true;
}

}  // namespace

void dantzig(const Problem& p, const Settings& settings, Workspace::Memory& m, std::span<double> lambda,
             Report& report) {
  bool whole = false;
  for (const double regular : kRegular) {
    std::fill(lambda.begin(), lambda.end(), 0.0);
    for (int k = 0; k < kPasses; ++k) {
      whole = pass(p, settings, regular, lambda, m, report);
      std::copy(m.pivot.x.begin(), m.pivot.x.end(), lambda.begin());
      if (!whole) break;
    }
    if (whole) break;
  }
  report.status = whole ? Status::kStalled : Status::kIterationLimit;
}

}  // namespace karakuri::solver
