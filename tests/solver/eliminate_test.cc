// Rows that hold are eliminated: redundant, contradictory, with contacts; against closed forms and newton.
#include <gtest/gtest.h>

#include <cmath>

#include "karakuri/solver/solve.h"
#include "support/contact_problems.h"
#include "support/no_alloc.h"

namespace karakuri::solver {
namespace {

using test::ContactScene;
using test::for_a_step;

constexpr double kStep = 0.01, kGravity = 9.81;

/// A plate on four balls in its corners, 12 rows for 6 motions, with `more` bodies strewn on it.
ContactScene plate(int more) {
  Random random(7);
  std::vector<test::Body> bodies{test::box_body(4, {2, 2, 0.1}, {0, 0, 1})};
  for (int i = 0; i < more; ++i) {
    bodies.push_back(test::box_body(1, {0.2, 0.2, 0.2}, {0.5 * i - 0.4, 0.1 * i, 1.15}));
    for (int k = 0; k < 6; ++k) bodies.back().velocity[k] = random.uniform(-0.3, 0.3);
  }
  ContactScene scene(std::move(bodies));
  for (const double x : {-1.0, 1.0})
    for (const double y : {-1.0, 1.0}) scene.ball_joint(0, -1, {x, y, 1});
  for (int i = 1; i <= more; ++i)
    for (const double x : {-0.1, 0.1})
      for (const double y : {-0.1, 0.1})
        scene.contact(i, 0, scene.bodies[i].position + Eigen::Vector3d(x, y, -0.1), {0, 0, 1}, 0.4);
  scene.set_free_velocity({0, 0, -kGravity}, kStep);
  return scene;
}

TEST(Eliminate, RedundantRowsShareTheLoad) {
  const ContactScene scene = plate(0);
  for (const bool dense : {false, true}) {
    const Problem p = dense ? test::as_dense(scene.problem) : scene.problem;
    std::vector<double> lambda(p.rows(), 0.0);
    for (int i = 0; i < p.rows(); ++i) lambda[i] = std::sin(i);  // what was before has no part in it
    Workspace ws;
    const Result<Report> report = solve(p, for_a_step(), ws, lambda);
    ASSERT_TRUE(report.ok());
    EXPECT_LT(report->residual, 1e-13);  // rounding: velocities are 0.1 m/s
    for (int b = 0; b < 4; ++b) {
      EXPECT_NEAR(lambda[3 * b + 2], kGravity * kStep, 1e-12) << "a quarter of 4 kg";
      for (int k = 0; k < 2; ++k) EXPECT_NEAR(lambda[3 * b + k], 0, 1e-12) << "no stress without need";
    }
  }
}

TEST(Eliminate, ContactsOnAHeldBodyAsOnTheGround) {
  const ContactScene scene = plate(3);
  std::vector<double> lambda(scene.problem.rows(), 0.0), by_newton = lambda;
  Workspace ws;
  const Result<Report> report = solve(scene.problem, for_a_step(), ws, lambda);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->status, Status::kConverged);
  Settings exact = for_a_step();
  exact.method = Method::kNewton;
  exact.max_newton = 1000;
  const Result<Report> other = solve(scene.problem, exact, ws, by_newton);
  ASSERT_TRUE(other.ok());
  ASSERT_EQ(other->status, Status::kConverged);
  std::vector<double> v(scene.problem.velocities()), w = v;
  velocity_change(scene.problem, lambda, v);
  velocity_change(scene.problem, by_newton, w);
  // both are within 1e-10 of their laws; boxes of 0.1 m arms pass that on to what turns
  for (std::size_t i = 0; i < v.size(); ++i) EXPECT_NEAR(v[i], w[i], 1e-8) << i;
}

TEST(Eliminate, ContradictionsAreMetHalfWay) {
  Problem p;
  p.clear(OperatorKind::kDense);
  for (int i = 0; i < 2; ++i) p.add_equality(1);
  p.add_complementarity();
  p.dense = {2, 2, 0, 2, 2, 0, 0, 0, 1};
  p.q = {-1, -3, -0.5};
  std::vector<double> lambda(3, 0.0);
  Workspace ws;
  Settings settings = for_a_step();
  settings.explain_failure = false;
  const Result<Report> report = solve(p, settings, ws, lambda);
  ASSERT_TRUE(report.ok());
  EXPECT_NEAR(report->residual, std::sqrt(2.0), 1e-9) << "one is left at +1, the other at -1";
  EXPECT_NEAR(lambda[2], 0.5, 1e-9) << "the rest is solved all the same";
}

TEST(Eliminate, RowsThatMoveNothingDoNoHarm) {
  Problem p;
  p.clear(OperatorKind::kDense);
  p.add_equality(2);
  p.add_cone(0.5);
  p.dense.assign(25, 0.0);
  p.dense[0] = p.dense[2 * 6] = p.dense[3 * 6] = 1;  // the second row of the loop and one tangent are dead
  p.dense[6] = 1e-17;
  p.q = {-1, 0, -2, 0.5, 0};
  std::vector<double> lambda(5, 0.0);
  Workspace ws;
  const Result<Report> report = solve(p, for_a_step(), ws, lambda);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->status, Status::kConverged);
  EXPECT_NEAR(lambda[0], 1, 1e-10);
  EXPECT_NEAR(lambda[1], 0, 1e-10);
  EXPECT_NEAR(lambda[2], 2, 1e-10);
  EXPECT_NEAR(lambda[3], -0.5, 1e-10);
}

TEST(Eliminate, AllocatesNothingAfterWarmUp) {
  if (!test::NoAllocGuard::available()) GTEST_SKIP() << test::NoAllocGuard::kUnavailable;
  const ContactScene scene = plate(3);
  Workspace ws;
  std::vector<double> lambda(scene.problem.rows(), 0.0);
  ASSERT_TRUE(solve(scene.problem, for_a_step(), ws, lambda).ok());
  std::fill(lambda.begin(), lambda.end(), 0.0);
  const test::NoAllocGuard guard;
  const bool ok = solve(scene.problem, for_a_step(), ws, lambda).ok();
  const long allocations = guard.allocations();
  EXPECT_TRUE(ok);
  EXPECT_EQ(allocations, 0);
}

}  // namespace
}  // namespace karakuri::solver
