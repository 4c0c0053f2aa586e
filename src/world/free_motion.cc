// What the mechanism would do if nothing touched it:
//   v_free = v + h Mh^-1 (tau - c),   Mh = M + h D + h^2 K                                                (1)
//   tau = effort - K (q - rest + h v) - D v + Kd (q_target - q - h v) + Dd (v_target - v)                 (2)
// with the joints' own springs and dampers K, D and the drives' Kd, Dd, which are part of K, D in (1). So
// both are taken at the end of the step and cannot make it unstable (Hasegawa's implicit PD, in the mass
// matrix rather than as rows). Drives that may reach their limit, or are rigid, become rows instead.
//
// An explicit integrator, which moves first, makes energy of any spring at the start, and takes all at the
// end, too. The other integrators take what is soft at the start of the step, without K and D in (1) and h v
// in (2). An explicit step takes dampers and springs for which the largest eigenvalue of M^-1 (h D + h^2 K)
// is below 2. It is at most the sum of
//   share_i = (M^-1)_ii h (d_i + h k_i)                                                                   (3)
// over the dofs of a tree. Where that is beyond kSoft, the dofs with more than their part of it are stiff,
// and taken as in (1) and (2): what is left sums up to less than kSoft, and the step is stable however many
// there are. This depends on the state and the step alone.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "karakuri/dynamics/aba.h"
#include "karakuri/dynamics/inverse_diagonal.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/model/configuration.h"
#include "karakuri/spatial/rotation.h"
#include "world/impl.h"
#include "world/reach.h"

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
  // Half of the limit leaves room for what this step's impulses change, and where they change more the step
  // is made anew (overruns_drives()); what was near in the last step stays a row.
  const double wanted = drive.stiffness * (drive.q_target - q) + drive.damping * (drive.v_target - v);
  return std::abs(wanted) > 0.5 * limit || std::abs(before) > 0.5 * limit;
}

/// h (d + h k) of all springs, dampers and drives that are not rows.
void gather_implicit(World::Impl& w, double h) {
  std::fill(w.implicit.begin(), w.implicit.end(), 0.0);
  for (const World::Impl::Passive& p : w.passive_dofs) w.implicit[p.dof] = h * (p.damping + h * p.stiffness);
  for (const std::int32_t i : w.driven_dofs) {
    const Drive& drive = w.drives[i];
    const double at = dof_position(w.model, w.state.q_view(), i);
    w.drive_is_row[i] = w.drive_overruns[i] != 0 ||
                        drive_needs_row(w.model, drive, i, at, w.state.v[i], w.drive_impulse[i] / h);
    if (!w.drive_is_row[i]) w.implicit[i] += h * (drive.damping + h * drive.stiffness);
  }
}

/// (3) of one tree: only what is stiff stays in `implicit`.
void keep_stiff(World::Impl& w, const Tree& tree) {
  // An eighth of what is stable. A spring then turns by at most half a radian in a step, of which rk4 misses
  // 3e-4.
  constexpr double kSoft = 0.25;
  const Body &root = w.model.bodies[tree.first], &last = w.model.bodies[tree.last - 1];
  const int first = root.first_v, end = last.first_v + last.dofs;
  const auto count =
      std::count_if(w.implicit.begin() + first, w.implicit.begin() + end, [](double x) { return x > 0; });
  if (root.alone || count == 0) return;
  std::vector<double>& mobility = w.acceleration;  // which aba() writes afterwards
  inverse_mass_diagonal(w.model, tree, w.ws, Eigen::Map<Eigen::VectorXd>(mobility.data(), w.model.nv));
  double sum = 0;
  for (int i = first; i < end; ++i) sum += mobility[i] * w.implicit[i];
  const double most = sum > kSoft ? kSoft / static_cast<double>(count) : sum;
  for (int i = first; i < end; ++i)
    if (mobility[i] * w.implicit[i] <= most) w.implicit[i] = 0;
}

