// What the solvers do with problems that are redundant, badly scaled, contradictory or ill-formed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "karakuri/solver/solve.h"
#include "support/contact_problems.h"

namespace karakuri::solver {
namespace {

using test::ContactScene;

constexpr Method kExact[] = {Method::kDefault, Method::kBlock, Method::kNewton};
constexpr Method kAll[] = {Method::kDefault,      Method::kBlock,      Method::kNewton,  Method::kPgs,
                           Method::kPgsIsotropic, Method::kSpringhead, Method::kDantzig, Method::kLemke};

Report solved(const Problem& p, Settings s, std::vector<double>& lambda) {
  Workspace ws;
  lambda.assign(p.rows(), 0.0);
  const Result<Report> report = solve(p, s, ws, lambda);
  EXPECT_TRUE(report.ok()) << to_string(report.errors());
  return report.ok() ? report.value() : Report{};
}

double relative(const Problem& p, const std::vector<double>& lambda) {
  std::vector<double> u(p.rows());
  std::vector<double> velocity(p.velocities());
  row_velocities(p, lambda, velocity, u);
  return natural_map(p, lambda, u) / norm_q(p);
}

TEST(Robustness, TowersOfRedundantContacts) {
  for (const Method method : {Method::kDefault, Method::kNewton}) {
    SCOPED_TRACE(name_of(method));
    for (const int height : {1, 5, 20}) {
      const ContactScene tower = test::box_tower(height, 0.5);
      std::vector<double> lambda;
      EXPECT_EQ(solved(tower.problem, {.method = method}, lambda).status, Status::kConverged) << height;
      EXPECT_LE(relative(tower.problem, lambda), 1e-8) << height;
    }
  }
}

TEST(Robustness, VelocitiesAreThoseOfTheReturnedImpulses) {
  const ContactScene tower = test::box_tower(5, 0.5), small = test::box_tower(2, 0.5);
  Workspace ws;  // shared: sizes change from one problem to the next
  for (const ContactScene* scene : {&tower, &small, &tower}) {
    const Problem& p = scene->problem;
    for (const Method method : kAll) {
      SCOPED_TRACE(name_of(method));
      for (const int newton : {1000, 0}) {  // without newton some are left unsolved
        std::vector<double> lambda(p.rows(), 0.0), u(p.rows()), velocity(p.velocities());
        ASSERT_TRUE(solve(p, {.method = method, .max_sweeps = 20, .max_newton = newton}, ws, lambda).ok());
        row_velocities(p, lambda, velocity, u);
        ASSERT_EQ(ws.velocities().size(), u.size());
        for (int i = 0; i < p.rows(); ++i) EXPECT_NEAR(ws.velocities()[i], u[i], 1e-12 * norm_q(p));
      }
    }
  }
}

TEST(Robustness, RhoMayBeHandedIn) {
  const Problem p = test::box_tower(3, 0.5).problem;
  std::vector<double> rho(p.block_count()), one, other(p.rows(), 0.0);
  block_rho(p, rho);
  Workspace ws;
  solved(p, {.measure = Measure::kScaled}, one);
  ASSERT_TRUE(solve(p, {.measure = Measure::kScaled, .rho = rho}, ws, other).ok());
  EXPECT_EQ(one, other);
  rho.pop_back();
  EXPECT_FALSE(solve(p, {.measure = Measure::kScaled, .rho = rho}, ws, other).ok());
}

TEST(Robustness, MassRatiosUpTo1e8) {
  for (const double ratio : {1e4, 1e8}) {
    for (const bool heavy_on_top : {true, false}) {
      const ContactScene tower = test::box_tower(4, 0.5, heavy_on_top ? ratio : 1.0 / ratio);
      for (const Measure measure : {Measure::kUnit, Measure::kScaled}) {
        std::vector<double> lambda;
        const Report report = solved(tower.problem, {.measure = measure}, lambda);
        EXPECT_EQ(report.status, Status::kConverged)
            << ratio << heavy_on_top << report.residual / report.target;
      }
    }
  }
}

TEST(Robustness, PilesOfSpheres) {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    for (const double mu : {0.0, 0.3, 1.0}) {
      const ContactScene pile = test::sphere_pile(4, mu, seed);
      std::vector<double> lambda;
      EXPECT_EQ(solved(pile.problem, {}, lambda).status, Status::kConverged) << seed << " " << mu;
      EXPECT_LE(relative(pile.problem, lambda), 1e-8);
    }
  }
}

TEST(Robustness, OverConstrainedLoops) {
  // a row of boxes between two walls of ball joints, four joints where one would do
  std::vector<test::Body> bodies;
  for (int i = 0; i < 6; ++i) bodies.push_back(test::box_body(1.0, {1, 1, 1}, {1.0 * i, 0, 0}));
  ContactScene scene(std::move(bodies));
  for (int i = 0; i <= 6; ++i)
    for (const double y : {-0.5, 0.5})
      for (const double z : {-0.5, 0.5}) scene.ball_joint(i < 6 ? i : -1, i - 1, {i - 0.5, y, z});
  scene.set_free_velocity({0, 0, -9.81}, 0.01);
  for (const Method method : kExact) {
    SCOPED_TRACE(name_of(method));
    std::vector<double> lambda;
    EXPECT_EQ(solved(scene.problem, {.method = method, .max_sweeps = 20000}, lambda).status,
              Status::kConverged);
  }
}

TEST(Robustness, LongChainIsFinishedByNewton) {
  // sweeps carry a force over one link each: 200 links are what they are bad at
  std::vector<test::Body> bodies;
  for (int i = 0; i < 200; ++i) bodies.push_back(test::box_body(1.0, {1, 0.1, 0.1}, {1.0 * i + 0.5, 0, 0}));
  ContactScene scene(std::move(bodies));
  for (int i = 0; i < 200; ++i) scene.ball_joint(i, i - 1, {1.0 * i, 0, 0});
  scene.set_free_velocity({0, 0, -9.81}, 0.01);
  std::vector<double> lambda;
  const Report report = solved(scene.problem, {}, lambda);
  EXPECT_EQ(report.status, Status::kConverged);
  EXPECT_LT(report.newton_iterations, 20);
}

TEST(Robustness, SlightlyNonSymmetricOperators) {
  Random random(7);
  for (int trial = 0; trial < 20; ++trial) {
    Problem p = test::as_dense(test::sphere_pile(3, 0.5, 100 + trial).problem);
    for (double& w : p.dense) w *= 1.0 + 1e-3 * random.uniform(-1, 1);
    std::vector<double> lambda;
    EXPECT_EQ(solved(p, {}, lambda).status, Status::kConverged) << trial;
    EXPECT_LE(relative(p, lambda), 1e-8);
  }
}

TEST(Robustness, ZeroRowsAreLeftAlone) {
  for (const Method method : kAll) {
    SCOPED_TRACE(name_of(method));
    Problem p;
    p.clear(OperatorKind::kDense);
    p.add_equality(1);
    p.add_cone(0.5);
    p.add_complementarity();
    p.dense.assign(25, 0.0);
    p.dense[24] = 2.0;
    p.q = {0, 0, 0, 0, -1};  // the zero rows are content as they are
    std::vector<double> lambda;
    EXPECT_EQ(solved(p, {.method = method}, lambda).status, Status::kConverged);
    EXPECT_NEAR(lambda[4], 0.5, 1e-8);
  }
}

TEST(Robustness, ContradictionsAreReported) {
  std::vector<Problem> contradictions;
  {  // a body between two walls that come closer
    ContactScene scene({test::box_body(1.0, {1, 1, 1}, {0, 0, 0})});
    scene.contact(0, -1, {0, 0, -0.5}, {0, 0, 1}, 0.5);
    scene.contact(0, -1, {0, 0, 0.5}, {0, 0, -1}, 0.5);
    scene.problem.q[0] = scene.problem.q[3] = -1.0;
    contradictions.push_back(scene.problem);
  }
  {  // one point told to move at two speeds
    ContactScene scene({test::box_body(1.0, {1, 1, 1}, {0, 0, 0})});
    scene.ball_joint(0, -1, {0, 0, 0});
    scene.ball_joint(0, -1, {0, 0, 0});
    scene.problem.q[0] = 1.0;
    contradictions.push_back(scene.problem);
  }
  {  // nothing can act on a row that has to change
    Problem p;
    p.clear(OperatorKind::kDense);
    p.add_complementarity();
    p.dense = {0.0};
    p.q = {-1.0};
    contradictions.push_back(p);
  }
  for (const Problem& p : contradictions) {
    for (const Method method : kAll) {
      SCOPED_TRACE(name_of(method));
      std::vector<double> lambda;
      EXPECT_EQ(solved(p, {.method = method}, lambda).status, Status::kInfeasible);
      for (const double x : lambda) EXPECT_TRUE(std::isfinite(x));
    }
  }
}

TEST(Robustness, FailuresAreExplainedOnlyWhereAsked) {
  Problem p;
  p.clear(OperatorKind::kDense);
  p.add_complementarity();
  p.dense = {0.0};
  p.q = {-1.0};
  std::vector<double> lambda;
  EXPECT_EQ(solved(p, {}, lambda).status, Status::kInfeasible);
  EXPECT_EQ(solved(p, {.explain_failure = false}, lambda).status, Status::kIterationLimit);
}

TEST(Robustness, FeasibleProblemsAreNotCalledInfeasible) {
  // far too few sweeps: unsolved, but not contradictory
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const ContactScene pile = test::sphere_pile(4, 0.7, seed);
    std::vector<double> lambda;
    EXPECT_EQ(solved(pile.problem, {.method = Method::kBlock, .max_sweeps = 2}, lambda).status,
              Status::kIterationLimit);
  }
}

