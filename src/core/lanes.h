// Vectors of three whose components are registers: one problem in each lane.
#pragma once

#include <cmath>

namespace karakuri::lanes {

template <class V>
struct Three {
  V x, y, z;
};

template <class V>
inline constexpr int kLanesOf = sizeof(V) / sizeof(double);

template <class V>
inline V all(double x) {
  return V{} + x;
}
template <class V>
inline double sum_of(V a) {
  double sum = 0;
  for (int k = 0; k < kLanesOf<V>; ++k) sum += a[k];
  return sum;
}
template <class Mask, class V>
inline V select(Mask mask, V a, V b) {
  return mask ? a : b;
}
/// Whether a comparison holds in one lane at least.
template <class Mask>
inline bool any(Mask mask) {
  auto found = mask[0];
  for (unsigned k = 1; k < sizeof mask / sizeof mask[0]; ++k) found |= mask[k];
  return found != 0;
}
template <class V>
inline V larger(V a, V b) {
  return select(a > b, a, b);
}
template <class V>
inline V root(V a) {
  for (int k = 0; k < kLanesOf<V>; ++k) a[k] = std::sqrt(a[k]);
  return a;
}
template <class V>
inline V dot(const Three<V>& a, const Three<V>& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class V>
inline Three<V> cross(const Three<V>& a, const Three<V>& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
/// Of a symmetric matrix: xx, yy, zz, xy, xz, yz.
template <class V>
inline Three<V> times(const V* I, const Three<V>& a) {
  return {I[0] * a.x + I[3] * a.y + I[4] * a.z, I[3] * a.x + I[1] * a.y + I[5] * a.z,
          I[4] * a.x + I[5] * a.y + I[2] * a.z};
}
template <class V>
inline void add(Three<V>& a, const Three<V>& b) {
  a.x += b.x, a.y += b.y, a.z += b.z;
}
template <class V>
inline void subtract(Three<V>& a, const Three<V>& b) {
  a.x -= b.x, a.y -= b.y, a.z -= b.z;
}
template <class V>
inline void add_scaled(Three<V>& a, const Three<V>& b, V s) {
  a.x += b.x * s, a.y += b.y * s, a.z += b.z * s;
}
template <class V>
inline Three<V> scaled(const Three<V>& a, V s) {
  return {a.x * s, a.y * s, a.z * s};
}

}  // namespace karakuri::lanes
