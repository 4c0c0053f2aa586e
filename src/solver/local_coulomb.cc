#include "solver/local_coulomb.h"

namespace karakuri::solver {

namespace {

// A contact whose normal or tangent hardly moves by its own impulse is held by this fraction of its mean
// mobility: a proximal term, which changes the path of the iteration but not its fixed points.
constexpr double kFloor = 1e-9;

/// Principal axes of the symmetric a (n x n, destroyed): rows of `axes`; values left on the diagonal of a.
/// Cyclic Jacobi; n ≤ 5, and for n = 2 one rotation is exact.
void principal_axes(double* a, int n, double* axes) {
  for (int i = 0; i < n * n; ++i) axes[i] = i % (n + 1) == 0 ? 1.0 : 0.0;
  for (int sweep = 0; sweep < (n > 2 ? 12 : 1); ++sweep) {
    for (int p = 0; p < n; ++p) {
      for (int q = p + 1; q < n; ++q) {
        const double off = a[p * n + q];
        if (off == 0.0) continue;
        const double theta = 0.5 * (a[q * n + q] - a[p * n + p]) / off;
        const double tangent = (theta >= 0.0 ? 1.0 : -1.0) / (std::abs(theta) + std::hypot(theta, 1.0));
        const double cosine = 1.0 / std::hypot(tangent, 1.0);
        const double sine = tangent * cosine;
        for (int k = 0; k < n; ++k) {
          const double x = a[k * n + p];
          const double y = a[k * n + q];
          a[k * n + p] = cosine * x - sine * y;
          a[k * n + q] = sine * x + cosine * y;
        }
        for (int k = 0; k < n; ++k) {
          const double x = a[p * n + k];
          const double y = a[q * n + k];
          a[p * n + k] = cosine * x - sine * y;
          a[q * n + k] = sine * x + cosine * y;
          const double ax = axes[p * n + k];
          const double ay = axes[q * n + k];
          axes[p * n + k] = cosine * ax - sine * ay;
          axes[q * n + k] = sine * ax + cosine * ay;
        }
      }
    }
  }
}

}  // namespace

template <int T>
void prepare_local(const Problem& p, const Block& block, const double* w, const double* compliance,
                   LocalCone<T>& cone) {
  const int n = block.size;
  const int t = n - 1;
  cone.t = t;
  cone.scale = cone_scale(p, block);
  cone.round = std::all_of(cone.scale.s, cone.scale.s + n, [](double s) { return s == 1.0; });
  double sym[kMaxBlockSize * kMaxBlockSize];
  double trace = 0.0;
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c < n; ++c)
      sym[r * n + c] = 0.5 * (w[r * n + c] + w[c * n + r]) * cone.scale.s[r] * cone.scale.s[c];
    sym[r * n + r] += compliance[r] * cone.scale.s[r] * cone.scale.s[r];
    trace += std::abs(sym[r * n + r]);
  }
  const double floor = kFloor * trace / n;
  cone.dead = !(trace > 0.0) || !std::isfinite(trace);
  cone.kappa = 0.0;
  cone.w_nn = std::max(sym[0] + floor, floor);
  cone.inverse_nn = cone.dead ? 0.0 : 1.0 / cone.w_nn;

  double schur[kMaxBlockSize * kMaxBlockSize];
  for (int r = 0; r < t; ++r)
    for (int c = 0; c < t; ++c)
      schur[r * t + c] = sym[(r + 1) * n + c + 1] - sym[r + 1] * sym[c + 1] * cone.inverse_nn;
  principal_axes(schur, t, cone.axes);
  for (int k = 0; k < t; ++k) {
    cone.l[k] = std::max(schur[k * (t + 1)] + floor, floor);
    cone.inverse_l[k] = cone.dead ? 0.0 : 1.0 / cone.l[k];
    cone.w[k] = 0.0;
    for (int i = 0; i < t; ++i) cone.w[k] += cone.axes[k * t + i] * sym[i + 1];
  }
}

template void prepare_local<2>(const Problem&, const Block&, const double*, const double*, LocalCone<2>&);
template void prepare_local<-1>(const Problem&, const Block&, const double*, const double*, LocalCone<-1>&);

}  // namespace karakuri::solver
