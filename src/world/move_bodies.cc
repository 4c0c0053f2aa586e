// New velocities and positions:
//   v+ = v_free + M^-1 J^T (lambda + bounce)                                                              (1)
//   q+ = q (+) (h v+ + M^-1 J^T correction)                                                               (2)
// A tree on a free joint that nothing pushed flies. What gravity, forces and efforts add to the velocity of
// its centre of mass in the step, dv_c, comes evenly, and so its way is the parabola itself, at any step:
//   c+ = c + h (v_c+ - dv_c / 2)                                                                          (3)
// A free body is moved by its centre of mass, wherever its origin is, and keeps its angular momentum, which
// is exact, while its inertia turns with it:
//   L = I(q) w,  w+ = I(q+)^-1 L                                                                          (4)
// In flight q+ turns by the velocity at the middle of the step, which makes the turning second order, and so
// that its energy is kept, too; what turns further is followed within the step (dynamics/free_spin.cc). By
// the velocity at either end, its energy would rise or fall from step to step, to the most or the least that
// its momentum allows.
//
// Explicit Euler moves by v, and RK4 by stages of its own (runge_kutta.cc). Neither can follow what turns by
// more than a radian in a step, nor what continuous contact has stopped, nor what would be gone through at
// the velocity of the start: such trees, and all that is tied to them, move plainly, as in (2). So do those
// that end a step with far more energy than they may have, which are moved again (energy_ledger.cc).
#include <algorithm>
#include <cmath>

#include "dynamics/free_spin.h"
#include "dynamics/spin_inertia.h"
#include "karakuri/dynamics/aba.h"
#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/model/configuration.h"
#include "karakuri/spatial/rotation.h"
#include "world/dofs.h"
#include "world/impl.h"