/// Which springs, dampers and drives are taken at the end of the step, as part of (1).
void choose_implicit(World::Impl& w, double h) {
  gather_implicit(w, h);
  w.ws.diagonal = w.model.armature;
  const bool any = !w.passive_dofs.empty() || !w.driven_dofs.empty();
  const bool takes_soft =
      w.settings.integrator == Integrator::kSymplectic || w.settings.integrator == Integrator::kRk4;
  if (any && takes_soft) {
    update_poses(w.model, w.state, w.ws);
    articulated_factor(w.model, w.ws);
    for (const Tree& tree : w.model.trees) keep_stiff(w, tree);
  }
  for (int i = 0; i < w.model.nv && any; ++i) w.ws.diagonal[i] += w.implicit[i];
}

/// (2)
void add_springs_and_drives(World::Impl& w, double h) {
  for (const World::Impl::Passive& p : w.passive_dofs) {
    const double v = w.state.v[p.dof], ahead = w.implicit[p.dof] > 0 ? h : 0;
    w.tau[p.dof] -= p.damping * v;
    if (p.stiffness > 0)
      w.tau[p.dof] -= p.stiffness * (dof_position(w.model, w.state.q_view(), p.dof) - p.rest + ahead * v);
  }
  for (const std::int32_t i : w.driven_dofs) {
    if (w.drive_is_row[i]) continue;
    const Drive& drive = w.drives[i];
    const double at = dof_position(w.model, w.state.q_view(), i);
    const double v = w.state.v[i], ahead = w.implicit[i] > 0 ? h : 0;
    w.tau[i] += drive.stiffness * (drive.q_target - at - ahead * v) + drive.damping * (drive.v_target - v);
  }
}

}  // namespace

void World::Impl::tabulate_dofs() {
  tree_mass.assign(model.trees.size(), 0.0);
  for (int i = 1; i < model.body_count(); ++i) tree_mass[tree_of[i]] += model.bodies[i].mass;
  tree_reach.assign(model.trees.size(), 0.0);
  for (const world_detail::BodyShape& c : colliders)
    if (const int t = tree_of[c.body]; t >= 0)
      tree_reach[t] = std::max(tree_reach[t], world_detail::arm_of(c));
  tree_size = tree_reach;
  away.assign(model.bodies.size(), 0.0);
  for (int i = 1; i < model.body_count(); ++i) {
    const Body& body = model.bodies[i];
    if (body.parent > 0) away[i] = away[body.parent] + Vec3(body.p_PF).norm();
    const double to_com = body.mass > 0 ? Vec3(body.mass_com).norm() / body.mass : 0;
    tree_size[tree_of[i]] = std::max(tree_size[tree_of[i]], away[i] + to_com);
  }
  driven_dofs.clear();
  passive_dofs.clear();
  passive_start.assign(model.trees.size() + 1, 0);
  rotation_springs.clear();
  limits.clear();
  jointed_trees.clear();
  for (int i = 0; i < model.nv; ++i) {
    const DofProperties& p = model.dof_properties[i];
    const Body& body = model.bodies[model.dofs[i].body];
    const bool turns = has_quaternion(body.kind) && i - body.first_v >= body.dofs - 3;
    if (p.stiffness > 0 || p.damping > 0) {
      passive_dofs.push_back({i, p.stiffness, p.damping, turns ? 0 : p.rest});
      ++passive_start[body.tree + 1];
    }
    if (drives[i].is_set()) driven_dofs.push_back(i);
    if (!turns || i != body.first_v + body.dofs - 3) continue;
    Vec3 k;
    for (int j = 0; j < 3; ++j) k[j] = model.dof_properties[i + j].stiffness;
    if (k[0] != k[1] || k[0] != k[2]) rotation_springs.push_back({i, k});
  }
  std::partial_sum(passive_start.begin(), passive_start.end(), passive_start.begin());
  for (const std::int32_t b : limited_bodies) {
    const Body& body = model.bodies[b];
    const DofProperties& p = model.dof_properties[body.first_v];
    limits.push_back({b, body.first_v, body.dofs == 1 ? body.first_q : -1, p.lower, p.upper});
    jointed_trees.push_back(tree_of[b]);
  }
  for (const std::vector<std::int32_t>* dofs : {&rubbing_dofs, &driven_dofs})
    for (const std::int32_t dof : *dofs) jointed_trees.push_back(tree_of[model.dofs[dof].body]);
  std::sort(jointed_trees.begin(), jointed_trees.end());
  jointed_trees.erase(std::unique(jointed_trees.begin(), jointed_trees.end()), jointed_trees.end());
  std::fill(drive_is_row.begin(), drive_is_row.end(), std::uint8_t{0});
  ws.diagonal = model.armature;
}

