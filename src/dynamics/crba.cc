// For each dof k of body B, with the momentum (n, f) of B's composite moving by k:
//   M_kj = S_j^T (n, f)                       j on the path of k (1) n <- n + r x f to the origin of the
//   parent                                  (2)
#include <cassert>

#include "dynamics/composite.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/mass_matrix.h"

namespace karakuri {

namespace {

using namespace kernel;

/// Row of dof v, the k-th of body i.
inline void fill_row(const Model& model, const Workspace& ws, int i, int k, double* entries) {
  const Body* body = &model.bodies[i];
  const int v = body->first_v + k;
  DofMomentum m = momentum_of(ws.composite[i], model.dofs[v].kind, load(ws.axis[v]), body->pitch);
  double* at = entries + model.dofs[v].row + model.dofs[v].depth;
  for (int last = v;;) {
    for (int j = last; j >= body->first_v; --j) {
      *at-- = project(model.dofs[j].kind, load(ws.axis[j]), body->pitch, m.n, m.f);  // (1)
    }
    if (body->parent == 0) break;
    m.n += cross(load(ws.pose[i].r), m.f);  // (2)
    i = body->parent;
    body = &model.bodies[i];
    last = body->first_v + body->dofs - 1;
  }
}

}  // namespace

void crba(const Model& model, const State& state, Workspace& ws, MassMatrix& M) {
  update_poses(model, state, ws);
  crba(model, ws, M);
}

void crba(const Model& model, Workspace& ws, MassMatrix& M) {
  assert(ws.version() == model.version() &&
         static_cast<std::int64_t>(M.entries.size()) == model.mass_matrix_size);
  accumulate_composites(model, ws);
  for (int i = 1; i < model.body_count(); ++i) {
    const Body& body = model.bodies[i];
    for (int k = 0; k < body.dofs; ++k) fill_row(model, ws, i, k, M.entries.data());
  }
  for (int v = 0; v < model.nv; ++v) M.entries[model.dofs[v].row + model.dofs[v].depth] += model.armature[v];
}

}  // namespace karakuri
