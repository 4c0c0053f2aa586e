// One step of the elimination that all articulated-body algorithms share.
//
// An articulated inertia A maps an acceleration at the body's origin to a force: n = I w + G^T v, f = G w + M
// v. A joint of several dofs is taken as that many joints of one dof with massless bodies between them: since
// they share the origin, eliminating the dofs one by one is Gaussian elimination of the whole joint, and no
// small matrix has to be inverted. For the dof with motion S, from last to first,
//   U = A S,  d = S^T U + diagonal,  A <- A - U U^T / d                                                   (1)
//   u = tau - S^T p,  p <- p + U u / d                                                                    (2)
//   qdd = (u - U^T a) / d,  a <- a + S qdd                            (base to tip, from first to last)   (3)
// Moving A to the parent's origin, r away, with N = M [r]x, Q = [r]x (G - N/2):
//   G <- G - N,  I <- I + Q + Q^T                                                                         (4)
#pragma once

#include "dynamics/body_pass.h"

namespace karakuri::kernel {

struct Articulated {
  M3 I, G, M;
};

struct SpatialForce {
  V3 n, f;
};

inline Articulated load(const Workspace::ArticulatedInertia& a) {
  return {simd::load(a.I), simd::load(a.G), simd::load(a.M)};
}
inline void store(Workspace::ArticulatedInertia& to, const Articulated& a) {
  simd::store(to.I, a.I);
  simd::store(to.G, a.G);
  simd::store(to.M, a.M);
}

/// G of a rigid body: f = w x h = -[h]x w.
inline Articulated rigid(const WorldInertia& w) {
  const V3 h = w.h;
  return {w.I,
          {v3(0, -h[2], h[1]), v3(h[2], 0, -h[0]), v3(-h[1], h[0], 0)},
          {v3(w.mass, 0, 0), v3(0, w.mass, 0), v3(0, 0, w.mass)}};
}

inline void subtract_outer(M3& A, V3 u, V3 v) {
  for (int k = 0; k < 3; ++k) A.c[k] = minus_scaled(A.c[k], u, v[k]);
}

inline V3 transpose_times(const M3& A, V3 x) {
  const V4 a = A.c[0].m * x.m, b = A.c[1].m * x.m, c = A.c[2].m * x.m;
  const V4 first = {a[0], b[0], c[0], 0}, second = {a[1], b[1], c[1], 0}, third = {a[2], b[2], c[2], 0};
  return {(first + second) + third};
}

/// A S
inline SpatialForce times_motion(const Articulated& A, DofKind kind, V3 axis, double pitch) {
  switch (kind) {
    case DofKind::kRotation: return {A.I * axis, A.G * axis};
    case DofKind::kTranslation: return {transpose_times(A.G, axis), A.M * axis};
    case DofKind::kScrew:
      return {A.I * axis + transpose_times(A.G, axis) * pitch, A.G * axis + (A.M * axis) * pitch};
  }
  return {zero3(), zero3()};
}

/// (1); the pivot is stored.
inline SpatialForce eliminate(Articulated& A, DofKind kind, V3 axis, double pitch, double diagonal,
                              Workspace::Pivot& pivot) {
  const SpatialForce U = times_motion(A, kind, axis, pitch);
  const double inverse_d = 1.0 / (project(kind, axis, pitch, U.n, U.f) + diagonal);
  simd::store(pivot.Un, U.n);
  simd::store(pivot.Uf, U.f);
  pivot.inverse_d = inverse_d;
  const V3 sn = U.n * inverse_d, sf = U.f * inverse_d;
  subtract_outer(A.I, sn, U.n);
  subtract_outer(A.G, sf, U.n);
  subtract_outer(A.M, sf, U.f);
  return U;
}

/// (4)
inline void shift_to_parent(Articulated& A, V3 r) {
  const V3 *M = A.M.c, x = {broadcast(r[0])}, y = {broadcast(r[1])}, z = {broadcast(r[2])};
  // column j of N is M (r x e_j)
  const M3 N = {
      {{M[1].m * z.m - M[2].m * y.m}, {M[2].m * x.m - M[0].m * z.m}, {M[0].m * y.m - M[1].m * x.m}}};
  M3 Q;
  for (int k = 0; k < 3; ++k) {
    Q.c[k] = cross(r, minus_scaled(A.G.c[k], N.c[k], 0.5));
    A.G.c[k] -= N.c[k];
  }
  A.I += Q;
  A.I += transpose(Q);
}

inline void add(Workspace::ArticulatedInertia& to, const Articulated& a) {
  Articulated sum = load(to);
  sum.I += a.I;
  sum.G += a.G;
  sum.M += a.M;
  store(to, sum);
}

/// x <- M^-1 (x + J^T F) of one tree, where ws.wrench holds the impulse F on each body, in and out destroyed.
void solve_tree(const Model& model, const Tree& tree, Workspace& ws, double* x);

}  // namespace karakuri::kernel