// Impulses, as of something that strikes, may ask more of a drive than it can give. Where that happens once
// more with those that did as rows, all drives with a limit are, so that no step is made more than three
// times.
bool World::Impl::overruns_drives() {
  constexpr double kRounding = 1e-12;
  const bool again = std::any_of(driven_dofs.begin(), driven_dofs.end(),
                                 [&](std::int32_t i) { return drive_overruns[i] != 0; });
  bool any = false;
  const auto exceeds = [&](std::int32_t i, double limit) {
    return std::abs(drive_effort_of(i)) > limit * (1 + kRounding);
  };
  for (const std::int32_t i : driven_dofs) {
    const double limit = world_detail::drive_limit(model, drives[i], i);
    if (drive_is_row[i] || !drives[i].is_set() || !(implicit[i] > 0) || std::isinf(limit)) continue;
    if (!responds(model.dofs[i].body) || !exceeds(i, limit)) continue;
    drive_overruns[i] = 1;
    any = true;
  }
  for (const std::int32_t i : driven_dofs)
    if (any && again) drive_overruns[i] |= !std::isinf(world_detail::drive_limit(model, drives[i], i));
  return any;
}

void World::Impl::turn_spring_efforts(const State& at, double h, std::vector<double>& efforts) const {
  for (const RotationSpring& s : rotation_springs) {
    Vec3 phi, later;
    const double* at_end = implicit.data() + s.first_dof;
    if (h == 0 && (at_end[0] > 0 || at_end[1] > 0 || at_end[2] > 0)) continue;
    for (int k = 0; k < 3; ++k) {
      const int dof = s.first_dof + k;
      phi[k] = dof_position(model, at.q_view(), dof);
      later[k] = phi[k] + (implicit[dof] > 0 ? h * at.v[dof] : 0);
    }
    const Vec3 own = -s.stiffness.cwiseProduct(later);
    Eigen::Map<Vec3>(efforts.data() + s.first_dof) += quat_log_rate(phi).transpose() * own - own;
  }
}

void World::Impl::free_motion(double h) {
  ws.free_gyroscopic = false;  // move_bodies.cc (4); stages of RK4 turn it on
  v_before = state.v;
  q_before = state.q;
  h_before = h;
  tau = effort;
  choose_implicit(*this, h);
  add_springs_and_drives(*this, h);
  turn_spring_efforts(state, h, tau);
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
  const std::span<const Force> wrenches = loaded ? std::span<const Force>(f_ext) : std::span<const Force>{};
  const Eigen::Map<Eigen::VectorXd> a(acceleration.data(), model.nv);
  if (known.q == state.q && known.v == state.v)
    aba_at_known_pose(model, efforts, wrenches, ws, a);
  else
    aba(model, state, efforts, wrenches, ws, a);
  known.q.clear();
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    const Body& root = model.bodies[model.trees[t].first];
    const Body& last = model.bodies[model.trees[t].last - 1];
    const bool responds = trees[t].responds();
    for (int i = root.first_v; i < last.first_v + last.dofs; ++i)
      v_free[i] = responds ? state.v[i] + h * acceleration[i] : state.v[i];  // (1)
  }
}

}  // namespace karakuri
