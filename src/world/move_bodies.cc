// New velocities and positions:
//   v+ = v_free + M^-1 J^T (lambda + bounce)                                                              (1)
//   q+ = q (+) (h v+ + M^-1 J^T correction)                                                               (2)
// A tree on a free joint that nothing pushed flies: gravity is uniform, so q+ gains -h^2 g / 2 and the flight
// is the parabola itself, at any step (3) A free body keeps its angular momentum, which is exact, while its
// inertia turns with it:
//   L = I(q) w,  w+ = I(q+)^-1 L                                                                          (4)
// so spin can never gain energy beyond L^2 / (2 I_min), however large the step. In flight q+ turns by the
// velocity at the middle of the step, which makes the turning second order.
//
// RK4 (Nakaoka et al. 2007): impulses become forces lambda / h, held over the step while the smooth part
// moves. Loops are held anew at each stage, so that they are moved along at fourth order too.
#include <algorithm>
#include <cmath>

#include "karakuri/dynamics/aba.h"
#include "karakuri/dynamics/centroidal.h"
#include "karakuri/model/configuration.h"
#include "karakuri/spatial/rotation.h"
#include "world/impl.h"

namespace karakuri {

namespace {

Eigen::Map<Eigen::VectorXd> as_vector(std::vector<double>& v) {
  return {v.data(), static_cast<Eigen::Index>(v.size())};
}

int first_dof(const Model& model, const Tree& tree) { return model.bodies[tree.first].first_v; }
int end_dof(const Model& model, const Tree& tree) {
  const Body& last = model.bodies[tree.last - 1];
  return last.first_v + last.dofs;
}

/// Inertia of a free body about its centre of mass, in its joint's frame F.
struct SpinInertia {
  const FreeBody& free;
  Mat3 axes;  // principal axes in F

