// Motions whose exact course is known: pendulums, tops, free flight.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/spatial/rotation.h"
#include "support/elliptic.h"
#include "support/rk4.h"
#include "support/test_models.h"

namespace karakuri::test {
namespace {

constexpr double kStep = 1e-3;  // [s]
constexpr double kGravity = 9.81;

/// One link that hangs on the world.
Mechanism one_link(JointKind kind, const Inertia& inertia, const Vec3& axis = Vec3::UnitZ()) {
  Mechanism m;
  const LinkId link = m.add_link("link", inertia);
  EXPECT_TRUE(
      m.add_joint({.name = "joint", .kind = kind, .parent = m.world(), .child = link, .axis = axis}).ok());
  return m;
}

struct Invariants {
  double energy;
  Force momentum;  // about the world's origin

  Invariants(const Model& model, const State& state) {
    Workspace ws(model);
    update_poses(model, state, ws);
    update_velocities(model, state, ws);
    energy = kinetic_energy(model, state, ws) + potential_energy(model, state, ws);
    momentum = karakuri::momentum(model, ws, Vec3::Zero());
  }
};

double relative_change(const Vec3& now, const Vec3& before) { return (now - before).norm() / before.norm(); }

// T = 4 sqrt(I / (m g d)) K(sin(amplitude / 2))
TEST(Pendulum, PeriodAtLargeAmplitude) {
  for (const double amplitude : {0.1, 1.0, 2.0, 3.0}) {
    Inertia rod = Inertia::solid_cylinder(2.0, 0.05, 1.0);
    rod.com = {0, 0, -0.5};
    const double I = rod.about_origin()(1, 1);
    const double period =
        4 * std::sqrt(I / (2.0 * kGravity * 0.5)) * std::comp_ellint_1(std::sin(0.5 * amplitude));

    const Model model = compile_or_die(one_link(JointKind::kRevolute, rod, Vec3::UnitY()));
    Rk4 rk4(model);
    State state(model);
    state.q[0] = amplitude;
    // it passes the lowest point after a quarter of the period and after three quarters
    std::vector<double> passed;
    while (passed.size() < 2) {
      const State before = state;
      rk4.step(state, kStep);
      if (before.q[0] * state.q[0] > 0) continue;
      // with nearly constant speed near the lowest point: the acceleration is zero there
      const double t = -before.q[0] / (state.q[0] - before.q[0]) * kStep;
      State exact = before;
      rk4.step(exact, t);
      passed.push_back(exact.time - exact.q[0] / exact.v[0]);
    }
    // RK4: (step * 5 rad/s)^4 / 120 = 5e-12 per radian; seen is 2e-12
    EXPECT_NEAR(passed[0] / (0.25 * period), 1.0, 1e-11) << amplitude;
    EXPECT_NEAR(passed[1] / (0.75 * period), 1.0, 1e-11) << amplitude;
  }
}

/// A free body that spins about an axis near the intermediate one, with principal moments 1 < 2 < 3.
struct Spinner {
  Mechanism mechanism;
  LinkId link;
  Model model;
  State state;
  Mat3 axes = rotation_exp({0.3, -0.7, 0.4});  // principal, in the link

  explicit Spinner(const Vec3& spin) {  // in principal axes
    const Mat3 I = axes * Vec3(1, 2, 3).asDiagonal() * axes.transpose();
    link = mechanism.add_free_link("spinner", {.mass = 3, .com = {0.1, -0.2, 0.3}, .about_com = I},
                                   {rotation_exp({-0.5, 0.2, 1}), {1, 2, 3}});
    model = compile_or_die(mechanism, Vec3::Zero());
    state = State(model);
    state.v_view().tail<3>() = axes * spin;  // F and M coincide at the start
    state.v_view().head<3>() = Vec3(0.3, -0.1, 0.2);
  }

