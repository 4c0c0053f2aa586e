// Newton's method over the motions of many bodies, against Newton's method on their impulses and against
// sweeps.
#include <gtest/gtest.h>

#include <cmath>

#include "karakuri/solver/solve.h"
#include "support/contact_problems.h"
#include "support/island_corpus.h"
#include "support/no_alloc.h"

namespace karakuri::solver {
namespace {

using test::ContactScene;

constexpr double kTolerance = 1e-9;  // of velocities along rows [m/s]

/// The same problem with what the sparse factors need: the mass of each velocity.
Problem with_masses(const ContactScene& scene) {
  Problem p = scene.problem;
  for (const test::Body& body : scene.bodies) {
    p.inverse_mass.insert(p.inverse_mass.end(), 3, 1 / body.mass);
    for (int k = 0; k < 3; ++k) p.inverse_mass.push_back(1 / body.inertia[k]);
  }
  return p;
}

Settings settings_for(const Problem& p, Method method) {
  Settings s;
  s.method = method;
  s.measure = Measure::kScaled;
  s.tolerance = 0;
  s.absolute = kTolerance * std::sqrt(static_cast<double>(p.rows()));
  s.max_newton = 60;
  s.explain_failure = false;
  return s;
}

Report solved(const Problem& p, Method method, std::vector<double>& lambda) {
  Workspace ws;
  const Result<Report> report = solve(p, settings_for(p, method), ws, lambda);
  EXPECT_TRUE(report.ok());
  return *report;
}

/// Residuals of 1e-9 m/s are this much of a motion at most...
constexpr double kSame = 1e-5;
/// ... but where boxes slide and turn, friction depends on how their points share the load, which no law
/// says.
constexpr double kUndetermined = 5e-3;

/// Solves by sparse factors, and by sweeps and Newton's method on impulses, from nothing.
void expect_same_motion(const ContactScene& scene, double within = kSame) {
  const Problem p = with_masses(scene);
  EXPECT_TRUE(validate(p).empty());
  std::vector<double> sparse(p.rows(), 0.0), other(p.rows(), 0.0);
  EXPECT_EQ(solved(p, Method::kNewton, sparse).status, Status::kConverged);
  const Report reference = solved(scene.problem, Method::kDefault, other);
  EXPECT_EQ(reference.status, Status::kConverged);
  EXPECT_LT(test::distance_of_motions(p, sparse, other).relative(), within);
}

/// A row of boxes on the ground in a chain of ball joints, pushed sideways.
ContactScene train(int count) {
  std::vector<test::Body> bodies;
  for (int i = 0; i < count; ++i) {
    bodies.push_back(test::box_body(1, {1, 1, 1}, {1.0 * i, 0, 0.5}));
    bodies.back().velocity << (i == 0 ? 1.0 : 0.0), 0.3, 0, 0, 0, 0.1 * i;
  }
  ContactScene scene(std::move(bodies));
  for (int i = 0; i < count; ++i)
    for (const double x : {-0.4, 0.4})
      for (const double y : {-0.4, 0.4}) scene.contact(i, -1, {i + x, y, 0}, {0, 0, 1}, 0.3);
  for (int i = 1; i < count; ++i) scene.ball_joint(i, i - 1, {i - 0.5, 0, 0.5});
  scene.set_free_velocity({0, 0, -9.81}, 0.01);
  return scene;
}

TEST(SparseNewton, MovesTowersAndPilesAsOtherMethodsDo) {
  expect_same_motion(test::box_tower(12, 0.5));
  expect_same_motion(test::sphere_pile(3, 0.3, 5));
}

TEST(SparseNewton, ATallTowerStands) {
  const ContactScene scene = test::box_tower(100, 0.5);
  const Problem p = with_masses(scene);
  std::vector<double> lambda(p.rows(), 0.0), velocity(p.velocities());
  const Report report = solved(p, Method::kNewton, lambda);
  EXPECT_EQ(report.status, Status::kConverged);
  EXPECT_LT(report.newton_iterations, 30);
  velocity_change(p, lambda, velocity);  // against a step of gravity
  for (int i = 0; i < 100; ++i) EXPECT_NEAR(velocity[6 * i + 2], 0.0981, 1e-6) << i;
}

TEST(SparseNewton, HoldsJointsAmongContacts) { expect_same_motion(train(25), kUndetermined); }

TEST(SparseNewton, IsChosenWhereALoadHasFarToGo) {
  const Problem tall = with_masses(test::box_tower(40, 0.5));
  std::vector<double> lambda(tall.rows(), 0.0);
  const Report report = solved(tall, Method::kDefault, lambda);
  EXPECT_EQ(report.status, Status::kConverged);
  EXPECT_EQ(report.method, Method::kNewton);
  EXPECT_EQ(report.sweeps, 0);
}

TEST(SparseNewton, TheNextStepTakesFewSolves) {
  const Problem p = with_masses(test::box_tower(40, 0.5));
  std::vector<double> lambda(p.rows(), 0.0);
  solved(p, Method::kNewton, lambda);
  for (double& x : lambda) x *= 1.001;  // another load
  EXPECT_LE(solved(p, Method::kNewton, lambda).newton_iterations, 6);
}

TEST(SparseNewton, AllocatesNothingTwice) {
  if (!test::NoAllocGuard::available()) GTEST_SKIP() << test::NoAllocGuard::kUnavailable;
  const Problem p = with_masses(test::box_tower(40, 0.5)), other = with_masses(test::sphere_pile(4, 0.3, 5));
  Workspace ws;
  std::vector<double> lambda(p.rows(), 0.0), second(other.rows(), 0.0);
  const Settings s = settings_for(p, Method::kDefault), t = settings_for(other, Method::kDefault);
  ASSERT_TRUE(solve(p, s, ws, lambda).ok());
  ASSERT_TRUE(solve(other, t, ws, second).ok());
  std::fill(lambda.begin(), lambda.end(), 0.0);
  std::fill(second.begin(), second.end(), 0.0);
  const test::NoAllocGuard guard;
  ASSERT_TRUE(solve(p, s, ws, lambda).ok());
  ASSERT_TRUE(solve(other, t, ws, second).ok());
  EXPECT_EQ(guard.allocations(), 0);
}

/// What was solved in between leaves no trace: bits must not depend on which thread solves which island.
TEST(SparseNewton, ForgetsOtherProblems) {
  const Problem p = with_masses(test::box_tower(40, 0.5)), other = with_masses(test::sphere_pile(4, 0.3, 5));
  const Settings s = settings_for(p, Method::kNewton);
  Workspace fresh, used;
  std::vector<double> a(p.rows(), 0.0), b(p.rows(), 0.0), c(other.rows(), 0.0);
  ASSERT_TRUE(solve(other, settings_for(other, Method::kNewton), used, c).ok());
  ASSERT_TRUE(solve(p, s, used, b).ok());
  ASSERT_TRUE(solve(p, s, fresh, a).ok());
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace karakuri::solver