TEST(Robustness, StorageDoesNotMatter) {
  for (const std::uint64_t seed : {5u, 6u}) {
    const Problem free = test::sphere_pile(3, 0.6, seed).problem;
    for (const Method method : kAll) {
      SCOPED_TRACE(name_of(method));
      std::vector<double> a;
      std::vector<double> b;
      std::vector<double> c;
      const Settings s{.method = method, .tolerance = 1e-12, .max_sweeps = 20000};
      const Report report = solved(free, s, a);
      solved(test::as_dense(free), s, b);
      solved(test::as_block_sparse(free), s, c);
      // spheres touch at 60 points with 162 velocities: W is regular and the solution unique, up to what the
      // method's own stopping rule leaves
      const double tolerance = report.status == Status::kConverged ? 1e-8 : 1e-6;
      for (int i = 0; i < free.rows(); ++i) {
        EXPECT_NEAR(a[i], b[i], tolerance);
        EXPECT_NEAR(a[i], c[i], tolerance);
      }
    }
  }
}

TEST(Robustness, SameInputSameBits) {
  const Problem p = test::box_tower(10, 0.5).problem;
  for (const Method method : kAll) {
    SCOPED_TRACE(name_of(method));
    std::vector<double> first;
    solved(p, {.method = method}, first);
    // another problem in between leaves nothing behind in the workspace
    Workspace ws;
    std::vector<double> other(test::sphere_pile(3, 0.5, 9).problem.rows(), 0.0);
    ASSERT_TRUE(solve(test::sphere_pile(3, 0.5, 9).problem, {.method = method}, ws, other).ok());
    std::vector<double> second(p.rows(), 0.0);
    ASSERT_TRUE(solve(p, {.method = method}, ws, second).ok());
    EXPECT_EQ(first, second);
  }
}

