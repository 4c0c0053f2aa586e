// With the momentum (n, f) of a body's composite moving by its dof k,
//   M_kj = S_j^T (n, f) = w_j . n + v_j . f                 j on the path of k (1)
// where S_j = (w_j, v_j) and (n, f) are taken about one point of the tree, the origin of its root: so neither
// has to be moved from body to body. That point is at most the tree's size away, which costs as many
// roundings as the tree is larger than a body, and no more.
#include <cassert>

#include "dynamics/composite.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/mass_matrix.h"

namespace karakuri {

namespace {

using namespace kernel;

/// The motion of a dof at the tree's reference point, which lies at -d from the body's origin: v = d x w.
inline void set_motion(DofKind kind, V3 axis, double pitch, V3 d, Workspace::DofMotion& out) {
  const bool turns = kind != DofKind::kTranslation;
  V3 v = turns ? cross(d, axis) : axis;
  if (kind == DofKind::kScrew) v += axis * pitch;
  store(out.w, turns ? axis : zero3());
  store(out.v, v);
}

/// (1) for the whole path.
inline void fill_row(const Model& model, const Workspace& ws, const Dof& dof, V3 n, V3 f, double* row) {
  const std::int32_t* path = model.paths.data() + dof.path;
  for (int d = 0; d <= dof.depth; ++d) {
    const Workspace::DofMotion& S = ws.motion[path[d]];
    const V4 t = load(S.w).m * n.m + load(S.v).m * f.m;
    row[d] = (t[0] + t[1]) + t[2];
  }
}

}  // namespace

void crba(const Model& model, const State& state, Workspace& ws, MassMatrix& M) {
  update_poses(model, state, ws);
  crba(model, ws, M);
}

void crba(const Model& model, Workspace& ws, MassMatrix& M) {
  assert(ws.version() == model.version());
  assert(static_cast<std::int64_t>(M.entries.size()) == model.mass_matrix_size);
  accumulate_composites(model, ws);
  V3 reference = zero3();
  for (int i = 1; i < model.body_count(); ++i) {
    const Body& body = model.bodies[i];
    if (body.parent == 0) reference = load(ws.pose[i].p);
    const V3 d = load(ws.pose[i].p) - reference;
    for (int v = body.first_v; v < body.first_v + body.dofs; ++v) {
      const Dof& dof = model.dofs[v];
      const V3 axis = load(ws.axis[v]);
      set_motion(dof.kind, axis, body.pitch, d, ws.motion[v]);
      const DofMomentum m = momentum_of(ws.composite[i], dof.kind, axis, body.pitch);
      double* row = M.entries.data() + dof.row;
      fill_row(model, ws, dof, m.n + cross(d, m.f), m.f, row);
      row[dof.depth] += ws.diagonal[v];
    }
  }
}

}  // namespace karakuri
