// Redundant contacts solved by Newton's method on proximal problems: against closed forms and the other
// methods.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "karakuri/solver/solve.h"
#include "support/contact_problems.h"
#include "support/no_alloc.h"

namespace karakuri::solver {
namespace {

using test::ContactScene;
using test::for_a_step;

constexpr double kStep = 0.01, kGravity = 9.81, kMu = 0.5;

/// A flat box of 2 kg, 1 x 1 x 0.2 m, on side x side points of the floor, moving with v.
ContactScene box_on_points(int side, const Eigen::Vector3d& v) {
  ContactScene scene({test::box_body(2, {1, 1, 0.2}, {0, 0, 0.1})});
  scene.bodies[0].velocity.head<3>() = v;
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j)
      scene.contact(0, -1, {double(i) / (side - 1) - 0.5, double(j) / (side - 1) - 0.5, 0}, {0, 0, 1}, kMu);
  scene.set_free_velocity({0, 0, -kGravity}, kStep);
  return scene;
}

/// Velocity of the only body after the step.
Eigen::Matrix<double, 6, 1> after(const ContactScene& scene, const std::vector<double>& lambda) {
  Eigen::Matrix<double, 6, 1> v;
  velocity_change(scene.problem, lambda, {v.data(), 6});
  v += scene.bodies[0].velocity;
  v[2] -= kGravity * kStep;
  return v;
}

TEST(ProximalNewton, ABoxOnManyPointsSlidesAsTheorySays) {
  for (const int side : {2, 4, 8}) {
    for (const bool dense : {false, true}) {
      if (dense && side > 4) continue;  // how few motions there are cannot be seen from a large dense W
      const Eigen::Vector3d v(1.2, -0.7, 0);
      const ContactScene scene = box_on_points(side, v);
      const Problem p = dense ? test::as_dense(scene.problem) : scene.problem;
      std::vector<double> lambda(p.rows(), 0.0);
      Workspace ws;
      const Result<Report> report = solve(p, for_a_step(), ws, lambda);
      ASSERT_TRUE(report.ok());
      EXPECT_EQ(report->status, Status::kConverged) << side;
      EXPECT_EQ(report->sweeps, 0) << side;
      Eigen::Matrix<double, 6, 1> expected = Eigen::Matrix<double, 6, 1>::Zero();
      expected.head<3>() = v - kMu * kGravity * kStep * v.normalized();
      EXPECT_LT((after(scene, lambda) - expected).norm(), 1e-9) << side << dense;
    }
  }
}

TEST(ProximalNewton, ABoxAtRestIsCarriedByAllItsPoints) {
  const ContactScene scene = box_on_points(6, {0, 0, 0});
  std::vector<double> lambda(scene.problem.rows(), 0.0);
  Workspace ws;
  const Result<Report> report = solve(scene.problem, for_a_step(), ws, lambda);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->sweeps, 0);
  EXPECT_LT(after(scene, lambda).norm(), 1e-10);
  double sum = 0;
  for (int i = 0; i < scene.problem.block_count(); ++i) sum += lambda[scene.problem.blocks[i].row];
  EXPECT_NEAR(sum, 2 * kGravity * kStep, 1e-10);
  // from nothing, the least impulses that do it: they have the symmetry of the grid, and none is zero
  const auto at = [&](int i, int j) { return lambda[scene.problem.blocks[6 * i + j].row]; };
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) {
      EXPECT_NEAR(at(i, j), at(5 - i, j), 1e-9);
      EXPECT_NEAR(at(i, j), at(j, i), 1e-9);
      EXPECT_GT(at(i, j), 0.001);
    }
  }
}

TEST(ProximalNewton, TheNextStepTakesOneOrTwoLinearSolves) {
  ContactScene scene = box_on_points(8, {1, 0, 0});
  std::vector<double> lambda(scene.problem.rows(), 0.0);
  Workspace ws;
  ASSERT_TRUE(solve(scene.problem, for_a_step(), ws, lambda).ok());
  scene.bodies[0].velocity = after(scene, lambda);
  scene.bodies[0].velocity[1] += 0.01;
  scene.set_free_velocity({0, 0, -kGravity}, kStep);
  const Result<Report> report = solve(scene.problem, for_a_step(), ws, lambda);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->status, Status::kConverged);
  EXPECT_LE(report->newton_iterations, 2);
  EXPECT_EQ(report->sweeps, 0);
}

