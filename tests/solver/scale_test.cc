// Units do not matter: the same problem with velocities in units 2^a times smaller and mobilities in units
// 2^c times smaller has the same impulses, times 2^(a − c), bit for bit. c is even: roots of W are taken.
#include <gtest/gtest.h>

#include <cmath>

#include "karakuri/core/random.h"
#include "karakuri/solver/guess.h"
#include "karakuri/solver/solve.h"
#include "support/contact_problems.h"

namespace karakuri::solver {
namespace {

struct Units {
  int velocity = 0;  // a: of rows
  int mobility = 0;  // c: of W, even
  int length = 0;    // of every other velocity of a subsystem, as if it were an angle
};

constexpr Units kUnits[] = {{5, -30, 10}, {-5, 30, -10}, {5, 0, 10},
                            {0, 30, 0},   {-7, -14, 6},  {40, -60, -20}};

double times(double x, int exponent) { return std::ldexp(x, exponent); }

void scale(std::vector<double>& values, int exponent) {
  for (double& x : values) x = times(x, exponent);
}

/// Jacobians and responses of one term: angles are turned into other units of length.
void scale_terms(const Units& units, Problem& p) {
  for (int i = 0; i < p.block_count(); ++i) {
    for (int t = p.term_start[i]; t < p.term_start[i + 1]; ++t) {
      const int dof = p.subsystems[p.terms[t].subsystem].dof;
      for (int k = 0; k < p.blocks[i].size * dof; ++k) {
        const int length = k % dof % 2 == 1 ? units.length : 0;
        double& j = p.jacobian[p.terms[t].offset + k];
        double& y = p.response[p.terms[t].offset + k];
        j = times(j, length);
        y = times(y, units.mobility - length);
      }
    }
  }
}

void scale_links(const Units& units, Problem& p) {
  const auto length = [&](int k) { return k % 2 == 1 ? units.length : 0; };
  for (Link& link : p.links) {
    for (int r = 0; r < 6; ++r) {
      for (int c = 0; c < 6; ++c) {
        link.up[6 * r + c] = times(link.up[6 * r + c], length(r) - length(c));
        link.own[6 * r + c] = times(link.own[6 * r + c], units.mobility - length(r) - length(c));
        link.whole[6 * r + c] = times(link.whole[6 * r + c], units.mobility - length(r) - length(c));
      }
    }
  }
}

Problem in_units(Problem p, const Units& units) {
  scale(p.q, units.velocity);
  scale(p.compliance, units.mobility);
  scale(p.lower, units.velocity - units.mobility);
  scale(p.upper, units.velocity - units.mobility);
  scale(p.dense, units.mobility);
  scale(p.entry_values, units.mobility);
  if (p.unit_mass) {
    scale(p.jacobian, units.mobility / 2);
    scale(p.response, units.mobility / 2);
  } else if (p.storage == OperatorKind::kMatrixFree) {
    scale_terms(units, p);
    scale_links(units, p);
  }
  return p;
}

Settings in_units(Settings s, const Units& units) {
  s.absolute = times(s.absolute, units.velocity);
  s.acceptable = times(s.acceptable, units.velocity);
  return s;
}

void add_random_block(Random& random, Problem& p) {
  switch (random.below(9)) {
    case 0: p.add_equality(1 + random.below(6)); break;
    case 1: p.add_linear(random.uniform(0, 2), 0.0); break;
    case 2: p.add_complementarity(); break;
    case 3: {
      const double low = random.below(4) == 0 ? -kInfinity : random.normal();
      const double high = random.below(4) == 0 ? kInfinity : random.normal();
      p.add_box(std::min(low, high), std::max(low, high));
      break;
    }
    case 4: {
      std::vector<double> mu(2 + random.below(4));
      for (double& m : mu) m = random.below(5) == 0 ? 0.0 : random.uniform(0.01, 1.5);
      p.add_cone(mu);
      break;
    }
    case 5: p.add_planar_cone(random.uniform()); break;
    default: p.add_cone(random.below(6) == 0 ? 0.0 : random.uniform(0, 1.5));
  }
}

/// Rows over a few subsystems; some repeat others, some do nothing. @param plain Contacts and single rows
/// only, which every way through the default method takes.
Problem random_problem(Random& random, bool plain) {
  Problem p;
  p.clear(OperatorKind::kMatrixFree);
  const int subsystems = 1 + random.below(4);
  for (int s = 0; s < subsystems; ++s) p.add_subsystem(1 + random.below(7));
  const int blocks = 1 + random.below(plain ? 20 : 10);
  for (int b = 0; b < blocks; ++b) {
    if (plain && random.below(3) != 0)
      p.add_cone(random.uniform(0.1, 1.0));
    else
      add_random_block(random, p);
    const Block block = p.blocks.back();
    for (int t = b > 0 && random.below(8) == 0 ? 0 : 1 + random.below(2); t > 0; --t) {
      const int s = random.below(subsystems);
      const Term term = p.add_term(s);
      const int dof = p.subsystems[s].dof;
      for (int r = 0; r < block.size; ++r) {
        const bool repeat = r > 0 && random.below(8) == 0;
        for (int k = 0; k < dof; ++k) {
          double& j = p.jacobian[term.offset + r * dof + k];
          j = repeat ? p.jacobian[term.offset + k] : random.normal();
          p.response[term.offset + r * dof + k] = j / (1.0 + s);  // inverse inertia 1/(1 + s)
        }
      }
    }
    for (int r = 0; r < block.size; ++r) {
      if (random.below(10) != 0) p.q[block.row + r] = random.normal() - (r == 0 ? 0.5 : 0.0);
      if (random.below(8) == 0) p.compliance[block.row + r] = random.uniform(0, 1);
    }
  }
  return p;
}

/// The same rows on one subsystem of unit mass.
Problem of_unit_mass(Random& random, const Problem& laws) {
  Problem p;
  p.clear(OperatorKind::kMatrixFree);
  for (const Block& block : laws.blocks) {
    switch (block.kind) {
      case RowKind::kEquality: p.add_equality(block.size); break;
      case RowKind::kLinear: p.add_linear(laws.compliance[block.row], 0); break;
      case RowKind::kComplementarity: p.add_complementarity(); break;
      case RowKind::kBox: p.add_box(laws.lower[block.row], laws.upper[block.row]); break;
      case RowKind::kCone: p.add_cone(std::span(laws.friction).subspan(block.row + 1, block.size - 1)); break;
    }
  }
  p.q = laws.q;
  p.compliance = laws.compliance;
  p.add_unit_mass(8);
  for (double& j : p.jacobian) j = random.normal();
  p.responses_are_jacobians();
  return p;
}

struct Answer {
  std::vector<double> lambda;
  Report report;
  bool ok = false;
};

Answer solve_in(const Problem& p, const Settings& s, std::vector<double> start, const Units& units) {
  Answer out{std::move(start), {}, false};
  scale(out.lambda, units.velocity - units.mobility);
  Workspace ws;
  const Result<Report> report = solve(in_units(p, units), in_units(s, units), ws, out.lambda);
  out.ok = report.ok();
  if (out.ok) out.report = *report;
  scale(out.lambda, units.mobility - units.velocity);
  out.report.residual = times(out.report.residual, -units.velocity);
  return out;
}

/// Where the answers differ; empty where they do not.
std::string difference(const Answer& a, const Answer& b) {
  if (a.ok != b.ok) return "refused";
  if (a.report.status != b.report.status) return "status";
  if (a.report.sweeps != b.report.sweeps) return "sweeps";
  if (a.report.newton_iterations != b.report.newton_iterations) return "linear solves";
  if (a.report.residual != b.report.residual) return "residual";
  for (std::size_t i = 0; i < a.lambda.size(); ++i)
    if (a.lambda[i] != b.lambda[i]) return "impulse of row " + std::to_string(i);
  return {};
}

class Scale : public testing::TestWithParam<Method> {};

TEST_P(Scale, ImpulsesAreTheSameNumbersInAllUnits) {
  Random random(7);
  for (int k = 0; k < 200; ++k) {
    const bool plain = random.below(2) == 0;
    Problem p = random_problem(random, plain);
    switch (random.below(4)) {
      case 0: p = test::as_dense(p); break;
      case 1: p = test::as_block_sparse(p); break;
      case 2: p = of_unit_mass(random, p); break;
      default: break;
    }
    const Settings s{.method = GetParam(),
                     .measure = Measure::kScaled,
                     .tolerance = random.below(2) == 0 ? 1e-8 : 1e-13,
                     .absolute = 1e-10,
                     .acceptable = random.below(2) == 0 ? 0 : 1e-6,
                     .max_sweeps = 200,
                     .max_newton = 40,
                     .max_pivots = GetParam() == Method::kDefault ? 0 : 400};
    std::vector<double> start(p.rows());
    for (double& x : start) x = random.below(3) == 0 ? random.normal() : 0.0;
    const Answer plainly = solve_in(p, s, start, {});
    for (const Units& units : kUnits)
      ASSERT_EQ(difference(plainly, solve_in(p, s, start, units)), "")
          << "problem " << k << ", velocity 2^" << units.velocity << ", mobility 2^" << units.mobility;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, Scale,
                         testing::Values(Method::kDefault, Method::kBlock, Method::kNewton, Method::kPgs,
                                         Method::kPgsIsotropic, Method::kSpringhead, Method::kDantzig),
                         [](const auto& info) {
                           std::string name(name_of(info.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// Contacts of bodies: Jacobians have lengths where they turn a body.
Problem in_units_of_bodies(Problem p, const Units& units) {
  const int n = p.rows();
  std::vector<double> q = p.q;
  for (int i = 0; i < p.block_count(); ++i)
    for (int t = p.term_start[i]; t < p.term_start[i + 1]; ++t)
      for (int k = 0; k < 6 * p.blocks[i].size; ++k) {
        const int length = k % 6 >= 3 ? units.length : 0;
        double& j = p.jacobian[p.terms[t].offset + k];
        double& y = p.response[p.terms[t].offset + k];
        j = times(j, length);
        y = times(y, units.mobility - length);
      }
  for (int r = 0; r < n; ++r) p.q[r] = times(q[r], units.velocity);
  return p;
}

TEST(ScaleOfBodies, TheGuessFromAboveIsTheSameInAllUnits) {
  for (int count : {1, 3, 10}) {
    const test::ContactScene tower = test::box_tower(count, 0.5, 3.0);
    std::vector<int> level(count);
    for (int i = 0; i < count; ++i) level[i] = i + 1;
    const auto guess = [&](const Units& units) {
      const Problem p = in_units_of_bodies(tower.problem, units);
      std::vector<double> lambda(p.rows(), 0.0), above(p.rows(), 0.0);
      for (int r = 0; r < p.rows(); r += 3) above[r] = times(-0.0981 - 1e-3 * (r % 7), units.velocity);
      Workspace ws;
      guess_from_above(p, level, above, ws, lambda);
      scale(lambda, units.mobility - units.velocity);
      return lambda;
    };
    const std::vector<double> plainly = guess({});
    for (const Units& units : kUnits) EXPECT_EQ(plainly, guess(units)) << count << " boxes";
  }
}

TEST(ScaleOfBodies, PilesAreTheSameInAllUnits) {
  for (const std::uint64_t seed : {1u, 2u}) {
    const test::ContactScene pile = test::sphere_pile(3, 0.5, seed);
    Settings s = test::for_a_step();
    const auto answer = [&](const Units& units) {
      Answer out{std::vector<double>(pile.problem.rows(), 0.0), {}, true};
      Workspace ws;
      out.report = *solve(in_units_of_bodies(pile.problem, units), in_units(s, units), ws, out.lambda);
      scale(out.lambda, units.mobility - units.velocity);
      out.report.residual = times(out.report.residual, -units.velocity);
      return out;
    };
    const Answer plainly = answer({});
    for (const Units& units : kUnits) EXPECT_EQ(difference(plainly, answer(units)), "");
  }
}

}  // namespace
}  // namespace karakuri::solver
