// Three-vectors in one vector register, for kernels.
//
// Written with the compilers' vector types, which become AVX, SSE, NEON or WebAssembly SIMD as the target has
// it. The fourth lane carries zeros or rubbish; no result depends on it.
#pragma once

#include "core/simd.h"
#include "karakuri/spatial/packed.h"

namespace karakuri::simd {

struct V3 {
  V4 m;
  double operator[](int i) const { return m[i]; }
};

struct M3 {
  V3 c[3];  // columns
};

inline V3 load(const Packed3& p) {
  V3 v;
  __builtin_memcpy(&v, &p, sizeof v);  // one aligned load; a cast would break the aliasing rules
  return v;
}
inline void store(Packed3& p, V3 v) { __builtin_memcpy(static_cast<void*>(&p), &v, sizeof v); }
inline void store3(double* to, V3 v) { __builtin_memcpy(to, &v, 3 * sizeof(double)); }
inline V4 load(const Packed4& p) {
  V4 v;
  __builtin_memcpy(&v, &p, sizeof v);
  return v;
}
inline void store(Packed4& p, V4 v) { __builtin_memcpy(static_cast<void*>(&p), &v, sizeof v); }
inline M3 load(const Packed33& p) { return {load(p.column[0]), load(p.column[1]), load(p.column[2])}; }
inline void store(Packed33& p, const M3& m) {
  for (int k = 0; k < 3; ++k) store(p.column[k], m.c[k]);
}

inline V3 zero3() { return {V4{0, 0, 0, 0}}; }
inline V3 v3(double x, double y, double z) { return {V4{x, y, z, 0}}; }
inline V3 v3(const Vec3& v) { return v3(v.x(), v.y(), v.z()); }

inline V3 operator+(V3 a, V3 b) { return {a.m + b.m}; }
inline V3 operator-(V3 a, V3 b) { return {a.m - b.m}; }
inline V3 operator-(V3 a) { return {-a.m}; }
inline V3 operator*(V3 a, double s) { return {a.m * broadcast(s)}; }
inline V3& operator+=(V3& a, V3 b) { return a = a + b; }
inline V3& operator-=(V3& a, V3 b) { return a = a - b; }

// Products and sums fuse only where they stand in one expression of the compiler's own operators.
/// a + b s
inline V3 plus_scaled(V3 a, V3 b, double s) { return {a.m + b.m * broadcast(s)}; }
/// a - b s
inline V3 minus_scaled(V3 a, V3 b, double s) { return {a.m - b.m * broadcast(s)}; }

inline V3 yzx(V3 a) { return {__builtin_shufflevector(a.m, a.m, 1, 2, 0, 3)}; }

inline V3 cross(V3 a, V3 b) { return yzx({a.m * yzx(b).m - yzx(a).m * b.m}); }

inline double dot(V3 a, V3 b) {
  const V4 t = a.m * b.m;
  return (t[0] + t[1]) + t[2];
}

/// A (x, y, z)
inline V3 combine(const M3& A, double x, double y, double z) {
  return {A.c[0].m * broadcast(x) + A.c[1].m * broadcast(y) + A.c[2].m * broadcast(z)};
}

inline V3 operator*(const M3& A, V3 x) { return combine(A, x[0], x[1], x[2]); }

inline M3 operator*(const M3& A, const M3& B) { return {A * B.c[0], A * B.c[1], A * B.c[2]}; }

inline M3 transpose(const M3& A) {
  const V4 a = A.c[0].m, b = A.c[1].m, c = A.c[2].m;
  return {{{V4{a[0], b[0], c[0], 0}}, {V4{a[1], b[1], c[1], 0}}, {V4{a[2], b[2], c[2], 0}}}};
}

inline M3& operator+=(M3& A, const M3& B) {
  for (int k = 0; k < 3; ++k) A.c[k] += B.c[k];
  return A;
}

}  // namespace karakuri::simd