/// Where the box's load acts on the floor [m].
Eigen::Vector2d centre_of_pressure(const ContactScene& scene, int side, const std::vector<double>& lambda) {
  Eigen::Vector2d sum(0, 0);
  double load = 0;
  for (int i = 0; i < side * side; ++i) {
    const double press = lambda[scene.problem.blocks[i].row];
    sum += press * Eigen::Vector2d(double(i / side) / (side - 1) - 0.5, double(i % side) / (side - 1) - 0.5);
    load += press;
  }
  return sum / load;
}

TEST(ProximalNewton, ALoadThatJumpsToAnotherEdgeIsFoundWithoutSweeps) {
  constexpr int kSide = 8;
  ContactScene scene = box_on_points(kSide, {0, 0, 0});
  const test::Body& box = scene.bodies[0];
  std::vector<double> lambda(scene.problem.rows(), 0.0);
  Workspace ws;
  for (int k = 0; k < 24; ++k) {  // once round, near the edge and farther from it in turn
    const double angle = 2.4 * k, reach = k % 2 == 0 ? 0.48 : 0.3;
    const Eigen::Vector2d place(reach * std::cos(angle), reach * std::sin(angle));
    // what a moment gives that moves the load there: (x, y) times m g about (y, -x)
    const Eigen::Vector3d moment = box.mass * kGravity * Eigen::Vector3d(-place.y(), place.x(), 0);
    scene.bodies[0].velocity.setZero();
    scene.bodies[0].velocity.tail<3>() = kStep * moment.cwiseQuotient(box.inertia);
    scene.set_free_velocity({0, 0, -kGravity}, kStep);
    const Result<Report> report = solve(scene.problem, for_a_step(), ws, lambda);
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->status, Status::kConverged) << k;
    EXPECT_EQ(report->sweeps, 0) << k;
    EXPECT_LT(after(scene, lambda).norm(), 1e-9) << k;
    EXPECT_LT((centre_of_pressure(scene, kSide, lambda) - place).norm(), 1e-8) << k;
  }
}

TEST(ProximalNewton, CoordinatesOfUnitMassAreOnlyAnotherWayToStateTheProblem) {
  const ContactScene scene = box_on_points(5, {0.3, 0.1, 0});
  const Problem& p = scene.problem;
  Problem unit;
  unit.clear(OperatorKind::kMatrixFree);
  for (int i = 0; i < p.block_count(); ++i) unit.add_cone(kMu);
  unit.q = p.q;
  unit.add_unit_mass(8);
  for (int row = 0; row < p.rows(); ++row) {
    for (int k = 0; k < 6; ++k) {
      const double mass = k < 3 ? scene.bodies[0].mass : scene.bodies[0].inertia[k - 3];
      unit.jacobian[8 * row + k] = p.jacobian[6 * row + k] / std::sqrt(mass);
    }
  }
  unit.responses_are_jacobians();
  Workspace ws;
  for (const Method method : {Method::kDefault, Method::kNewton}) {
    std::vector<double> lambda(p.rows(), 0.0);
    Settings s = for_a_step();
    s.method = method;
    s.max_sweeps = 20000;
    s.max_newton = 1000;
    const Result<Report> report = solve(unit, s, ws, lambda);
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->status, Status::kConverged) << name_of(method);
    Eigen::Matrix<double, 6, 1> expected = Eigen::Matrix<double, 6, 1>::Zero();
    const Eigen::Vector3d v(0.3, 0.1, 0);
    expected.head<3>() = v - kMu * kGravity * kStep * v.normalized();
    EXPECT_LT((after(scene, lambda) - expected).norm(), 1e-8) << name_of(method);
  }
}

