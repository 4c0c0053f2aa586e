// The friction cone in coordinates where it is round.
//
// With μ the first nonzero coefficient of a block and s_i = μ_i / μ, the change λ_i = s_i z_i, ũ_i = s_i u_i
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

#include "karakuri/solver/problem.h"

namespace karakuri::solver {

struct ConeScale {
  double mu = 0.0;
  double s[kMaxBlockSize] = {1, 1, 1, 1, 1, 1};  // s[0] = 1
};

inline ConeScale cone_scale(const Problem& p, const Block& block) {
  ConeScale scale;
  for (int i = 1; i < block.size && scale.mu == 0.0; ++i) scale.mu = p.friction[block.row + i];
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

}  // namespace karakuri::solver
