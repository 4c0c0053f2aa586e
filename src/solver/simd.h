// Four doubles at once, by the vector extension of GCC and Clang: the order of every sum is written here, so
// that it does not depend on what the optimiser finds.
#pragma once

#include <cstring>

namespace karakuri::solver {

using V4 = double __attribute__((vector_size(32)));

inline V4 load4(const double* p) {
  V4 v;
  std::memcpy(&v, p, sizeof v);  // unaligned
  return v;
}
inline void store4(double* p, V4 v) { std::memcpy(p, &v, sizeof v); }
inline V4 all4(double x) { return V4{x, x, x, x}; }
inline double sum4(V4 v) { return (v[0] + v[2]) + (v[1] + v[3]); }

inline double dot(const double* a, const double* b, int n) {
  V4 s0 = all4(0.0);
  V4 s1 = all4(0.0);
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    s0 += load4(a + i) * load4(b + i);
    s1 += load4(a + i + 4) * load4(b + i + 4);
  }
  if (i + 4 <= n) {
    s0 += load4(a + i) * load4(b + i);
    i += 4;
  }
  double sum = sum4(s0 + s1);
  for (; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

/// Three rows `stride` apart times x.
inline void dot3(const double* a, std::size_t stride, const double* x, int n, double* out) {
  const double* b = a + stride;
  const double* c = b + stride;
  V4 sa = all4(0.0);
  V4 sb = all4(0.0);
  V4 sc = all4(0.0);
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    const V4 v = load4(x + i);
    sa += load4(a + i) * v;
    sb += load4(b + i) * v;
    sc += load4(c + i) * v;
  }
  out[0] = sum4(sa);
  out[1] = sum4(sb);
  out[2] = sum4(sc);
  for (; i < n; ++i) {
    out[0] += a[i] * x[i];
    out[1] += b[i] * x[i];
    out[2] += c[i] * x[i];
  }
}

/// y += a x.
inline void axpy(double a, const double* x, double* y, int n) {
  const V4 va = all4(a);
  int i = 0;
  for (; i + 4 <= n; i += 4) store4(y + i, load4(y + i) + va * load4(x + i));
  for (; i < n; ++i) y[i] += a * x[i];
}

}  // namespace karakuri::solver
