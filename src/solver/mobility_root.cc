#include "solver/mobility_root.h"

#include <algorithm>
#include <cmath>

#include "core/simd.h"

namespace karakuri::solver {

using namespace simd;  // NOLINT: private to this file

namespace {

constexpr double kDead = 1e-15;       // of the largest mobility: rounding where a body cannot move
constexpr double kRankFloor = 1e-13;  // of a diagonal of ones: rounding

}  // namespace

void find_mobility_root(const std::vector<double>& mobility, int n, MobilityRoot& c) {
  const int stride = (n + 3) / 4 * 4;
  c.root.assign(static_cast<std::size_t>(n) * stride, 0.0);
  c.scale.resize(n);
  c.left.resize(n);
  const auto root = [&](int i) { return c.root.data() + static_cast<std::size_t>(i) * stride; };
  const auto diagonal = [&](int i) { return mobility[static_cast<std::size_t>(i) * (n + 1)]; };
  double largest[2] = {};  // of turning, of moving: they have other units
  const auto of_kind = [&](int i) -> double& { return largest[i % 6 / 3]; };
  for (int i = 0; i < n; ++i) of_kind(i) = std::max(of_kind(i), diagonal(i));
  for (int i = 0; i < n; ++i) {
    c.left[i] = diagonal(i) > kDead * of_kind(i) ? 1 : 0;
    c.scale[i] = c.left[i] > 0 ? 1 / std::sqrt(diagonal(i)) : 0;
  }
  int rank = 0;
  for (; rank < n; ++rank) {
    const int pivot = static_cast<int>(std::max_element(c.left.begin(), c.left.end()) - c.left.begin());
    if (!(c.left[pivot] > kRankFloor)) break;
    const double inverse = 1 / std::sqrt(c.left[pivot]);
    const double* column = mobility.data() + static_cast<std::size_t>(pivot) * n;
    for (int i = 0; i < n; ++i) {
      const double left = c.scale[i] * c.scale[pivot] * column[i] - dot(root(i), root(pivot), rank);
      root(i)[rank] = inverse * left;
    }
    for (int i = 0; i < n; ++i) c.left[i] -= root(i)[rank] * root(i)[rank];
    c.left[pivot] = 0;
  }
  c.motions = (rank + 3) / 4 * 4;
  c.stride = stride;
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < rank; ++k) root(i)[k] /= c.scale[i] > 0 ? c.scale[i] : 1;
}

}  // namespace karakuri::solver
