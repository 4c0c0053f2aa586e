// Random small problems, good and bad: whatever comes in, what comes out is finite, in time, and honestly
// labelled.
//
// KARAKURI_FUZZ sets how many (default 20 000, a few seconds); docs/solvers.md says when a million were last
// run.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "karakuri/core/random.h"
#include "karakuri/solver/solve.h"

namespace karakuri::solver {
namespace {

double any_size(Random& random, double decades) { return std::pow(10.0, random.uniform(-decades, decades)); }

void add_random_block(Random& random, Problem& p) {
  switch (random.below(8)) {
    case 0: p.add_equality(1 + random.below(6)); break;
    case 1: p.add_linear(any_size(random, 6), 0.0); break;
    case 2: p.add_complementarity(); break;
    case 3: {
      const double low = random.below(4) == 0 ? -kInfinity : random.normal();
      const double high = random.below(4) == 0 ? kInfinity : random.normal();
      p.add_box(std::min(low, high), std::max(low, high));
      break;
    }
    case 4: {
      std::vector<double> mu(2 + random.below(4));
      for (double& m : mu) m = random.below(5) == 0 ? 0.0 : any_size(random, 2);
      p.add_cone(mu);
      break;
    }
    case 5: p.add_planar_cone(random.uniform()); break;
    default: p.add_cone(random.below(6) == 0 ? 0.0 : (random.below(6) == 0 ? 1e8 : random.uniform(0, 1.5)));
  }
}

/// Rows over a few subsystems, in scales from 1 to 1e12; some rows repeat others, some do nothing.
Problem random_problem(Random& random) {
  Problem p;
  p.clear(OperatorKind::kMatrixFree);
  const int subsystems = 1 + random.below(4);
  for (int s = 0; s < subsystems; ++s) p.add_subsystem(1 + random.below(7));
  const double decades = random.below(3) == 0 ? 6.0 : 0.5;
  const int blocks = random.below(8);
  for (int b = 0; b < blocks; ++b) {
    add_random_block(random, p);
    const Block block = p.blocks.back();
    const double scale = any_size(random, decades);
    for (int t = random.below(3); t > 0; --t) {
      const int s = random.below(subsystems);
      const Term term = p.add_term(s);
      const int dof = p.subsystems[s].dof;
      for (int r = 0; r < block.size; ++r) {
        const bool repeat = r > 0 && random.below(6) == 0;
        for (int k = 0; k < dof; ++k) {
          double& j = p.jacobian[term.offset + r * dof + k];
          j = repeat ? p.jacobian[term.offset + k] : scale * random.normal();
          p.response[term.offset + r * dof + k] = j / (1.0 + s);  // inverse inertia 1/(1 + s)
        }
      }
    }
    for (int r = 0; r < block.size; ++r) {
      if (random.below(10) != 0) p.q[block.row + r] = any_size(random, decades) * random.normal();
      if (random.below(8) == 0) p.compliance[block.row + r] = any_size(random, 6);
    }
  }
  return p;
}

/// W as a matrix, perhaps spoilt: not symmetric, or indefinite.
void make_dense(Random& random, Problem& p) {
  const int n = p.rows();
  std::vector<double> unit(n);
  std::vector<double> column(n);
  std::vector<double> velocity(p.velocities());
  p.dense.assign(static_cast<std::size_t>(n) * n, 0.0);
  for (int c = 0; c < n; ++c) {
    unit.assign(n, 0.0);
    unit[c] = 1.0;
    apply_operator(p, unit, velocity, column);
    for (int r = 0; r < n; ++r) p.dense[r * n + c] = column[r];
  }
  p.storage = OperatorKind::kDense;
  const int spoil = random.below(4);
  for (double& w : p.dense) {
    if (spoil == 1) w *= 1.0 + 1e-3 * random.normal();
    if (spoil == 2) w = random.normal();
  }
}

/// Something is wrong with the answer; empty where nothing is.
std::string complaint(const Problem& p, const Report& report, const std::vector<double>& lambda) {
  for (const double x : lambda)
    if (!std::isfinite(x)) return "an impulse is not finite";
  std::vector<double> u(p.rows());
  std::vector<double> velocity(p.velocities());
  row_velocities(p, lambda, velocity, u);
  const double residual = natural_map(p, lambda, u);
  // the solver's sums run in another order than these: a few ulps of their largest term
  double largest = norm_q(p);
  for (const double x : lambda) largest = std::max(largest, std::abs(x));
  for (const double x : u) largest = std::max(largest, std::abs(x));
  double operator_size = 0.0;
  for (const double w : p.dense) operator_size = std::max(operator_size, std::abs(w));
  for (const double j : p.jacobian) operator_size = std::max(operator_size, j * j);
  for (const double c : p.compliance) operator_size = std::max(operator_size, c);
  double impulse = 0.0;
  for (const double x : lambda) impulse += std::abs(x);
  double least = 1e8;
  double most = 1.0;
  for (const double mu : p.friction) {
    if (mu > 0.0) least = std::min(least, mu);
    most = std::max(most, mu);
  }
  // û holds μ |u_t|, and an elliptic cone is measured in coordinates stretched by the ratios of its
  // coefficients
  const double slack = 1e-11 * (largest + operator_size * impulse) * most * std::max(1.0, most / least);
  if (!(std::abs(residual - report.residual) <= slack + 1e-6 * residual + 1e-3 * report.target))
    return "the residual is " + std::to_string(residual) + ", not " + std::to_string(report.residual);
  if (report.status == Status::kConverged && !(residual <= report.target * (1 + 1e-6) + slack))
    return "not converged";
  if (report.sweeps > 2000 || report.newton_iterations > 300) return "endless";
  return {};
}

TEST(Fuzz, FiniteInTimeAndHonest) {
  const char* wish = std::getenv("KARAKURI_FUZZ");
  const long count = wish != nullptr ? std::atol(wish) : 20000;
  const char* seed_wish = std::getenv("KARAKURI_FUZZ_SEED");
  Random random(seed_wish != nullptr ? std::strtoull(seed_wish, nullptr, 10) : 2024);
  Workspace ws;
  std::vector<double> lambda;
  long statuses[4] = {};
  const Method methods[] = {Method::kDefault, Method::kDefault,      Method::kBlock,      Method::kNewton,
                            Method::kPgs,     Method::kPgsIsotropic, Method::kSpringhead, Method::kDantzig,
                            Method::kLemke,   Method::kQuickstep};
  for (long k = 0; k < count; ++k) {
    const std::uint64_t seed = random.state();
    Problem p = random_problem(random);
    if (random.below(2) == 0) make_dense(random, p);
    const Settings s{.method = methods[random.below(10)],
                     .measure = Measure::kUnit,
                     .tolerance = random.below(2) == 0 ? 1e-8 : 1e-4,
                     .max_sweeps = 200,
                     .max_newton = 40,
                     .max_pivots = 400};
    lambda.resize(p.rows());
    for (double& x : lambda) x = random.below(3) == 0 ? random.normal() : 0.0;
    const Result<Report> report = solve(p, s, ws, lambda);
    if (!report.ok()) {  // only lemke refuses: wide cones
      ASSERT_EQ(s.method, Method::kLemke) << to_string(report.errors());
      continue;
    }
    ++statuses[static_cast<int>(report.value().status)];
    if (report.value().status == Status::kInfeasible && k % 32 == 0) {
      // called impossible: then much more effort must not solve it either
      std::vector<double> other(p.rows(), 0.0);
      const Settings hard{.tolerance = s.tolerance, .max_sweeps = 5000, .max_newton = 200};
      const Result<Report> second = solve(p, hard, ws, other);
      ASSERT_TRUE(second.ok());
      ASSERT_NE(second.value().status, Status::kConverged)
          << "seed " << seed << " method " << name_of(s.method);
    }
    ASSERT_EQ(complaint(p, report.value(), lambda), "") << "seed " << seed << " method " << name_of(s.method);
  }
  RecordProperty("converged", std::to_string(statuses[0]));
  RecordProperty("limit", std::to_string(statuses[1]));
  RecordProperty("stalled", std::to_string(statuses[2]));
  RecordProperty("infeasible", std::to_string(statuses[3]));
  // a generator of nothing but hopeless problems would prove nothing
  EXPECT_GE(statuses[0], count / 4);
}

}  // namespace
}  // namespace karakuri::solver
