// A floating tree that touches nothing fixed keeps its momentum, but for what acts on it from outside:
//   P+ = P + h (m g + F) + impulses of other trees,   L+ likewise, about the centre of mass               (1)
// Its coordinates are bent, so a step along a straight line in them misses (1) by a little; that is given
// back to the tree as a whole,
//   w += I^-1 (L+ - L(q+, v+)),   v_c += (P+ - P(q+, v+)) / m                                             (2)
// with I its inertia as if its joints were locked. Joint rates stay as they are.
#include <Eigen/Cholesky>
#include <algorithm>

#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/kinematics.h"
#include "world/impl.h"

namespace karakuri {

namespace {

/// Free bodies see to themselves (move_bodies.cc).
void find_floating(World::Impl& w) {
  for (std::size_t t = 0; t < w.trees.size(); ++t) {
    const Body& root = w.model.bodies[w.model.trees[t].first];
    w.floats[t] = root.kind == JointKind::kFree && !root.alone && w.trees[t].responds();
  }
  for (int i = 0; i < w.rows.size(); ++i) {
    for (const ImpulseRow* row = &w.rows.impulses[i]; row; row = row->more) {
      const int a = w.tree_of[row->body], b = w.tree_of[row->other];
      if (w.total[i] != 0 && (a < 0) != (b < 0)) w.floats[a < 0 ? b : a] = 0;
    }
  }
  w.any_floats = std::any_of(w.floats.begin(), w.floats.end(), [](std::uint8_t x) { return x != 0; });
}

/// Adds a wrench at a point to the momentum that the tree of `body` will have.
void add_impulse(World::Impl& w, int body, double sign, const Vec3& point, const Vec3& force,
                 const Vec3& moment) {
  const int t = w.tree_of[body];
  if (t < 0 || !w.floats[t]) return;
  TreeMotion& m = w.motions[t];
  m.momentum = m.momentum + Force{sign * (moment + (point - m.center).cross(force)), sign * force};
}

/// (1), of forces on bodies and on the free joint itself.
void add_forces(World::Impl& w, int t, double h) {
  const Tree& tree = w.model.trees[t];
  const Body& root = w.model.bodies[tree.first];
  w.motions[t].momentum.force += h * w.motions[t].mass * w.model.gravity;
  for (int i = tree.first; i < tree.last; ++i)
    add_impulse(w, i, h, w.ws.pose[i].p, w.f_ext[i].force, w.f_ext[i].moment);
  const Eigen::Map<const Eigen::Matrix<double, 6, 1>> joint(w.tau.data() + root.first_v);
  if (joint.isZero(0)) return;
  const Mat3 F = root.R_PF;
  add_impulse(w, tree.first, h, w.ws.pose[tree.first].p, F * joint.head<3>(), F * joint.tail<3>());
}

}  // namespace

void World::Impl::remember_momentum(double h) {
  find_floating(*this);
  if (!any_floats) return;
  state_free.v = v_before;
  update_velocities(model, state_free, ws);
  for (std::size_t t = 0; t < trees.size(); ++t) {
    if (!floats[t]) continue;
    motions[t] = tree_motion(model, ws, model.trees[t]);
    add_forces(*this, static_cast<int>(t), h);
  }
  for (int i = 0; i < rows.size(); ++i) {
    const ImpulseRow& row = rows.impulses[i];  // further parts are joints', inside one tree
    if (total[i] == 0 || tree_of[row.body] == tree_of[row.other]) continue;
    add_impulse(*this, row.body, total[i], row.point, row.force, row.moment);
    add_impulse(*this, row.other, -total[i], row.point, row.force, row.moment);
  }
}

void World::Impl::give_momentum_back() {
  if (!any_floats) return;
  update_poses(model, state, ws);
  update_velocities(model, state, ws);
  for (std::size_t t = 0; t < trees.size(); ++t) {
    if (!floats[t]) continue;
    const TreeMotion now = tree_motion(model, ws, model.trees[t]);
    const Force lost = motions[t].momentum - now.momentum;
    const Vec3 turn = now.inertia.ldlt().solve(lost.moment);
    const Body& root = model.bodies[model.trees[t].first];
    const Vec3 arm = Vec3(ws.pose[model.trees[t].first].p) - now.center;
    const Mat3 to_F = Mat3(root.R_PF).transpose();
    const Vec3 linear = to_F * (lost.force / now.mass + turn.cross(arm)), angular = to_F * turn;  // (2)
    for (int k = 0; k < 3; ++k) {
      state.v[root.first_v + k] += linear[k];
      state.v[root.first_v + 3 + k] += angular[k];
    }
  }
}

}  // namespace karakuri
