// Base to tip, with (1)-(4) of body_pass.h, then for each body at its origin
//   f = m a + dw x h + w x (w x h),  n = I dw + w x I w + h x a      h = m c                             (5)
// and tip to base
//   tau_k = S_k^T (n, f) + armature_k a_k                                                                (6)
//   f_P += f,  n_P += n + r x f                                                                          (7)
// Gravity enters as an upward acceleration of the world.
#include "karakuri/dynamics/rnea.h"

#include <cassert>

#include "dynamics/body_pass.h"

namespace karakuri {

namespace {

using namespace kernel;

/// Accelerations of body i, into ws.acceleration.
template <bool kWithAcceleration>
inline void accelerate(const Model& model, const double* a, V3 minus_gravity, int i, Workspace& ws) {
  const Body& body = model.bodies[i];
  V3 dw = load(ws.bias[i].w), dv = load(ws.bias[i].v);
  if (body.parent == 0) {
    dv += minus_gravity;
  } else {
    const V3 dwp = load(ws.acceleration[body.parent].w);
    dw += dwp;
    dv += load(ws.acceleration[body.parent].v) + cross(dwp, load(ws.pose[i].r));
  }
  if constexpr (kWithAcceleration) {
    for (int k = 0; k < body.dofs; ++k) {
      const int v = body.first_v + k;
      add_motion(model.dofs[v].kind, load(ws.axis[v]), body.pitch, a[v], dw, dv);
    }
  }
  store(ws.acceleration[i].w, dw);
  store(ws.acceleration[i].v, dv);
}

/// (5), with the inertia applied in body axes: that takes fewer operations than turning it.
inline void rigid_wrench(const Body& body, int i, Workspace& ws) {
  const M3 R = load(ws.pose[i].R);
  const V3 w = load(ws.velocity[i].w), dw = load(ws.acceleration[i].w), dv = load(ws.acceleration[i].v);
  const V3 h = R * load(body.mass_com);
  const M3 Rt = transpose(R);
  const double* s = body.inertia;
  const M3 I = {v3(s[0], s[3], s[4]), v3(s[3], s[1], s[5]), v3(s[4], s[5], s[2])};
  const V3 w_B = Rt * w;
  const V3 n_B = I * (Rt * dw) + cross(w_B, I * w_B);
  store(ws.wrench[i].n, R * n_B + cross(h, dv));
  store(ws.wrench[i].f, dv * body.mass + cross(dw, h) + cross(w, cross(w, h)));
}

template <bool kWithAcceleration>
void run(const Model& model, const State& state, const double* a, std::span<const Force> f_ext, Workspace& ws,
         double* tau) {
  assert(ws.version() == model.version());
  const int n = model.body_count();
  const double *q = state.q.data(), *v = state.v.data();
  const V3 minus_gravity = v3(-model.gravity.x(), -model.gravity.y(), -model.gravity.z());
  evaluate_angles(model, q, ws);
  for (int i = 1; i < n; ++i) {
    place(model, q, i, ws);
    move(model, v, i, ws);
    accelerate<kWithAcceleration>(model, a, minus_gravity, i, ws);
    rigid_wrench(model.bodies[i], i, ws);
  }
  if (!f_ext.empty()) {
    for (int i = 1; i < n; ++i) {
      const Vec3 &m = f_ext[i].moment, &f = f_ext[i].force;
      store(ws.wrench[i].n, load(ws.wrench[i].n) - v3(m.x(), m.y(), m.z()));
      store(ws.wrench[i].f, load(ws.wrench[i].f) - v3(f.x(), f.y(), f.z()));
    }
  }
  for (int i = n - 1; i > 0; --i) {
    const Body& body = model.bodies[i];
    const V3 nn = load(ws.wrench[i].n), ff = load(ws.wrench[i].f);
    for (int k = 0; k < body.dofs; ++k) {
      const int dof = body.first_v + k;
      tau[dof] = project(model.dofs[dof].kind, load(ws.axis[dof]), body.pitch, nn, ff);  // (6)
      if constexpr (kWithAcceleration) tau[dof] += model.armature[dof] * a[dof];
    }
    if (body.parent == 0) continue;
    Workspace::Wrench& parent = ws.wrench[body.parent];
    store(parent.n, load(parent.n) + nn + cross(load(ws.pose[i].r), ff));  // (7)
    store(parent.f, load(parent.f) + ff);
  }
}

}  // namespace

void rnea(const Model& model, const State& state, VecIn a, std::span<const Force> f_ext, Workspace& ws,
          VecOut tau) {
  assert(a.size() == model.nv && tau.size() == model.nv);
  run<true>(model, state, a.data(), f_ext, ws, tau.data());
}

void bias_effort(const Model& model, const State& state, std::span<const Force> f_ext, Workspace& ws,
                 VecOut tau) {
  assert(tau.size() == model.nv);
  run<false>(model, state, nullptr, f_ext, ws, tau.data());
}

}  // namespace karakuri
