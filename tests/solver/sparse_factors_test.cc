// Sparse factors against dense ones, on chains, grids, stars and random patterns of nodes of all widths.
#include "solver/sparse_factors.h"
#include "karakuri/solver/problem.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <functional>
#include <numeric>

#include "karakuri/core/random.h"
#include "support/no_alloc.h"

namespace karakuri::solver {
namespace {

struct Pattern {
  std::vector<int> widths, start{0}, nodes;

  void add(std::initializer_list<int> clique) { add(std::vector<int>(clique)); }
  void add(const std::vector<int>& clique) {
    nodes.insert(nodes.end(), clique.begin(), clique.end());
    start.push_back(static_cast<int>(nodes.size()));
  }
  int cliques() const { return static_cast<int>(start.size()) - 1; }
  int first(int node) const { return std::accumulate(widths.begin(), widths.begin() + node, 0); }
  int size() const { return first(static_cast<int>(widths.size())); }
  void analyse(SparseFactors& factors) const { factors.analyse(widths, start, nodes, kInfinity); }
};

/// A dense matrix B Bᵀ + S for each clique, over its nodes as the factors order them; S is skew, or zero.
class RandomCliques final : public CliqueMatrices {
 public:
  RandomCliques(const Pattern& pattern, const SparseFactors& factors, bool symmetric, Random& random) {
    for (int c = 0; c < pattern.cliques(); ++c) {
      int width = 0;
      for (const int n : factors.clique(c)) width += pattern.widths[n];
      const Eigen::MatrixXd B = Eigen::MatrixXd::NullaryExpr(width, 3, [&] { return random.uniform(-1, 1); });
      const Eigen::MatrixXd S =
          Eigen::MatrixXd::NullaryExpr(width, width, [&] { return symmetric ? 0 : random.uniform(-1, 1); });
      all_.push_back(B * B.transpose() + S - S.transpose());
    }
  }
  void write(int clique, int stride, double* lower, double* upper) const override {
    const Eigen::MatrixXd& m = all_[clique];
    for (int c = 0; c < stride; ++c) {
      for (int r = c; r < stride; ++r) {
        const bool inside = c < m.cols() && r < m.rows();
        lower[c * stride + r] = inside ? m(r, c) : 0.0;
        if (upper) upper[c * stride + r] = inside ? m(c, r) : 0.0;
      }
    }
  }
  const Eigen::MatrixXd& of(int clique) const { return all_[clique]; }