/// Boxes joined by ball joints, with limits, motors and springs, on redundant points.
Problem train(std::uint64_t seed, double speed = 0.2, double demand = 0.2) {
  Random random(seed);
  std::vector<test::Body> bodies;
  for (int i = 0; i < 4; ++i) {
    bodies.push_back(test::box_body(random.uniform(0.5, 2), {0.9, 1, 0.2}, {double(i), 0, 0.1}));
    for (int k = 0; k < 6; ++k) bodies.back().velocity[k] = random.uniform(-speed, speed);
  }
  ContactScene scene(std::move(bodies));
  for (int i = 0; i < 4; ++i) {
    for (const double x : {-0.4, 0.0, 0.4})
      for (const double y : {-0.5, 0.0, 0.5}) scene.contact(i, -1, {i + x, y, 0}, {0, 0, 1}, kMu);
    if (i > 0) scene.ball_joint(i, i - 1, {i - 0.5, 0, 0.1});
  }
  scene.set_free_velocity({0, 0, -kGravity}, kStep);
  for (int k = 0; k < 3; ++k) {
    k == 0 ? scene.problem.add_complementarity()
           : (k == 1 ? scene.problem.add_box(-0.1, 0.1) : scene.problem.add_linear(0.5, -speed));
    const Term term = scene.problem.add_term(k);
    scene.problem.jacobian_of(term, 1)[5] = 1.0;
    scene.problem.response_of(term, 1)[5] = 1 / scene.bodies[k].inertia[2];
    scene.problem.q.back() += scene.bodies[k].velocity[5] - demand;
  }
  return scene.problem;
}

double residual(const Problem& p, const std::vector<double>& lambda) {
  std::vector<double> u(p.rows()), velocity(p.velocities()), rho(p.block_count());
  row_velocities(p, lambda, velocity, u);
  block_rho(p, rho);
  return natural_map(p, lambda, u, rho);
}

TEST(ProximalNewton, SolvesAllKindsOfRows) {
  int without_sweeps = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Problem p = train(seed);
    std::vector<double> lambda(p.rows(), 0.0);
    Workspace ws;
    Settings s = for_a_step();
    s.max_sweeps = 20000;
    s.max_newton = 1000;
    const Result<Report> report = solve(p, s, ws, lambda);
    ASSERT_TRUE(report.ok());
    EXPECT_LE(residual(p, lambda), 1e-9) << seed;
    without_sweeps += report->sweeps == 0 ? 1 : 0;
  }
  EXPECT_GE(without_sweeps, 10);  // from no impulses at all; 11 when this was written
}

TEST(ProximalNewton, AgreesWithTheOtherMethodsWhereTheMotionIsUnique) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Problem p = train(seed, 1e-4, 0);  // slow enough for all contacts to stick
    std::vector<double> a(p.rows(), 0.0), b(p.rows(), 0.0);
    Workspace ws;
    Settings s = for_a_step();
    s.max_sweeps = 20000;
    s.max_newton = 1000;
    ASSERT_TRUE(solve(p, s, ws, a).ok());
    s.method = Method::kNewton;
    ASSERT_TRUE(solve(p, s, ws, b).ok());
    Eigen::VectorXd va(p.velocities()), vb(p.velocities());
    velocity_change(p, a, {va.data(), static_cast<std::size_t>(va.size())});
    velocity_change(p, b, {vb.data(), static_cast<std::size_t>(vb.size())});
    EXPECT_LT((va - vb).norm(), 1e-8) << seed;
  }
}

/// A box on three points whose turning about z is limited, driven and sprung, and which a ball joint may
/// hold.
Problem held_box(std::uint64_t seed) {
  Random random(seed);
  ContactScene scene({test::box_body(2, {1, 1, 0.2}, {0, 0, 0.1})});
  for (int k = 0; k < 6; ++k) scene.bodies[0].velocity[k] = random.uniform(-1, 1) * (k == 2 ? 0.1 : 1);
  for (const double x : {-0.5, 0.0, 0.5}) scene.contact(0, -1, {x, x * x, 0}, {0, 0, 1}, kMu);
  if (seed % 2) scene.ball_joint(0, -1, {random.uniform(-0.5, 0.5), 0.2, 0.1});
  scene.set_free_velocity({0, 0, -kGravity}, kStep);
  for (int k = 0; k < 3; ++k) {
    k == 0 ? scene.problem.add_complementarity()
           : (k == 1 ? scene.problem.add_box(-0.01, 0.01) : scene.problem.add_linear(0.5, -0.2));
    const Term term = scene.problem.add_term(0);
    scene.problem.jacobian_of(term, 1)[5] = 1.0;
    scene.problem.response_of(term, 1)[5] = 1 / scene.bodies[0].inertia[2];
    scene.problem.q.back() += scene.bodies[0].velocity[5];
  }
  return scene.problem;
}

