// The stiff flyball governor, problem A05 of the IFToMM library of multibody benchmarks, against its reduced
// equations, integrated on their own.
//
// Both rods stand at the angle a from the downward vertical, the slider at the height s, the shaft turns at
// w. With x(l) = r + l sin a the distance of a point of a rod from the axis, I and Ia the rod's moments of
// inertia across and along,
//   J(a) = J0 + 2 (m_b x(L)^2 + m x(L/2)^2 + I sin^2 a + Ia cos^2 a),   J w = const                       (1)
//   2 (m_b L^2 + m L^2/4 + I) a'' = J'(a) w^2 / 2 - 2 (m_b L + m L/2) g sin a - 2 F dd/da                 (2)
//   m_s s'' = -m_s g - 2 F dd/ds,   d^2 = (L/2 sin a)^2 + (L - L/2 cos a - s)^2                           (3)
// F = k (d - d0) + c d' in the stiff governor. In the rigid one d = d0: with d0 = L/2 the coupler and half
// the rod make an isosceles triangle, s = L - L cos a, and F falls out of (2) and (3).
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "support/linkages.h"
#include "support/loop_watch.h"
#include "world/scenes.h"

namespace karakuri {
namespace {

using test::with;
using G = test::Governor;
constexpr double kGravity = 9.81, kL = G::kLength;

class Reduced {
 public:
  explicit Reduced(bool stiff) : stiff_(stiff) {
    turning_ = 2 * std::numbers::pi * shaft_inertia(y_[0]).first;
  }
  double height() const { return stiff_ ? y_[2] : kL - kL * std::cos(y_[0]); }
  double speed() const { return turning_ / shaft_inertia(y_[0]).first; }

  /// The classical method of Runge and Kutta.
  void step(double h) {
    const State k1 = rate(y_), k2 = rate(y_ + h / 2 * k1), k3 = rate(y_ + h / 2 * k2), k4 = rate(y_ + h * k3);
    y_ += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
  }

 private:
  using State = Eigen::Vector4d;  // a, a', s, s'
  static constexpr double kAcross = G::kRod * (kL * kL + G::kWidth * G::kWidth) / 12,
                          kAlong = G::kRod * G::kWidth * G::kWidth / 6;

  /// J and its derivative.
  static std::pair<double, double> shaft_inertia(double a) {
    const double still = kAlong + G::kSliderMass * G::kSlider * G::kSlider / 6;
    const double x = G::kHinge + kL * std::sin(a), y = G::kHinge + 0.5 * kL * std::sin(a);
    const double sc = std::sin(a) * std::cos(a);
    return {still + 2 * (G::kBall * x * x + G::kRod * y * y + kAlong +
                         (kAcross - kAlong) * std::sin(a) * std::sin(a)),
            4 * (G::kBall * x * kL * std::cos(a) + G::kRod * y * 0.5 * kL * std::cos(a) +
                 (kAcross - kAlong) * sc)};
  }

  State rate(const State& y) const {
    const double a = y[0], s = stiff_ ? y[2] : kL - kL * std::cos(a);
    const auto [J, slope] = shaft_inertia(a);
    const double w = turning_ / J, across = 0.5 * kL * std::sin(a), over = kL - 0.5 * kL * std::cos(a) - s;
    const double inertia = 2 * (G::kBall * kL * kL + G::kRod * kL * kL / 4 + kAcross);
    const double effort = 0.5 * slope * w * w - 2 * (G::kBall + 0.5 * G::kRod) * kL * kGravity * std::sin(a);
    if (!stiff_) {  // T = (inertia + m_s L^2 sin^2 a) a'^2 / 2
      const double of_slider = G::kSliderMass * kL * kL * std::sin(a);
      return {
          y[1],
          (effort - of_slider * std::cos(a) * y[1] * y[1] - G::kSliderMass * kGravity * kL * std::sin(a)) /
              (inertia + of_slider * std::sin(a)),
          0, 0};
    }
    const double d = std::hypot(across, over);
    const double by_a = (across * 0.5 * kL * std::cos(a) + over * 0.5 * kL * std::sin(a)) / d,
                 by_s = -over / d;
    const double F = G::kStiffness * (d - G::kCoupler) + G::kDamping * (by_a * y[1] + by_s * y[3]);
    return {y[1], (effort - 2 * F * by_a) / inertia, y[3], -kGravity - 2 * F * by_s / G::kSliderMass};
  }

  bool stiff_;
  State y_{std::numbers::pi / 3, 0, G::kHeight, 0};
  double turning_ = 0;
};

struct Apart {
  double height = 0, speed = 0, loop = 0;
};

/// 10 s, looked at every 0.1 s.
Apart compare(bool stiff, const WorldSettings& settings) {
  test::Governor governor = test::flyball_governor(stiff);
  World world = test::make_world(std::move(governor.scene), settings, {0, 0, -kGravity});
  Reduced reduced(stiff);
  test::LoopWatch watch;
  Apart out;
  for (int tenth = 1; tenth <= 100; ++tenth) {
    watch.until(world, 0.1 * tenth);
    for (int i = 0; i < 5000; ++i) reduced.step(2e-5);  // stable up to 1e-4, of fourth order
    out.height = std::max(out.height, std::abs(G::kHeight + world.q(governor.slider)[0] - reduced.height()));
    out.speed = std::max(out.speed, std::abs(world.v(governor.shaft)[0] - reduced.speed()));
  }
  EXPECT_TRUE(watch.finite);
  out.loop = watch.error;
  std::printf("A05 %s %s, %.2g ms: height %.2e m, speed %.2e rad/s, loops %.2e\n", stiff ? "stiff" : "rigid",
              std::string(name_of(settings.integrator)).c_str(), 1e3 * settings.dt, out.height, out.speed,
              out.loop);
  return out;
}

TEST(Governor, RigidMovesAsItsReducedEquation) {
  const Apart apart = compare(false, with(Integrator::kRk4, 1e-3));
  EXPECT_LT(apart.height, 1e-8);  // fourth order
  EXPECT_LT(apart.speed, 1e-7);
  EXPECT_LT(apart.loop, 1e-9);
}

// The library's own solution, to the six digits in which it is published: its error is above 1e-6 m
// there, as solutions with smaller and smaller steps tell.
TEST(Governor, ReducedEquationsMoveAsThePublishedSolution) {
  constexpr double kPublished[] = {0.658632, 0.727631, 0.536282, 0.567730, 0.740684,
                                   0.621601, 0.506231, 0.691814, 0.705002, 0.513246};  // [m] each 0.3 s
  Reduced reduced(true);
  double most = 0;
  for (const double height : kPublished) {
    for (int i = 0; i < 15000; ++i) reduced.step(2e-5);
    most = std::max(most, std::abs(reduced.height() - height));
  }
  std::printf("A05 published: %.2e m\n", most);
  EXPECT_LT(most, 2e-6);
}

// Its fastest rate is 1e4 per second, ten times that of the steps: only an implicit spring can do this.
TEST(Governor, StiffConvergesToItsReducedEquationsSlow) {
  const Apart coarse = compare(true, with(Integrator::kSemiImplicit, 1e-3));
  const Apart fine = compare(true, with(Integrator::kSemiImplicit, 2.5e-4));
  EXPECT_LT(coarse.height, 2e-2);  // of 0.25 m that the slider moves, ten periods
  EXPECT_LT(fine.height, 0.35 * coarse.height) << "first order";
  EXPECT_LT(std::max(coarse.loop, fine.loop), 1e-9);
}

}  // namespace
}  // namespace karakuri
