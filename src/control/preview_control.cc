//   s' = A s + B u,  s = (x, v, a),  u the jerk over a period T (1) A = [1 T T^2/2; 0 1 T; 0 0 1],  B =
//   (T^3/6, T^2/2, T)^T p = C s,  C = (1, 0, -z/g)                       the ZMP of a cart on a table of
//   height z               (2) minimize sum Q (p_ref - p)^2 + R u^2 (3) u = -K s + sum_{j >= 1} f_j p_ref(k +
//   j)                                                               (4) K = (R + B^T P B)^-1 B^T P A,  f_j =
//   (R + B^T P B)^-1 B^T ((A - B K)^T)^(j-1) C^T Q P = A^T P A - A^T P B K + C^T Q C (5)
// S. Kajita, Humanoid Robots (2005), 4.4. The sum ends with the horizon: what comes after is taken to be as
// the last sample, so that f_N is the sum of all f_j from there on, and
// sum f_j = K (1, 0, 0)^T, and a reference that stays is met exactly, wherever the origin is. (6) (5) is
// solved by doubling (E. Chu, H. Fan, W. Lin, C. Wang, 2004):
//   W = (1 + G H)^-1;  A' = A W A,  G' = G + A W G A^T,  H' = H + A^T H W A,  H -> P (7)
#include "karakuri/control/preview_control.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include <fmt/format.h>
#include <Eigen/LU>

#include "karakuri/spatial/types.h"

namespace karakuri {

namespace {

/// (7)
Mat3 solve_riccati(Mat3 A, const Vec3& B, double R, const Mat3& Q) {
  Mat3 G = B * B.transpose() / R, H = Q;
  for (int i = 0; i < 60; ++i) {
    const Mat3 W = (Mat3::Identity() + G * H).inverse();
    const Mat3 more = A.transpose() * H * W * A;
    G += A * W * G * A.transpose();
    H += more;
    A = A * W * A;
    if (more.norm() <= 1e-15 * H.norm()) break;
  }
  return (H + H.transpose()) / 2;
}

std::vector<Diagnostic> flaws_of(const PreviewSettings& s) {
  const auto refuse = [](std::string what, std::string remedy) {
    return std::vector<Diagnostic>{{Severity::kError, "preview control", std::move(what), std::move(remedy)}};
  };
  for (const double x : {s.height, s.gravity, s.period, s.horizon, s.zmp_weight, s.jerk_weight})
    if (!(x > 0 && std::isfinite(x)))
      return refuse(fmt::format("one of its settings is {:g}", x), "all must be above 0");
  const double samples = s.horizon / s.period;
  if (!(samples >= 1 && samples <= 1e5))
    return refuse(
        fmt::format("the horizon of {:g} s has {:.0f} periods of {:g} s", s.horizon, samples, s.period),
        "let it have from 1 to 100000");
  return {};
}

}  // namespace

Result<PreviewControl> PreviewControl::make(const PreviewSettings& s) {
  if (std::vector<Diagnostic> flaws = flaws_of(s); !flaws.empty()) return flaws;
  PreviewControl out;
  out.settings_ = s;
  const double T = s.period;
  Mat3 A;
  A << 1, T, T * T / 2, 0, 1, T, 0, 0, 1;
  const Vec3 B(T * T * T / 6, T * T / 2, T), C(1, 0, -s.height / s.gravity);
  const Mat3 P = solve_riccati(A, B, s.jerk_weight, s.zmp_weight * C * C.transpose());
  const double inverse = 1 / (s.jerk_weight + B.dot(P * B));
  const Eigen::RowVector3d K = inverse * B.transpose() * P * A;
  for (int k = 0; k < 3; ++k) out.gains_[static_cast<std::size_t>(k)] = K[k];
  const Mat3 closed = (A - B * K).transpose();
  Vec3 at = C * s.zmp_weight;
  out.ahead_.resize(static_cast<std::size_t>(std::lround(s.horizon / T)));
  double sum = 0;
  for (double& f : out.ahead_) {
    f = inverse * B.dot(at);
    sum += f;
    at = closed * at;
  }
  out.ahead_.back() += K[0] - sum;  // (6)
  return out;
}

double PreviewControl::jerk(const CartState& s, std::span<const double> ahead) const {
  assert(ahead.size() == ahead_.size());
  double u = -(gains_[0] * s.x + gains_[1] * s.v + gains_[2] * s.a);
  for (std::size_t j = 0; j < ahead_.size(); ++j) u += ahead_[j] * ahead[j];  // (4)
  return u;
}

}  // namespace karakuri