// Dense problems of few rows are solved in the space of impulses, others in that of motions. With three
// points what each carries follows from the motion, so that there is but one; of more points, which press is
// a choice that decides how friction brakes a turn.
TEST(ProximalNewton, BothSpacesFindTheSameMotion) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Problem p = held_box(seed);
    std::vector<double> motions(p.rows(), 0.0), impulses(p.rows(), 0.0);
    Workspace ws;
    Settings s = for_a_step();
    s.max_newton = 100;
    const Result<Report> a = solve(p, s, ws, motions), b = solve(test::as_dense(p), s, ws, impulses);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(b->status, Status::kConverged) << seed;
    compared += a->sweeps + b->sweeps == 0 ? 1 : 0;
    std::vector<double> u(p.rows()), v(p.rows()), velocity(p.velocities());
    row_velocities(p, motions, velocity, u);
    row_velocities(p, impulses, velocity, v);
    for (int i = 0; i < p.rows(); ++i) EXPECT_NEAR(u[i], v[i], 1e-8) << seed << " row " << i;
  }
  EXPECT_GE(compared, 50);  // by the methods in question, not by sweeps
}

TEST(ProximalNewton, ContradictionsBelowWhatIsAcceptableCostNoSweeps) {
  ContactScene scene = box_on_points(5, {0, 0, 0});
  scene.problem.q[scene.problem.blocks[12].row] -= 1e-7;  // the middle cannot rise alone
  std::vector<double> lambda(scene.problem.rows(), 0.0);
  Workspace ws;
  Settings s = for_a_step();
  s.acceptable = 1e-6;
  const Result<Report> report = solve(scene.problem, s, ws, lambda);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->sweeps, 0);
  EXPECT_LE(report->residual, s.acceptable);
  EXPECT_EQ(report->status, Status::kConverged);
}

TEST(ProximalNewton, NothingIsAllocatedAfterWarmUp) {
  if (!test::NoAllocGuard::available()) GTEST_SKIP() << test::NoAllocGuard::kUnavailable;
  const Problem free = train(3);
  for (const Problem& p : {free, test::as_dense(free)}) {
    Workspace ws;
    std::vector<double> lambda(p.rows(), 0.0);
    ASSERT_TRUE(solve(p, for_a_step(), ws, lambda).ok());
    std::fill(lambda.begin(), lambda.end(), 0.0);
    const test::NoAllocGuard guard;
    const bool ok = solve(p, for_a_step(), ws, lambda).ok();
    const long allocations = guard.allocations();
    EXPECT_TRUE(ok);
    EXPECT_EQ(allocations, 0);
  }
}

/// Contacts of strong friction on a mechanism of unit masses: W = J Jᵀ, J random.
Problem random_contacts(std::mt19937& random, int contacts, int dofs) {
  std::normal_distribution<double> normal;
  Problem p;
  p.clear(OperatorKind::kDense);
  for (int i = 0; i < contacts; ++i) p.add_cone(1.0);
  Eigen::MatrixXd J(p.rows(), dofs);
  Eigen::VectorXd v(dofs);
  for (double& x : J.reshaped()) x = normal(random);
  for (double& x : v) x = normal(random);
  const Eigen::MatrixXd W = J * J.transpose();
  const Eigen::VectorXd q = J * v;
  p.dense.assign(W.data(), W.data() + W.size());
  p.q.assign(q.data(), q.data() + q.size());
  return p;
}

// Impulses of the opposite motion jam contacts. From them alone 42 of 200 problems are not solved without
// sweeps, from nothing as well 18.
TEST(ProximalNewton, ImpulsesThatAreInTheWayAreDropped) {
  std::mt19937 random(1);
  int swept = 0;
  for (int k = 0; k < 200; ++k) {
    Problem p = random_contacts(random, 7, 12);
    std::vector<double> lambda(p.rows(), 0.0);
    Workspace ws;
    for (double& q : p.q) q = -q;
    ASSERT_TRUE(solve(p, for_a_step(), ws, lambda).ok());
    for (double& q : p.q) q = -q;
    const Result<Report> report = solve(p, for_a_step(), ws, lambda);
    ASSERT_TRUE(report.ok());
    swept += report->sweeps > 0;
  }
  EXPECT_LE(swept, 25);  // rounding decides of some
}

}  // namespace
}  // namespace karakuri::solver
