// Euler's equations without torque. Momentum L and energy E are kept: in the body's principal axes its
// momentum p stays on the sphere and on the ellipsoid
//   |p|^2 = |L|^2,   sum p_i^2 / I_i = 2 E                                                                (1)
// The motion is followed in parts of an angle, each by the midpoint rule, which keeps L but not E; after each
// the body is turned so that (1) holds, by factors of the squares in which sum and energy are linear,
//   p_i^2 <- p_i^2 (1 + c (1 / I_i - sum(p_k^2 / I_k) / |L|^2))                                           (2)
// or, where these would not do, by a part of turning about the axis of the largest or smallest moment,
//   p_i^2 <- (1 - s) p_i^2 + s |L|^2 at that axis,   0 <= s <= 1                                          (3)
// Without that, what turns by many radians in a step would land anywhere on the sphere, with up to
// I_max / I_min times its energy.
#include "world/free_spin.h"

#include <algorithm>
#include <cmath>

#include "karakuri/spatial/rotation.h"
#include "world/spin_inertia.h"

namespace karakuri {

namespace {

using world_detail::SpinInertia;

constexpr int kMostParts = 256;

/// (2) where no factor would be below zero.
bool scale_to_energy(Vec3& squares, const Vec3& inverse_moments, double twice_energy) {
  const double now = squares.dot(inverse_moments), mean = now / squares.sum();
  const Vec3 off = (inverse_moments.array() - mean).matrix();
  const double spread = squares.dot(off.cwiseAbs2());
  if (!(spread > 0)) return false;
  const Vec3 factors = Vec3::Ones() + (twice_energy - now) / spread * off;
  if (!(factors.minCoeff() >= 0)) return false;
  squares = squares.cwiseProduct(factors);
  return true;
}

/// (3). What has no moment about an axis has no momentum there.
void mix_to_energy(Vec3& squares, const Vec3& moments, const Vec3& inverse_moments, double twice_energy) {
  const double now = squares.dot(inverse_moments);
  int axis = 0;
  const double sign = now > twice_energy ? 1 : -1;  // to the largest moment, or to the smallest
  for (int i = 1; i < 3; ++i)
    if (inverse_moments[i] > 0 && (!(moments[axis] > 0) || sign * moments[i] > sign * moments[axis]))
      axis = i;
  const double all = squares.sum(), there = all * inverse_moments[axis];
  if (now == there) return;
  const double s = std::clamp((now - twice_energy) / (now - there), 0.0, 1.0);
  squares *= 1 - s;
  squares[axis] += s * all;
}

/// The turn next to this one that has the energy.
Quat with_energy(const SpinInertia& inertia, const Quat& turn, const Vec3& L, double twice_energy) {
  const Vec3 p = inertia.axes.transpose() * L;
  const Vec3 inverse = inertia.free.inverse_moments;
  Vec3 squares = p.cwiseAbs2();
  if (!scale_to_energy(squares, inverse, twice_energy))
    mix_to_energy(squares, inertia.free.moments, inverse, twice_energy);
  Vec3 wanted;
  for (int i = 0; i < 3; ++i) wanted[i] = std::copysign(std::sqrt(squares[i]), p[i]);
  return (Quat::FromTwoVectors(inertia.axes * wanted, L) * turn).normalized();
}

}  // namespace

bool world_detail::tumbles(const World::Impl& w, const Body& body, const Vec3& spin) {
  if (!body.alone || spin.isZero(0)) return false;
  const Vec3 moments = w.model.free_bodies[body.extra].moments;
  return moments.maxCoeff() - moments.minCoeff() > 1e-12 * moments.maxCoeff();
}

Vec3 world_detail::spin_freely(const World::Impl& w, const Body& body, const Quat& turn, const Vec3& spin,
                               double h) {
  const Vec3 L = SpinInertia(w, body, turn).momentum(spin);
  const double twice_energy = spin.dot(L);
  const double parts = std::clamp(std::ceil(h * spin.norm() / kFarSpin), 1.0, double{kMostParts});
  Quat at = turn;
  Vec3 now = spin;
  for (int k = 0; k < static_cast<int>(parts); ++k) {
    const Quat half = (quat_exp(0.5 * h / parts * now) * at).normalized();
    at = (quat_exp(h / parts * SpinInertia(w, body, half).velocity(L)) * at).normalized();
    at = with_energy(SpinInertia(w, body, at), at, L, twice_energy);
    now = SpinInertia(w, body, at).velocity(L);
  }
  return quat_log(at * turn.conjugate());
}

}  // namespace karakuri
