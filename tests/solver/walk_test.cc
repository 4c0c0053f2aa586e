// Trees that are walked along against the same problem written out. With U the matrix of all `up` and O that
// of all `own`, impulses Z on the links give velocities v = (1 - Uᵀ)⁻¹ O (1 - U)⁻¹ Z: one dense formula.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <random>

#include "karakuri/solver/solve.h"

namespace karakuri::solver {
namespace {

struct Pair {
  Problem walked, written;
};

using Rows6 = Eigen::Matrix<double, 6, 6, Eigen::RowMajor>;

/// Trees of `count` links in all, with blocks on one link, on two of a tree, and on two trees.
Pair random_trees(int count, int blocks, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> any(0, count - 1);
  const auto fill = [&](auto&& m) {
    for (int i = 0; i < m.size(); ++i) m.data()[i] = normal(random);
  };
  Pair pair;
  Problem& p = pair.walked;
  p.clear(OperatorKind::kMatrixFree);
  Eigen::MatrixXd U = Eigen::MatrixXd::Zero(6 * count, 6 * count), O = U;
  for (int i = 0; i < count; ++i) {
    const bool root = i % 17 == 0;  // several trees, with branches
    const int parent = root ? -1 : std::max(i - 1 - (i % 3 == 0 ? any(random) % 4 : 0), i / 17 * 17);
    Link& link = p.add_link(parent);
    Eigen::Matrix<double, 6, 3> S;
    fill(S);
    Eigen::Map<Rows6>(link.own) = 0.1 * S * S.transpose();
    if (root) Eigen::Map<Rows6>(link.own) += Rows6::Identity();
    Rows6 up;
    fill(up);
    Eigen::Map<Rows6>(link.up) = Rows6::Identity() + 0.1 * up;
    Eigen::Map<Rows6>(link.whole) = Eigen::Map<Rows6>(link.own);
    O.block<6, 6>(6 * i, 6 * i) = Eigen::Map<Rows6>(link.own);
    if (root) continue;
    const Eigen::Map<Rows6> F(link.up);
    Eigen::Map<Rows6>(link.whole) += F.transpose() * Eigen::Map<Rows6>(p.links[parent].whole) * F;
    U.block<6, 6>(6 * parent, 6 * i) = F;
  }
  Eigen::MatrixXd J = Eigen::MatrixXd::Zero(3 * blocks, 6 * count);
  for (int b = 0; b < blocks; ++b) {
    p.add_cone(0.5);
    const int first = any(random), second = any(random);
    for (const int link : {first, second}) {
      if (link == second && (second == first || b % 3 == 0)) continue;
      const Term term = p.add_term(p.links[link].subsystem);
      for (int r = 0; r < 3; ++r) {
        Eigen::Map<Eigen::Matrix<double, 6, 1>> row(p.jacobian_of(term, 3).data() + 6 * r);
        fill(row);
        Eigen::Map<Eigen::Matrix<double, 6, 1>>(p.response_of(term, 3).data() + 6 * r) =
            Eigen::Map<Rows6>(p.links[link].whole) * row;
        J.block<1, 6>(3 * b + r, 6 * link) = row.transpose();
      }
    }
    for (int r = 0; r < 3; ++r) p.q[3 * b + r] = normal(random) - (r == 0 ? 1 : 0);
  }
  const Eigen::MatrixXd one = Eigen::MatrixXd::Identity(6 * count, 6 * count);
  const Eigen::MatrixXd left = (one - U).inverse();
  const Eigen::MatrixXd W = J * left.transpose() * O * left * J.transpose();
  pair.written.clear(OperatorKind::kDense);
  for (int b = 0; b < blocks; ++b) pair.written.add_cone(0.5);
  pair.written.q = p.q;
  pair.written.dense.assign(W.data(), W.data() + W.size());  // symmetric
  return pair;
}

TEST(Walk, GivesTheSameVelocitiesAsTheTreesWrittenOut) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Pair pair = random_trees(40, 30, seed);
    const int n = pair.walked.rows();
    std::vector<double> lambda(n), scratch(pair.walked.velocities()), a(n), b(n);
    for (int i = 0; i < n; ++i) lambda[i] = std::sin(i + seed);
    apply_operator(pair.walked, lambda, scratch, a);
    apply_operator(pair.written, lambda, {}, b);
    for (int i = 0; i < n; ++i) EXPECT_NEAR(a[i], b[i], 1e-10 * (1 + std::abs(b[i])));
    for (int i = 0; i < pair.walked.block_count(); ++i) {
      double x[9], y[9];
      diagonal_block(pair.walked, i, x);
      diagonal_block(pair.written, i, y);
      for (int k = 0; k < 9; ++k) EXPECT_NEAR(x[k], y[k], 1e-10 * (1 + std::abs(y[k])));
    }
  }
}

TEST(Walk, ASweepIsTheSameAsOneOverTheTreesWrittenOut) {
  const Settings settings{
      .method = Method::kBlock, .tolerance = 0, .max_sweeps = 1, .explain_failure = false};
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Pair pair = random_trees(40, 30, seed);
    Workspace ws;
    std::vector<double> a(pair.walked.rows(), 0.0), b = a;
    for (int round = 0; round < 5;
         ++round) {  // more than one at a time are not the same: see gauss_seidel.cc
      ASSERT_TRUE(solve(pair.walked, settings, ws, a).ok());
      ASSERT_TRUE(solve(pair.written, settings, ws, b).ok());
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-9);
    }
  }
}

TEST(Walk, OtherMethodsRefuse) {
  const Pair pair = random_trees(20, 10, 1);
  Workspace ws;
  std::vector<double> lambda(pair.walked.rows(), 0.0);
  EXPECT_FALSE(solve(pair.walked, {.method = Method::kPgs}, ws, lambda).ok());
  EXPECT_FALSE(solve(pair.walked, {.method = Method::kNewton}, ws, lambda).ok());
}

}  // namespace
}  // namespace karakuri::solver
