// Propagation. An impulse (n, f) at a body is handed towards the root, dof by dof, with the pivots of aba.cc:
//   y_k = S_k^T (n, f),   (n, f) <- (n, f) - U_k y_k / d_k,   to the parent: n <- n + r x f               (1)
// The articulated-body recursion is the factorisation M^-1 = (1 - K)^T D^-1 (1 - K) (Rodriguez, Jain &
// Kreutz-Delgado 1991), and (1) computes y = (1 - K) J^T.
// Factor. y = L^-T J^T; J^T has entries only on the path, and so has y. (2)
#include "dynamics/response_rows.h"

namespace karakuri::kernel {

namespace {

inline V4 dot(V3 a, const Lanes3& b) { return b.x * a[0] + b.y * a[1] + b.z * a[2]; }

inline void add_scaled(Lanes3& to, V3 a, V4 s) {
  to.x += s * a[0];
  to.y += s * a[1];
  to.z += s * a[2];
}

/// to + a x b
inline void add_cross(Lanes3& to, V3 a, const Lanes3& b) {
  to.x += b.z * a[1] - b.y * a[2];
  to.y += b.x * a[2] - b.z * a[0];
  to.z += b.y * a[0] - b.x * a[1];
}

inline V4 project(DofKind kind, V3 axis, double pitch, const Impulses& F) {
  switch (kind) {
    case DofKind::kRotation: return dot(axis, F.n);
    case DofKind::kTranslation: return dot(axis, F.f);
    case DofKind::kScrew: return dot(axis, F.n) + dot(axis, F.f) * pitch;
  }
  return broadcast(0);
}

/// A body that is its own tree: M is diagonal in principal axes at the centre of mass.
void rows_of_free_body(const Model& model, const Workspace& ws, int i, Impulses F, Packed4* y) {
  const FreeBody& free = model.free_bodies[model.bodies[i].extra];
  const M3 R = load(ws.pose[i].R), axes = R * load(free.axes);
  add_cross(F.n, -(R * load(free.com)), F.f);
  store(y[0], F.f.x);
  store(y[1], F.f.y);
  store(y[2], F.f.z);
  for (int k = 0; k < 3; ++k) store(y[3 + k], dot(axes.c[k], F.n));
}

}  // namespace

void rows_by_propagation(const Model& model, const Workspace& ws, int i, Impulses F, Packed4* y) {
  if (model.bodies[i].alone) return rows_of_free_body(model, ws, i, F, y);
  for (;;) {
    const Body& body = model.bodies[i];
    for (int v = last_dof(body); v >= body.first_v; --v) {
      const Workspace::Pivot& pivot = ws.pivot[v];
      const V4 u = project(model.dofs[v].kind, load(ws.axis[v]), body.pitch, F);
      const V4 s = u * -pivot.inverse_d;
      add_scaled(F.n, load(pivot.Un), s);
      add_scaled(F.f, load(pivot.Uf), s);
      store(y[model.dofs[v].depth], u);  // (1)
    }
    if (body.parent == 0) return;
    add_cross(F.n, load(ws.pose[i].r), F.f);
    i = body.parent;
  }
}

void rows_by_factor(const Model& model, const MassMatrix& M, const Workspace& ws, int i, Impulses F,
                    Packed4* y) {
  const Dof& last = model.dofs[last_dof(model.bodies[i])];
  for (int b = i;;) {
    const Body& body = model.bodies[b];
    for (int v = last_dof(body); v >= body.first_v; --v) {
      store(y[model.dofs[v].depth], project(model.dofs[v].kind, load(ws.axis[v]), body.pitch, F));
    }
    if (body.parent == 0) break;
    add_cross(F.n, load(ws.pose[b].r), F.f);
    b = body.parent;
  }
  const std::int32_t* path = model.paths.data() + last.path;
  for (int d = last.depth; d > 0; --d) {
    const double* row = M.entries.data() + model.dofs[path[d]].row;
    const V4 yd = load(y[d]);
    for (int j = 0; j < d; ++j) store(y[j], load(y[j]) - yd * row[j]);  // (2)
  }
}

void weights_of_propagation(const Model& model, const Workspace& ws, int i, double* weights) {
  const Body& body = model.bodies[i];
  if (body.alone) {
    const Vec3 k = model.free_bodies[body.extra].inverse_moments;
    for (int j = 0; j < 3; ++j) {
      weights[j] = 1.0 / body.mass;
      weights[3 + j] = k[j];
    }
    return;
  }
  const Dof& last = model.dofs[last_dof(body)];
  for (int d = 0; d <= last.depth; ++d) weights[d] = ws.pivot[model.paths[last.path + d]].inverse_d;
}

void weights_of_factor(const Model& model, const MassMatrix& M, int i, double* weights) {
  const Dof& last = model.dofs[last_dof(model.bodies[i])];
  for (int d = 0; d <= last.depth; ++d) weights[d] = M.inverse_diagonal[model.paths[last.path + d]];
}

}  // namespace karakuri::kernel
