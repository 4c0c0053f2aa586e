// Euler's equations without torque. Momentum L and energy E are kept: in the body's principal axes its
// momentum p stays on the sphere and on the ellipsoid
//   |p|^2 = |L|^2,   sum p_i^2 / I_i = 2 E                                                                (1)
// The motion is followed in parts of an angle, each by the midpoint rule, which keeps L but not E; after each
// the body is turned so that (1) holds, by factors of the squares in which sum and energy are linear,
//   p_i^2 <- p_i^2 (1 + c (1 / I_i - sum(p_k^2 / I_k) / |L|^2))                                           (2)
// or, where these would not do, by a part of turning about the axis of the largest or smallest moment,
//   p_i^2 <- (1 - s) p_i^2 + s |L|^2 at that axis,   0 <= s <= 1                                          (3)
// Without that, what turns by many radians in a step would land anywhere on the sphere, with up to
// I_max / I_min times its energy, and what turns by little would drift there within some thousand steps.
#include "dynamics/free_spin.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "dynamics/spin_inertia.h"
#include "karakuri/spatial/rotation.h"

namespace karakuri {

namespace {

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

/// (3). What has no moment about an axis has no momentum there. Axes of the same moment keep their shares.
void mix_to_energy(Vec3& squares, const Vec3& inverse_moments, double twice_energy) {
  const double now = squares.dot(inverse_moments), all = squares.sum();
  double to = 0;  // of the largest moment, or of the smallest
  for (int i = 0; i < 3; ++i) {
    const double inverse = inverse_moments[i];
    const bool further = now > twice_energy ? inverse < to : inverse > to;
    if (inverse > 0 && (!(to > 0) || further)) to = inverse;
  }
  if (now == all * to) return;
  const Vec3 at_axis = (inverse_moments.array() == to).select(squares, Vec3::Zero());
  const double share = at_axis.sum();
  const double s = std::clamp((now - twice_energy) / (now - all * to), 0.0, 1.0);
  squares *= 1 - s;
  if (share > 0)
    squares += s * all / share * at_axis;
  else
    squares[std::find(inverse_moments.begin(), inverse_moments.end(), to) - inverse_moments.begin()] +=
        s * all;
}

/// 1 / I, where moments that differ by little more than rounding are the same: nothing tells by the energy
/// how momentum is shared among their axes.
Vec3 inverse_moments_of(const FreeBody& free) {
  constexpr double kSame = 1e-8;
  Vec3 inverse = free.inverse_moments;
  for (const auto& [i, j] : {std::pair{0, 1}, std::pair{0, 2}, std::pair{1, 2}})
    if (std::abs(inverse[i] - inverse[j]) <= kSame * inverse[i])
      inverse[i] = inverse[j] = 0.5 * (inverse[i] + inverse[j]);
  return inverse;
}

/// The turn next to this one that has the energy.
Quat with_energy(const SpinInertia& inertia, const Quat& turn, const Vec3& L, double twice_energy) {
  const Vec3 p = inertia.axes.transpose() * L;
  const Vec3 inverse = inverse_moments_of(inertia.free);
  Vec3 squares = p.cwiseAbs2();
  if (!scale_to_energy(squares, inverse, twice_energy)) mix_to_energy(squares, inverse, twice_energy);
  Vec3 wanted;
  for (int i = 0; i < 3; ++i) wanted[i] = std::copysign(std::sqrt(squares[i]), p[i]);
  return (Quat::FromTwoVectors(inertia.axes * wanted, L) * turn).normalized();
}

}  // namespace

Quat turn_with_energy(const Model& model, const Body& body, const Quat& turn, const Vec3& L,
                      double twice_energy) {
  return with_energy(SpinInertia(model, body, turn), turn, L, twice_energy);
}

bool tumbles(const Model& model, const Body& body, const Vec3& spin) {
  if (!body.alone || spin.isZero(0)) return false;
  const Vec3 moments = model.free_bodies[body.extra].moments;
  return moments.maxCoeff() - moments.minCoeff() > 1e-12 * moments.maxCoeff();
}

Vec3 spin_freely(const Model& model, const Body& body, const Quat& turn, const Vec3& spin, double h) {
  const Vec3 L = SpinInertia(model, body, turn).momentum(spin);
  const double twice_energy = spin.dot(L);
  const double parts = std::clamp(std::ceil(h * spin.norm() / kFarSpin), 1.0, double{kMostParts});
  Quat at = turn;
  Vec3 now = spin;
  for (int k = 0; k < static_cast<int>(parts); ++k) {
    const Quat half = (quat_exp(0.5 * h / parts * now) * at).normalized();
    at = (quat_exp(h / parts * SpinInertia(model, body, half).velocity(L)) * at).normalized();
    at = with_energy(SpinInertia(model, body, at), at, L, twice_energy);
    now = SpinInertia(model, body, at).velocity(L);
  }
  return quat_log(at * turn.conjugate());
}

}  // namespace karakuri
