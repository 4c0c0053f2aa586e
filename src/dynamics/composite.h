// Composite rigid-body inertias: each body with all that hangs on it.
//   h_P += h + m r,   I_P += I - r h'^T - h r^T + (h.r + h'.r) E,   h' = h + m r,   m_P += m             (1)
// which is the parallel-axis theorem for a shift of the reference point by r.
#pragma once

#include "dynamics/body_pass.h"

namespace karakuri::kernel {

inline void set_composite(Workspace::RigidInertia& to, const WorldInertia& in) {
  store(to.I, in.I);
  store(to.h, in.h);
  to.mass = in.mass;
}

/// Adds the inertia of a body, r away from its parent, to the parent's.  (1)
inline void add_to_parent(const Workspace::RigidInertia& from, V3 r, Workspace::RigidInertia& to) {
  const V3 h = load(from.h), shifted = h + r * from.mass;
  const double s = dot(h + shifted, r);
  M3 I = load(from.I);
  const V3 diagonal[3] = {v3(s, 0, 0), v3(0, s, 0), v3(0, 0, s)};
  for (int k = 0; k < 3; ++k) {
    I.c[k] += diagonal[k] - r * shifted[k] - h * r[k];
    store(to.I.column[k], load(to.I.column[k]) + I.c[k]);
  }
  store(to.h, load(to.h) + shifted);
  to.mass += from.mass;
}

/// ws.composite of every body.  @pre poses
inline void accumulate_composites(const Model& model, Workspace& ws) {
  const int n = model.body_count();
  ws.composite[0] = {};
  for (int i = 1; i < n; ++i) set_composite(ws.composite[i], world_inertia(model.bodies[i], ws.pose[i]));
  for (int i = n - 1; i > 0; --i) {
    add_to_parent(ws.composite[i], load(ws.pose[i].r), ws.composite[model.bodies[i].parent]);
  }
}

/// Momentum of a composite moving by a dof with the given axis.
struct DofMomentum {
  V3 n, f;
};

inline DofMomentum momentum_of(const Workspace::RigidInertia& c, DofKind kind, V3 axis, double pitch) {
  const V3 h = load(c.h);
  switch (kind) {
    case DofKind::kRotation: return {load(c.I) * axis, cross(axis, h)};
    case DofKind::kTranslation: return {cross(h, axis), axis * c.mass};
    case DofKind::kScrew:
      return {load(c.I) * axis + cross(h, axis) * pitch, cross(axis, h) + axis * (pitch * c.mass)};
  }
  return {zero3(), zero3()};
}

}  // namespace karakuri::kernel
