// Every method against problems whose answer can be written down.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "karakuri/solver/solve.h"
#include "support/contact_problems.h"

namespace karakuri::solver {
namespace {

using test::ContactScene;

constexpr double kDegree = std::numbers::pi / 180.0;

const std::vector<Method>& all_methods() {
  static const std::vector<Method> all{Method::kDefault, Method::kBlock,        Method::kNewton,
                                       Method::kPgs,     Method::kPgsIsotropic, Method::kSpringhead,
                                       Method::kDantzig, Method::kLemke};
  return all;
}

/// Tight, so that what is left is the method's model and not its stopping rule.
Settings tight(Method method) {
  Settings s;
  s.method = method;
  s.tolerance = 1e-13;
  s.max_sweeps = 200000;
  return s;
}

std::vector<double> impulses(const Problem& p, Method method) {
  std::vector<double> lambda(p.rows(), 0.0);
  Workspace ws;
  const Result<Report> report = solve(p, tight(method), ws, lambda);
  EXPECT_TRUE(report.ok()) << to_string(report.errors());
  return lambda;
}

/// Velocity of body 0 after the step. @param acceleration As given to set_free_velocity.
Eigen::Matrix<double, 6, 1> after(const ContactScene& scene, const std::vector<double>& lambda,
                                  const Eigen::Vector3d& acceleration, double step) {
  std::vector<double> change(scene.problem.velocities());
  velocity_change(scene.problem, lambda, change);
  Eigen::Matrix<double, 6, 1> v =
      scene.bodies[0].velocity + Eigen::Map<Eigen::Matrix<double, 6, 1>>(change.data());
  v.head<3>() += acceleration * step;
  return v;
}

ContactScene box_on_floor(double mu) {
  ContactScene scene({test::box_body(2.0, {1, 1, 0.2}, {0, 0, 0.1})});
  for (const double x : {-0.5, 0.5})
    for (const double y : {-0.5, 0.5}) scene.contact(0, -1, {x, y, 0}, {0, 0, 1}, mu);
  return scene;
}

TEST(ClosedForm, BoxOnInclineSticksBelowTheFrictionAngle) {
  const double mu = 0.5;
  const double step = 0.01;
  const double angle = 0.999 * std::atan(mu);
  for (const Method method : all_methods()) {
    SCOPED_TRACE(name_of(method));
    ContactScene scene = box_on_floor(mu);
    const Eigen::Vector3d g = 9.81 * Eigen::Vector3d(std::sin(angle), 0, -std::cos(angle));
    scene.set_free_velocity(g, step);
    // |q| is 0.17 m/s and the residual 1e-13 of it; the mobility is at most 7 /kg
    EXPECT_LT(after(scene, impulses(scene.problem, method), g, step).norm(), 1e-11);
  }
}

TEST(ClosedForm, BoxOnInclineSlidesAboveTheFrictionAngle) {
  const double mu = 0.5;
  const double step = 0.01;
  const double angle = 1.001 * std::atan(mu);
  for (const Method method : all_methods()) {
    SCOPED_TRACE(name_of(method));
    ContactScene scene = box_on_floor(mu);
    const Eigen::Vector3d g = 9.81 * Eigen::Vector3d(std::sin(angle), 0, -std::cos(angle));
    scene.set_free_velocity(g, step);
    const Eigen::Matrix<double, 6, 1> v = after(scene, impulses(scene.problem, method), g, step);
    const double expected = 9.81 * (std::sin(angle) - mu * std::cos(angle)) * step;
    // 5.5e-5 m/s is left of 0.04 m/s: 1e-6 of that needs residuals of 1e-9 of q, which 1e-13 leaves room for
    EXPECT_NEAR(v.x(), expected, 1e-6 * expected);
    EXPECT_LT(std::abs(v.y()) + std::abs(v.z()) + v.tail<3>().norm(), 1e-9);
  }
}

Problem sliding_block(double k_yy) {
  Problem p;
  p.clear(OperatorKind::kDense);
  p.add_cone(0.3);
  p.dense = {1, 0, 0, 0, 1, 0, 0, 0, k_yy};
  p.q = {-1, 100, 100};  // so fast that friction hardly turns the slip: 45 degrees
  return p;
}

double direction_error(const Problem& p, const std::vector<double>& lambda) {
  std::vector<double> u(p.rows());
  row_velocities(p, lambda, {}, u);
  return measure_all(p, lambda, u, 1e-9, 1e-9).direction_error / kDegree;
}

TEST(ClosedForm, FrictionOpposesSlipAlsoWhereMobilityDiffers) {
  const Problem p = sliding_block(4.0);
  for (const Method method : {Method::kDefault, Method::kBlock, Method::kNewton, Method::kPgsIsotropic}) {
    SCOPED_TRACE(name_of(method));
    EXPECT_LT(direction_error(p, impulses(p, method)), 1e-6);
  }
}

TEST(ClosedForm, PublishedSweepTurnsFrictionBy31Degrees) {
  // f ∥ (u_x / k_xx, u_y / k_yy): atan(1) − atan(1/4) = 30.96 degrees; friction itself turns u by 0.5 degrees
  const Problem p = sliding_block(4.0);
  EXPECT_NEAR(direction_error(p, impulses(p, Method::kPgs)), 30.96, 0.5);
  const Problem even = sliding_block(1.0);
  EXPECT_LT(direction_error(even, impulses(even, Method::kPgs)), 1e-6);
}

TEST(ClosedForm, RodLandingOnBothEnds) {
  // W = [4 −2; −2 4] / m, q = (−1, 0.2): alone the first end would push the second into the floor, so both
  // act
  const double mass = 3.0;
  test::Body rod;
  rod.mass = mass;
  rod.inertia = {1e9, mass / 12.0, mass / 12.0};
  rod.velocity << 0, 0, -0.4, 0, -1.2, 0;  // ends at x = ±½: −0.4 ± 0.6
  for (const Method method : all_methods()) {
    SCOPED_TRACE(name_of(method));
    ContactScene scene({rod});
    scene.contact(0, -1, {-0.5, 0, 0}, {0, 0, 1}, 0.4);
    scene.contact(0, -1, {0.5, 0, 0}, {0, 0, 1}, 0.4);
    scene.set_free_velocity({0, 0, 0}, 0.0);
    ASSERT_NEAR(scene.problem.q[0], -1.0, 1e-15);
    ASSERT_NEAR(scene.problem.q[3], 0.2, 1e-15);
    const std::vector<double> lambda = impulses(scene.problem, method);
    EXPECT_NEAR(lambda[0], 0.3 * mass, 1e-11);
    EXPECT_NEAR(lambda[3], 0.1 * mass, 1e-11);
  }
}

TEST(ClosedForm, RedundantBoxHasOneTotalWrench) {
  for (const Method method : all_methods()) {
    SCOPED_TRACE(name_of(method));
    ContactScene scene = box_on_floor(0.7);
    scene.set_free_velocity({0, 0, -9.81}, 0.01);
    const std::vector<double> lambda = impulses(scene.problem, method);
    std::vector<double> change(6);
    velocity_change(scene.problem, lambda, change);
    // the weight's impulse and nothing else; four supports share it in infinitely many ways
    EXPECT_NEAR(change[2], 0.0981, 1e-12);
    for (const int k : {0, 1, 3, 4, 5}) EXPECT_NEAR(change[k], 0.0, 1e-12);
  }
}

TEST(ClosedForm, LinearRowIsAnImplicitSpring) {
  // S4.7: w = A λ + b with compliance 1/(D + hK) and bias −(K e + D w_d + τ)/(D + hK)
  const double a = 0.7;
  const double b = 0.3;
  const double stiffness = 20.0;
  const double damping = 10.0;
  const double h = 0.1;
  const double error = 0.4;
  const double c = 1.0 / (damping + h * stiffness);
  for (const Method method : all_methods()) {
    SCOPED_TRACE(name_of(method));
    Problem p;
    p.clear(OperatorKind::kDense);
    p.add_linear(c, b - stiffness * error * c);
    p.dense = {a};
    const double lambda = impulses(p, method)[0];
    const double w = a * lambda + b;
    EXPECT_NEAR(lambda, stiffness * (error - h * w) - damping * w, 1e-12);
  }
}

TEST(ClosedForm, BoxRowsStopAtTheirBounds) {
  for (const Method method : all_methods()) {
    SCOPED_TRACE(name_of(method));
    Problem p;
    p.clear(OperatorKind::kDense);
    p.add_box(-1.0, 2.0);         // wants 3: held at 2
    p.add_box(-1.0, 2.0);         // wants 0.5
    p.add_box(1.0, 2.0);          // wants −7: held at 1, which is above zero
    p.add_box(-kInfinity, -0.5);  // wants 0: held at −0.5
    p.dense = {1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    p.q = {-3, -1, 7, 0};
    const std::vector<double> lambda = impulses(p, method);
    // dantzig adds 1e-13 to the diagonal, the others stop at 1e-13 |q|
    EXPECT_NEAR(lambda[0], 2.0, 1e-12);
    EXPECT_NEAR(lambda[1], 0.5, 1e-12);
    EXPECT_NEAR(lambda[2], 1.0, 1e-12);
    EXPECT_NEAR(lambda[3], -0.5, 1e-12);
  }
}

TEST(ClosedForm, AnisotropicFrictionHasTheEllipsesNormal) {
  // W = 1: slip along e needs λ_t,i ∝ μ_i² u_i (maximum dissipation over the ellipse)
  Problem p;
  p.clear(OperatorKind::kDense);
  const double mu[] = {0.2, 0.6};
  p.add_cone(mu);
  p.dense = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  p.q = {-1, 5, -3};
  for (const Method method : {Method::kDefault, Method::kBlock, Method::kNewton, Method::kPgsIsotropic}) {
    SCOPED_TRACE(name_of(method));
    const std::vector<double> lambda = impulses(p, method);
    const double u[] = {p.q[1] + lambda[1], p.q[2] + lambda[2]};
    const double length = std::hypot(mu[0] * u[0], mu[1] * u[1]);
    EXPECT_NEAR(lambda[0], 1.0, 1e-11);
    EXPECT_NEAR(lambda[1], -mu[0] * mu[0] * u[0] / length, 1e-11);
    EXPECT_NEAR(lambda[2], -mu[1] * mu[1] * u[1] / length, 1e-11);
  }
}

TEST(ClosedForm, TorsionalAndRollingFrictionStopASpinningDisc) {
  // rows n, t1, t2, spin, roll, roll with unit mobility: only spin moves, so its whole bound acts
  Problem p;
  p.clear(OperatorKind::kDense);
  const double mu[] = {0.5, 0.5, 0.02, 0.01, 0.01};  // the last three in metres
  p.add_cone(mu);
  p.dense.assign(36, 0.0);
  for (int i = 0; i < 6; ++i) p.dense[7 * i] = 1.0;
  p.q = {-1, 0, 0, 3, 0, 0};
  for (const Method method : {Method::kDefault, Method::kBlock, Method::kNewton, Method::kPgs,
                              Method::kPgsIsotropic, Method::kSpringhead, Method::kDantzig}) {
    SCOPED_TRACE(name_of(method));
    const std::vector<double> lambda = impulses(p, method);
    EXPECT_NEAR(lambda[0], 1.0, 1e-11);
    EXPECT_NEAR(lambda[3], -0.02, 1e-11);
  }
  p.q[3] = 0.01;  // less than the bound can stop: it sticks
  EXPECT_NEAR(impulses(p, Method::kDefault)[3], -0.01, 1e-11);
}

TEST(ClosedForm, FrictionlessAndRoughExtremes) {
  for (const Method method : all_methods()) {
    SCOPED_TRACE(name_of(method));
    Problem p;
    p.clear(OperatorKind::kDense);
    p.add_cone(0.0);
    p.dense = {2, 0.1, 0, 0.1, 1, 0, 0, 0, 1};
    p.q = {-1, 3, 4};
    std::vector<double> lambda = impulses(p, method);
    EXPECT_NEAR(lambda[0], 0.5, 1e-12);
    EXPECT_EQ(lambda[1], 0.0);
    EXPECT_EQ(lambda[2], 0.0);
    p.friction = {0, 1e8, 1e8};  // no slip whatever the load
    lambda = impulses(p, method);
    std::vector<double> u(3);
    row_velocities(p, lambda, {}, u);
    // the pyramid's LCP then holds numbers from 1 to 1e8: eight of sixteen digits are left
    EXPECT_LT(std::abs(u[0]) + std::abs(u[1]) + std::abs(u[2]), 1e-7);
  }
}

}  // namespace
}  // namespace karakuri::solver
