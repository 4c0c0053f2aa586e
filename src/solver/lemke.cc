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
// becomes basic and free, their velocity stays nonbasic at zero. M is copositive, so a ray means that the
// problem has no solution (or that rounding has eaten it): the best so far is returned and the report says
// so.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "solver/access.h"

namespace karakuri::solver {

namespace {

enum RowRole : int { kPlain, kFree };  // PivotMemory::kind of an LCP variable

/// An LCP variable is a direction in the impulse rows: column `first` on, with up to three coefficients.
struct Direction {
  int row = 0;
  double c[3] = {1, 0, 0};
  int size = 1;
};

Direction friction_direction(const Problem& p, const Block& block, int j, int faces) {
  const ConeScale scale = cone_scale(p, block);
  Direction d{block.row + 1, {0, 0, 0}, block.size - 1};
  if (block.size == 2) {
    d.c[0] = j == 0 ? scale.s[1] : -scale.s[1];
  } else {
    const double angle = 2.0 * std::numbers::pi * j / faces;
    d.c[0] = scale.s[1] * std::cos(angle);
    d.c[1] = scale.s[2] * std::sin(angle);
  }
  return d;
}

int faces_of(const Block& block, int faces) { return block.size == 2 ? 2 : block.size == 3 ? faces : 0; }

/// Calls f(variable index, direction) for every LCP variable that is an impulse.
template <class F>
void for_each_direction(const Problem& p, int faces, F&& f) {
  int k = 0;
  for (const Block& block : p.blocks) {
    if (block.kind == RowKind::kCone) {
      f(k, Direction{block.row, {1, 0, 0}, 1});
      for (int j = 0; j < faces_of(block, faces); ++j) f(k + 1 + j, friction_direction(p, block, j, faces));
      k += 2 + faces_of(block, faces);
    } else if (block.kind == RowKind::kBox) {
      const bool from_above = p.lower[block.row] == -kInfinity;
      f(k, Direction{block.row, {from_above ? -1.0 : 1.0, 0, 0}, 1});
      k += 2;
    } else {
      for (int r = 0; r < block.size; ++r) f(k + r, Direction{block.row + r, {1, 0, 0}, 1});
      k += block.size;
    }
  }
}

int lcp_size(const Problem& p, int faces) {
  int n = 0;
  for (const Block& block : p.blocks)
    n += block.kind == RowKind::kCone ? 2 + faces_of(block, faces)
                                      : (block.kind == RowKind::kBox ? 2 : block.size);
  return n;
}

struct Tableau {
  PivotMemory& m;
  int n;
  std::size_t stride() const { return static_cast<std::size_t>(n) + 2; }  // n columns, z0, rhs
  double* row(int i) const { return m.column.data() + i * stride(); }
  double& rhs(int i) const { return row(i)[n + 1]; }
  // ids: w_k = k, z_k = n + k, z0 = 2n. set: basic by row; place: nonbasic by column.
  int complement(int id) const { return id < n ? id + n : id - n; }

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
  }
};

/// M and b of (2), and which variables are free.
void fill(const Problem& p, int faces, const Tableau& t, const std::vector<double>& w) {
  PivotMemory& m = t.m;
  const std::size_t rows = p.q.size();
  m.kind.assign(t.n, kPlain);
  for_each_direction(p, faces, [&](int i, const Direction& a) {
    for_each_direction(p, faces, [&](int j, const Direction& b) {
      double sum = 0.0;
      for (int r = 0; r < a.size; ++r)
        for (int c = 0; c < b.size; ++c) sum += a.c[r] * b.c[c] * w[(a.row + r) * rows + b.row + c];
      t.row(i)[j] = sum;
    });
    for (int r = 0; r < a.size; ++r) t.rhs(i) += a.c[r] * m.w[a.row + r];
  });
  int k = 0;
  for (const Block& block : p.blocks) {
    if (block.kind == RowKind::kCone) {
      const int count = faces_of(block, faces);
      const int gamma = k + 1 + count;
      t.row(gamma)[k] = cone_scale(p, block).mu;
      for (int j = 1; j <= count; ++j) {
        t.row(gamma)[k + j] = -1.0;
        t.row(k + j)[gamma] = 1.0;
      }
      k += 2 + count;
    } else if (block.kind == RowKind::kBox) {
      const double width = p.upper[block.row] - p.lower[block.row];
      if (p.lower[block.row] == -kInfinity && p.upper[block.row] == kInfinity) {
        m.kind[k] = kFree;
        t.rhs(k + 1) = 1.0;
      } else {
        t.row(k)[k + 1] = 1.0;
        t.row(k + 1)[k] = -1.0;
        t.rhs(k + 1) = std::min(width, 1e300);
        if (!std::isfinite(width)) t.row(k + 1)[k] = t.row(k)[k + 1] = 0.0;
      }
      k += 2;
    } else {
      for (int r = 0; r < block.size; ++r)
        m.kind[k + r] = block.kind == RowKind::kComplementarity ? kPlain : kFree;
      k += block.size;
    }
  }
}

/// Makes the impulses of equality rows basic, largest pivot first; dependent ones are left out.
void pivot_free(const Tableau& t, double tiny) {
  PivotMemory& m = t.m;
  for (;;) {
    int best = -1;
    double size = tiny;
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

bool takes_part(const PivotMemory& m, int n, int id) { return id == 2 * n || m.kind[id % n] != kFree; }

/// Row that blocks the growth of column c, or −1. z0 leaves first where it may; ties by id.
int blocking_row(const Tableau& t, int c, double tiny) {
  int best = -1;
  double least = kInfinity;
  for (int i = 0; i < t.n; ++i) {
    if (!takes_part(t.m, t.n, t.m.set[i])) continue;
    const double slope = t.row(i)[c];
    if (!(slope < -tiny)) continue;
    const double length = std::max(0.0, t.rhs(i)) / -slope;
    const bool tie = best >= 0 && length <= least * (1.0 + 1e-12) && length >= least * (1.0 - 1e-12);
    const bool preferred =
        tie && t.m.set[best] != 2 * t.n && (t.m.set[i] == 2 * t.n || slope < t.row(best)[c]);
    if (best < 0 || preferred || (!tie && length < least)) {
      best = i;
      least = length;
    }
  }
  return best;
}

/// @return False on a ray or when the pivots ran out.
bool complementary_pivoting(const Tableau& t, int max_pivots, Report& report) {
  PivotMemory& m = t.m;
  int worst = -1;
  for (int i = 0; i < t.n; ++i)
    if (takes_part(m, t.n, m.set[i]) && t.rhs(i) < 0.0 && (worst < 0 || t.rhs(i) < t.rhs(worst))) worst = i;
  if (worst < 0) return true;
  int leaving = m.set[worst];
  t.pivot(worst, t.n);
  while (report.pivots < max_pivots) {
    ++report.pivots;
    const int entering = t.complement(leaving);
    const int c = static_cast<int>(std::find(m.place.begin(), m.place.end(), entering) - m.place.begin());
    double widest = 0.0;
    for (int i = 0; i < t.n; ++i) widest = std::max(widest, std::abs(t.row(i)[c]));
    const int r = blocking_row(t, c, 1e-12 * widest);
    if (r < 0) return false;
    leaving = m.set[r];
    t.pivot(r, c);
    if (leaving == 2 * t.n) return true;
  }
  return false;
}

}  // namespace

int lemke_size(const Problem& p, int faces) { return lcp_size(p, faces); }

void lemke(const Problem& p, const Settings& settings, Workspace::Memory& memory, std::span<double> lambda,
           Report& report) {
  PivotMemory& m = memory.pivot;
  const int faces = settings.pyramid_faces;
  const int rows = p.rows();
  const Tableau t{m, lcp_size(p, faces)};
  densify(p, memory, m.matrix);
  // λ = x0 + (directions) z: box rows start at their finite bound
  m.x.assign(rows, 0.0);
  for (const Block& block : p.blocks) {
    if (block.kind != RowKind::kBox) continue;
    const int i = block.row;
    if (p.lower[i] > -kInfinity)
      m.x[i] = p.lower[i];
    else if (p.upper[i] < kInfinity)
      m.x[i] = p.upper[i];
  }
  m.w.assign(p.q.begin(), p.q.end());
  for (int i = 0; i < rows; ++i)
    m.w[i] += dot(m.matrix.data() + static_cast<std::size_t>(i) * rows, m.x.data(), rows);
  m.column.assign(static_cast<std::size_t>(t.n) * t.stride(), 0.0);
  m.set.resize(t.n);
  m.place.resize(t.n + 1);
  for (int i = 0; i < t.n; ++i) {
    m.set[i] = i;
    m.place[i] = t.n + i;
  }
  m.place[t.n] = 2 * t.n;
  fill(p, faces, t, m.matrix);
  double scale = 0.0;
  for (int i = 0; i < rows; ++i)
    scale = std::max(scale, std::abs(m.matrix[static_cast<std::size_t>(i) * (rows + 1)]));
  pivot_free(t, 1e-12 * scale);
  for (int i = 0; i < t.n; ++i) t.row(i)[t.n] = takes_part(m, t.n, m.set[i]) ? 1.0 : 0.0;
  const bool whole = complementary_pivoting(t, std::min(settings.max_pivots, 100 + 20 * t.n), report);
  for_each_direction(p, faces, [&](int k, const Direction& d) {
    const auto at = std::find(m.set.begin(), m.set.end(), t.n + k);
    if (at == m.set.end()) return;
    const double z = t.rhs(static_cast<int>(at - m.set.begin()));
    for (int r = 0; r < d.size; ++r) m.x[d.row + r] += d.c[r] * z;
  });
  std::copy(m.x.begin(), m.x.end(), lambda.begin());
  report.status = whole ? Status::kStalled : Status::kIterationLimit;
}

}  // namespace karakuri::solver
