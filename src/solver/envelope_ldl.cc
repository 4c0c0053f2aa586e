#include "solver/envelope_ldl.h"

#include <algorithm>
#include <cmath>

namespace karakuri::solver {

namespace {

// e of (1): directions that answer this much less than the rows themselves are taken for none, and each round
// of (2) gains the digits between it and what the direction answers.
constexpr double kRegular = 1e-11;

double dot(const double* a, const double* b, std::ptrdiff_t n) {
  double sum[4] = {};
  std::ptrdiff_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; ++k) sum[k] += a[i + k] * b[i + k];
  for (; i < n; ++i) sum[0] += a[i] * b[i];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

}  // namespace

void EnvelopeLdl::reset(std::span<const int> first) {
  first_.assign(first.begin(), first.end());
  start_.resize(first.size());
  std::ptrdiff_t end = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    start_[i] = end - first[i];
    end += static_cast<std::ptrdiff_t>(i) - first[i] + 1;
  }
  a_.assign(static_cast<std::size_t>(end), 0.0);
}

void EnvelopeLdl::factor() {
  const int n = size();
  l_ = a_;
  scale_.resize(n);
  step_.resize(n);
  for (int i = 0; i < n; ++i) {
    const double d = a_[start_[i] + i];
    scale_[i] = d > 0 ? 1 / std::sqrt(d) : 0;
  }
  for (int i = 0; i < n; ++i) {
    double* row = l_.data() + start_[i];
    double d = 1 + kRegular;
    for (int j = first_[i]; j < i; ++j) row[j] *= scale_[i] * scale_[j];
    for (int j = first_[i]; j < i; ++j) {  // row[j] becomes L_ij D_j
      const int from = std::max(first_[i], first_[j]);
      row[j] -= dot(row + from, l_.data() + start_[j] + from, j - from);
    }
    for (int j = first_[i]; j < i; ++j) {
      const double ld = row[j];
      row[j] /= l_[start_[j] + j];
      d -= ld * row[j];
    }
    row[i] = std::max(d, 0.1 * kRegular);
  }
}

void EnvelopeLdl::subtract_product(std::span<const double> x, std::span<double> b) const {
  for (int i = 0; i < size(); ++i) {
    const double* row = a_.data() + start_[i];
    b[i] -= dot(row + first_[i], x.data() + first_[i], i - first_[i] + 1);
    for (int j = first_[i]; j < i; ++j) b[j] -= row[j] * x[i];
  }
}

void EnvelopeLdl::solve(std::span<double> b, std::span<double> x, int rounds) {
  const int n = size();
  std::fill(x.begin(), x.end(), 0.0);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < n; ++i) {
      const double* row = l_.data() + start_[i];
      step_[i] = scale_[i] * b[i] - dot(row + first_[i], step_.data() + first_[i], i - first_[i]);
    }
    for (int i = 0; i < n; ++i) step_[i] /= l_[start_[i] + i];
    for (int i = n - 1; i >= 0; --i) {
      const double* row = l_.data() + start_[i];
      for (int j = first_[i]; j < i; ++j) step_[j] -= row[j] * step_[i];
    }
    for (int i = 0; i < n; ++i) {
      step_[i] *= scale_[i];
      x[i] += step_[i];
    }
    if (round + 1 < rounds) subtract_product(step_, b);
  }
}

}  // namespace karakuri::solver
