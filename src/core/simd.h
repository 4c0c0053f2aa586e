// Four doubles at once, by the vector extension of GCC and Clang: the order of every sum is written here, so
// that it does not depend on what the optimiser finds.
#pragma once

#include <cstring>

namespace karakuri::simd {

using V4 = double __attribute__((vector_size(32)));

inline V4 load4(const double* p) {
  V4 v;
  std::memcpy(&v, p, sizeof v);  // unaligned
  return v;
}
inline void store4(double* p, V4 v) { std::memcpy(p, &v, sizeof v); }
inline V4 broadcast(double x) { return V4{x, x, x, x}; }
inline double sum4(V4 v) { return (v[0] + v[2]) + (v[1] + v[3]); }

/// What a comparison of vectors gives: all bits of a lane, or none.
using Mask4 = decltype(V4{} < V4{});

/// One bit for each lane.
inline unsigned bits_of(Mask4 m) {
#ifdef __AVX__
  return static_cast<unsigned>(__builtin_ia32_movmskpd256(reinterpret_cast<V4>(m)));
#else
  return static_cast<unsigned>((m[0] & 1) | (m[1] & 2) | (m[2] & 4) | (m[3] & 8));
#endif
}

/// Of the matrix with these rows.
inline void transpose(V4& a, V4& b, V4& c, V4& d) {
  const V4 e = __builtin_shufflevector(a, b, 0, 4, 2, 6), f = __builtin_shufflevector(a, b, 1, 5, 3, 7);
  const V4 g = __builtin_shufflevector(c, d, 0, 4, 2, 6), h = __builtin_shufflevector(c, d, 1, 5, 3, 7);
  a = __builtin_shufflevector(e, g, 0, 1, 4, 5);
  b = __builtin_shufflevector(f, h, 0, 1, 4, 5);
  c = __builtin_shufflevector(e, g, 2, 3, 6, 7);
  d = __builtin_shufflevector(f, h, 2, 3, 6, 7);
}

inline double dot(const double* a, const double* b, int n) {
  V4 s0 = broadcast(0.0);
  V4 s1 = broadcast(0.0);
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

/// Three rows `stride` apart times x. Two sums for each row: one alone would wait for itself.
inline void dot3(const double* a, std::size_t stride, const double* x, int n, double* out) {
  const double* b = a + stride;
  const double* c = b + stride;
  V4 a0 = broadcast(0.0), b0 = a0, c0 = a0;
  V4 a1 = a0, b1 = a0, c1 = a0;
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    const V4 x0 = load4(x + i);
    const V4 x1 = load4(x + i + 4);
    a0 += load4(a + i) * x0;
    b0 += load4(b + i) * x0;
    c0 += load4(c + i) * x0;
    a1 += load4(a + i + 4) * x1;
    b1 += load4(b + i + 4) * x1;
    c1 += load4(c + i + 4) * x1;
  }
  if (i + 4 <= n) {
    const V4 x0 = load4(x + i);
    a0 += load4(a + i) * x0;
    b0 += load4(b + i) * x0;
    c0 += load4(c + i) * x0;
    i += 4;
  }
  out[0] = sum4(a0 + a1);
  out[1] = sum4(b0 + b1);
  out[2] = sum4(c0 + c1);
  for (; i < n; ++i) {
    out[0] += a[i] * x[i];
    out[1] += b[i] * x[i];
    out[2] += c[i] * x[i];
  }
}

/// Four rows `stride` apart times x.
inline V4 dot4(const double* a, std::size_t stride, const double* x, int n) {
  const double *b = a + stride, *c = b + stride, *d = c + stride;
  V4 sa = broadcast(0.0), sb = sa, sc = sa, sd = sa;
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    const V4 at = load4(x + i);
    sa += load4(a + i) * at;
    sb += load4(b + i) * at;
    sc += load4(c + i) * at;
    sd += load4(d + i) * at;
  }
  transpose(sa, sb, sc, sd);
  V4 sum = (sa + sc) + (sb + sd);  // as sum4() of each
  for (; i < n; ++i) sum += V4{a[i], b[i], c[i], d[i]} * x[i];
  return sum;
}

/// y += a x.
inline void axpy(double a, const double* x, double* y, int n) {
  const V4 va = broadcast(a);
  int i = 0;
  for (; i + 4 <= n; i += 4) store4(y + i, load4(y + i) + va * load4(x + i));
  for (; i < n; ++i) y[i] += a * x[i];
}

/// y += Σ a_k x_k for three rows x_k `stride` apart.
inline void axpy3(const double* a, const double* x, std::size_t stride, double* y, int n) {
  const V4 a0 = broadcast(a[0]);
  const V4 a1 = broadcast(a[1]);
  const V4 a2 = broadcast(a[2]);
  int i = 0;
  for (; i + 4 <= n; i += 4)
    store4(y + i,
           load4(y + i) + (a0 * load4(x + i) + a1 * load4(x + stride + i) + a2 * load4(x + 2 * stride + i)));
  for (; i < n; ++i) y[i] += a[0] * x[i] + a[1] * x[stride + i] + a[2] * x[2 * stride + i];
}

/// out = A x, A: rows x columns, row by row.
inline void rows_times(const double* a, int rows, int columns, const double* x, double* out) {
  int i = 0;
  for (; i + 4 <= rows; i += 4, a += 4 * static_cast<std::size_t>(columns))
    store4(out + i, dot4(a, columns, x, columns));
  for (; i < rows; ++i, a += columns) out[i] = dot(a, x, columns);
}

/// kVectors times four numbers of Aᵀ x.
template <int kVectors>
void transposed_tile(const double* a, int rows, int columns, const double* x, double* out) {
  V4 even[kVectors] = {}, odd[kVectors] = {};
  int i = 0;
  for (; i + 2 <= rows; i += 2, a += 2 * static_cast<std::size_t>(columns)) {
    const V4 x0 = broadcast(x[i]), x1 = broadcast(x[i + 1]);
    for (int c = 0; c < kVectors; ++c) even[c] += x0 * load4(a + 4 * c);
    for (int c = 0; c < kVectors; ++c) odd[c] += x1 * load4(a + columns + 4 * c);
  }
  if (i < rows)
    for (int c = 0; c < kVectors; ++c) even[c] += broadcast(x[i]) * load4(a + 4 * c);
  for (int c = 0; c < kVectors; ++c) store4(out + 4 * c, even[c] + odd[c]);
}

/// out = Aᵀ x, A: rows x columns, row by row. @pre columns are a multiple of four.
inline void transposed_times(const double* a, int rows, int columns, const double* x, double* out) {
  int c = 0;
  for (; c + 16 <= columns; c += 16) transposed_tile<4>(a + c, rows, columns, x, out + c);
  if (c + 12 == columns) return transposed_tile<3>(a + c, rows, columns, x, out + c);
  if (c + 8 == columns) return transposed_tile<2>(a + c, rows, columns, x, out + c);
  if (c + 4 == columns) transposed_tile<1>(a + c, rows, columns, x, out + c);
}

}  // namespace karakuri::simd
