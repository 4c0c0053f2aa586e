// RK4 (Nakaoka et al. 2007): impulses become forces lambda / h, held over the step while the smooth part
// moves. Loops are held anew at each stage, so that they are moved along at fourth order too.
//
// Springs, dampers and drives that are stiff for the step (free_motion.cc) are held as well, at what they
// give at the end of the implicit step that the impulses were found for:
//   effort = tau - h (D + h K) (v+ - v) / h                                                               (1)
// and the stages have the mass matrix without them. Of one mass m on one spring this is, with kappa = h^2 k /
// m and delta = h d / m, a linear map of determinant (1 + kappa / 2) / (1 + kappa + delta): stable for any.
// What is soft follows the stages and keeps the fourth order.
//
// Trees that are moved plainly (move_bodies.cc) are left as they were.
//
// Bounces act at the start of the step, before anything moves.
#include <algorithm>
#include <cmath>

#include "dynamics/free_spin.h"
#include "dynamics/spin_inertia.h"
#include "karakuri/dynamics/aba.h"
#include "karakuri/model/configuration.h"
#include "karakuri/spatial/rotation.h"
#include "world/impl.h"

namespace karakuri {

namespace {

Eigen::Map<Eigen::VectorXd> as_vector(std::vector<double>& v) {
  return {v.data(), static_cast<Eigen::Index>(v.size())};
}

/// dq/dt: as v, but of quaternions (0, w) q / 2.
void configuration_rate(const Model& model, const std::vector<double>& q, const std::vector<double>& v,
                        std::vector<double>& rate) {
  for (const Body& body : model.bodies) {
    const int plain = has_quaternion(body.kind) ? body.dofs - 3 : body.dofs;
    for (int k = 0; k < plain; ++k) rate[body.first_q + k] = v[body.first_v + k];
    if (plain == body.dofs) continue;
    const double* at = q.data() + body.first_q + plain;
    const double* w = v.data() + body.first_v + plain;
    const Quat turned = Quat(0, w[0], w[1], w[2]) * Quat(at[0], at[1], at[2], at[3]);
    double* out = rate.data() + body.first_q + plain;
    out[0] = 0.5 * turned.w(), out[1] = 0.5 * turned.x(), out[2] = 0.5 * turned.y(),
    out[3] = 0.5 * turned.z();
  }
}

void normalize_quaternions(const Model& model, const Tree& tree, std::vector<double>& q) {
  for (int b = tree.first; b < tree.last; ++b) {
    const Body& body = model.bodies[b];
    if (!has_quaternion(body.kind)) continue;
    double* at = q.data() + body.first_q + body.dofs - 3;
    const Quat unit = normalized_or_identity(Quat(at[0], at[1], at[2], at[3]));
    at[0] = unit.w(), at[1] = unit.x(), at[2] = unit.y(), at[3] = unit.z();
  }
}

void normalize_quaternions(const Model& model, std::vector<double>& q) {
  for (const Tree& tree : model.trees) normalize_quaternions(model, tree, q);
}

/// A force along a row, on both its bodies, beside what acts on them already.
void add_force_along(World::Impl& w, const ImpulseRow& row, double force) {
  for (const auto& [body, sign] : {std::pair{row.body, 1.0}, std::pair{row.other, -1.0}}) {
    const Vec3 f = sign * force * row.force;
    const Vec3 arm = row.point - Vec3(w.ws.pose[body].p);
    w.held_force[body] = w.held_force[body] + Force{sign * force * row.moment + arm.cross(f), f};
  }
}

/// The impulses of the step as forces on bodies.
void hold_impulses(World::Impl& w, double h) {
  w.held_force = w.f_ext;
  int first = 0;  // rows of loops that the stages hold themselves come first
  if (w.settings.stabilization.kind == Stabilization::kPosition)
    for (const RowBlock& block : w.rows.blocks)
      if (is_held(block.source)) first = block.row + block.size;
  for (int i = first; i < w.rows.size(); ++i) {
    const double force = w.rows.lambda[i] / h;
    if (force == 0) continue;
    for (const ImpulseRow* row = &w.rows.impulses[i]; row; row = row->more) add_force_along(w, *row, force);
  }
  for (std::size_t i = 0; i < w.penalty_rows.size(); ++i)
    add_force_along(w, w.penalty_rows[i], w.penalty_impulses[i] / h);
}

/// The efforts that are held, from the velocities at the end of the implicit step.  (1)
void hold_efforts(World::Impl& w, double h) {
  for (int i = 0; i < w.model.nv; ++i) {
    const double change = w.implicit[i] > 0 ? w.implicit[i] * (w.v_end[i] - w.state.v[i]) / h : 0;
    w.held_effort[i] = w.implicit[i] > 0 ? w.tau[i] - change : w.effort[i];
  }
}

/// Efforts at a stage.
void efforts_of(World::Impl& w, const State& at) {
  w.stage_effort = w.held_effort;
  for (const World::Impl::Passive& p : w.passive_dofs) {
    if (w.implicit[p.dof] > 0) continue;
    w.stage_effort[p.dof] -= p.damping * at.v[p.dof];
    if (p.stiffness > 0)
      w.stage_effort[p.dof] -= p.stiffness * (dof_position(w.model, at.q_view(), p.dof) - p.rest);
  }
  for (const std::int32_t i : w.driven_dofs) {
    if (w.implicit[i] > 0 || w.drive_is_row[i]) continue;
    const Drive& drive = w.drives[i];
    w.stage_effort[i] += drive.stiffness * (drive.q_target - dof_position(w.model, at.q_view(), i)) +
                         drive.damping * (drive.v_target - at.v[i]);
  }
  w.turn_spring_efforts(at, 0, w.stage_effort);
}

/// The centre of mass of a free body flies along the parabola of the forces on it, whatever its spin does to
/// its origin. All in the axes of its joint's frame F.
/// @param v  before the stages
void place_center(World::Impl& w, const Body& root, int i, const Eigen::Matrix<double, 6, 1>& v, double h) {
  const Vec3 com = w.model.free_bodies[root.extra].com;
  if (com.isZero(0)) return;
  const auto arm_at = [&](const std::vector<double>& q) {
    const double* at = q.data() + root.first_q + 3;
    return Vec3(Quat(at[0], at[1], at[2], at[3]) * com);
  };
  const Vec3 effort(w.held_effort.data() + root.first_v);
  const Vec3 change =
      h / root.mass *
      (effort + Mat3(root.R_PF).transpose() * (w.held_force[i].force + root.mass * w.model.gravity));
  const Vec3 arm = arm_at(w.q_before), arm_after = arm_at(w.state.q),
             v_c = v.head<3>() + v.tail<3>().cross(arm);
  Eigen::Map<Vec3> q(w.state.q.data() + root.first_q), linear(w.state.v.data() + root.first_v);
  q = Vec3(w.q_before.data() + root.first_q) + arm + h * (v_c + 0.5 * change) - arm_after;
  linear = v_c + change - Vec3(w.state.v.data() + root.first_v + 3).cross(arm_after);
}

/// Whether nothing but gravity acts on a body that is alone in its tree.
bool is_let_alone(const World::Impl& w, int t, const Body& root) {
  const Force& held = w.held_force[w.model.trees[t].first];
  const Eigen::Map<const Eigen::Matrix<double, 6, 1>> effort(w.held_effort.data() + root.first_v);
  const bool is_driven = std::any_of(w.driven_dofs.begin(), w.driven_dofs.end(), [&](std::int32_t dof) {
    return dof >= root.first_v && dof < root.first_v + root.dofs;
  });
  return held.force.isZero(0) && held.moment.isZero(0) && effort.isZero(0) && w.passive_of(t).empty() &&
         !is_driven;
}

/// A free body that nothing turns keeps its angular momentum and energy, which the stages do to their order
/// alone; what they lose adds up over a run. In the axes of its joint's frame F.
/// @param spin  before the stages
void keep_spin(World::Impl& w, int t, const Body& root, const Vec3& spin) {
  const int dof = root.first_v + 3;
  if (!tumbles(w.model, root, spin) || !is_let_alone(w, t, root)) return;
  const auto turn_at = [&](std::vector<double>& q) {
    const double* at = q.data() + root.first_q + 3;
    return Quat(at[0], at[1], at[2], at[3]);
  };
  const Vec3 L = SpinInertia(w.model, root, turn_at(w.q_before)).momentum(spin);
  const Quat turn = turn_with_energy(w.model, root, turn_at(w.state.q), L, spin.dot(L));
  double* at = w.state.q.data() + root.first_q + 3;
  at[0] = turn.w(), at[1] = turn.x(), at[2] = turn.y(), at[3] = turn.z();
  Eigen::Map<Vec3>(w.state.v.data() + dof) = SpinInertia(w.model, root, turn).velocity(L);
}

/// What the stages add up to.
void move_tree(World::Impl& w, int t, double h) {
  const Tree& tree = w.model.trees[t];
  const Body &root = w.model.bodies[tree.first], &last = w.model.bodies[tree.last - 1];
  if (!w.trees[t].responds()) {
    if (w.trees[t].kinematic && !w.trees[t].quarantined)
      integrate(w.model, tree.first, tree.last, w.state.q_view(), w.state.v_view(), h);
    return;
  }
  if (w.plain[t]) return;
  Eigen::Matrix<double, 6, 1> v;
  if (root.alone) v = Eigen::Map<const Eigen::Matrix<double, 6, 1>>(w.state.v.data() + root.first_v);
  for (int i = root.first_q; i < last.first_q + q_size(last.kind); ++i) w.state.q[i] += h * w.sum_q[i];
  for (int i = root.first_v; i < last.first_v + last.dofs; ++i) w.state.v[i] += h * w.sum_v[i];
  normalize_quaternions(w.model, tree, w.state.q);
  if (!root.alone) return;
  keep_spin(w, t, root, v.tail<3>());
  place_center(w, root, tree.first, v, h);
}

}  // namespace

void World::Impl::runge_kutta(double h) {
  World::Impl& w = *this;
  constexpr double kReach[] = {0, 0.5, 0.5, 1}, kWeight[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  if (std::any_of(bounce.begin(), bounce.end(), [](double x) { return x != 0; }))
    apply_impulses(model, rows.impulses, Eigen::Map<const Eigen::VectorXd>(bounce.data(), rows.size()), ws,
                   state.v_view());
  hold_efforts(w, h);
  hold_impulses(w, h);
  ws.diagonal.swap(stage_diagonal);
  ws.diagonal = model.armature;
  ws.free_gyroscopic = true;
  std::fill(w.sum_q.begin(), w.sum_q.end(), 0.0);
  std::fill(w.sum_v.begin(), w.sum_v.end(), 0.0);
  w.stage.q = w.state.q;
  w.stage.v = w.state.v;
  for (int s = 0; s < 4; ++s) {
    if (s > 0) {  // rate_q and a are those of the stage before
      for (int i = 0; i < w.model.nq; ++i) w.stage.q[i] = w.state.q[i] + kReach[s] * h * w.rate_q[i];
      for (int i = 0; i < w.model.nv; ++i) w.stage.v[i] = w.state.v[i] + kReach[s] * h * w.acceleration[i];
    }
    if (s > 0 &&
        !w.model.loops.empty()) {  // the same motion is followed from the nearest state that it can have
      normalize_quaternions(w.model, w.stage.q);
      w.close_loops(w.stage, h);
      w.project_on_loops(w.stage);
    }
    configuration_rate(w.model, w.stage.q, w.stage.v, w.rate_q);
    w.stage_q = w.stage.q;
    normalize_quaternions(w.model, w.stage.q);
    efforts_of(w, w.stage);
    aba(w.model, w.stage, as_vector(w.stage_effort), w.held_force, w.ws, as_vector(w.acceleration));
    w.hold_loops(w.acceleration, kWeight[s] * h);
    std::swap(w.stage.q, w.stage_q);
    for (int i = 0; i < w.model.nq; ++i) w.sum_q[i] += kWeight[s] * w.rate_q[i];
    for (int i = 0; i < w.model.nv; ++i) w.sum_v[i] += kWeight[s] * w.acceleration[i];
  }
  ws.free_gyroscopic = false;
  ws.diagonal.swap(stage_diagonal);
  for (std::size_t t = 0; t < w.trees.size(); ++t) move_tree(w, static_cast<int>(t), h);
  if (w.is_shifted) integrate(w.model, w.state.q_view(), as_vector(w.shift), 1);
}

}  // namespace karakuri