TEST(Robustness, WarmStartFromTheSolutionCostsNothing) {
  const Problem p = test::box_tower(10, 0.5).problem;
  std::vector<double> lambda;
  solved(p, {}, lambda);
  Workspace ws;
  const Result<Report> again = solve(p, {}, ws, lambda);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value().sweeps + again.value().newton_iterations, 0);
  lambda.assign(p.rows(), std::nan(""));  // a bad guess is dropped
  EXPECT_EQ(solve(p, {}, ws, lambda).value().status, Status::kConverged);
}

TEST(Robustness, ErrorsSayWhatToDo) {
  using ::testing::HasSubstr;
  const Result<Method> method = method_from_name("gauss");
  ASSERT_FALSE(method.ok());
  EXPECT_THAT(to_string(method.errors()), HasSubstr("no method is called 'gauss' (known: default, block"));

  Problem p;
  p.clear(OperatorKind::kDense);
  const double mu[] = {0.5, 0.5, 0.1};
  p.add_cone(mu);
  p.dense.assign(16, 0.0);
  Workspace ws;
  std::vector<double> lambda(4, 0.0);
  const auto message = [&](const Settings& s) {
    const Result<Report> report = solve(p, s, ws, lambda);
    return report.ok() ? std::string() : to_string(report.errors());
  };
  EXPECT_THAT(message({.method = Method::kLemke}), HasSubstr("torsional"));
  p.q[2] = std::nan("");
  EXPECT_THAT(message({}), HasSubstr("q is not finite at row 2"));
  p.q[2] = 0.0;
  p.friction[1] = -1.0;
  EXPECT_THAT(message({}), HasSubstr("friction is negative"));
  p.friction[1] = 1.0;
  p.dense[5] = kInfinity;
  EXPECT_THAT(message({}), HasSubstr("W is not finite"));
  p.dense.pop_back();
  EXPECT_THAT(message({}), HasSubstr("does not fit"));
}