namespace karakuri {

using world_detail::copy_coordinates;
using world_detail::copy_rates;
using world_detail::end_dof;
using world_detail::first_dof;
using world_detail::kFarTurn;
using world_detail::largest_turn;

namespace {

Eigen::Map<Eigen::VectorXd> as_vector(std::vector<double>& v) {
  return {v.data(), static_cast<Eigen::Index>(v.size())};
}

Quat quat_at(const std::vector<double>& q, const Body& body) {
  const double* at = q.data() + body.first_q + 3;
  return Quat(at[0], at[1], at[2], at[3]);
}

bool flies(const World::Impl& w, int t) {
  const Body& root = w.model.bodies[w.model.trees[t].first];
  return root.kind == JointKind::kFree && w.trees[t].responds() && !w.pushed[t];
}

Eigen::Map<Vec3> three(std::vector<double>& v, int first) { return Eigen::Map<Vec3>(v.data() + first); }

/// The angular velocity that turns a free body from `before` over the step.
Vec3 turning(World::Impl& w, const Body& root, const Quat& before, bool in_flight, bool tumbling, double h) {
  const bool early = w.integrator_of(root.tree) == Integrator::kExplicit;
  const Vec3 spin = three(early ? w.v_before : w.state.v, root.first_v + 3);
  if (!tumbling || (early && !in_flight)) return spin;
  if (in_flight || h * spin.norm() > kFarSpin) return spin_freely(w.model, root, before, spin, h) / h;
  return spin;
}

/// Of the centre of mass, whose arm from the origin is `arm`.
Vec3 travelling(World::Impl& w, const Body& root, const Vec3& arm, bool in_flight) {
  const auto of_center = [&](std::vector<double>& v) -> Vec3 {
    return three(v, root.first_v) + three(v, root.first_v + 3).cross(arm);
  };
  const bool early = w.integrator_of(root.tree) == Integrator::kExplicit;
  const Vec3 by = of_center(early ? w.v_before : w.state.v);
  if (!in_flight) return by;
  return by + (early ? 0.5 : -0.5) * (of_center(w.v_free) - of_center(w.v_before));  // (3)
}

/// A body alone in its tree, that responds. All is in the axes of its joint's frame F.
void move_free_body(World::Impl& w, int t, double h) {
  const Body& root = w.model.bodies[w.model.trees[t].first];
  const Vec3 com = w.model.free_bodies[root.extra].com;
  const Quat before = quat_at(w.state.q, root);
  const Vec3 arm = before * com;
  auto linear = three(w.state.v, root.first_v), angular = three(w.state.v, root.first_v + 3);
  const bool in_flight = flies(w, t), tumbling = tumbles(w.model, root, angular);
  const Vec3 v_c = linear + angular.cross(arm);
  const Vec3 L = tumbling ? SpinInertia(w.model, root, before).momentum(angular) : Vec3::Zero();
  Vec3 along = travelling(w, root, arm, in_flight), turn = turning(w, root, before, in_flight, tumbling, h);
  if (w.is_shifted) {
    const Vec3 shift_turn = three(w.shift, root.first_v + 3) / h;
    along += three(w.shift, root.first_v) / h + shift_turn.cross(arm);
    turn += shift_turn;
  }
  three(w.move, root.first_v) = along;
  three(w.move, root.first_v + 3) = turn;
  const Tree& tree = w.model.trees[t];
  integrate(w.model, tree.first, tree.last, w.state.q_view(), as_vector(w.move), h);  // (2)
  const Quat after = quat_at(w.state.q, root);
  if (tumbling) angular = SpinInertia(w.model, root, after).velocity(L);  // (4)
  if (com.isZero(0)) return;
  const Vec3 arm_after = after * com;
  three(w.state.q, root.first_q) += arm - arm_after;
  linear = v_c - angular.cross(arm_after);
}

void move_tree(World::Impl& w, int t, double h) {
  const Tree& tree = w.model.trees[t];
  const Body& root = w.model.bodies[tree.first];
  if (root.alone && w.trees[t].responds()) return move_free_body(w, t, h);
  const int first = first_dof(w.model, tree), end = end_dof(w.model, tree);
  const bool explicit_euler = w.integrator_of(t) == Integrator::kExplicit;
  const std::vector<double>& v = explicit_euler ? w.v_before : w.state.v;
  for (int i = first; i < end; ++i) w.move[i] = v[i];
  for (int i = first; i < end && w.is_shifted; ++i) w.move[i] += w.shift[i] / h;
  if (flies(w, t))
    three(w.move, first) +=
        (explicit_euler ? 0.5 : -0.5) * (Mat3(root.R_PF).transpose() * w.smooth_change(t, h));  // (3)
  integrate(w.model, tree.first, tree.last, w.state.q_view(), as_vector(w.move), h);            // (2)
}

bool any_plain(const World::Impl& w) {
  return std::any_of(w.plain.begin(), w.plain.end(), [](std::uint8_t is) { return is != 0; });
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

Vec3 velocity_at(const World::Impl& w, int body, const Vec3& point) {
  const Workspace::Velocity& v = w.ws.velocity[body];
  return Vec3(v.v) + Vec3(v.w).cross(point - Vec3(w.ws.pose[body].p));
}

/// Whether a contact would be passed by what moves as it does at the start of the step.
bool would_pass(const World::Impl& w, const Contact& c, double h) {
  constexpr double kThick = 0.5;  // of the thinner shape's inner radius
  const auto &a = w.colliders[c.collider_a], &b = w.colliders[c.collider_b];
  const double closing = -c.normal.dot(velocity_at(w, b.body, c.point) - velocity_at(w, a.body, c.point));
  return h * closing > c.separation + kThick * std::min(a.inner_radius, b.inner_radius);
}

/// Sets whose motion at the start of the step would go through something. Impacts of RK4 act at the start,
/// and change that motion, unless contacts are springs.
bool mark_passing_sets(World::Impl& w, double h) {
  const bool stopped_before =
      w.settings.integrator == Integrator::kRk4 && w.settings.contact != ContactModel::kPenalty;
  if (!w.settings.continuous || stopped_before) return false;
  bool any = false;
  for (const Contact& c : w.contacts) {
    if (!would_pass(w, c, h)) continue;
    for (const int collider : {c.collider_a, c.collider_b})
      if (const int t = w.tree_of[w.colliders[collider].body]; t >= 0 && w.trees[t].responds())
        w.plain[w.root_of(t)] = any = true;
  }
  return any;
}

}  // namespace

void World::Impl::find_end_velocities() {
  v_end = v_answered;
  if (rows.size() > 0)
    apply_impulses(model, rows.impulses, Eigen::Map<const Eigen::VectorXd>(unanswered.data(), rows.size()),
                   ws, as_vector(v_end));  // (1)
}

namespace {

/// Sets of trees that turn far at either velocity, or would pass something, and what loops tie to them.
void mark_plain_sets(World::Impl& w, const std::vector<double>& v, double h) {
  std::fill(w.plain.begin(), w.plain.end(), std::uint8_t{0});
  const auto set_of = [&](int t) { return w.trees[t].responds() ? w.root_of(t) : t; };
  bool any = mark_passing_sets(w, h);
  for (std::size_t t = 0; t < w.trees.size(); ++t) {
    const Tree& tree = w.model.trees[t];
    const double fastest = std::max(largest_turn(w.model, tree, w.v_before), largest_turn(w.model, tree, v));
    if (h * fastest < kFarTurn) continue;
    w.plain[set_of(static_cast<int>(t))] = any = true;
  }
  for (std::size_t i = 0; i < w.model.loops.size() && any; ++i) {  // also to what does not respond
    const int a = w.tree_of[w.model.loops[i].body_f], b = w.tree_of[w.model.loops[i].body_m];
    if (a < 0 || b < 0 || !(w.plain[set_of(a)] || w.plain[set_of(b)])) continue;
    w.plain[set_of(a)] = w.plain[set_of(b)] = 1;
  }
}

bool moves_by_stages_or_start(const World::Impl& w) {
  return w.settings.integrator == Integrator::kRk4 || w.settings.integrator == Integrator::kExplicit;
}

}  // namespace

void World::Impl::find_led_by_start(double h) {
  led_by_start.assign(trees.size(), 0);
  if (settings.integrator != Integrator::kExplicit) return;
  mark_plain_sets(*this, v_free, h);
  for (std::size_t t = 0; t < trees.size(); ++t)
    led_by_start[t] = trees[t].responds() && !plain[root_of(static_cast<int>(t))];
}

/// Trees that turn far, or were stopped, and what is tied to them.
void World::Impl::find_plain(double h) {
  std::fill(plain.begin(), plain.end(), std::uint8_t{0});
  if (!moves_by_stages_or_start(*this)) return;
  mark_plain_sets(*this, v_end, h);
  const auto set_of = [&](int t) { return trees[t].responds() ? root_of(t) : t; };
  for (std::size_t t = 0; t < trees.size(); ++t)
    plain[t] = trees[t].responds() && (plain[set_of(static_cast<int>(t))] || slowed[t] ||
                                       (settings.integrator == Integrator::kExplicit && !led_by_start[t]));
}

void World::Impl::start_again() {
  state.q = q_before;
  state.v = v_before;
  update_poses(model, state, ws);
  update_velocities(model, state, ws);
  articulated_factor(model, ws);
}

// Trees that RK4 moves are moved twice, and the first time forgotten.
void World::Impl::move_bodies(double h) {
  const bool stages = settings.integrator == Integrator::kRk4;
  any_groups = false;
  if (!stages) return move_by_velocities(h);
  if (any_plain(*this)) {
    move_by_velocities(h);
    ahead.q = state.q;
    ahead.v = state.v;
    start_again();
  }
  runge_kutta(h);
  for (std::size_t t = 0; t < trees.size(); ++t)
    if (plain[t]) {
      copy_coordinates(model, model.trees[t], ahead.q, state.q);
      copy_rates(model, model.trees[t], ahead.v, state.v);
    }
}

void World::Impl::move_by_velocities(double h) {
  mark_pushed(*this);
  state.v = v_end;
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
