// What methods may take is bounded by counted work, and what they leave then is safe.
#include <gtest/gtest.h>

#include <cmath>

#include "karakuri/solver/solve.h"
#include "support/contact_problems.h"

namespace karakuri::solver {
namespace {

constexpr Method kAll[] = {Method::kDefault, Method::kBlock,        Method::kNewton,
                           Method::kPgs,     Method::kPgsIsotropic, Method::kSpringhead,
                           Method::kDantzig, Method::kLemke,        Method::kQuickstep};

/// What the impulses add to the energy of motion.
double energy_made(const Problem& p, std::span<const double> lambda) {
  std::vector<double> u(lambda.size()), velocity(p.velocities());
  row_velocities(p, lambda, velocity, u);
  double energy = 0;
  for (std::size_t i = 0; i < u.size(); ++i) energy += 0.5 * lambda[i] * (u[i] + p.q[i]);
  return energy;
}

TEST(Budget, EveryMethodHonoursItAndMakesNoEnergy) {
  const test::ContactScene tower = test::box_tower(6, 0.5), pile = test::sphere_pile(3, 0.5, 7);
  for (const Problem* p : {&tower.problem, &pile.problem}) {
    for (const Method method : kAll) {
      Settings settings{.method = method, .tolerance = 1e-14, .explain_failure = false};
      Workspace workspace;
      std::vector<double> all(p->rows(), 0.0);
      const Result<Report> whole = solve(*p, settings, workspace, all);
      ASSERT_TRUE(whole.ok()) << to_string(whole.errors());
      EXPECT_FALSE(whole->out_of_work) << name_of(method);
      ASSERT_GT(whole->work, 0) << name_of(method);
      const double one = 200.0 * p->rows() * p->rows();  // no method looks more often than after so much
      for (const double share : {0.0, 0.01, 0.1, 0.5}) {
        SCOPED_TRACE(std::string(name_of(method)) + " " + std::to_string(share));
        settings.max_work = share * whole->work;
        std::vector<double> lambda(p->rows(), 0.0), again(p->rows(), 0.0);
        const Result<Report> report = solve(*p, settings, workspace, lambda);
        ASSERT_TRUE(report.ok());
        EXPECT_LE(report->work, settings.max_work + one);
        EXPECT_TRUE(report->out_of_work || report->work < settings.max_work);
        EXPECT_LE(energy_made(*p, lambda), 1e-12 * std::abs(energy_made(*p, all)));
        for (const double x : lambda) ASSERT_TRUE(std::isfinite(x));
        Workspace other;
        ASSERT_TRUE(solve(*p, settings, other, again).ok());
        EXPECT_EQ(lambda, again) << "counted, not timed";
      }
    }
  }
}

// Half of what a pivoting method wants is no use to it; sweeps with the rest are nearly as good as any.
TEST(Budget, WhatIsLeftOfItMendsWhatAMethodLeaves) {
  const test::ContactScene pile = test::sphere_pile(3, 0.5, 7);
  const Problem& p = pile.problem;
  std::vector<double> none(p.rows(), 0.0);
  Workspace workspace;
  for (const Method method : {Method::kDantzig, Method::kLemke}) {
    SCOPED_TRACE(name_of(method));
    Settings settings{.method = method, .explain_failure = false};
    std::vector<double> lambda = none;
    settings.max_work = 0.5 * solve(p, settings, workspace, lambda)->work;
    lambda = none;
    const Report report = *solve(p, settings, workspace, lambda);
    EXPECT_TRUE(report.out_of_work);
    EXPECT_EQ(report.method, Method::kBlock);
    EXPECT_LT(report.residual, 1e-3 * norm_q(p));
  }
}

}  // namespace
}  // namespace karakuri::solver
