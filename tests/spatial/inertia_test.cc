// Inertias of solids against integrals over their volume, and which inertias no body can have.
#include "karakuri/spatial/inertia.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "karakuri/spatial/rotation.h"

namespace karakuri::test {
namespace {

using testing::HasSubstr;

/// A solid of revolution about z, cut into discs: of radius r(z) for |z| < reach.
Inertia revolve(double mass, double reach, const std::function<double(double)>& r) {
  constexpr int kDiscs =
      200'000;  // midpoint rule: (1/200000)^2 and, at the poles of a ball, ^1.5, gives 1e-8
  double volume = 0, along = 0, across = 0;
  for (int i = 0; i < kDiscs; ++i) {
    const double z = reach * ((2.0 * i + 1) / kDiscs - 1), r2 = r(z) * r(z);
    volume += r2;
    along += 0.5 * r2 * r2;
    across += 0.25 * r2 * r2 + r2 * z * z;
  }
  return {mass, Vec3::Zero(), mass / volume * Vec3(across, across, along).asDiagonal()};
}

void expect_same(const Inertia& a, const Inertia& b, double tolerance) {
  EXPECT_NEAR(a.mass, b.mass, tolerance * b.mass);
  EXPECT_LT((a.com - b.com).norm(), tolerance);
  EXPECT_LT((a.about_com - b.about_com).norm(), tolerance * b.about_com.norm());
}

TEST(Inertia, SolidsOfRevolution) {
  const double r = 0.3, l = 0.8;
  const auto ball = [](double radius, double z) { return std::sqrt(std::max(0.0, radius * radius - z * z)); };
  expect_same(Inertia::solid_cylinder(2, r, l), revolve(2, l / 2, [&](double) { return r; }), 1e-8);
  expect_same(Inertia::solid_sphere(2, r), revolve(2, r, [&](double z) { return ball(r, z); }), 1e-8);
  expect_same(Inertia::solid_capsule(2, r, l),
              revolve(2, l / 2 + r, [&](double z) { return ball(r, std::max(0.0, std::abs(z) - l / 2)); }),
              1e-8);
}

TEST(Inertia, CapsuleWithoutLengthIsASphere) {
  expect_same(Inertia::solid_capsule(3, 0.2, 0), Inertia::solid_sphere(3, 0.2), 1e-15);
}

TEST(Inertia, Box) {
  // Eight points at 1/sqrt(3) of the half sizes have the moments of the box exactly (Gauss-Legendre
  // quadrature).
  const Vec3 size(0.2, 0.5, 1.1);
  Inertia sum{};
  for (int corner = 0; corner < 8; ++corner) {
    const Vec3 sign(corner & 1 ? 1 : -1, corner & 2 ? 1 : -1, corner & 4 ? 1 : -1);
    sum = sum + Inertia::point_mass(3.0 / 8, sign.cwiseProduct(size) / (2 * std::sqrt(3.0)));
  }
  expect_same(Inertia::solid_box(3, size), sum, 1e-15);
}

TEST(Inertia, TwoHalvesMakeTheWhole) {
  Inertia half = Inertia::solid_box(1.5, {0.2, 0.5, 0.4});
  half.com = {0, 0, 0.2};
  Inertia other = half;
  other.com = {0, 0, -0.2};
  expect_same(half + other, Inertia::solid_box(3, {0.2, 0.5, 0.8}), 1e-15);
}

TEST(Inertia, FramesDoNotChangeKineticEnergy) {
  Inertia body = Inertia::solid_box(2, {0.1, 0.3, 0.7}).in_frame({rotation_exp({1, 2, 3}), {0.1, -0.2, 0.3}});
  const auto energy = [](const Inertia& in, const Vec3& w, const Vec3& v_origin) {
    const Vec3 v = v_origin + w.cross(in.com);
    return 0.5 * in.mass * v.squaredNorm() + 0.5 * w.dot(in.about_com * w);
  };
  const Transform X_AB{rotation_exp({-0.4, 0.9, 0.2}), {1, 2, -3}};
  const Vec3 w(0.3, -1, 2), v(0.5, 0.1, -0.7);                        // in B, of B's origin
  const Vec3 w_A = X_AB.R * w, v_A = X_AB.R * v - w_A.cross(X_AB.p);  // the same motion, of A's origin
  EXPECT_NEAR(energy(body.in_frame(X_AB), w_A, v_A) / energy(body, w, v), 1.0, 1e-13);
}

TEST(Inertia, AboutTheOriginByMassElements) {
  const Vec3 c(0.3, -0.2, 0.5);
  const Mat3 expected = 2.0 * (c.squaredNorm() * Mat3::Identity() - c * c.transpose());
  EXPECT_LT((Inertia::point_mass(2, c).about_origin() - expected).norm(), 1e-15);
}

Inertia with_moments(const Vec3& moments, double mass = 1) {
  const Mat3 R = rotation_exp({0.5, -1, 2});
  return {mass, {0.1, 0.2, 0.3}, R * moments.asDiagonal() * R.transpose()};
}

TEST(FindFlaw, AcceptsWhatExists) {
  EXPECT_FALSE(find_flaw(Inertia::solid_box(1, {1, 2, 3})));
  EXPECT_FALSE(find_flaw(Inertia::point_mass(1, {1, 0, 0})));
  EXPECT_FALSE(find_flaw(with_moments({1, 1, 0}))) << "a thin rod";
  EXPECT_FALSE(find_flaw(with_moments({1, 2, 3}))) << "a flat plate";
  EXPECT_FALSE(find_flaw(with_moments({1, 2, 3.000001}))) << "a flat plate, written with six digits";
  EXPECT_FALSE(find_flaw(with_moments({1e-12, 1e-12, 1e-12}, 1e-6))) << "a grain of sand";
}

TEST(FindFlaw, RefusesWhatDoesNot) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const auto flaw = [](const Inertia& inertia) { return find_flaw(inertia).value_or("nothing"); };
  EXPECT_THAT(flaw(with_moments({1, 1, 1}, 0)), HasSubstr("mass 0"));
  EXPECT_THAT(flaw(with_moments({1, 1, 1}, -2)), HasSubstr("mass -2"));
  for (double bad : {nan, inf, -inf}) {
    EXPECT_THAT(flaw(with_moments({1, 1, 1}, bad)), HasSubstr("not finite"));
    EXPECT_THAT(flaw({1, {0, bad, 0}, Mat3::Identity()}), HasSubstr("not finite"));
    EXPECT_THAT(flaw({1, {0, 0, 0}, bad * Mat3::Identity()}), HasSubstr("not finite"));
  }
  EXPECT_THAT(flaw(with_moments({1, 2, 3.1})), HasSubstr("triangle inequality"));
  EXPECT_THAT(flaw(with_moments({3.1, 1, 2})), HasSubstr("triangle inequality"));
  EXPECT_THAT(flaw(with_moments({1, 1, -0.1})), HasSubstr("not positive definite"));
  EXPECT_THAT(flaw(with_moments({1e-12, 1e-12, -1e-12}, 1e-6)), HasSubstr("not positive definite"));
  Inertia skewed = with_moments({1, 1, 1});
  skewed.about_com(0, 2) += 1e-3;
  EXPECT_THAT(flaw(skewed), HasSubstr("not symmetric"));
}

}  // namespace
}  // namespace karakuri::test
