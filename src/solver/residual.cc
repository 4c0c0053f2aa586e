//   F = λ − P_K(λ − ρ û)                    natural map, ρ > 0                     (1)
//   û = u + (μ |u_t|, 0, 0) for cones, û = u for other rows                         (2)
//
// Acary, Brémond, Huber, "On solving contact problems with Coulomb friction: formulations and numerical
// comparisons", in Advanced Topics in Nonsmooth Dynamics (2018), §3. Their measure is |F| / |q| with ρ = 1.
#include "karakuri/solver/residual.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/simd.h"
#include "solver/cone.h"

namespace karakuri::solver {

namespace {

using simd::V4, simd::load4, simd::sum4;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

double square(double x) { return x * x; }

/// |F|² of a contact, in round coordinates. Each case of the projection is written so that nothing cancels:
/// with a huge λ, λ − P(λ − ρ û) computed as it stands would lose û altogether and call anything a solution.
double cone_natural_map(const ConeScale& scale, int size, const double* lambda, const double* u, double rho) {
  double z[kMaxBlockSize];
  double u_hat[kMaxBlockSize];
  double x[kMaxBlockSize];
  to_round(scale, size, lambda, u, z, u_hat);
  double all_z = 0.0;
  double all_u = 0.0;
  for (int i = 0; i < size; ++i) {
    x[i] = z[i] - rho * u_hat[i];
    all_z += square(z[i]);
    all_u += square(rho * u_hat[i]);
  }
  const double t = tangent_norm(x, size);
  if (x[0] >= 0.0 && t <= scale.mu * x[0]) return all_u;  // x stays where it is
  if (scale.mu * t <= -x[0]) return all_z;                // x goes to the apex
  project_cone(x, size, scale.mu);
  double sum = square(4.0 * kEpsilon) * all_z;  // what rounding may hide here
  for (int i = 0; i < size; ++i) sum += square(z[i] - x[i]);
  return sum;
}

/// The same for the usual contact, of three rows and one μ: a root less, and no divisions but where it slips.
double contact_natural_map(double mu, const double* lambda, const double* u, double rho) {
  const double v[3] = {rho * (u[0] + mu * std::sqrt(u[1] * u[1] + u[2] * u[2])), rho * u[1], rho * u[2]};
  double x[3] = {lambda[0] - v[0], lambda[1] - v[1], lambda[2] - v[2]};
  const double t = x[1] * x[1] + x[2] * x[2];
  if (x[0] >= 0.0 && t <= square(mu * x[0])) return v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
  const double all = lambda[0] * lambda[0] + lambda[1] * lambda[1] + lambda[2] * lambda[2];
  if (x[0] <= 0.0 && mu * mu * t <= square(x[0])) return all;
  const double root = std::sqrt(t), n = (x[0] + mu * root) / (1.0 + mu * mu), factor = mu * n / root;
  return square(4.0 * kEpsilon) * all + square(lambda[0] - n) + square(lambda[1] - factor * x[1]) +
         square(lambda[2] - factor * x[2]);
}

/// Of rows that are free or bounded on both sides.
double row_natural_map(const Problem& p, const Block& block, const double* lambda, const double* u,
                       double rho) {
  double low = -kInfinity;
  double high = kInfinity;
  if (block.kind == RowKind::kBox) {
    low = p.lower[block.row];
    high = p.upper[block.row];
  }
  double sum = 0.0;
  for (int i = 0; i < block.size; ++i) {
    const double x = lambda[i] - rho * u[i];
    sum += square(x < low ? lambda[i] - low : x > high ? lambda[i] - high : rho * u[i]);
  }
  return sum;
}

/// |F|² of one block.
inline double block_natural_map(const Problem& p, const Block& block, const double* lambda, const double* u,
                                double rho) {
  if (block.kind == RowKind::kComplementarity)
    return square(lambda[0] - rho * u[0] < 0.0 ? lambda[0] : rho * u[0]);
  if (block.kind != RowKind::kCone) return row_natural_map(p, block, lambda, u, rho);
  const double* mu = p.friction.data() + block.row;
  if (block.size == 3 && mu[1] == mu[2] && mu[1] > 0) return contact_natural_map(mu[1], lambda, u, rho);
  return cone_natural_map(cone_scale(p, block), block.size, lambda, u, rho);
}

/// How many blocks in a row, from i on, are contacts of three rows with the same friction in all directions.
int contacts_from(const Problem& p, int i) {
  const int first = i;
  for (; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    if (block.kind != RowKind::kCone || block.size != 3) break;
    if (p.friction[block.row + 1] != p.friction[block.row + 2]) break;
  }
  return i - first;
}

/// Rows of four contacts, one after the other: their first ones, second ones and third ones.
struct ByFours {
  V4 rows[3];

