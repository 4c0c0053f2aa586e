#include "solver/clamped_set.h"

#include <algorithm>
#include <cmath>

#include "core/simd.h"

namespace karakuri::solver {

using namespace simd;  // NOLINT: private to the module

namespace {

constexpr double kSingular = 1e-13;  // of a row's own diagonal: what is left of it is rounding

void reset(ClampedMemory& m, int n) {
  m.members.clear();
  m.place.assign(n, -1);
  m.start.resize(n);
  m.slot.resize(n);
  for (int i = 0; i < n; ++i) m.slot[i] = i;
  m.factor.resize(static_cast<std::size_t>(n) * n);
  m.diagonal.resize(n);
  m.g.resize(n);
  m.left.resize(n);
}

}  // namespace

// ---- symmetric

LdlSet::LdlSet(ClampedMemory& memory, SquareMatrix a) : m_(memory), a_(a) { clear(); }

void LdlSet::clear() {
  reset(m_, a_.n);
  m_.members.reserve(a_.n);
}

/// g = L⁻¹ g of the places [from, to); what is before is zero.
void LdlSet::forward(double* g, int from, int to) const {
  for (int k = from; k < to; ++k) {
    const int first = std::max(from, m_.start[k]);
    m_.work += k - first;
    if (first < k) g[k] -= dot(factor_row(k) + first, g + first, k - first);
  }
}

bool LdlSet::add(int row) {
  const int k = size();
  double* g = factor_row(k);
  const double* a = a_.row(row);
  int first = 0;
  while (first < k && a[m_.members[first]] == 0.0) g[first++] = 0.0;
  for (int j = first; j < k; ++j) g[j] = a[m_.members[j]];
  forward(g, first, k);
  double d = a[row];
  for (int j = first; j < k; ++j) {  // (1)
    const double l = g[j] / m_.diagonal[j];
    d -= g[j] * l;
    g[j] = l;
  }
  if (!(d > kSingular * a[row])) return false;
  m_.start[k] = first;
  m_.diagonal[k] = d;
  m_.place[row] = k;
  m_.members.push_back(row);
  return true;
}

void LdlSet::remove(int row) {
  const int k = m_.place[row];
  const int last = size() - 1;
  double alpha = m_.diagonal[k];
  const int freed = m_.slot[k];
  double* p = m_.g.data();
  double* beta = m_.left.data();
  for (int r = k + 1; r <= last; ++r) {  // becomes place r - 1
    double* l = factor_row(r);
    double v = m_.start[r] <= k ? l[k] : 0.0;
    const int from = m_.start[r] <= k ? k : m_.start[r] - 1;
    if (m_.start[r] > k) --m_.start[r];
    m_.work += 2.0 * (r - from);
    for (int j = from; j < r - 1; ++j) {  // (2), column by column within the row
      const double old = l[j + 1];
      v -= p[j] * old;
      l[j] = old + beta[j] * v;
    }
    const double d = m_.diagonal[r];
    const double next = d + alpha * v * v;
    p[r - 1] = v;
    beta[r - 1] = v * alpha / next;
    alpha *= d / next;
    m_.diagonal[r - 1] = next;
    m_.start[r - 1] = m_.start[r];
    m_.slot[r - 1] = m_.slot[r];
    m_.members[r - 1] = m_.members[r];
    m_.place[m_.members[r - 1]] = r - 1;
  }
  m_.slot[last] = freed;
  m_.members.pop_back();
  m_.place[row] = -1;
}

void LdlSet::solve(double* y) const {
  const int count = size();
  forward(y, 0, count);
  for (int k = 0; k < count; ++k) y[k] /= m_.diagonal[k];
  for (int k = count - 1; k > 0; --k) {
    const int first = m_.start[k];
    m_.work += k - first;
    if (y[k] != 0.0) axpy(-y[k], factor_row(k) + first, y + first, k - first);
  }
}

// ---- any matrix

InverseSet::InverseSet(ClampedMemory& memory, SquareMatrix a) : m_(memory), a_(a) { clear(); }

void InverseSet::clear() {
  reset(m_, a_.n);
  m_.members.reserve(a_.n);
}

bool InverseSet::add(int row) {
  const int k = size();
  m_.work += 3.0 * k * k;
  double* left = m_.left.data();  // A_iC A_CC⁻¹
  double* right = m_.g.data();    // −A_CC⁻¹ A_Ci
  double* column = m_.diagonal.data();
  std::fill_n(left, k, 0.0);
  for (int a = 0; a < k; ++a) axpy(a_.at(row, m_.members[a]), inverse(a), left, k);
  for (int a = 0; a < k; ++a) column[a] = a_.at(m_.members[a], row);
  const double schur = a_.at(row, row) - dot(left, column, k);
  if (!(schur > kSingular * std::abs(a_.at(row, row)))) return false;
  for (int a = 0; a < k; ++a) right[a] = -dot(inverse(a), column, k);
  for (int a = 0; a < k; ++a) {
    axpy(-right[a] / schur, left, inverse(a), k);
    inverse(a)[k] = right[a] / schur;
  }
  for (int a = 0; a < k; ++a) inverse(k)[a] = -left[a] / schur;
  inverse(k)[k] = 1.0 / schur;
  m_.place[row] = k;
  m_.members.push_back(row);
  return true;
}

void InverseSet::remove(int row) {
  const int last = size() - 1;
  const int k = m_.place[row];
  m_.work += static_cast<double>(last) * last;
  if (k != last) {
    std::swap_ranges(inverse(k), inverse(k) + size(), inverse(last));
    for (int a = 0; a < size(); ++a) std::swap(inverse(a)[k], inverse(a)[last]);
    std::swap(m_.members[k], m_.members[last]);
    m_.place[m_.members[k]] = k;
  }
  const double corner = inverse(last)[last];
  for (int a = 0; a < last && corner != 0.0; ++a)
    axpy(-inverse(a)[last] / corner, inverse(last), inverse(a), last);
  m_.members.pop_back();
  m_.place[row] = -1;
}

void InverseSet::solve(double* y) const {
  const int count = size();
  double* out = m_.g.data();
  m_.work += static_cast<double>(count) * count;
  for (int a = 0; a < count; ++a) out[a] = dot(inverse(a), y, count);
  std::copy_n(out, count, y);
}

}  // namespace karakuri::solver
