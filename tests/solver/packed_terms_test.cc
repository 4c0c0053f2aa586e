// The packed operator is the problem's own in other coordinates: the same velocities of rows, and sweeps that
// find the same impulses.
#include "solver/packed_terms.h"

#include <gtest/gtest.h>

#include <cmath>

#include "karakuri/core/random.h"
#include "karakuri/solver/solve.h"

namespace karakuri::solver {
namespace {

/// Trees of some dofs, of which each contact moves only some; as contacts, limits and equalities.
Problem random_problem(Random& random) {
  Problem p;
  p.clear(OperatorKind::kMatrixFree);
  const int trees = 2 + static_cast<int>(random.uniform(0, 4));
  for (int t = 0; t < trees; ++t) p.add_subsystem(1 + static_cast<int>(random.uniform(0, 30)));
  for (int i = 0; i < p.velocities(); ++i) p.inverse_mass.push_back(std::exp(random.uniform(-7, 7)));
  const int blocks = 3 + static_cast<int>(random.uniform(0, 20));
  for (int b = 0; b < blocks; ++b) {
    const double kind = random.uniform();
    const int size = kind < 0.6 ? 3 : kind < 0.8 ? 1 : 2;
    if (size == 3) p.add_cone(0.5);
    if (size == 1) p.add_complementarity();
    if (size == 2) p.add_equality(2);
    const int first = static_cast<int>(random.uniform(0, trees));
    const int count = random.uniform() < 0.5 ? 1 : 2;
    for (int k = 0; k < count; ++k) {
      const int tree = (first + k) % trees;
      const Term term = p.add_term(tree);
      const int dof = p.subsystems[tree].dof;
      const std::span<double> j = p.jacobian_of(term, size), y = p.response_of(term, size);
      for (int d = 0; d < dof; ++d) {
        if (random.uniform() < 0.6) continue;  // a path to the root is a part of the tree
        for (int r = 0; r < size; ++r) {
          j[r * dof + d] = random.uniform(-1, 1);
          y[r * dof + d] = j[r * dof + d] * p.inverse_mass[p.subsystems[tree].velocity + d];
        }
      }
    }
  }
  for (double& q : p.q) q = random.uniform(-1, 1);
  for (double& c : p.compliance) c = 1e-3;  // equalities may be redundant: one solution all the same
  return p;
}

TEST(PackedTerms, ApplyTheSameOperator) {
  for (int seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Problem p = random_problem(random);
    ASSERT_TRUE(validate(p).empty());
    ASSERT_TRUE(suits_packing(p));
    std::vector<double> lambda(p.rows()), velocity(p.velocities()), expected(p.rows()), u(p.rows());
    for (double& x : lambda) x = random.uniform(-1, 1);
    apply_operator(p, lambda, velocity, expected);
    PackedTerms packed;
    pack_terms(p, packed);
    packed_apply(p, lambda, packed, u.data());
    double scale = 0;  // sums of up to 100 products: their rounding, with an order of margin
    for (const double x : expected) scale = std::max(scale, std::abs(x));
    for (int i = 0; i < p.rows(); ++i) EXPECT_NEAR(u[i], expected[i], 1e-12 * (scale + 1)) << i;
  }
}

/// Where masses of velocities are not told, nothing is packed: the same sweeps on J and its responses.
TEST(PackedTerms, SweepsFindTheSameImpulses) {
  for (int seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Random random(1000 + seed);
    const Problem p = random_problem(random);
    Problem plain = p;
    plain.inverse_mass.clear();
    ASSERT_FALSE(suits_packing(plain));
    Settings s;
    s.method = Method::kBlock;
    s.measure = Measure::kScaled;
    s.tolerance = 0;
    s.max_sweeps = 7;  // few: what rounding does to classes has no time to grow
    s.explain_failure = false;
    Workspace ws;
    std::vector<double> a(p.rows(), 0.0), b(p.rows(), 0.0);
    const Result<Report> packed = solve(p, s, ws, a), other = solve(plain, s, ws, b);
    ASSERT_TRUE(packed.ok() && other.ok());
    double size = 0;
    for (const double x : b) size = std::max(size, std::abs(x));
    for (int i = 0; i < p.rows(); ++i) EXPECT_NEAR(a[i], b[i], 1e-9 * (size + 1)) << i;
  }
}

TEST(PackedTerms, LeaveOutWhatNothingActsOn) {
  Problem p;
  p.clear(OperatorKind::kMatrixFree);
  p.add_subsystem(32);
  p.inverse_mass.assign(32, 1.0);
  p.add_complementarity();
  const Term term = p.add_term(0);
  p.jacobian_of(term, 1)[17] = p.response_of(term, 1)[17] = 1;
  PackedTerms packed;
  pack_terms(p, packed);
  EXPECT_EQ(packed.at, std::vector<std::int32_t>{16});
  EXPECT_EQ(packed.values.size(), 4u);
}

}  // namespace
}  // namespace karakuri::solver