  explicit ByFours(const double* x) {
    const V4 a = load4(x), b = load4(x + 4), c = load4(x + 8);
    rows[0] = __builtin_shufflevector(__builtin_shufflevector(a, b, 0, 3, 6, 6), c, 0, 1, 2, 5);
    rows[1] = __builtin_shufflevector(__builtin_shufflevector(a, b, 1, 4, 7, 7), c, 0, 1, 2, 6);
    rows[2] = __builtin_shufflevector(__builtin_shufflevector(a, b, 2, 5, 5, 5), c, 0, 1, 4, 7);
  }
};

/// The sum of |F|² / ρ² of `count` contacts in lanes, from block `first` on; at least four.
double natural_map_of_contacts(const Problem& p, int first, int count, const double* lambda, const double* u,
                               const double* rho) {
  const V4 lane = {0, 1, 2, 3};
  V4 sum = {};
  for (int k = 0; k < count; k += 4) {
    const int from = std::min(k, count - 4);  // the last four begin with some of those before
    const int row = p.blocks[first + from].row;
    const V4 part =
        natural_map_in_lanes(ByFours(p.friction.data() + row).rows[1], 1.0 / load4(rho + first + from),
                             ByFours(lambda + row).rows, ByFours(u + row).rows);
    sum += lane >= simd::broadcast(k - from) ? part : V4{};
  }
  return sum4(sum);
}

double bound_violation(const Problem& p, const Block& block, const double* lambda) {
  if (block.kind == RowKind::kComplementarity) return std::max(0.0, -lambda[0]);
  if (block.kind == RowKind::kBox)
    return std::max({0.0, p.lower[block.row] - lambda[0], lambda[0] - p.upper[block.row]});
  return 0.0;
}

double box_complementarity(const Problem& p, const Block& block, const double* lambda, const double* u) {
  if (block.kind == RowKind::kComplementarity) return std::abs(lambda[0] * u[0]);
  if (block.kind != RowKind::kBox) return 0.0;
  const double bound = u[0] > 0.0 ? p.lower[block.row] : p.upper[block.row];
  return u[0] == 0.0 ? 0.0 : std::min(std::abs(lambda[0] - bound), 1e300) * std::abs(u[0]);
}

void measure_cone(const Problem& p, const Block& block, const double* lambda, const double* u, double slip,
                  double load, Residuals& worst) {
  const ConeScale scale = cone_scale(p, block);
  double z[kMaxBlockSize];
  double u_hat[kMaxBlockSize];
  to_round(scale, block.size, lambda, u, z, u_hat);
  double work = 0.0;
  for (int i = 0; i < block.size; ++i) work += z[i] * u_hat[i];
  worst.complementarity = std::max(worst.complementarity, std::abs(work));

  double x[kMaxBlockSize];
  std::copy_n(z, block.size, x);
  project_cone(x, block.size, scale.mu);
  double distance = 0.0;
  for (int i = 0; i < block.size; ++i) distance += square(z[i] - x[i]);
  worst.violation = std::max(worst.violation, std::sqrt(distance));

  const double speed = tangent_norm(u_hat, block.size);
  const double force = tangent_norm(z, block.size);
  if (speed <= slip || z[0] <= load || scale.mu == 0.0) return;
  // atan2 of the rejected and the opposing part: accurate also near zero, where acos is not
  double rejected = 0.0;
  for (int i = 1; i < block.size; ++i) rejected += square(z[i] / std::max(force, 1e-300) + u_hat[i] / speed);
  const double half_chord = 0.5 * std::sqrt(rejected);
  worst.direction_error =
      std::max(worst.direction_error, force > 0.0 ? 2.0 * std::asin(std::min(1.0, half_chord)) : 0.0);
}

}  // namespace

double block_natural_map(const Problem& p, int i, std::span<const double> lambda, std::span<const double> u,
                         double rho) {
  const Block& block = p.blocks[i];
  return block_natural_map(p, block, lambda.data() + block.row, u.data() + block.row, rho);
}

double natural_map(const Problem& p, std::span<const double> lambda, std::span<const double> u,
                   std::span<const double> rho) {
  double sum = 0.0;
  for (int i = 0, blocks = p.block_count(); i < blocks; ++i) {
    const Block& block = p.blocks[i];
    if (const int contacts = rho.empty() ? 0 : contacts_from(p, i); contacts >= 4) {
      sum += natural_map_of_contacts(p, i, contacts, lambda.data(), u.data(), rho.data());
      i += contacts - 1;
      continue;
    }
    const double r = rho.empty() ? 1.0 : rho[i];
    sum += block_natural_map(p, block, lambda.data() + block.row, u.data() + block.row, r) / (r * r);
  }
  return std::sqrt(sum);
}

void block_rho(const Problem& p, std::span<double> rho) {
  const bool dense = p.storage == OperatorKind::kDense;
  const std::size_t next = dense ? p.q.size() + 1 : 1;
  double other[kMaxBlockSize];
  double largest = 0.0;
  bool any_dead = false;
  for (int i = 0, blocks = p.block_count(); i < blocks; ++i) {
    const Block& block = p.blocks[i];
    if (!dense) block_diagonal(p, i, other);
    const double* w = dense ? p.dense.data() + block.row * next : other;
    double trace = 0.0;
    for (int k = 0; k < block.size; ++k) trace += std::abs(w[k * next]) + p.compliance[block.row + k];
    rho[i] = trace > 0.0 ? block.size / trace : 0.0;
    largest = std::max(largest, rho[i]);
    any_dead = any_dead || !(trace > 0.0);
  }
  if (!any_dead) return;
  for (double& r : rho)
    if (!(r > 0.0)) r = largest > 0.0 ? largest : 1.0;
}

Residuals measure_all(const Problem& p, std::span<const double> lambda, std::span<const double> u,
                      double slip, double load, std::span<const double> rho) {
  Residuals worst;
  worst.natural_map = natural_map(p, lambda, u, rho);
  for (const Block& block : p.blocks) {
    const double* l = lambda.data() + block.row;
    if (block.kind == RowKind::kCone) {
      measure_cone(p, block, l, u.data() + block.row, slip, load, worst);
    } else {
      worst.violation = std::max(worst.violation, bound_violation(p, block, l));
      worst.complementarity =
          std::max(worst.complementarity, box_complementarity(p, block, l, u.data() + block.row));
    }
  }
  return worst;
}

double norm_q(const Problem& p) { return std::sqrt(simd::dot(p.q.data(), p.q.data(), p.rows())); }

}  // namespace karakuri::solver