  SpinInertia(const World::Impl& w, const Body& body, const Quat& turn)
      : free(w.model.free_bodies[body.extra]), axes(turn.toRotationMatrix() * Mat3(free.axes)) {}
  Vec3 momentum(const Vec3& w) const { return axes * Vec3(free.moments).cwiseProduct(axes.transpose() * w); }
  Vec3 velocity(const Vec3& L) const {
    return axes * Vec3(free.inverse_moments).cwiseProduct(axes.transpose() * L);
  }
};

bool tumbles(const World::Impl& w, const Body& body, const Vec3& spin) {
  if (!body.alone || spin.isZero(0)) return false;
  const Vec3 moments = w.model.free_bodies[body.extra].moments;
  return moments.maxCoeff() - moments.minCoeff() > 1e-12 * moments.maxCoeff();
}

Quat quat_at(const std::vector<double>& q, const Body& body) {
  const double* at = q.data() + body.first_q + 3;
  return Quat(at[0], at[1], at[2], at[3]);
}

void move_tree(World::Impl& w, int t, double h) {
  const Tree& tree = w.model.trees[t];
  const Body& root = w.model.bodies[tree.first];
  const int first = first_dof(w.model, tree), end = end_dof(w.model, tree);
  const bool explicit_euler = w.settings.integrator == Integrator::kExplicit;
  const std::vector<double>& v = explicit_euler ? w.v_before : w.state.v;
  for (int i = first; i < end; ++i) w.move[i] = v[i];
  for (int i = first; i < end && w.is_shifted; ++i) w.move[i] += w.shift[i] / h;
  const bool flies =
      root.kind == JointKind::kFree && w.trees[t].responds() && !w.pushed[t] && !explicit_euler;
  if (flies) {
    const Vec3 fall = Mat3(root.R_PF).transpose() * (0.5 * h * w.model.gravity);
    for (int k = 0; k < 3; ++k) w.move[first + k] -= fall[k];  // (3)
  }
  const Vec3 spin = root.alone ? Vec3(w.state.v.data() + first + 3) : Vec3::Zero();
  const bool turns = root.alone && w.trees[t].responds() && tumbles(w, root, spin);
  Vec3 L;
  if (turns) {
    const Quat before = quat_at(w.state.q, root);
    L = SpinInertia(w, root, before).momentum(spin);
    if (flies) {
      const Quat half = quat_exp(0.5 * h * spin) * before;
      const Vec3 middle = SpinInertia(w, root, half.normalized()).velocity(L);
      for (int k = 0; k < 3; ++k) w.move[first + 3 + k] = middle[k];
    }
  }
  integrate(w.model, tree.first, tree.last, w.state.q_view(), as_vector(w.move), h);  // (2)
  if (turns) {
    const Vec3 after = SpinInertia(w, root, quat_at(w.state.q, root)).velocity(L);  // (4)
    for (int k = 0; k < 3; ++k) w.state.v[first + 3 + k] = after[k];
  }
}

// ---- RK4
// -------------------------------------------------------------------------------------------------------

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

void normalize_quaternions(const Model& model, std::vector<double>& q) {
  for (const Body& body : model.bodies) {
    if (!has_quaternion(body.kind)) continue;
    double* at = q.data() + body.first_q + body.dofs - 3;
    const Quat unit = normalized_or_identity(Quat(at[0], at[1], at[2], at[3]));
    at[0] = unit.w(), at[1] = unit.x(), at[2] = unit.y(), at[3] = unit.z();
  }
}

/// A force along a row, on both its bodies, beside what acts on them already.
void add_force_along(World::Impl& w, const ImpulseRow& row, double force) {
  for (const auto& [body, sign] : {std::pair{row.body, 1.0}, std::pair{row.other, -1.0}}) {
    const Vec3 f = sign * force * row.force;
    const Vec3 arm = row.point - Vec3(w.ws.pose[body].p);
    w.f_ext[body] = w.f_ext[body] + Force{sign * force * row.moment + arm.cross(f), f};
  }
}

/// The impulses of the step as forces on bodies.
void hold_impulses(World::Impl& w, double h) {
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

void efforts_of(World::Impl& w, const State& at) {
  for (int i = 0; i < w.model.nv; ++i) {
    const Drive& drive = w.drives[i];
    w.tau[i] = w.effort[i];
    if (!(drive.stiffness > 0 || drive.damping > 0) || w.drive_is_row[i]) continue;
    w.tau[i] += drive.stiffness * (drive.q_target - dof_position(w.model, at.q_view(), i)) +
                drive.damping * (drive.v_target - at.v[i]);
  }
  add_passive_efforts(w.model, at, as_vector(w.tau));
}

void runge_kutta(World::Impl& w, double h) {
  constexpr double kReach[] = {0, 0.5, 0.5, 1}, kWeight[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  hold_impulses(w, h);
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
    aba(w.model, w.stage, as_vector(w.tau), w.f_ext, w.ws, as_vector(w.acceleration));
    w.hold_loops(w.acceleration);
    std::swap(w.stage.q, w.stage_q);
    for (int i = 0; i < w.model.nq; ++i) w.sum_q[i] += kWeight[s] * w.rate_q[i];
    for (int i = 0; i < w.model.nv; ++i) w.sum_v[i] += kWeight[s] * w.acceleration[i];
  }
  for (std::size_t t = 0; t < w.trees.size(); ++t) {
    const Tree& tree = w.model.trees[t];
    const int first = first_dof(w.model, tree), end = end_dof(w.model, tree);
    if (!w.trees[t].responds()) {
      if (w.trees[t].kinematic && !w.trees[t].quarantined)
        integrate(w.model, tree.first, tree.last, w.state.q_view(), w.state.v_view(), h);
      continue;
    }
    const Body& last = w.model.bodies[tree.last - 1];
    for (int i = w.model.bodies[tree.first].first_q; i < last.first_q + q_size(last.kind); ++i)
      w.state.q[i] += h * w.sum_q[i];
    for (int i = first; i < end; ++i) w.state.v[i] += h * w.sum_v[i];
  }
  normalize_quaternions(w.model, w.state.q);
  if (w.is_shifted) integrate(w.model, w.state.q_view(), as_vector(w.shift), 1);
}

/// Which trees an impulse of the step itself acts on.
void mark_pushed(World::Impl& w) {
  std::fill(w.pushed.begin(), w.pushed.end(), std::uint8_t{0});
  const auto mark = [&](const ImpulseRow& row) {
    for (const int body : {row.body, row.other})
      if (w.tree_of[body] >= 0) w.pushed[w.tree_of[body]] = 1;
  };
  for (const RowBlock& block : w.rows.blocks) {  // whose rows act on the same bodies
    const double* lambda = w.rows.lambda.data() + block.row;
    if (std::all_of(lambda, lambda + block.size, [](double x) { return x == 0; })) continue;
    for (const ImpulseRow* row = &w.rows.impulses[block.row]; row; row = row->more) mark(*row);
  }
  for (const ImpulseRow& row : w.penalty_rows) mark(row);
}

}  // namespace

void World::Impl::move_bodies(double h) {
  is_shifted = std::any_of(slots.begin(), slots.end(), [](const auto& slot) { return slot.corrected; });
  if (is_shifted) {
    std::fill(shift.begin(), shift.end(), 0.0);
    apply_impulses(model, rows.impulses, Eigen::Map<const Eigen::VectorXd>(correction.data(), rows.size()),
                   ws, as_vector(shift));
  }
  if (settings.integrator == Integrator::kRk4) {
    const bool any = std::any_of(bounce.begin(), bounce.end(), [](double x) { return x != 0; });
    if (any)
      apply_impulses(model, rows.impulses, Eigen::Map<const Eigen::VectorXd>(bounce.data(), rows.size()), ws,
                     state.v_view());
    runge_kutta(*this, h);
    any_groups = false;
    return;
  }
  mark_pushed(*this);
  state.v = v_answered;
  if (rows.size() > 0)
    apply_impulses(model, rows.impulses, Eigen::Map<const Eigen::VectorXd>(unanswered.data(), rows.size()),
                   ws,
                   state.v_view());  // (1)
  find_floating();
  const int count = static_cast<int>(trees.size());
  const bool loops = holds_anything();  // which are closed before momentum is given back
  for (int t = 0; t < count; ++t) {     // all of a tree at once, while its poses are at hand
    remember_momentum(t, h);
    if (trees[t].awake && !trees[t].quarantined) move_tree(*this, t, h);
    if (!loops) give_momentum_back(t, h);
  }
  if (!loops) return;
  close_loops(state, h);
  for (int t = 0; t < count; ++t) give_momentum_back(t, h);
}

}  // namespace karakuri
