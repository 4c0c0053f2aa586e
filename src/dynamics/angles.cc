// Cosine and sine of many angles, four at a time. The library's functions take a fifth of inverse dynamics
// and, being chosen at run time for the processor, differ in their last bits between machines; these do
// neither.
//   k = round(x / (pi/2)),  r = x - k pi/2,  |r| <= pi/4                                                  (1)
// with pi/2 in three parts of 33 bits (Cody & Waite 1980): the products k * part are exact for |k| < 2^20.
// Taylor series to r^15 and r^16 err by less than 6e-17 there. The quadrant k mod 4 then swaps and negates:
//   cos, sin = (c, s), (-s, c), (-c, -s), (s, -c) (2)
// The result is within 1.5 units of the last place, or the library's where |x| > 1e6.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "dynamics/body_pass.h"

namespace karakuri::kernel {

namespace {

using I4 = std::int64_t __attribute__((vector_size(32)));

constexpr double kReach = 1e6;
constexpr double kPiHalf1 = 0x1.921fb544p+0, kPiHalf2 = 0x1.0b4611a6p-34, kPiHalf3 = 0x1.3198a2e037073p-69;
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;

constexpr double inverse_factorial(int n) {
  double f = 1;
  for (int k = 2; k <= n; ++k) f *= k;  // exact up to 18!
  return 1 / f;
}

/// Horner's rule for sum of (-1)^j z^j / (first + 2 j)!, j = 0..6.
inline V4 series(V4 z, int first) {
  V4 sum = broadcast(inverse_factorial(first + 12));
  for (int j = 5; j >= 0; --j) sum = broadcast(inverse_factorial(first + 2 * j)) - z * sum;
  return sum;
}

inline V4 select(I4 mask, V4 yes, V4 no) { return mask ? yes : no; }

struct CosSin {
  V4 cosine, sine;
};

inline CosSin cos_sin(V4 x) {
  const V4 shift = broadcast(0x1.8p52);  // adding it rounds to an integer, which stands in the low bits
  const V4 shifted = x * kTwoOverPi + shift;
  const V4 k = shifted - shift;
  const V4 r = ((x - k * kPiHalf1) - k * kPiHalf2) - k * kPiHalf3;  // (1)
  const V4 z = r * r;
  const V4 s = r - r * z * series(z, 3);
  const V4 c = 1.0 - z * (0.5 - z * series(z, 4));
  I4 bits;
  __builtin_memcpy(&bits, &shifted, sizeof bits);
  const I4 odd = -(bits & 1), second = -((bits >> 1) & 1), between = -(((bits + 1) >> 1) & 1);
  const V4 cosine = select(odd, s, c), sine = select(odd, c, s);
  return {select(between, -cosine, cosine), select(second, -sine, sine)};  // (2)
}

/// Angles [first, end) of Model::angle_q. Each number is a function of its angle alone, whatever stands
/// beside it.
void evaluate(const Model& model, const double* q, int first, int end, Workspace& ws) {
  for (; first < end; first += 4) {
    const int count = end - first < 4 ? end - first : 4;
    V4 x = broadcast(0.0);
    bool near = true;
    for (int j = 0; j < count; ++j) {
      x[j] = q[model.angle_q[first + j]];
      near &= std::abs(x[j]) < kReach;  // false for what is not finite, too
    }
    const CosSin result = cos_sin(x);
    for (int j = 0; j < count; ++j) {
      const int v = model.angle_v[first + j];
      ws.cosine[v] = result.cosine[j];
      ws.sine[v] = result.sine[j];
      if (near || std::abs(x[j]) < kReach) continue;
      ws.cosine[v] = std::cos(x[j]);
      ws.sine[v] = std::sin(x[j]);
    }
  }
}

}  // namespace

void evaluate_angles(const Model& model, const double* q, Workspace& ws) {
  evaluate(model, q, 0, static_cast<int>(model.angle_q.size()), ws);
}

void evaluate_angles(const Model& model, const double* q, const Tree& tree, Workspace& ws) {
  const Body &root = model.bodies[tree.first], &last = model.bodies[tree.last - 1];
  const auto at = [&](int v) {
    return static_cast<int>(std::lower_bound(model.angle_v.begin(), model.angle_v.end(), v) -
                            model.angle_v.begin());
  };
  evaluate(model, q, at(root.first_v), at(last.first_v + last.dofs), ws);
}

}  // namespace karakuri::kernel
