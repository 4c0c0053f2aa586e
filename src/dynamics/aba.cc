// With (1)-(4) of body_pass.h and of articulated.h. The bias of a rigid body at its origin is
//   n = w x I w - n_ext,  f = w x (w x h) - f_ext                                                         (5)
// and what body B hands to its parent
//   p_P += shift(p + A (bias_w, bias_v))                                                                  (6)
// A free body alone in its tree needs no elimination: with c the centre of mass from the origin,
//   dv_c = F / m,  dw = I_c^-1 (N_c - w x I_c w),  dv = dv_c - dw x c - w x (w x c) (7)
#include "karakuri/dynamics/aba.h"

#include <cassert>

#include "dynamics/articulated.h"

namespace karakuri {

namespace {

using namespace kernel;

/// (5)
inline void rigid_bias(const WorldInertia& in, V3 w, Workspace::Wrench& out) {
  store(out.n, cross(w, in.I * w));
  store(out.f, cross(w, cross(w, in.h)));
}

inline V3 v3(const Vec3& v) { return simd::v3(v.x(), v.y(), v.z()); }

/// Eliminates the joint of body i and hands inertia and bias to the parent.
inline void hand_down(const Model& model, const double* tau, int i, Workspace& ws) {
  const Body& body = model.bodies[i];
  Articulated A = load(ws.articulated[i]);
  V3 n = load(ws.wrench[i].n), f = load(ws.wrench[i].f);
  for (int k = body.dofs - 1; k >= 0; --k) {
    const int v = body.first_v + k;
    const DofKind kind = model.dofs[v].kind;
    const V3 axis = load(ws.axis[v]);
    const SpatialForce U = eliminate(A, kind, axis, body.pitch, model.armature[v], ws.pivot[v]);
    const double u = tau[v] - project(kind, axis, body.pitch, n, f);
    ws.pivot[v].u = u;
    const double s = u * ws.pivot[v].inverse_d;
    n += U.n * s;
    f += U.f * s;
  }
  if (body.parent == 0) return;
  const V3 bw = load(ws.velocity[i].bias_w), bv = load(ws.velocity[i].bias_v), r = load(ws.pose[i].r);
  n += A.I * bw + transpose_times(A.G, bv);
  f += A.G * bw + A.M * bv;
  shift_to_parent(A, r);
  add(ws.articulated[body.parent], A);
  Workspace::Wrench& parent = ws.wrench[body.parent];
  store(parent.n, load(parent.n) + n + cross(r, f));
  store(parent.f, load(parent.f) + f);
}

/// Accelerations, base to tip.
inline void accelerate(const Model& model, V3 minus_gravity, int i, Workspace& ws, double* a) {
  const Body& body = model.bodies[i];
  V3 dw = load(ws.velocity[i].bias_w), dv = load(ws.velocity[i].bias_v);
  if (body.parent == 0) {
    dv += minus_gravity;
  } else {
    const V3 dwp = load(ws.acceleration[body.parent].w);
    dw += dwp;
    dv += load(ws.acceleration[body.parent].v) + cross(dwp, load(ws.pose[i].r));
  }
  for (int k = 0; k < body.dofs; ++k) {
    const int v = body.first_v + k;
    const Workspace::Pivot& pivot = ws.pivot[v];
    const V3 t = {load(pivot.Un).m * dw.m + load(pivot.Uf).m * dv.m};
    a[v] = (pivot.u - (t[0] + t[1] + t[2])) * pivot.inverse_d;  // (3)
    add_motion(model.dofs[v].kind, load(ws.axis[v]), body.pitch, a[v], dw, dv);
  }
  store(ws.acceleration[i].w, dw);
  store(ws.acceleration[i].v, dv);
}

/// (7)
inline void free_acceleration(const Model& model, const double* tau_all, V3 minus_gravity, int i,
                              Workspace& ws, double* a_all) {
  const Body& body = model.bodies[i];
  const FreeBody& free = model.free_bodies[body.extra];
  const M3 R = load(ws.pose[i].R);
  const V3 w = load(ws.velocity[i].w), c = R * load(free.com);
  const M3 axes = R * load(free.axes);  // principal axes in W
  const double* tau = tau_all + body.first_v;
  const Packed3* axis = ws.axis.data() + body.first_v;
  const M3 F = {load(axis[0]), load(axis[1]), load(axis[2])};
  // ws.wrench holds minus the external wrench; the joint's efforts act at the origin, in F's axes
  const V3 f = F * simd::v3(tau[0], tau[1], tau[2]) - load(ws.wrench[i].f);
  const V3 n = F * simd::v3(tau[3], tau[4], tau[5]) - load(ws.wrench[i].n) - cross(c, f);
  // Euler's equations in principal axes
  const V3 wp = transpose_times(axes, w), np = transpose_times(axes, n);
  const V3 Lp = {load(free.moments).m * wp.m};
  const V3 dwp = {(np - cross(wp, Lp)).m * load(free.inverse_moments).m};
  const V3 dw = axes * dwp;
  const V3 dv = f * (1.0 / body.mass) - cross(dw, c) - cross(w, cross(w, c));
  store(ws.acceleration[i].w, dw);
  store(ws.acceleration[i].v, dv);
  const V3 al = transpose_times(F, dv - minus_gravity), aw = transpose_times(F, dw);
  double* a = a_all + body.first_v;
  for (int j = 0; j < 3; ++j) {
    a[j] = al[j];
    a[3 + j] = aw[j];
  }
}

}  // namespace

void aba(const Model& model, const State& state, VecIn tau, std::span<const Force> f_ext, Workspace& ws,
         VecOut a) {
  assert(ws.version() == model.version() && tau.size() == model.nv && a.size() == model.nv);
  const int n = model.body_count();
  const double *q = state.q.data(), *v = state.v.data();
  const V3 minus_gravity = v3(-model.gravity);
  evaluate_angles(model, q, ws);
  for (int i = 1; i < n; ++i) {
    const Body& body = model.bodies[i];
    place(model, q, i, ws);
    move(model, v, i, ws);
    if (!body.alone) {
      const WorldInertia in = world_inertia(body, ws.pose[i]);
      rigid_bias(in, load(ws.velocity[i].w), ws.wrench[i]);
      store(ws.articulated[i], rigid(in));
    } else {
      ws.wrench[i] = {};
    }
    if (!f_ext.empty()) {
      store(ws.wrench[i].n, load(ws.wrench[i].n) - v3(f_ext[i].moment));
      store(ws.wrench[i].f, load(ws.wrench[i].f) - v3(f_ext[i].force));
    }
  }
  for (int i = n - 1; i > 0; --i) {
    if (!model.bodies[i].alone) hand_down(model, tau.data(), i, ws);
  }
  for (int i = 1; i < n; ++i) {
    if (model.bodies[i].alone) {
      free_acceleration(model, tau.data(), minus_gravity, i, ws, a.data());
    } else {
      accelerate(model, minus_gravity, i, ws, a.data());
    }
  }
}

}  // namespace karakuri
