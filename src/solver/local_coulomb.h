// One contact alone, exactly.
//
// Given the free velocity b of a contact and its own (symmetric, positive definite) block Ŵ, find z in the
// cone with u = Ŵ z + b obeying Coulomb's law. Three cases:
//
//   b_n ≥ 0                                          open: z = 0                      (1)
//   z = −Ŵ⁻¹ b, |z_t| ≤ μ z_n                        stick: u = 0                     (2)
//   u_n = 0, u_t = −κ z_t, κ > 0, |z_t| = μ z_n      slip                             (3)
//
// Eliminating z_n = −(b_n + w·z_t) / w_nn with w = Ŵ_tn, S = Ŵ_tt − w wᵀ / w_nn, c = b_t − w b_n / w_nn:
//
//   (S + κ) z_t = −c                                                                 (4)
//
// and κ is a root of g(κ) = μ z_n(κ) / |z_t(κ)| − 1. When stick fails g(0) < 0, and g → ∞ with κ because
// b_n < 0: a root always exists. Tangents are turned into the principal axes of S once per problem, so that
// (4) is a division. For S = l·1 both z_n (l + κ) and |z_t| (l + κ) are linear in κ and Newton's method on g
// is exact in one step; in general it is kept inside a bracket. (Bonnefon and Daviet, "Quartic formulation of
// Coulomb 3D frictional contact", INRIA RT-0400 (2011), solve (3) as a quartic instead; the scalar form has
// no special cases and holds for any number of tangential rows.)
#pragma once

#include <algorithm>
#include <cmath>

#include "solver/cone.h"

namespace karakuri::solver {

/// A contact's own block, prepared. T: number of tangential rows, or −1 for any (`t` then counts).
template <int T>
struct LocalCone {
  static constexpr int kCapacity = T > 0 ? T : kMaxBlockSize - 1;
  ConeScale scale;
  int t = T;
  bool round = true;  // scale.s is all ones
  bool dead = false;  // nothing here moves anything: Ŵ = 0
  double w_nn = 0.0;
  double inverse_nn = 0.0;
  double w[kCapacity] = {};                 // Ŵ_tn in principal axes
  double l[kCapacity] = {};                 // principal values of S, > 0
  double inverse_l[kCapacity] = {};         // 1 / l
  double axes[kCapacity * kCapacity] = {};  // row k: principal axis k
  double kappa = 0.0;                       // last root of (3): next starting point

