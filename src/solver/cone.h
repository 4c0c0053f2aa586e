// The friction cone in coordinates where it is round.
//
// With μ the largest coefficient of a block and s_i = μ_i / μ, the change λ_i = s_i z_i, ũ_i = s_i u_i
// keeps λ·u and turns the elliptic cone into
//
//   K = {z: |z_t| ≤ μ z_n}                                                        (1)
//   P_K(x) = x                               if |x_t| ≤ μ x_n
//          = 0                               if μ |x_t| ≤ −x_n                    (2)
//          = n (1, μ x_t/|x_t|),  n = (x_n + μ |x_t|) / (1 + μ²)   otherwise
//
// An isotropic contact has s = 1, so that its natural map is the published one. A row with μ_i = 0 has s = 0:
// it neither acts nor counts.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/lanes.h"
#include "karakuri/solver/problem.h"

namespace karakuri::solver {

struct ConeScale {
  double mu = 0.0;
  double s[kMaxBlockSize] = {1, 1, 1, 1, 1, 1};  // s[0] = 1
};

inline ConeScale cone_scale(const Problem& p, const Block& block) {
  ConeScale scale;
  for (int i = 1; i < block.size; ++i) scale.mu = std::max(scale.mu, p.friction[block.row + i]);
  for (int i = 1; i < block.size; ++i)
    scale.s[i] = scale.mu > 0.0 ? p.friction[block.row + i] / scale.mu : 0.0;
  return scale;
}

inline double tangent_norm(const double* x, int size) {
  double sum = 0.0;
  for (int i = 1; i < size; ++i) sum += x[i] * x[i];
  return std::sqrt(sum);
}

inline void project_cone(double* x, int size, double mu) {  // (2)
  const double t = tangent_norm(x, size);
  if (x[0] >= 0.0 && t <= mu * x[0]) return;
  if (mu * t <= -x[0]) {
    std::fill_n(x, size, 0.0);
    return;
  }
  const double n = (x[0] + mu * t) / (1.0 + mu * mu);
  const double factor = t > 0.0 ? mu * n / t : 0.0;
  x[0] = n;
  for (int i = 1; i < size; ++i) x[i] *= factor;
}

/// z of a block, û = ũ + (μ|ũ_t|, 0, ...) of a block.
inline void to_round(const ConeScale& scale, int size, const double* lambda, const double* u, double* z,
                     double* u_hat) {
  for (int i = 0; i < size; ++i) {
    z[i] = scale.s[i] > 0.0 ? lambda[i] / scale.s[i] : 0.0;
    u_hat[i] = scale.s[i] * u[i];
  }
  u_hat[0] += scale.mu * tangent_norm(u_hat, size);
}

/// |F|² / ρ² of residual.cc for ρ = 1 / mobility, one round cone in each lane.
template <class V>
inline V natural_map_in_lanes(V mu, V mobility, const V* impulse, const V* u) {
  using lanes::all, lanes::larger, lanes::root, lanes::select;
  constexpr double kHidden = 4 * std::numeric_limits<double>::epsilon();  // by rounding, where z is huge
  const V zero = all<V>(0), tiny = all<V>(1e-300);
  const V hat = u[0] + mu * root(u[1] * u[1] + u[2] * u[2]);
  const V z[3] = {mobility * impulse[0], mobility * impulse[1], mobility * impulse[2]};
  const V sum_u = hat * hat + u[1] * u[1] + u[2] * u[2], sum_z = z[0] * z[0] + z[1] * z[1] + z[2] * z[2];
  const V a = z[0] - hat, b = z[1] - u[1], c = z[2] - u[2];
  const V t = root(b * b + c * c);
  const V on = (a + mu * t) / (all<V>(1) + mu * mu);  // P_K: normal part
  const V scale = mu * on / larger(t, tiny);
  const V f0 = z[0] - on, f1 = z[1] - b * scale, f2 = z[2] - c * scale;
  const V slips = kHidden * kHidden * sum_z + f0 * f0 + f1 * f1 + f2 * f2;
  return select((a >= zero) & (t <= mu * a), sum_u, select(mu * t <= -a, sum_z, slips));
}

}  // namespace karakuri::solver
