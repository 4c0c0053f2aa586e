// Preview control against closed forms, and footsteps against what they promise.
#include "karakuri/control/preview_control.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include <Eigen/Eigenvalues>

#include "karakuri/control/footsteps.h"
#include "karakuri/core/random.h"
#include "karakuri/spatial/rotation.h"

namespace karakuri {
namespace {

PreviewControl make(const PreviewSettings& settings) {
  Result<PreviewControl> made = PreviewControl::make(settings);
  if (!made.ok()) ADD_FAILURE() << to_string(made.errors());
  return *made;
}

/// In continuous time the optimum of int Q (r - p)^2 + R u^2 with p = (1 - c s^2) u / s^3, c = z / g, has the
/// stable roots of  R (-s^6) + Q (1 - c s^2)^2 = 0,  a cubic in s^2, as its poles; the gains are the
/// coefficients of their polynomial.
std::array<double, 3> continuous_gains(const PreviewSettings& s) {
  const double c = s.height / s.gravity, ratio = s.zmp_weight / s.jerk_weight;
  // y = s^2:  y^3 - ratio (1 - c y)^2 = 0
  Eigen::Matrix3d companion;
  companion << ratio * c * c, -2 * ratio * c, ratio, 1, 0, 0, 0, 1, 0;
  const Eigen::Vector3cd y = companion.eigenvalues();
  std::complex<double> p[4] = {1, 0, 0, 0};  // the product of all (s + root), highest power first
  for (int i = 0; i < 3; ++i) {
    const std::complex<double> root = std::sqrt(y[i]);  // real part positive; the pole is -root
    for (int k = 3; k > 0; --k) p[k] += root * p[k - 1];
  }
  return {p[3].real(), p[2].real(), p[1].real()};
}

TEST(PreviewControl, GainsAreThoseOfContinuousTimeForShortPeriods) {
  for (const double height : {0.3, 0.8, 1.2}) {
    double before = 0;
    for (const double period : {2e-3, 1e-3, 5e-4}) {
      const PreviewSettings settings{.height = height, .period = period, .horizon = 2};
      const PreviewControl control = make(settings);
      // In discrete time the weights are per sample, so that R / Q is the same. The gains differ to first
      // order in period times the fastest pole.
      const std::array<double, 3> expected = continuous_gains(settings);
      double worst = 0;
      for (std::size_t k = 0; k < 3; ++k)
        worst = std::max(worst, std::abs(control.state_gains()[k] / expected[k] - 1));
      if (before > 0) EXPECT_NEAR(worst / before, 0.5, 0.05) << height << " " << period;
      before = worst;
    }
    EXPECT_LT(before, 0.05);
  }
}

TEST(PreviewControl, RiccatiSolutionIsOptimal) {
  // A motion that starts beside the reference and is controlled has the least cost: any other gains are
  // worse.
  const PreviewControl control = make({});
  const auto cost = [&](double k0, double k1, double k2) {
    CartState s{0.05, 0, 0};
    double sum = 0;
    for (int i = 0; i < 2000; ++i) {
      const double u = -(k0 * s.x + k1 * s.v + k2 * s.a);
      sum += std::pow(control.zmp(s), 2) + 1e-6 * u * u;
      s = s.after(control.settings().period, u);
    }
    return sum;
  };
  const auto K = control.state_gains();
  const double best = cost(K[0], K[1], K[2]);
  Random random(4);
  for (int i = 0; i < 50; ++i) {
    const auto about = [&](double k) { return k * (1 + random.uniform(-0.02, 0.02)); };
    EXPECT_GE(cost(about(K[0]), about(K[1]), about(K[2])), best * (1 - 1e-12));
  }
}

TEST(PreviewControl, MeetsAReferenceThatStaysWhereverItIs) {
  const PreviewControl control = make({.horizon = 0.4});  // short: the rest of the gains matters
  double sum = 0;
  for (const double f : control.preview_gains()) sum += f;
  EXPECT_NEAR(sum, control.state_gains()[0], 1e-9 * sum);
  CartState s{100.05, 0, 0};
  const std::vector<double> ahead(static_cast<std::size_t>(control.samples()), 100.0);
  for (int i = 0; i < 4000; ++i) s = control.next(s, ahead);
  EXPECT_NEAR(s.x, 100, 1e-9);
  EXPECT_NEAR(control.zmp(s), 100, 1e-9);
}

/// Random steps, and what the schedule makes of them.
struct Walk {
  Gait gait;
  Schedule schedule;
  std::vector<Footstep> steps;

