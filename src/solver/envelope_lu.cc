#include "solver/envelope_lu.h"

#include <algorithm>
#include <cmath>

#include "core/simd.h"

namespace karakuri::solver {

using namespace simd;  // NOLINT: private to the module

void EnvelopeLu::reset(std::span<const int> first) {
  first_.assign(first.begin(), first.end());
  start_.resize(first.size());
  std::ptrdiff_t total = 0;
  std::ptrdiff_t before = 0;  // entries left free in front, so that no start_ lies before the storage
  for (std::size_t i = 0; i < first.size(); ++i) {
    start_[i] = total - first_[i];
    before = std::max(before, -start_[i]);
    total += static_cast<std::ptrdiff_t>(i) - first_[i];
  }
  for (std::ptrdiff_t& start : start_) start += before;
  total += before;
  lower_.assign(total, 0.0);
  upper_.assign(total, 0.0);
  diagonal_.assign(first.size(), 0.0);
  inverse_.resize(first.size());
}

/// Rows [begin, begin + Rows) of L and columns of U, which start at the same column: each earlier row and
/// column is loaded once for all of them.
template <int Rows>
void EnvelopeLu::factor_panel(int begin, double tiny) {
  const int first = first_[begin];
  double* l[Rows];
  double* u[Rows];
  for (int r = 0; r < Rows; ++r) {
    l[r] = lower_.data() + start_[begin + r];
    u[r] = upper_.data() + start_[begin + r];
  }
  for (int j = first; j < begin + Rows; ++j) {
    const int from = std::max(first, first_[j]);
    const double* lj = lower_.data() + start_[j];
    const double* uj = upper_.data() + start_[j];
    double sum_l[Rows] = {};
    double sum_u[Rows] = {};
    V4 acc_l[Rows] = {};
    V4 acc_u[Rows] = {};
    int k = from;
    for (; k + 4 <= j; k += 4) {
      const V4 a = load4(uj + k);
      const V4 b = load4(lj + k);
      for (int r = 0; r < Rows; ++r) {
        acc_l[r] += load4(l[r] + k) * a;
        acc_u[r] += load4(u[r] + k) * b;
      }
    }
    for (int r = 0; r < Rows; ++r) {
      sum_l[r] = sum4(acc_l[r]);
      sum_u[r] = sum4(acc_u[r]);
    }
    for (; k < j; ++k) {
      for (int r = 0; r < Rows; ++r) {
        sum_l[r] += l[r][k] * uj[k];
        sum_u[r] += u[r][k] * lj[k];
      }
    }
    const int own = j - begin;  // ≥ 0: column of this panel
    if (own >= 0) {
      double& d = diagonal_[j];
      d -= sum_l[own];
      if (!(std::abs(d) >= tiny)) d = d < 0.0 ? -tiny : tiny;
      inverse_[j] = 1.0 / d;
    }
    for (int r = std::max(0, own + 1); r < Rows; ++r) {  // (2)
      l[r][j] = (l[r][j] - sum_l[r]) * inverse_[j];
      u[r][j] -= sum_u[r];
    }
  }
}

void EnvelopeLu::factor(double tiny) {
  const int n = size();
  for (int i = 0; i < n;) {
    int rows = 1;
    while (rows < 3 && i + rows < n && first_[i + rows] == first_[i]) ++rows;
    switch (rows) {
      case 3: factor_panel<3>(i, tiny); break;
      case 2: factor_panel<2>(i, tiny); break;
      default: factor_panel<1>(i, tiny);
    }
    i += rows;
  }
}

void EnvelopeLu::solve(std::span<double> x) const {
  const int n = size();
  for (int i = 0; i < n; ++i)
    x[i] -= dot(lower_.data() + start_[i] + first_[i], x.data() + first_[i], i - first_[i]);
  for (int i = n - 1; i >= 0; --i) {
    x[i] *= inverse_[i];
    axpy(-x[i], upper_.data() + start_[i] + first_[i], x.data() + first_[i], i - first_[i]);
  }
}

double envelope_cost(std::span<const int> first) {
  double cost = 0.0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double width = static_cast<double>(i) - first[i];
    cost += width * width;
  }
  return cost;
}

}  // namespace karakuri::solver