  Vec3 spin() const {  // now, in principal axes
    const Quat q(state.q[3], state.q[4], state.q[5], state.q[6]);
    return axes.transpose() * (q.conjugate() * Vec3(state.v_view().tail<3>()));
  }
};

TEST(FreeBody, KeepsEnergyAndMomentum) {
  Spinner s({0.2, 1.2, 0.1});
  Rk4 rk4(s.model);
  const Invariants start(s.model, s.state);
  double worst_energy = 0, worst_angular = 0, worst_linear = 0;
  for (int i = 0; i < 10'000; ++i) {
    rk4.step(s.state, kStep);
    const Invariants now(s.model, s.state);
    worst_energy = std::max(worst_energy, std::abs(now.energy / start.energy - 1));
    worst_angular = std::max(worst_angular, relative_change(now.momentum.moment, start.momentum.moment));
    worst_linear = std::max(worst_linear, relative_change(now.momentum.force, start.momentum.force));
  }
  // 10 s of RK4 at 1.2 rad/s: 10 * 1.2 (1.2e-3)^4 / 120 = 2e-13, and rounding over 1e4 steps
  EXPECT_LT(worst_energy, 1e-12);
  EXPECT_LT(worst_angular, 1e-12);
  EXPECT_LT(worst_linear, 1e-12);
}

// Landau & Lifshitz, Mechanics, §37, (37.10) ff., for L^2 > 2 E I2; otherwise with 1 and 3 exchanged:
//   w1 = sqrt((2 E I3 - L^2) / (I1 (I3 - I1))) cn,  w2 = sqrt((2 E I3 - L^2) / (I2 (I3 - I2))) sn,
//   w3 = sqrt((L^2 - 2 E I1) / (I3 (I3 - I1))) dn   of  t sqrt((I3 - I2) (L^2 - 2 E I1) / (I1 I2 I3)),
//   k^2 = (I2 - I1) (2 E I3 - L^2) / ((I3 - I2) (L^2 - 2 E I1))
TEST(FreeBody, FlipsAboutTheIntermediateAxisWhenItMust) {
  const Vec3 I(1, 2, 3);
  const Vec3 start(0.01, 2.0, 0.05);
  const Vec3 L = I.cwiseProduct(start);
  const double L2 = L.squaredNorm(), E2 = L.dot(start);  // E2 = 2 E
  ASSERT_GT(L2, E2 * I[1]);
  const double rate = std::sqrt((I[2] - I[1]) * (L2 - E2 * I[0]) / (I[0] * I[1] * I[2]));
  const double k = std::sqrt((I[1] - I[0]) * (E2 * I[2] - L2) / ((I[2] - I[1]) * (L2 - E2 * I[0])));
  const Vec3 size(std::sqrt((E2 * I[2] - L2) / (I[0] * (I[2] - I[0]))),
                  std::sqrt((E2 * I[2] - L2) / (I[1] * (I[2] - I[1]))),
                  std::sqrt((L2 - E2 * I[0]) / (I[2] * (I[2] - I[0]))));
  const double half_period = 2 * std::comp_ellint_1(k) / rate;
  // where on its course it starts: sn u0 = start_2 / size_2, on the side of cn that start_1 tells
  const double u = std::ellint_1(k, std::asin(start[1] / size[1]));
  const double u0 = start[0] > 0 ? u : 2 * std::comp_ellint_1(k) - u;

  Spinner s(start);
  Rk4 rk4(s.model);
  int flips = 0;
  double last_flip = 0;
  const int steps = static_cast<int>(3.2 * half_period / kStep);
  for (int i = 0; i < steps; ++i) {
    const double before = s.spin()[1];
    rk4.step(s.state, kStep);
    const Vec3 now = s.spin();
    const Jacobi j = jacobi(u0 + rate * s.state.time, k);
    const Vec3 exact = size.cwiseProduct(Vec3(j.cn, j.sn, j.dn));
    // RK4 at 2 rad/s over 20 s gives 1e-11 or so; leaving the unstable axis magnifies it by up to 40
    ASSERT_LT((now - exact).norm(), 1e-9) << "after " << s.state.time << " s";
    if (before * now[1] > 0) continue;
    const double t = s.state.time - now[1] / (now[1] - before) * kStep;
    // the spin passes zero with hardly any curvature, so that interpolation adds less than the above
    if (flips > 0) {
      EXPECT_NEAR(t - last_flip, half_period, 1e-9);
    }
    last_flip = t;
    ++flips;
  }
  EXPECT_EQ(flips, 3);
}

// Goldstein, Classical Mechanics, §5.7: I1 cos(tilt) W^2 - I3 w3 W + m g l = 0
TEST(HeavyTop, PrecessesSteadily) {
  const double mass = 0.5, l = 0.05, tilt = 0.6, w3 = 40;
  Inertia disc = Inertia::solid_cylinder(mass, 0.08, 0.02);
  disc.com = {0, 0, l};
  const double I1 = disc.about_origin()(0, 0), I3 = disc.about_com(2, 2);
  const double b = I3 * w3, root = std::sqrt(b * b - 4 * I1 * std::cos(tilt) * mass * kGravity * l);
  for (const double precession :
       {(b - root) / (2 * I1 * std::cos(tilt)), (b + root) / (2 * I1 * std::cos(tilt))}) {
    const Model model = compile_or_die(one_link(JointKind::kSpherical, disc));
    State state(model);
    const Quat turn = quat_exp({0, tilt, 0});
    const Vec3 axis = turn * Vec3::UnitZ();
    std::copy_n(std::vector<double>{turn.w(), turn.x(), turn.y(), turn.z()}.begin(), 4, state.q.begin());
    state.v_view() = precession * Vec3::UnitZ() + (w3 - precession * std::cos(tilt)) * axis;
    Rk4 rk4(model);
    const int steps = 2000;
    for (int i = 0; i < steps; ++i) {
      rk4.step(state, kStep);
      const Vec3 now = Quat(state.q[0], state.q[1], state.q[2], state.q[3]) * Vec3::UnitZ();
      const double angle = precession * state.time;
      const Vec3 exact(std::sin(tilt) * std::cos(angle), std::sin(tilt) * std::sin(angle), std::cos(tilt));
      // The angular velocity turns with the precession, 33 rad/s at most, over 2 s: 66 * 0.033^4 / 120 = 7e-7

      ASSERT_LT((now - exact).norm(), 1e-6) << "precession " << precession << " after " << state.time << " s";
    }
  }
}

/// Two boxes 2 x 2 x 6 m of 5 kg, the second hung 4 m below the first's joint; each box's centre is 2 m below
/// its own joint.
Mechanism double_pendulum() {
  Mechanism m;
  Inertia box = Inertia::solid_box(5, {2, 2, 6});
  box.com = {0, 0, -2};
  LinkId at = m.world();
  for (int i = 0; i < 2; ++i) {
    const LinkId link = m.add_link(i == 0 ? "upper" : "lower", box);
    EXPECT_TRUE(m.add_joint({.name = i == 0 ? "shoulder" : "elbow",
                             .kind = JointKind::kRevolute,
                             .parent = at,
                             .child = link,
                             .X_PF = Transform::translation({0, 0, i == 0 ? 0.0 : -4.0}),
                             .axis = Vec3::UnitY()})
                    .ok());
    at = link;
  }
  return m;
}

// Tabulated for the equations of motion of this pendulum with friction 0.3 tanh(w / 1e-3) N m in both joints.
TEST(DoublePendulum, FollowsTheTableWithDryFriction) {
  const Model model = compile_or_die(double_pendulum(), {0, 0, -9.8});
  Rk4 rk4(model, [](const State& state, VecOut tau) {
    for (int k = 0; k < 2; ++k) tau[k] = -0.3 * std::tanh(state.v[k] / 1e-3);
  });
  State state(model);
  state.q[0] = std::numbers::pi / 4;
  const struct {
    int second;
    double first, second_angle;
  } table[] = {{1, 0.1175, 0.4148}, {2, -0.4290, -0.5464}, {5, 0.7578, 0.0357}, {10, 0.7044, 0.0844}};
  const double tolerance = 0.55e-4;  // half of the table's last digit, and a tenth of that for our steps
  for (const auto& [second, first, second_angle] : table) {
    // Where a joint turns back, tanh changes within 1e-3 rad/s / 1 rad/s^2 = 1 ms: eight steps.
    const double step = 0.125e-3;
    rk4.run(state, step, static_cast<int>(std::lround((second - state.time) / step)));
    EXPECT_NEAR(state.q[0], first, tolerance) << "after " << second << " s";
    EXPECT_NEAR(state.q[1], second_angle, tolerance) << "after " << second << " s";
  }
}

TEST(Projectile, CentreOfMassDescribesAParabola) {
  Random random(3);
  Mechanism m;
  m.add_free_link("stone", random_inertia(random), random_transform(random, 1));
  const Model model = compile_or_die(m);
  State state = random_state(model, random, 3);
  Workspace ws(model);
  update_poses(model, state, ws);
  update_velocities(model, state, ws);
  const Vec3 p0 = center_of_mass(model, ws);
  const Vec3 v0 = momentum(model, ws, Vec3::Zero()).force / total_mass(model);
  Rk4 rk4(model);
  rk4.run(state, 0.01, 200);
  update_poses(model, state, ws);
  // Runge-Kutta is exact for parabolas, so that only the rounding of 200 steps of about 20 m remains
  const Vec3 exact = p0 + 2.0 * v0 + 0.5 * 4.0 * kEarthGravity;
  EXPECT_LT((center_of_mass(model, ws) - exact).norm(), 1e-12);
}

TEST(FloatingTree, KeepsMomentumAndEnergyWithoutGravity) {
  using enum JointKind;
  const JointKind kinds[] = {kRevolute,  kSpherical,   kPrismatic, kScrew,
                             kUniversal, kCylindrical, kPlanar,    kFree};
  Random random(9);
  Mechanism m;
  std::vector<LinkId> links{m.add_free_link("base", random_inertia(random), random_transform(random, 1))};
  for (JointKind kind : kinds) {
    const LinkId parent = links[random.below(static_cast<int>(links.size()))];
    links.push_back(m.add_link(std::string(name(kind)), random_inertia(random)));
    ASSERT_TRUE(
        m.add_joint(random_joint(random, kind, std::string(name(kind)) + ".joint", parent, links.back()))
            .ok());
  }
  const Model model = compile_or_die(m, Vec3::Zero());
  State state = random_state(model, random, 0.5);
  const Invariants start(model, state);
  Rk4 rk4(model);
  rk4.run(state, kStep, 1000);
  const Invariants end(model, state);
  // RK4 at about 1 rad/s over 1 s: (1e-3)^4 / 120 = 1e-14; light links get faster by a factor of five, 5^5 =
  // 3e3
  EXPECT_NEAR(end.energy / start.energy, 1.0, 3e-11);
  EXPECT_LT(relative_change(end.momentum.force, start.momentum.force), 3e-11);
  EXPECT_LT(relative_change(end.momentum.moment, start.momentum.moment), 3e-11);
}

}  // namespace
}  // namespace karakuri::test