// A box that excludes zero: impulses that were shortened, or compared with none at all, were beyond its
// bounds.
TEST(Robustness, BoxesThatExcludeZeroAreKept) {
  constexpr Method kEvery[] = {Method::kDefault,    Method::kBlock,   Method::kNewton,
                               Method::kPgs,        Method::kDantzig, Method::kPgsIsotropic,
                               Method::kSpringhead, Method::kLemke,   Method::kQuickstep};
  for (const Method method : kEvery)
    for (const double work : {kInfinity, 1e3, 1.0}) {
      SCOPED_TRACE(name_of(method));
      ContactScene scene = test::box_tower(3, 0.5);
      const int box = scene.problem.add_box(0.5, 0.7);
      const Term term = scene.problem.add_term(0);
      const std::span<double> jacobian = scene.problem.jacobian_of(term, 1);
      jacobian[2] = -1, jacobian[3] = 0.3;
      const double inverse[9] = {6, 0, 0, 0, 6, 0, 0, 0, 6};
      set_rigid_response(scene.problem, term, 1, 1.0, inverse);
      const Problem& p = scene.problem;
      std::vector<double> lambda(static_cast<std::size_t>(p.rows()), 0.0);
      Workspace ws;
      const Result<Report> report =
          solve(p, {.method = method, .max_sweeps = 5, .max_work = work}, ws, lambda);
      ASSERT_TRUE(report.ok()) << to_string(report.errors());
      const double x = lambda[static_cast<std::size_t>(p.blocks[static_cast<std::size_t>(box)].row)];
      EXPECT_GE(x, 0.5);
      EXPECT_LE(x, 0.7);
    }
}

// A bound that is tiny beside the impulse before: what is added to that to reach the bound is rounded to
// zero.
TEST(Robustness, TinyBoundsAreKept) {
  for (const Method method : {Method::kPgs, Method::kPgsIsotropic, Method::kBlock, Method::kSpringhead}) {
    SCOPED_TRACE(name_of(method));
    Problem p;
    p.add_box(8e-304, 1.0);
    p.q = {5.0};
    p.dense = {1.0};
    std::vector<double> lambda = {1.0};
    Workspace ws;
    const Result<Report> report = solve(p, {.method = method, .max_sweeps = 1}, ws, lambda);
    ASSERT_TRUE(report.ok()) << to_string(report.errors());
    EXPECT_EQ(lambda[0], 8e-304);
  }
}

// An operator that is not symmetric, of which some blocks have nothing across the diagonal: they were left
// out of the order in which the Newton method eliminates, and it wrote beyond its factor.
TEST(Robustness, OperatorsWithoutSymmetryAreAnswered) {
  Random r(4);
  for (int trial = 0; trial < 200; ++trial) {
    Problem p;
    const int blocks = 2 + r.below(8);
    for (int i = 0; i < blocks; ++i) p.add_box(-10, 10);
    const auto n = static_cast<std::size_t>(p.rows());
    p.dense.assign(n * n, 0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        p.dense[i * n + j] = i == j ? 2 : r.below(3) == 0 ? r.uniform(-0.5, 0.5) : 0;
    for (double& q : p.q) q = r.uniform(-1, 1);
    for (const Method method : {Method::kDefault, Method::kNewton, Method::kBlock}) {
      std::vector<double> lambda(n, 0.0);
      Workspace ws;
      const Result<Report> report = solve(p, {.method = method}, ws, lambda);
      ASSERT_TRUE(report.ok()) << to_string(report.errors());
      for (const double x : lambda) EXPECT_TRUE(std::isfinite(x));
    }
  }
}

}  // namespace
}  // namespace karakuri::solver