 private:
  std::vector<Eigen::MatrixXd> all_;
};

Eigen::MatrixXd dense(const Pattern& p, const SparseFactors& factors, const RandomCliques& cliques,
                      std::span<const double> diagonal) {
  Eigen::MatrixXd sum = Eigen::Map<const Eigen::VectorXd>(diagonal.data(), p.size()).asDiagonal();
  for (int c = 0; c < p.cliques(); ++c) {
    int row = 0;
    for (const int a : factors.clique(c)) {
      int column = 0;
      for (const int b : factors.clique(c)) {
        sum.block(p.first(a), p.first(b), p.widths[a], p.widths[b]) +=
            cliques.of(c).block(row, column, p.widths[a], p.widths[b]);
        column += p.widths[b];
      }
      row += p.widths[a];
    }
  }
  return sum;
}

void expect_right(const Pattern& p, bool symmetric, SparseFactors& factors, Random& random) {
  p.analyse(factors);
  const RandomCliques cliques(p, factors, symmetric, random);
  std::vector<double> diagonal(p.size()), b(p.size());
  for (double& d : diagonal) d = random.uniform(0.5, 2);
  for (double& x : b) x = random.uniform(-1, 1);
  const Eigen::VectorXd wanted = dense(p, factors, cliques, diagonal)
                                     .partialPivLu()
                                     .solve(Eigen::Map<const Eigen::VectorXd>(b.data(), p.size()));
  factors.factor(diagonal, cliques, symmetric);
  factors.solve(b);
  const Eigen::VectorXd found = Eigen::Map<const Eigen::VectorXd>(b.data(), p.size());
  // eigenvalues lie between 0.5 and a few hundred
  EXPECT_LT((found - wanted).norm(), 1e-11 * (1 + wanted.norm()));
}

Pattern chain(int count, int width) {
  Pattern p;
  p.widths.assign(count, width);
  p.add({0});
  for (int i = 0; i + 1 < count; ++i) p.add({i, i + 1});
  return p;
}

Pattern grid(int n) {
  Pattern p;
  p.widths.assign(n * n, 6);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      if (i + 1 < n) p.add({i * n + j, (i + 1) * n + j});
      if (j + 1 < n) p.add({i * n + j + 1, i * n + j});
    }
  return p;
}

Pattern random_pattern(Random& random) {
  Pattern p;
  const int count = 1 + static_cast<int>(40 * random.uniform());
  for (int i = 0; i < count; ++i) p.widths.push_back(1 + static_cast<int>(9 * random.uniform()));
  const int cliques = static_cast<int>(80 * random.uniform());
  for (int c = 0; c < cliques; ++c) {
    std::vector<int> clique;
    const int size = 1 + static_cast<int>(4 * random.uniform());
    for (int k = 0; k < size; ++k) {
      const int n = static_cast<int>(count * random.uniform());
      if (std::find(clique.begin(), clique.end(), n) == clique.end()) clique.push_back(n);
    }
    p.add(clique);
  }
  return p;
}

TEST(SparseFactors, SolvesAsDenseFactorsDo) {
  Random random(3);
  SparseFactors factors;
  for (const bool symmetric : {true, false}) {
    for (const int width : {1, 3, 4, 6, 7}) expect_right(chain(12, width), symmetric, factors, random);
    expect_right(grid(6), symmetric, factors, random);
    for (int i = 0; i < 200; ++i) expect_right(random_pattern(random), symmetric, factors, random);
  }
}

TEST(SparseFactors, FillsLittle) {
  SparseFactors factors;
  const auto cost = [&](const Pattern& p) {
    p.analyse(factors);
    return factors.factor_cost();
  };
  EXPECT_NEAR(cost(chain(200, 6)) / cost(chain(100, 6)), 2, 0.1);
  // a dense factorisation of 36 n^2 unknowns takes 72 n^6 multiplications, nested dissection some n^3
  EXPECT_LT(cost(grid(24)) / cost(grid(12)), 12);
  EXPECT_LT(cost(grid(24)), 0.05 * std::pow(6.0 * 24 * 24, 3) / 3);
}

TEST(SparseFactors, GivesUpWhereThatIsTooDear) {
  SparseFactors factors;
  const Pattern p = grid(12);
  ASSERT_TRUE(factors.analyse(p.widths, p.start, p.nodes, kInfinity));
  const double cost = factors.factor_cost();
  EXPECT_FALSE(factors.analyse(p.widths, p.start, p.nodes, 0.5 * cost));
  SparseFactors fresh;
  EXPECT_FALSE(fresh.analyse(p.widths, p.start, p.nodes, 0.5 * cost));
  EXPECT_TRUE(fresh.analyse(p.widths, p.start, p.nodes, 2 * cost));
  EXPECT_EQ(fresh.factor_cost(), cost);
}

TEST(SparseFactors, KeepsAnOrderWithoutAllocating) {
  if (!test::NoAllocGuard::available()) GTEST_SKIP() << test::NoAllocGuard::kUnavailable;
  Random random(5);
  SparseFactors factors;
  const Pattern a = grid(5), b = chain(9, 6);
  expect_right(a, false, factors, random);
  expect_right(b, false, factors, random);
  const RandomCliques cliques(b, factors, false, random);
  std::vector<double> diagonal(b.size(), 1.0), x(b.size(), 1.0);
  const test::NoAllocGuard guard;
  for (int i = 0; i < 3; ++i) {
    b.analyse(factors);
    factors.factor(diagonal, cliques, i % 2 == 0);
    factors.solve(x);
    a.analyse(factors);
  }
  EXPECT_EQ(guard.allocations(), 0);
}

}  // namespace
}  // namespace karakuri::solver
