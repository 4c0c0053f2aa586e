// With (1)-(4) of body_pass.h and of articulated.h. The bias of a rigid body at its origin is
//   n = w x I w - n_ext_W,  f = w x (w x h) - f_ext (5)
// and what body B hands to its parent
//   p_P += shift(p + A (bias_w, bias_v))                                                                  (6)
// A free body alone in its tree needs no elimination: with c the centre of mass from the origin,
//   dv_c = F / m,  dw = I_c^-1 (N_c - w x I_c w),  dv = dv_c - dw x c - w x (w x c) (7)
#include "karakuri/dynamics/aba.h"

#include <algorithm>
#include <cassert>

#include "dynamics/articulated.h"

namespace karakuri {

namespace {

using namespace kernel;

struct Wrench3 {
  V3 n, f;
};

/// Eliminates the dofs of a joint of any kind and adds to (n, f) what is carried on.
inline void eliminate_joint(const Model& model, const double* tau, const Body& body, Workspace& ws,
                            Articulated& A, Wrench3& F) {
  for (int k = body.dofs - 1; k >= 0; --k) {
    const int v = body.first_v + k;
    const DofKind kind = model.dofs[v].kind;
    const V3 axis = load(ws.axis[v]);
    const SpatialForce U = eliminate(A, kind, axis, body.pitch, ws.diagonal[v], ws.pivot[v]);
    const double u = tau[v] - project(kind, axis, body.pitch, F.n, F.f);
    ws.pivot[v].u = u;
    const double s = u * ws.pivot[v].inverse_d;
    F.n = plus_scaled(F.n, U.n, s);
    F.f = plus_scaled(F.f, U.f, s);
  }
}

/// Adds A times the bias accelerations of the body.  (6)
inline void add_bias(const Articulated& A, const Workspace::Bias& bias, Wrench3& F) {
  const V3 bw = load(bias.w), bv = load(bias.v);
  F.n += A.I * bw + transpose_times(A.G, bv);
  F.f += A.G * bw + A.M * bv;
}

/// Eliminates the joint of body i and hands inertia and bias to the parent.
inline void hand_down(const Model& model, const double* tau, int i, Workspace& ws) {
  const Body& body = model.bodies[i];
  Articulated A = load(ws.articulated[i]);
  Wrench3 F = {load(ws.wrench[i].n), load(ws.wrench[i].f)};
  if (body.kind == JointKind::kRevolute) {
    // Without loop or choice. (6) with A before its dof is eliminated, A - U U^T / d after: so neither waits.
    const int v = body.first_v;
    const V3 axis = load(ws.axis[v]);
    const double u = tau[v] - dot(axis, F.n);
    add_bias(A, ws.bias[i], F);
    const SpatialForce U = eliminate(A, DofKind::kRotation, axis, 0, ws.diagonal[v], ws.pivot[v]);
    ws.pivot[v].u = u;
    const double of_bias = dot(U.n, load(ws.bias[i].w)) + dot(U.f, load(ws.bias[i].v));
    const double s = (u - of_bias) * ws.pivot[v].inverse_d;
    F.n = plus_scaled(F.n, U.n, s);
    F.f = plus_scaled(F.f, U.f, s);
  } else {
    eliminate_joint(model, tau, body, ws, A, F);
    add_bias(A, ws.bias[i], F);
  }
  if (body.parent == 0) return;
  const V3 r = load(ws.pose[i].r);
  shift_to_parent(A, r);
  add(ws.articulated[body.parent], A);
  Workspace::Wrench& parent = ws.wrench[body.parent];
  store(parent.n, load(parent.n) + F.n + cross(r, F.f));
  store(parent.f, load(parent.f) + F.f);
}

/// (3)
inline double acceleration_of(const Workspace::Pivot& pivot, V3 dw, V3 dv) {
  const V3 t = {load(pivot.Un).m * dw.m + load(pivot.Uf).m * dv.m};
  return (pivot.u - (t[0] + t[1] + t[2])) * pivot.inverse_d;
}

/// Joint accelerations of body i from its parent's, base to tip. (bias_w, bias_v) as in body_pass.h;
/// `world` is the acceleration of what the tree stands on.
inline void answer(const Model& model, V3 bias_w, V3 bias_v, V3 world, int i, Workspace& ws, double* a) {
  const Body& body = model.bodies[i];
  V3 dw = bias_w, dv = bias_v;
  if (body.parent == 0) {
    dv += world;
  } else {
    const V3 dwp = load(ws.acceleration[body.parent].w);
    dw += dwp;
    dv += load(ws.acceleration[body.parent].v) + cross(dwp, load(ws.pose[i].r));
  }
  if (body.kind == JointKind::kRevolute) {
    const int v = body.first_v;
    a[v] = acceleration_of(ws.pivot[v], dw, dv);
    dw = plus_scaled(dw, load(ws.axis[v]), a[v]);
  } else {
    for (int v = body.first_v; v < body.first_v + body.dofs; ++v) {
      a[v] = acceleration_of(ws.pivot[v], dw, dv);
      add_motion(model.dofs[v].kind, load(ws.axis[v]), body.pitch, a[v], dw, dv);
    }
  }
  store(ws.acceleration[i].w, dw);
  store(ws.acceleration[i].v, dv);
}

struct FreeMotion {
  V3 dw, dv;
};

/// A free body's accelerations under a wrench at its origin, turning at w.  (7)
inline FreeMotion free_response(const Model& model, const Workspace& ws, int i, V3 n, V3 f, V3 w) {
  const Body& body = model.bodies[i];
  const FreeBody& free = model.free_bodies[body.extra];
  const M3 R = load(ws.pose[i].R);
  const V3 c = R * load(free.com);
  const M3 axes = R * load(free.axes);  // principal axes in W
  const M3 to_principal = transpose(axes);
  const V3 wp = to_principal * w, np = to_principal * (n - cross(c, f));
  const V3 Lp = {load(free.moments).m * wp.m};
  const V3 turning = ws.free_gyroscopic ? np - cross(wp, Lp) : np;
  const V3 dw = axes * V3{turning.m * load(free.inverse_moments).m};
  const V3 dv = f * (1.0 / body.mass) - cross(dw, c);
  return {dw, ws.free_gyroscopic ? dv - cross(w, cross(w, c)) : dv};
}

/// x_J <- accelerations of the free joint of body i under efforts x_J and the wrench (n, f), all in F's axes.
inline void solve_free_joint(const Model& model, const Workspace& ws, int i, V3 n, V3 f, V3 w, V3 world,
                             double* x, Workspace::Acceleration& out) {
  const Packed3* axis = ws.axis.data() + model.bodies[i].first_v;
  const M3 F = {load(axis[0]), load(axis[1]), load(axis[2])};
  f += F * simd::v3(x[0], x[1], x[2]);
  n += F * simd::v3(x[3], x[4], x[5]);
  const auto [dw, dv] = free_response(model, ws, i, n, f, w);
  store(out.w, dw);
  store(out.v, dv);
  const M3 to_F = transpose(F);
  const V3 linear = to_F * (dv - world), angular = to_F * dw;
  for (int j = 0; j < 3; ++j) {
    x[j] = linear[j];
    x[3 + j] = angular[j];
  }
}

/// @param kinematics  of body i, before anything else of it
template <class F>
void run_aba(const Model& model, VecIn tau, std::span<const Force> f_ext, Workspace& ws, VecOut a,
             F&& kinematics) {
  assert(ws.version() == model.version() && tau.size() == model.nv && a.size() == model.nv);
  const int n = model.body_count();
  const V3 minus_gravity = v3(-model.gravity);
  for (int i = 1; i < n; ++i) {
    const Body& body = model.bodies[i];
    kinematics(i);
    const V3 n_ext_W = f_ext.empty() ? zero3() : v3(f_ext[i].moment),
             f_ext_W = f_ext.empty() ? zero3() : v3(f_ext[i].force);
    if (body.alone) {
      std::copy_n(tau.data() + body.first_v, 6, a.data() + body.first_v);
      solve_free_joint(model, ws, i, n_ext_W, f_ext_W, load(ws.velocity[i].w), minus_gravity,
                       a.data() + body.first_v, ws.acceleration[i]);
      continue;
    }
    const WorldInertia in = world_inertia(body, ws.pose[i]);
    const V3 w = load(ws.velocity[i].w);
    store(ws.wrench[i].n, cross(w, in.I * w) - n_ext_W);  // (5)
    store(ws.wrench[i].f, cross(w, cross(w, in.h)) - f_ext_W);
    store(ws.articulated[i], rigid(in));
  }
  for (int i = n - 1; i > 0; --i) {
    if (!model.bodies[i].alone) hand_down(model, tau.data(), i, ws);
  }
  for (int i = 1; i < n; ++i) {
    if (model.bodies[i].alone) continue;
    answer(model, load(ws.bias[i].w), load(ws.bias[i].v), minus_gravity, i, ws, a.data());
  }
}

}  // namespace

void aba(const Model& model, const State& state, VecIn tau, std::span<const Force> f_ext, Workspace& ws,
         VecOut a) {
  const double *q = state.q.data(), *v = state.v.data();
  evaluate_angles(model, q, ws);
  run_aba(model, tau, f_ext, ws, a, [&](int i) {
    place(model, q, i, ws);
    move(model, v, i, ws);
  });
}

void aba_at_known_pose(const Model& model, VecIn tau, std::span<const Force> f_ext, Workspace& ws, VecOut a) {
  run_aba(model, tau, f_ext, ws, a, [](int) {});
}

void articulated_factor(const Model& model, Workspace& ws) {
  assert(ws.version() == model.version());
  const int n = model.body_count();
  for (int i = 1; i < n; ++i) {
    if (!model.bodies[i].alone) store(ws.articulated[i], rigid(world_inertia(model.bodies[i], ws.pose[i])));
  }
  for (int i = n - 1; i > 0; --i) {
    const Body& body = model.bodies[i];
    if (body.alone) continue;
    Articulated A = load(ws.articulated[i]);
    for (int v = body.first_v + body.dofs - 1; v >= body.first_v; --v) {
      eliminate(A, model.dofs[v].kind, load(ws.axis[v]), body.pitch, ws.diagonal[v], ws.pivot[v]);
    }
    if (body.parent == 0) continue;
    shift_to_parent(A, load(ws.pose[i].r));
    add(ws.articulated[body.parent], A);
  }
}

void solve_articulated(const Model& model, Workspace& ws, VecOut x) {
  assert(ws.version() == model.version() && x.size() == model.nv);
  for (Workspace::Wrench& wrench : ws.wrench) wrench = {};
  for (const Tree& tree : model.trees) solve_tree(model, tree, ws, x.data());
}

namespace {

/// What is left for the dof, and of the wrench.  (2) with p = -wrench
inline void take_dof(double effort, Workspace::Pivot& pivot, Wrench3& F) {
  pivot.u = effort;
  const double s = effort * pivot.inverse_d;
  F.n = minus_scaled(F.n, load(pivot.Un), s);
  F.f = minus_scaled(F.f, load(pivot.Uf), s);
}

}  // namespace

void kernel::solve_tree(const Model& model, const Tree& tree, Workspace& ws, double* x) {
  const Body& root = model.bodies[tree.first];
  if (root.alone)
    return solve_free_joint(model, ws, tree.first, load(ws.wrench[tree.first].n),
                            load(ws.wrench[tree.first].f), zero3(), zero3(), x + root.first_v,
                            ws.acceleration[tree.first]);
  for (int i = tree.last - 1; i >= tree.first; --i) {
    const Body& body = model.bodies[i];
    Wrench3 F = {load(ws.wrench[i].n), load(ws.wrench[i].f)};
    if (body.kind == JointKind::kRevolute) {
      const int v = body.first_v;
      take_dof(x[v] + dot(load(ws.axis[v]), F.n), ws.pivot[v], F);
    } else {
      for (int v = body.first_v + body.dofs - 1; v >= body.first_v; --v)
        take_dof(x[v] + project(model.dofs[v].kind, load(ws.axis[v]), body.pitch, F.n, F.f), ws.pivot[v], F);
    }
    if (body.parent == 0) continue;
    Workspace::Wrench& parent = ws.wrench[body.parent];
    store(parent.n, load(parent.n) + F.n + cross(load(ws.pose[i].r), F.f));
    store(parent.f, load(parent.f) + F.f);
  }
  for (int i = tree.first; i < tree.last; ++i) answer(model, zero3(), zero3(), zero3(), i, ws, x);
}

}  // namespace karakuri
