// Linear complementarity problems: known solutions, and all active sets of small ones.
#include <gtest/gtest.h>

#include <Eigen/LU>

#include "karakuri/core/random.h"
#include "karakuri/solver/solve.h"

namespace karakuri::solver {
namespace {

Problem lcp(const Eigen::MatrixXd& m, const Eigen::VectorXd& q) {
  Problem p;
  p.clear(OperatorKind::kDense);
  for (int i = 0; i < q.size(); ++i) p.add_complementarity();
  for (int r = 0; r < q.size(); ++r)
    for (int c = 0; c < q.size(); ++c) p.dense.push_back(m(r, c));
  for (int i = 0; i < q.size(); ++i) p.q[i] = q[i];
  return p;
}

Eigen::VectorXd solved(const Problem& p, Method method) {
  Settings s;
  s.method = method;
  s.tolerance = 1e-14;
  s.max_sweeps = 100000;
  Workspace ws;
  Eigen::VectorXd z = Eigen::VectorXd::Zero(p.rows());
  EXPECT_TRUE(solve(p, s, ws, {z.data(), static_cast<std::size_t>(z.size())}).ok());
  return z;
}

/// The solution by trying every active set; a P-matrix has exactly one.
Eigen::VectorXd enumerated(const Eigen::MatrixXd& m, const Eigen::VectorXd& q) {
  const int n = static_cast<int>(q.size());
  Eigen::VectorXd best;
  double best_violation = kInfinity;
  for (int set = 0; set < (1 << n); ++set) {
    Eigen::MatrixXd a = Eigen::MatrixXd::Identity(n, n);
    Eigen::VectorXd b = Eigen::VectorXd::Zero(n);
    for (int i = 0; i < n; ++i) {
      if (((set >> i) & 1) == 0) continue;
      a.row(i) = m.row(i);
      b[i] = -q[i];
    }
    const Eigen::VectorXd z = a.fullPivLu().solve(b);
    const double violation = std::max(-z.minCoeff(), -(m * z + q).minCoeff());
    if (violation < best_violation) {
      best_violation = violation;
      best = z;
    }
  }
  return best;
}

TEST(Lcp, KnownSolutions) {
  const Eigen::Matrix2d m{{2, 1}, {1, 2}};
  for (const Method method : {Method::kLemke, Method::kDantzig, Method::kNewton, Method::kBlock,
                              Method::kDefault, Method::kPgs, Method::kSpringhead}) {
    SCOPED_TRACE(name_of(method));
    EXPECT_LT((solved(lcp(m, Eigen::Vector2d(-5, -6)), method) - Eigen::Vector2d(4.0 / 3, 7.0 / 3)).norm(),
              1e-12);
    EXPECT_LT((solved(lcp(m, Eigen::Vector2d(-5, 6)), method) - Eigen::Vector2d(2.5, 0)).norm(), 1e-12);
    EXPECT_LT(solved(lcp(m, Eigen::Vector2d(5, 6)), method).norm(), 1e-300);
  }
}

TEST(Lcp, RandomPMatricesAgreeWithEnumeration) {
  Random random(20);
  for (int trial = 0; trial < 300; ++trial) {
    const int n = 1 + random.below(10);
    Eigen::MatrixXd a(n, n);
    Eigen::MatrixXd skew(n, n);
    Eigen::VectorXd q(n);
    for (int i = 0; i < n; ++i) {
      q[i] = random.normal();
      for (int j = 0; j < n; ++j) {
        a(i, j) = random.normal();
        skew(i, j) = 0.1 * random.normal();
      }
    }
    // positive definite, a third of them not symmetric: P-matrices
    Eigen::MatrixXd m = a * a.transpose() + 0.1 * Eigen::MatrixXd::Identity(n, n);
    if (trial % 3 == 0) m += skew - skew.transpose();
    const Eigen::VectorXd expected = enumerated(m, q);
    for (const Method method : {Method::kLemke, Method::kDantzig, Method::kNewton, Method::kDefault}) {
      SCOPED_TRACE(std::string(name_of(method)) + " trial " + std::to_string(trial));
      // condition numbers reach 1e3, residuals 1e-14: 1e-9 has room
      EXPECT_LT((solved(lcp(m, q), method) - expected).norm(), 1e-9 * (1.0 + expected.norm()));
    }
  }
}

}  // namespace
}  // namespace karakuri::solver
