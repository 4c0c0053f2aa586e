// Over-relaxation as ODE has it: closed forms, and ODE itself on the same contacts.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "karakuri/solver/solve.h"
#include "support/contact_problems.h"

#ifdef KARAKURI_HAVE_ODE
#include <ode/ode.h>
#endif

namespace karakuri::solver {
namespace {

std::vector<double> impulses(const Problem& p, int iterations, double relaxation = 1.3) {
  Settings s;
  s.method = Method::kQuickstep;
  s.quickstep_iterations = iterations;
  s.quickstep_relaxation = relaxation;
  s.explain_failure = false;
  std::vector<double> lambda(p.rows(), 7.0);  // old impulses do not count
  Workspace ws;
  const Result<Report> report = solve(p, s, ws, lambda);
  EXPECT_TRUE(report.ok()) << to_string(report.errors());
  if (report.ok()) EXPECT_EQ(report->sweeps, iterations);
  return lambda;
}

// One row alone: each iteration leaves 1 - w of the error.
TEST(Quickstep, OneRowIsOverRelaxed) {
  Problem p;
  p.clear(OperatorKind::kDense);
  p.add_equality(1);
  p.dense = {2.0};
  p.q = {-6.0};
  for (int k = 1; k <= 10; ++k) EXPECT_NEAR(impulses(p, k)[0], 3.0 * (1 - std::pow(-0.3, k)), 1e-14) << k;
  p.compliance = {1.0};
  EXPECT_NEAR(impulses(p, 1)[0], 1.3 * 6.0 / 3.0, 1e-15);
  EXPECT_NEAR(impulses(p, 60)[0], 2.0, 1e-14);
}

TEST(Quickstep, FrictionIsBoundedAxisByAxis) {
  Problem p;
  p.clear(OperatorKind::kDense);
  p.add_cone(0.5);
  p.dense = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  p.q = {-2, 10, -0.3};
  const std::vector<double> x = impulses(p, 60);
  EXPECT_NEAR(x[0], 2.0, 1e-12);
  EXPECT_NEAR(x[1], -1.0, 1e-12);  // slides
  EXPECT_NEAR(x[2], 0.3, 1e-12);   // sticks, though the cone is used up
}

TEST(Quickstep, BoundsAndLimits) {
  Problem p;
  p.clear(OperatorKind::kDense);
  p.add_box(1.0, 2.0);
  p.add_complementarity();
  p.dense = {1, 0, 0, 1};
  p.q = {5, 3};
  EXPECT_EQ(impulses(p, 20), (std::vector<double>{1.0, 0.0}));
}

// The storages are the same iteration; so are two solves.
TEST(Quickstep, StorageDoesNotMatter) {
  const Problem free = test::sphere_pile(3, 0.5, 3).problem;
  const std::vector<double> a = impulses(free, 20), b = impulses(test::as_dense(free), 20),
                            c = impulses(test::as_block_sparse(free), 20);
  EXPECT_EQ(a, impulses(free, 20));
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i], b[i], 1e-12);
    EXPECT_NEAR(a[i], c[i], 1e-12);
  }
}

#ifdef KARAKURI_HAVE_ODE

constexpr double kStep = 0.01, kMu = 0.4;

