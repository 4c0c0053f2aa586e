// Trees on free joints as one rigid body, by the rates of their free joints.
#pragma once

#include "dynamics/rigid_motion.h"
#include "world/dofs.h"
#include "world/impl.h"

namespace karakuri::world_detail {

/// Rates of the free joint of a tree that moves so.
inline Eigen::Matrix<double, 6, 1> root_rates(const World::Impl& w, const Tree& tree, const RigidMotion& m) {
  const Mat3 to_F = Mat3(w.model.bodies[tree.first].R_PF).transpose();
  const Vec3 arm = Vec3(w.ws.pose[tree.first].p) - m.center;
  Eigen::Matrix<double, 6, 1> rates;
  rates << to_F * (m.linear + m.angular.cross(arm)), to_F * m.angular;
  return rates;
}

/// Takes a share of what moves within a tree: of all of it, or of a tree on a free joint, of what it does not
/// do as a rigid body, which keeps its momentum.  @pre trial_velocity at v
inline void slow_within(World::Impl& w, const Tree& tree, double share, std::vector<double>& v) {
  const Body& root = w.model.bodies[tree.first];
  if (root.kind != JointKind::kFree || root.parent != 0) return scale_rates(w.model, tree, share, v);
  const auto as_one = root_rates(w, tree, rigid_motion(tree_motion(w.model, w.ws, w.trial_velocity, tree)));
  int i = root.first_v;
  for (int k = 0; k < 6; ++k, ++i) v[i] += (share - 1) * (v[i] - as_one[k]);
  for (; i < end_dof(w.model, tree); ++i) v[i] *= share;
}

}  // namespace karakuri::world_detail