  explicit Walk(Random& random) {
    gait.step_time = random.uniform(0.6, 1.0);
    gait.double_support = random.uniform(0.08, 0.2);
    const Transform X{rotation_exp({0, 0, random.uniform(-3, 3)}),
                      {random.uniform(-2, 2), random.uniform(-2, 2), random.uniform(0, 1)}};
    const Soles start = soles_about(X, gait.spacing);
    schedule = Schedule(gait, start, 0);
    std::vector<PlannedSteps> plan;
    for (int i = 0; i < 3; ++i)
      plan.push_back(
          {2 + static_cast<int>(random.uniform() * 4),
           {random.uniform(-0.15, 0.2), random.uniform(-0.03, 0.03), random.uniform(-0.25, 0.25)}});
    steps = plan_footsteps(plan, random.uniform() < 0.5 ? Side::kLeft : Side::kRight, start, gait);
    for (const Footstep& step : steps) schedule.add(step, 0);
    schedule.settle();
  }
};

/// Whether a point of the floor is on a sole of 24 x 14 cm that stands, or between two.
double outside(const Walk& walk, double t, const Vec3& p) {
  const Soles soles = walk.schedule.soles(t);
  const auto distance = [&](const Transform& X) {
    const Vec3 q = X.inverse_apply(p);
    return std::max({std::abs(q.x()) - 0.12, std::abs(q.y()) - 0.07, 0.0});
  };
  if (walk.schedule.in_air(Side::kLeft, t)) return distance(soles[1]);
  if (walk.schedule.in_air(Side::kRight, t)) return distance(soles[0]);
  double least = 1e9;  // the hull of both soles holds all that is between points of them
  for (double s = 0; s <= 1; s += 0.02) {
    const Transform X{soles[0].R * rotation_exp(s * rotation_log(soles[0].R.transpose() * soles[1].R)),
                      soles[0].p + s * (soles[1].p - soles[0].p)};
    least = std::min(least, distance(X));
  }
  return least;
}

TEST(PreviewControl, ZmpOfRandomWalksStaysWithinTheSoles) {
  Random random(11);
  for (int i = 0; i < 20; ++i) {
    const Walk walk(random);
    const PreviewControl control = make({});
    const double T = control.settings().period;
    const Vec3 start = walk.schedule.zmp(0);
    CartState x{start.x(), 0, 0}, y{start.y(), 0, 0};
    std::vector<double> px(static_cast<std::size_t>(control.samples())), py = px;
    double worst = 0, error = 0;
    for (double t = 0; t < walk.schedule.end() + 2; t += T) {
      for (std::size_t j = 0; j < px.size(); ++j) {
        const Vec3 p = walk.schedule.zmp(t + T * static_cast<double>(j + 1));
        px[j] = p.x(), py[j] = p.y();
      }
      x = control.next(x, px), y = control.next(y, py);
      const Vec3 p(control.zmp(x), control.zmp(y), 0);
      worst = std::max(worst, outside(walk, t + T, {p.x(), p.y(), walk.schedule.level(t + T)}));
      error = std::max(error, (p - walk.schedule.zmp(t + T)).head<2>().norm());
    }
    EXPECT_EQ(worst, 0) << i;
    EXPECT_LT(error, 0.04) << i;  // some centimetres where the reference goes from foot to foot in 0.1 s
    const Soles last = walk.schedule.last_soles();
    EXPECT_LT((Vec3(x.x, y.x, last[0].p.z()) - middle_of(last).p).norm(), 1e-3) << i;
  }
}

TEST(Footsteps, EndSideBySideWhereThePlanLeads) {
  Gait gait;
  const Soles start = soles_about({}, gait.spacing);
  // four quarter turns on the spot and back
  const auto turned = plan_footsteps({{8, {0, 0, std::numbers::pi / 16}}}, Side::kLeft, start, gait);
  const Transform middle = middle_of({turned[8].X_WS, turned[7].X_WS});
  EXPECT_EQ(turned.size(), 9u);
  EXPECT_NEAR(std::atan2(middle.R(1, 0), middle.R(0, 0)), std::numbers::pi / 2, 1e-12);
  EXPECT_LT(middle.p.norm(), 1e-12);
  // straight ahead: so many steps, so far
  const auto ahead = plan_footsteps({{5, {0.2, 0, 0}}}, Side::kRight, start, gait);
  EXPECT_NEAR(ahead[4].X_WS.p.x(), 1.0, 1e-12);
  EXPECT_NEAR(ahead[5].X_WS.p.x(), 1.0, 1e-12);
  EXPECT_NEAR(ahead[5].X_WS.p.y() - ahead[4].X_WS.p.y(), 2 * gait.spacing, 1e-12);
}

TEST(Footsteps, FeetMoveSmoothlyAndOnlyInTheAir) {
  Random random(7);
  for (int i = 0; i < 10; ++i) {
    const Walk walk(random);
    constexpr double h = 1e-3;
    for (double t = h; t < walk.schedule.end() + 0.5; t += h) {
      const Soles a = walk.schedule.soles(t - h), b = walk.schedule.soles(t), c = walk.schedule.soles(t + h);
      for (std::size_t k = 0; k < 2; ++k) {
        const Vec3 acceleration = (a[k].p - 2 * b[k].p + c[k].p) / (h * h);
        EXPECT_LT(acceleration.norm(), 40) << t;  // a jump of velocity of 0.1 m/s would be 100
        const Side side = k == 0 ? Side::kLeft : Side::kRight;
        if (!walk.schedule.in_air(side, t) && !walk.schedule.in_air(side, t + h))
          EXPECT_LT((c[k].p - b[k].p).norm(), 1e-12) << t;
      }
    }
  }
}

TEST(Footsteps, ForgettingChangesNothingToCome) {
  Random random(21);
  const Walk walk(random);
  Schedule forgets = walk.schedule;
  for (double t = 0; t < walk.schedule.end() + 1; t += 0.05) {
    forgets.forget(t);
    EXPECT_LT((forgets.zmp(t) - walk.schedule.zmp(t)).norm(), 1e-15);
    EXPECT_LT((forgets.soles(t)[0].p - walk.schedule.soles(t)[0].p).norm(), 1e-15);
    EXPECT_EQ(forgets.shares(t), walk.schedule.shares(t));
    EXPECT_EQ(forgets.landed(t), walk.schedule.landed(t));
  }
  EXPECT_LE(forgets.phases().size(), 2u);
}

}  // namespace
}  // namespace karakuri