/// A box on four points, moving, after one quick step of ODE; linear, then angular.
Eigen::Matrix<double, 6, 1> step_of_ode(const test::Body& body, const std::vector<Eigen::Vector3d>& points,
                                        int iterations) {
  dInitODE2(0);
  const dWorldID world = dWorldCreate();
  dWorldSetGravity(world, 0, 0, -9.81);
  dWorldSetCFM(world, 0);
  dWorldSetERP(world, 0);
  dWorldSetQuickStepNumIterations(world, iterations);
  const dBodyID box = dBodyCreate(world);
  dMass mass;
  dMassSetParameters(&mass, body.mass, 0, 0, 0, body.inertia.x(), body.inertia.y(), body.inertia.z(), 0, 0,
                     0);
  dBodySetMass(box, &mass);
  dBodySetGyroscopicMode(box, 0);
  dBodySetPosition(box, body.position.x(), body.position.y(), body.position.z());
  dBodySetLinearVel(box, body.velocity[0], body.velocity[1], body.velocity[2]);
  dBodySetAngularVel(box, body.velocity[3], body.velocity[4], body.velocity[5]);
  const Eigen::Vector3d t1 = Eigen::Vector3d::UnitZ().unitOrthogonal();  // as ContactScene::contact()
  for (const Eigen::Vector3d& at : points) {
    dContact c{};
    c.surface.mode = dContactApprox1 | dContactFDir1;
    c.surface.mu = kMu;
    for (int k = 0; k < 3; ++k) {
      c.geom.pos[k] = at[k];
      c.geom.normal[k] = k == 2 ? 1 : 0;
      c.fdir1[k] = t1[k];
    }
    dJointAttach(dJointCreateContact(world, nullptr, &c), box, nullptr);
  }
  dWorldQuickStep(world, kStep);
  const dReal* v = dBodyGetLinearVel(box);
  const dReal* w = dBodyGetAngularVel(box);
  Eigen::Matrix<double, 6, 1> out;
  out << v[0], v[1], v[2], w[0], w[1], w[2];
  dWorldDestroy(world);
  dCloseODE();
  return out;
}

Eigen::Matrix<double, 6, 1> step_of_ours(const test::Body& body, const std::vector<Eigen::Vector3d>& points,
                                         int iterations) {
  test::ContactScene scene({body});
  for (const Eigen::Vector3d& at : points) scene.contact(0, -1, at, {0, 0, 1}, kMu);
  scene.set_free_velocity({0, 0, -9.81}, kStep);
  const std::vector<double> lambda = impulses(scene.problem, iterations);
  Eigen::Matrix<double, 6, 1> change = Eigen::Matrix<double, 6, 1>::Zero();
  velocity_change(scene.problem, lambda, {change.data(), 6});
  change += body.velocity;
  change[2] -= 9.81 * kStep;
  return change;
}

// Both converge to the same motion where that is unique; with few iterations they differ by the order of
// rows.
TEST(Quickstep, MovesABoxAsOdeDoes) {
  Random random(5);
  const std::vector<Eigen::Vector3d> four = {{-0.5, -0.4, 0}, {-0.5, 0.4, 0}, {0.5, -0.4, 0}, {0.5, 0.4, 0}};
  for (int trial = 0; trial < 30; ++trial) {
    test::Body body = test::box_body(2.0, {1, 0.8, 0.2}, {0, 0, 0.1});
    for (int k = 0; k < 6; ++k) body.velocity[k] = (k < 3 ? 1.0 : 0.3) * random.normal();
    body.velocity[2] = -std::abs(body.velocity[2]);
    const bool single = trial % 2 == 0;  // one point: what is found is unique
    const std::vector<Eigen::Vector3d> points =
        single ? std::vector<Eigen::Vector3d>{four[static_cast<std::size_t>(random.below(4))]} : four;
    const auto ode = step_of_ode(body, points, 3000), ours = step_of_ours(body, points, 3000);
    // ODE may be built for single precision
    const double tolerance = sizeof(dReal) == 4 ? 1e-4 : 1e-8;
    if (single) EXPECT_LT((ode - ours).norm(), tolerance * (1 + body.velocity.norm())) << trial;
    EXPECT_NEAR(ode[2], ours[2], 0.05 * body.velocity.norm()) << trial;
    const auto few = step_of_ode(body, points, 20), our_few = step_of_ours(body, points, 20);
    EXPECT_LT((few - our_few).norm(), 0.1 * body.velocity.norm()) << trial;
  }
}

#endif

}  // namespace
}  // namespace karakuri::solver
