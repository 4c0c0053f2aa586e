// Extended projected Gauss-Seidel, as published, and with its direction remedied.
//
// Nakaoka, Hattori, Kanehiro, Kajita, Hirukawa, "Constraint-based dynamics simulator for humanoid robots with
// shock absorbing mechanisms" (2007). Row by row, normals before tangents, with k = W + C:
//
//   f_i ← f_i − u_i / k_ii,  u_i with the newest f                                        (1)
//   f_i ← min(max(f_i, l_i), h_i)                                                         (2)
//   contact: after (1) for x and y, if |f_xy| > μ f_z: f_xy ← μ f_z f_xy / |f_xy|         (3)
//
// (The text after the paper's eq. 18 exchanges l and h; (2) is what is meant.) Because (1) divides x and y by
// their own k, the sliding force points along −(u_x/k_xx, (u_y − k_xy u_x/k_xx)/k_yy) instead of −u. The
// remedy takes one step length for both:
//
//   f_xy ← P(f_xy − r u_xy),  r = 1 / (max k_tt + Σ |k_ts|),  P: onto the disc of radius μ f_z   (4)
//
// Elliptic cones are scaled to round ones in (3) and (4). Rows that nothing moves (k_ii = 0) are left alone.
#include <algorithm>
#include <cmath>

#include "solver/access.h"
#include "solver/sweep_until_still.h"

namespace karakuri::solver {

namespace {

double ratio(double u, double k) { return k > 0.0 ? u / k : 0.0; }

struct BlockView {
  const Block& block;
  const double* k;  // size², column by column, with compliance
  double* f;
  double* u;

  /// Adds `change` to row r and carries it into this block's other velocities.
  void add(int r, double change) const {
    f[r] += change;
    for (int s = 0; s < block.size; ++s) u[s] += k[r * block.size + s] * change;
  }
  double diagonal(int r) const { return k[r * (block.size + 1)]; }
};

void scale_to_cone(const ConeScale& scale, const BlockView& b) {
  double square = 0.0;
  for (int r = 1; r < b.block.size; ++r) {
    const double z = scale.s[r] > 0.0 ? b.f[r] / scale.s[r] : 0.0;
    square += z * z;
  }
  const double limit = scale.mu * b.f[0];
  const double factor = square > limit * limit ? limit / std::sqrt(square) : 1.0;
  for (int r = 1; r < b.block.size; ++r) {
    const double next = scale.s[r] > 0.0 ? factor * b.f[r] : 0.0;
    if (next != b.f[r]) b.add(r, next - b.f[r]);
  }
}

void update_tangents_together(const ConeScale& scale, const BlockView& b) {  // (4)
  const int n = b.block.size;
  double widest = 0.0;
  double coupling = 0.0;
  for (int r = 1; r < n; ++r) {
    widest = std::max(widest, scale.s[r] * scale.s[r] * b.diagonal(r));
    for (int c = r + 1; c < n; ++c) coupling += std::abs(scale.s[r] * scale.s[c] * b.k[c * n + r]);
  }
  const double step = ratio(1.0, widest + coupling);
  double change[kMaxBlockSize] = {};
  for (int r = 1; r < n; ++r) change[r] = -step * scale.s[r] * scale.s[r] * b.u[r];
  for (int r = 1; r < n; ++r) b.add(r, change[r]);
}

void update_contact(const Problem& p, const BlockView& b, bool isotropic) {
  const ConeScale scale = cone_scale(p, b.block);
  b.add(0, std::max(0.0, b.f[0] - ratio(b.u[0], b.diagonal(0))) - b.f[0]);  // (1), (2)
  if (isotropic) {
    update_tangents_together(scale, b);
  } else {
    for (int r = 1; r < b.block.size; ++r) b.add(r, -ratio(b.u[r], b.diagonal(r)));  // (1)
  }
  scale_to_cone(scale, b);  // (3)
}

void update_row(const Problem& p, const BlockView& b, int r) {
  double next = b.f[r] - ratio(b.u[r], b.diagonal(r));  // (1)
  if (b.block.kind == RowKind::kComplementarity) next = std::max(0.0, next);
  if (b.block.kind == RowKind::kBox)
    next = std::clamp(next, p.lower[b.block.row + r], p.upper[b.block.row + r]);  // (2)
  b.add(r, next - b.f[r]);
  b.f[r] = next;  // the sum is rounded, and may be beyond a bound
}

double sweep(const Problem& p, Workspace::Memory& m, double* lambda, bool isotropic) {
  double change = 0.0;
  double k[kMaxBlockSize * kMaxBlockSize];
  double u[kMaxBlockSize];
  double before[kMaxBlockSize];
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    double* f = lambda + block.row;
    diagonal_block(p, i, k);
    block_velocity(p, m, i, lambda, u);
    std::copy_n(f, block.size, before);
    for (int r = 0; r < block.size; ++r) {
      k[r * (block.size + 1)] += p.compliance[block.row + r];
      u[r] += p.compliance[block.row + r] * f[r] + p.q[block.row + r];
    }
    const BlockView view{block, k, f, u};
    if (block.kind == RowKind::kCone) {
      update_contact(p, view, isotropic);
    } else {
      for (int r = 0; r < block.size; ++r) update_row(p, view, r);
    }
    for (int r = 0; r < block.size; ++r) {
      before[r] = f[r] - before[r];
      change += before[r] * before[r];
    }
    block_changed(p, m, i, before);
  }
  return std::sqrt(change);
}

}  // namespace

void extended_pgs(const Problem& p, const Settings& settings, Workspace::Memory& m, std::span<double> lambda,
                  Report& report) {
  const bool isotropic = settings.method == Method::kPgsIsotropic;
  sweep_until_still(p, settings, m, lambda, report, [&] { return sweep(p, m, lambda.data(), isotropic); });
}

}  // namespace karakuri::solver
