// What the mechanism would do if nothing touched it:
//   v_free = v + h Mh^-1 (tau - c),   Mh = M + h D + h^2 K (1) tau = effort - K (q - rest + h v) - D v + Kd
//   (q_target - q - h v) + Dd (v_target - v)                   (2)
// with the joints' own springs and dampers K, D and the drives' Kd, Dd, which are part of K, D in (1). So
// both are taken at the end of the step and cannot make it unstable (Hasegawa's implicit PD, in the mass
// matrix rather than as rows). Drives that may reach their limit, or are rigid, become rows instead. The
// other integrators take springs and dampers at the start: K = D = 0 in (1) and no h v in (2).
#include <algorithm>
#include <cmath>

#include "karakuri/dynamics/aba.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/model/configuration.h"
#include "world/impl.h"

namespace karakuri {

double world_detail::drive_limit(const Model& model, const Drive& drive, int dof) {
  return std::min(drive.limit, model.dof_properties[dof].effort_limit);
}

namespace {

/// Whether a drive at (q, v) that gave `before` in the last step is a row rather than part of the mass
/// matrix.
bool drive_needs_row(const Model& model, const Drive& drive, int dof, double q, double v, double before) {
  if (!drive.is_set()) return false;
  // bodies alone in their trees have no added diagonal
  if (std::isinf(drive.damping) || model.bodies[model.dofs[dof].body].alone) return true;
  const double limit = world_detail::drive_limit(model, drive, dof);
  if (std::isinf(limit)) return false;
  // Half of the limit leaves room for what this step's impulses change; what was near in the last step stays
  // a row.
  const double wanted = drive.stiffness * (drive.q_target - q) + drive.damping * (drive.v_target - v);
  return std::abs(wanted) > 0.5 * limit || std::abs(before) > 0.5 * limit;
}

/// (2) of one dof, and its entry of (1).
void drive_dof(World::Impl& w, int i, double h) {
  const bool implicit = w.settings.integrator == Integrator::kSemiImplicit;
  const double ahead = implicit ? h : 0, v = w.state.v[i];
  const auto q = w.state.q_view();
  const DofProperties& p = w.model.dof_properties[i];
  double stiffness = p.stiffness, damping = p.damping;
  w.tau[i] -= damping * v;
  if (stiffness > 0) {
    const Body& body = w.model.bodies[w.model.dofs[i].body];
    const bool turns = has_quaternion(body.kind) && i - body.first_v >= body.dofs - 3;
    w.tau[i] -= stiffness * (dof_position(w.model, q, i) - (turns ? 0 : p.rest) + ahead * v);
  }
  if (const Drive& drive = w.drives[i]; drive.is_set()) {
    const double at = dof_position(w.model, q, i);
    w.drive_is_row[i] = drive_needs_row(w.model, drive, i, at, v, w.drive_impulse[i] / h);
    if (!w.drive_is_row[i]) {
      w.tau[i] += drive.stiffness * (drive.q_target - at - ahead * v) + drive.damping * (drive.v_target - v);
      stiffness += drive.stiffness;
      damping += drive.damping;
    }
  }
  w.ws.diagonal[i] = w.model.armature[i] + (implicit ? h * (damping + h * stiffness) : 0);
}

}  // namespace

void World::Impl::find_driven_dofs() {
  driven_dofs.clear();
  for (int i = 0; i < model.nv; ++i) {
    const DofProperties& p = model.dof_properties[i];
    if (p.stiffness > 0 || p.damping > 0 || drives[i].is_set()) driven_dofs.push_back(i);
  }
  std::fill(drive_is_row.begin(), drive_is_row.end(), std::uint8_t{0});
  ws.diagonal = model.armature;
}

void World::Impl::free_motion(double h) {
  ws.free_gyroscopic = settings.integrator == Integrator::kRk4;
  v_before = state.v;
  q_before = state.q;
  h_before = h;
  tau = effort;
  for (const std::int32_t dof : driven_dofs) drive_dof(*this, dof, h);
  const bool loaded = !forces.empty();
  if (loaded || settings.integrator == Integrator::kRk4) std::fill(f_ext.begin(), f_ext.end(), Force{});
  if (loaded) {
    update_poses(model, state, ws);
    for (const world_detail::PendingForce& f : forces) {
      add_external_wrench(model, ws, f.link, f.p_L, {f.moment, f.force}, f_ext);
      if (const int tree = tree_of_link(f.link); tree >= 0) wake_tree(tree);
    }
  }
  std::swap(applied, forces);
  forces.clear();
  const Eigen::Map<Eigen::VectorXd> efforts(tau.data(), model.nv);
  aba(model, state, efforts, loaded ? std::span<const Force>(f_ext) : std::span<const Force>{}, ws,
      Eigen::Map<Eigen::VectorXd>(acceleration.data(), model.nv));
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    const Body& root = model.bodies[model.trees[t].first];
    const Body& last = model.bodies[model.trees[t].last - 1];
    const bool responds = trees[t].responds();
    for (int i = root.first_v; i < last.first_v + last.dofs; ++i)
      v_free[i] = responds ? state.v[i] + h * acceleration[i] : state.v[i];  // (1)
  }
}

}  // namespace karakuri
