// CRBA against RNEA columns, the sparse factor against a dense one, and both M^-1 against each other.
#include "karakuri/dynamics/mass_matrix.h"

#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include "karakuri/dynamics/aba.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/rnea.h"
#include "support/test_models.h"

namespace karakuri::test {
namespace {

Eigen::MatrixXd dense_mass_matrix(const Model& model, const State& state, Workspace& ws) {
  MassMatrix M(model);
  crba(model, state, ws, M);
  Eigen::MatrixXd dense(model.nv, model.nv);
  to_dense(model, M, dense);
  return dense;
}

TEST(MassMatrix, ColumnsAreInverseDynamicsOfUnitAccelerations) {
  Random random(2);
  for (const TestModel& m : all_tree_models()) {
    SCOPED_TRACE(m.name);
    Workspace ws(m.model);
    const State state = random_state(m.model, random);
    const Eigen::MatrixXd M = dense_mass_matrix(m.model, state, ws);
    Eigen::VectorXd bias(m.model.nv), column(m.model.nv);
    bias_effort(m.model, state, {}, ws, bias);
    for (int k = 0; k < m.model.nv; ++k) {
      rnea(m.model, state, Eigen::VectorXd::Unit(m.model.nv, k), {}, ws, column);
      // the bias is up to 1e3 times the entries, so its rounding of 1e-16 is left with 1e-13 of the column
      EXPECT_LT((column - bias - M.col(k)).norm(), 1e-11 * (1 + bias.norm() + M.norm())) << "column " << k;
    }
  }
}

TEST(MassMatrix, FactorAgreesWithDense) {
  Random random(3);
  for (const TestModel& m : all_tree_models()) {
    SCOPED_TRACE(m.name);
    Workspace ws(m.model);
    const State state = random_state(m.model, random);
    const Eigen::MatrixXd dense = dense_mass_matrix(m.model, state, ws);
    MassMatrix M(m.model);
    crba(m.model, state, ws, M);
    const Eigen::VectorXd b = random_vector(m.model.nv, random);
    Eigen::VectorXd product(m.model.nv);
    multiply(m.model, M, b, product);
    EXPECT_LT((product - dense * b).norm(), 1e-13 * dense.norm() * b.norm());  // sums of at most 60 terms

    factor(m.model, M);
    Eigen::VectorXd x = b;
    solve(m.model, M, x);
    const Eigen::VectorXd expected = dense.ldlt().solve(b);
    // cond(M) < 1e5 in these models: the solutions may differ by 1e5 roundings
    EXPECT_LT((x - expected).norm(), 1e-10 * expected.norm());
  }
}

TEST(MassMatrix, ArticulatedSolveAgreesWithFactor) {
  Random random(4);
  for (const TestModel& m : all_tree_models()) {
    SCOPED_TRACE(m.name);
    Workspace ws(m.model);
    const State state = random_state(m.model, random);
    MassMatrix M(m.model);
    crba(m.model, state, ws, M);
    factor(m.model, M);
    articulated_factor(m.model, ws);
    const Eigen::VectorXd b = random_vector(m.model.nv, random);
    Eigen::VectorXd x = b, y = b;
    solve(m.model, M, x);
    solve_articulated(m.model, ws, y);
    EXPECT_LT((x - y).norm(), 1e-10 * x.norm());  // cond(M) < 1e5, see above
  }
}

TEST(MassMatrix, LongChains) {
  for (const int links : {10, 100, 1000}) {
    SCOPED_TRACE(links);
    const Model model = compile_or_die(chain(links));
    Workspace ws(model);
    Random random(5);
    State state = random_state(model, random, 0.1);
    const Eigen::VectorXd a = random_vector(model.nv, random);
    Eigen::VectorXd tau(model.nv), back(model.nv), tau_back(model.nv);
    rnea(model, state, a, {}, ws, tau);
    aba(model, state, tau, {}, ws, back);
    rnea(model, state, back, {}, ws, tau_back);
    // Efforts come back to rounding times depth; accelerations only to cond(M), which grows as the fourth
    // power of the length, so it is the effort that can be held to 1e-9 for any chain.
    EXPECT_LT((tau_back - tau).norm(), 1e-9 * tau.norm());

    MassMatrix M(model);
    crba(model, state, ws, M);
    Eigen::VectorXd Ma(model.nv), bias(model.nv);
    multiply(model, M, a, Ma);
    bias_effort(model, state, {}, ws, bias);
    EXPECT_LT((Ma + bias - tau).norm(), 1e-9 * tau.norm());
  }
}

}  // namespace
}  // namespace karakuri::test