  int count() const { return T > 0 ? T : t; }
};

enum class ContactState : unsigned char { kOpen, kStick, kSlip };

/// 1 / (l_i + κ). Two of them by one division where that cannot overflow: divisions are most of the time
/// here.
template <int T>
inline void invert(const LocalCone<T>& cone, double kappa, double* inverse) {
  if constexpr (T == 2) {
    const double a = cone.l[0] + kappa;
    const double b = cone.l[1] + kappa;
    const double product = a * b;
    if (product > 1e-200 && product < 1e200) {
      const double both = 1.0 / product;
      inverse[0] = b * both;
      inverse[1] = a * both;
      return;
    }
  }
  for (int i = 0; i < cone.count(); ++i) inverse[i] = 1.0 / (cone.l[i] + kappa);
}

/// Solves (1)-(3) in principal axes. @param b_n, c As above. @param z Out: z_n, then z_t in principal axes.
template <int T>
ContactState solve_local(LocalCone<T>& cone, double b_n, const double* c, double* z) {
  const int t = cone.count();
  const double mu = cone.scale.mu;
  if (b_n >= 0.0) {  // (1)
    std::fill_n(z, t + 1, 0.0);
    return ContactState::kOpen;
  }
  if (mu == 0.0) {
    std::fill_n(z, t + 1, 0.0);
    z[0] = -b_n * cone.inverse_nn;
    return ContactState::kSlip;
  }
  double force = 0.0;   // |z_t|²
  double normal = b_n;  // −w_nn z_n
  for (int i = 0; i < t; ++i) {
    z[1 + i] = -c[i] * cone.inverse_l[i];
    force += z[1 + i] * z[1 + i];
    normal += cone.w[i] * z[1 + i];
  }
  z[0] = -normal * cone.inverse_nn;
  if (z[0] >= 0.0 && force <= mu * mu * z[0] * z[0]) return ContactState::kStick;  // (2)

  double low = 0.0;
  double high = kInfinity;
  double kappa = cone.kappa;
  bool last = false;
  for (int iteration = 0; iteration < 60; ++iteration) {
    force = 0.0;
    normal = b_n;
    double d_force = 0.0;   // ½ d|z_t|²/dκ
    double d_normal = 0.0;  // −w_nn dz_n/dκ
    double inverse[LocalCone<T>::kCapacity];
    invert(cone, kappa, inverse);
    for (int i = 0; i < t; ++i) {
      z[1 + i] = -c[i] * inverse[i];  // (4)
      const double dz = -z[1 + i] * inverse[i];
      force += z[1 + i] * z[1 + i];
      normal += cone.w[i] * z[1 + i];
      d_force += z[1 + i] * dz;
      d_normal += cone.w[i] * dz;
    }
    const double length = std::sqrt(force);
    if (last) break;
    const double z_n = -normal * cone.inverse_nn;
    const double g = mu * z_n - length;  // has the sign of g
    (g < 0.0 ? low : high) = kappa;
    if (std::abs(g) <= 1e-15 * (length + mu * std::abs(z_n)) || length < 1e-290) break;
    // derivative of μ z_n / |z_t|, times |z_t|³
    const double slope = -mu * (d_normal * cone.inverse_nn * force + z_n * d_force);
    double next = kappa - g * force / slope;
    if (!(next > low && next < high))
      next = high < kInfinity ? 0.5 * (low + high) : 2.0 * kappa + cone.l[0] + 1e-300;
    // Quadratic convergence: a step of 1e-4 leaves an error of 1e-8, which the next sweep starts from and
    // squares again; more digits now would be lost to the other contacts' changes.
    last = std::abs(next - kappa) <= 1e-4 * next;
    kappa = next;
  }
  cone.kappa = kappa;
  z[0] = std::max(0.0, -normal * cone.inverse_nn);
  const double length = std::sqrt(force);
  const double factor = length > 0.0 ? mu * z[0] / length : 0.0;  // exactly on the cone
  for (int i = 1; i <= t; ++i) z[i] *= factor;
  return ContactState::kSlip;
}

/// Prepares `cone` from the block of W (size x size, column by column) and its compliance.
template <int T>
void prepare_local(const Problem& problem, const Block& block, const double* w, const double* compliance,
                   LocalCone<T>& cone);

/// Replaces the block's impulse by the solution of (1)-(3), the rest of the problem held.
/// @param u Velocities of the block at the present λ. @return |Δz|².
template <int T>
double update_local(LocalCone<T>& cone, const double* u, double* lambda) {
  const int t = cone.count();
  const double* s = cone.scale.s;
  double z[1 + LocalCone<T>::kCapacity];
  double ut[LocalCone<T>::kCapacity];
  double c[LocalCone<T>::kCapacity];
  double raw_u[LocalCone<T>::kCapacity];
  double raw_z[LocalCone<T>::kCapacity];
  for (int i = 0; i < t; ++i) {
    raw_u[i] = cone.round ? u[1 + i] : s[1 + i] * u[1 + i];
    raw_z[i] = cone.round ? lambda[1 + i] : (s[1 + i] > 0.0 ? lambda[1 + i] / s[1 + i] : 0.0);
  }
  double b_n = u[0] - cone.w_nn * lambda[0];
  for (int k = 0; k < t; ++k) {
    const double* axis = cone.axes + k * t;
    double zk = 0.0;
    ut[k] = 0.0;
    for (int i = 0; i < t; ++i) {
      ut[k] += axis[i] * raw_u[i];
      zk += axis[i] * raw_z[i];
    }
    b_n -= cone.w[k] * zk;
    c[k] = ut[k] - cone.w[k] * cone.inverse_nn * u[0] - cone.l[k] * zk;
  }
  solve_local(cone, b_n, c, z);
  double change = (z[0] - lambda[0]) * (z[0] - lambda[0]);
  lambda[0] = z[0];
  for (int i = 0; i < t; ++i) {
    double x = 0.0;
    for (int k = 0; k < t; ++k) x += cone.axes[k * t + i] * z[1 + k];
    change += (x - raw_z[i]) * (x - raw_z[i]);
    lambda[1 + i] = cone.round ? x : s[1 + i] * x;
  }
  return change;
}

}  // namespace karakuri::solver
