// No step ends with more energy than it may have. Trees that act on each other in a step form a set, and for
// each set the ledger has
//   E = T(q, v) + U(q)               energy of motion; of height and of the joints' springs               (1)
//   W                                work of all that may do any, as much as it can be                    (2)
//   o = h |v . grad U| + |dv|^2_M    what the integrator may be wrong by, of motions that it resolves     (3)
//   c                                what it has lost so far, and may give back
// with dv = v_free - v, or v+ - v where impulses let less change. W is that of efforts, drives, forces,
// kinematic bodies, of loops that give way, and of overlaps that come apart, which lift what lies on them
// (energy_work.cc); and of springs in place of contacts, as far as they hold it (energy_springs.cc). At the
// end of the step
//   E+ <= E + W + c + o                                                                                   (4)
//   c+ = min(c + E + W - E+, o)                                                                           (5)
// Velocity first, then position, keeps H = E - h v . grad U / 2 rather than E (of a linear spring, exactly;
// Hairer, Lubich and Wanner, Geometric Numerical Integration, IX.3): its energy swings about that of the
// motion by no more than o, which is zero where the motion turns round, and (4) leaves it alone. What grows
// beyond is no swing: the terms of second order in the velocities where joints turn far within a step,
// impulses that are no solution, corrections that lift. As c is bounded by o, nothing adds up over a run.
// Where o gets less and the swing has not returned, as in what is stopped at its highest, c stays below -o,
// and the set pays it back by a part of its motion in each step.
//
// A set that has more is slowed down: energy_excess.cc.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "dynamics/body_pass.h"
#include "karakuri/constraint/joint_rows.h"
#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/loop_rows.h"
#include "karakuri/model/configuration.h"
#include "world/dofs.h"
#include "world/energy_ledger.h"
#include "world/impl.h"
#include "world/loop_work.h"

namespace karakuri {

using world_detail::add_work_of_overlaps;
using world_detail::add_work_of_rows;
using world_detail::add_work_of_springs;
using world_detail::copy_coordinates;
using world_detail::drive_effort_at;
using world_detail::driven_work;
using world_detail::end_dof;
using world_detail::energies_of;
using world_detail::EnergyAccount;
using world_detail::EnergySum;
using world_detail::find_set;
using world_detail::first_dof;
using world_detail::for_each_of;
using world_detail::is_driven_freely;
using world_detail::kFarTurn;
using world_detail::kLittle;
using world_detail::look;
using world_detail::loops_contradict;
using world_detail::part_of_end;
using world_detail::settle_springs;
using world_detail::stay;
using world_detail::sum_held_work;
using world_detail::take_away;
using world_detail::tree_of_row;
using world_detail::work_of;
using world_detail::work_of_forces;
using world_detail::work_on_dofs;

namespace {

constexpr double kRounding = 1e-12;  // of the energies that are compared
constexpr double kNothing = 1e-7;    // of what a step exchanges
constexpr double kPaid = 0.02;       // of the motion, in a step
constexpr double kTurned = 0.001;    // of what is there: what terms of second order may be wrong by

using Velocity = Workspace::Velocity;
using kernel::cross;
using kernel::WorldInertia;
using simd::V3;

Eigen::Map<const Eigen::VectorXd> as_vector(const std::vector<double>& v) {
  return {v.data(), static_cast<Eigen::Index>(v.size())};
}

// ---- energies

/// A motion of a body, or its momentum.
struct Pair {
  V3 w, v;
};
Vec3 vec(V3 a) { return {a[0], a[1], a[2]}; }
Pair load(const Velocity& at) { return {simd::load(at.w), simd::load(at.v)}; }
double dot(const Pair& a, const Pair& b) { return simd::dot(a.w, b.w) + simd::dot(a.v, b.v); }
Pair minus(const Pair& a, const Pair& b) { return {a.w - b.w, a.v - b.v}; }

/// Momentum of a body that moves so.
Pair momentum(const WorldInertia& m, const Pair& at) {
  return {m.I * at.w + cross(m.h, at.v), at.v * m.mass + cross(at.w, m.h)};
}

double height_of(const WorldInertia& m, const Workspace::Pose& pose, V3 gravity) {
  return -simd::dot(gravity, simd::load(pose.p) * m.mass + m.h);
}

/// Of the joints' springs of a tree: their energy, and what they give to its motion. Where a joint turns too
/// far in the step, its motion is no swing that returns.
struct Springs {
  double energy = 0;    // [J]
  double swinging = 0;  // of that, in joints that do not turn too far [J]
  double power = 0;     // of these [W]
};
/// Whether the joint of a dof turns by more than a radian in the step.
bool turns_far(const World::Impl& w, int dof) {
  const Body& body = w.model.bodies[w.model.dofs[dof].body];
  double square = 0;
  for (int i = body.first_v; i < body.first_v + body.dofs; ++i)
    if (w.model.dofs[i].kind != DofKind::kTranslation) square += w.state.v[i] * w.state.v[i];
  return w.h_now * std::sqrt(square) > kFarTurn;
}
Springs springs_of(const World::Impl& w, int t) {
  Springs sum;
  for (const World::Impl::Passive& p : w.passive_of(t)) {
    if (!(p.stiffness > 0)) continue;
    const double x = dof_position(w.model, w.state.q_view(), p.dof) - p.rest;
    sum.energy += 0.5 * p.stiffness * x * x;
    if (turns_far(w, p.dof)) continue;
    sum.swinging += 0.5 * p.stiffness * x * x;
    sum.power -= p.stiffness * x * w.state.v[p.dof];
  }
  return sum;
}

/// (1) at the state and the kinematics of `ws`.
void take_energies(const World::Impl& w, const Tree& tree, EnergyAccount& a) {
  const V3 gravity = simd::v3(w.model.gravity);
  const Springs springs = springs_of(w, w.model.bodies[tree.first].tree);
  double twice = 0, height = springs.energy, fall = springs.power;
  for (int i = tree.first; i < tree.last; ++i) {
    const WorldInertia m = kernel::world_inertia(w.model.bodies[i], w.ws.pose[i]);
    const Pair at = load(w.ws.velocity[i]), p = momentum(m, at);
    twice += dot(at, p);
    fall += simd::dot(gravity, p.v);
    height += height_of(m, w.ws.pose[i], gravity);
  }
  for (int i = first_dof(w.model, tree); i < end_dof(w.model, tree); ++i)
    twice += w.model.armature[i] * w.state.v[i] * w.state.v[i];
  a.motion = 0.5 * twice;
  a.height = height;
  a.fall = std::abs(fall);
}

/// |h I^-1 (w x I w)|^2 in the metric of I, of a body alone in its tree: its momentum is kept, and its
/// velocity follows, see move_bodies.cc (4).
double square_of_turning(const World::Impl& w, const Body& body, V3 spin) {
  const FreeBody& free = w.model.free_bodies[body.extra];
  const Workspace::Pose& pose = w.ws.pose[w.model.trees[body.tree].first];
  const V3 at = kernel::transpose(simd::load(pose.R) * simd::load(free.axes)) * spin;
  const V3 moments = simd::load(free.moments), L = {moments.m * at.m}, turning = cross(at, L);
  return w.h_now * w.h_now * simd::dot(turning, {simd::load(free.inverse_moments).m * turning.m});
}

/// Work at dv of efforts, of drives that are no rows, of dampers, and of what springs do beyond their force
/// at the start of the step.
double given_to_change(const World::Impl& w, const Tree& tree) {
  const auto change = [&](int i) { return w.h_now * (w.v_free[i] - w.state.v[i]); };
  const auto rate = [&](int i) { return w.implicit[i] > 0 ? w.v_free[i] : w.state.v[i]; };
  double sum = 0;
  for (int i = first_dof(w.model, tree); i < end_dof(w.model, tree); ++i) {
    if (w.effort[i] != 0) sum += w.effort[i] * change(i);
    if (is_driven_freely(w, i)) sum += drive_effort_at(w, i, rate(i)) * change(i);
  }
  for (const World::Impl::Passive& p : w.passive_of(w.model.bodies[tree.first].tree)) {
    const double lead = w.implicit[p.dof] > 0 ? w.h_now : 0;  // a spring at the end of the step damps, too
    sum -= (p.damping + lead * std::max(0.0, p.stiffness)) * rate(p.dof) * change(p.dof);
  }
  return sum;
}

/// (1), and what (3) is made of.  @pre free_velocity at v_free
void take_start(World::Impl& w, const Tree& tree, EnergyAccount& a) {
  const V3 gravity = simd::v3(w.model.gravity);
  const Springs springs = springs_of(w, w.model.bodies[tree.first].tree);
  double twice = 0, square = 0, fall = springs.power;  // - v . grad U
  a.start_height = springs.energy;
  a.springs = springs.swinging;
  for (int i = tree.first; i < tree.last; ++i) {
    const Body& body = w.model.bodies[i];
    const WorldInertia m = kernel::world_inertia(body, w.ws.pose[i]);
    const Pair before = load(w.ws.velocity[i]);
    const Pair dv = minus(load(w.free_velocity[i]), before);
    if (body.alone) square += square_of_turning(w, body, before.w);
    const Pair p = momentum(m, before);
    a.start_moment += vec(simd::load(w.ws.pose[i].p) * m.mass + m.h);
    a.start_momentum += vec(p.v);
    fall += simd::dot(gravity, p.v);
    twice += dot(before, p);
    square += dot(dv, momentum(m, dv));
    a.start_height += height_of(m, w.ws.pose[i], gravity);
  }
  for (int i = first_dof(w.model, tree); i < end_dof(w.model, tree); ++i) {
    const double v = w.state.v[i], dv = w.v_free[i] - v, armature = w.model.armature[i];
    if (w.model.dofs[i].kind != DofKind::kTranslation)
      a.angle += w.h_now * std::max(std::abs(v), std::abs(w.v_end[i]));
    twice += armature * v * v;
    square += armature * dv * dv;
  }
  a.start_motion = 0.5 * twice;
  a.before = a.start_motion + a.start_height;
  a.start_fall = std::abs(fall);
  const double smooth = square - given_to_change(w, tree);
  a.turned = square > 0 ? std::min(square, smooth * smooth / square) : 0;
}

/// |v_end - v|^2 in the metric of M.  @pre trial_velocity at v_end
double square_of_change(const World::Impl& w, const Tree& tree) {
  double square = 0;
  for (int i = tree.first; i < tree.last; ++i) {
    const Pair dv = minus(load(w.trial_velocity[i]), load(w.ws.velocity[i]));
    square += dot(dv, momentum(kernel::world_inertia(w.model.bodies[i], w.ws.pose[i]), dv));
  }
  for (int i = first_dof(w.model, tree); i < end_dof(w.model, tree); ++i) {
    const double dv = w.v_end[i] - w.state.v[i];
    square += w.model.armature[i] * dv * dv;
  }
  return square;
}

/// Impulses of contacts hold against springs and gravity: what they let change is all that the integrator may
/// be wrong by.
/// @param known  whether trial_velocity is at v_end
void count_what_changes(World::Impl& w, const Tree& tree, EnergyAccount& a, bool known) {
  const auto pushed = [&](int dof) { return w.v_end[dof] != w.v_free[dof]; };
  bool any = false;
  for (int i = first_dof(w.model, tree); i < end_dof(w.model, tree) && !any; ++i) any = pushed(i);
  if (!any) return;
  if (!known) body_velocities(w.model, w.ws, as_vector(w.v_end), tree, w.trial_velocity);
  a.turned = std::min(a.turned, square_of_change(w, tree));
}

/// (3), with the energy of motion and of springs, and of the tree's weight over its size, that is there. A
/// swing whose energy is wrong by r of that takes 1 / r steps a radian, and needs r / 2: it has r (1 - r) up
/// to half a radian a step. What turns further is not resolved and gets nothing. What efforts, drives and
/// dampers do is work, and no part of |dv|^2: with f_s the other forces, of |M^-1 h f_s|^2 what is along dv
/// counts, (h f_s . dv)^2 / |dv|^2. Of that, gravity explains h^2 m g^2, and springs that are taken at the
/// start of a step half of their energy; terms of second order in velocities no more than turns the motion by
/// the angle that joints turn in the step, and a little. RK4 integrates those, and explicit Euler gains by
/// them step by step, which is no swing. Loops that are straight draw back what their velocities lead on:
/// what height has not changed by is no swing.
/// @param fall    |v . grad U|
/// @param turned  what of |dv|^2_M counts
double order_of(const World::Impl& w, int t, const EnergyAccount& a, double fall, double turned) {
  const double g = w.model.gravity.norm(), mass = w.tree_mass[t], there = a.springs + a.there;
  const Integrator by = w.integrator_of(t);
  const bool alone = w.model.bodies[w.model.trees[t].first].alone;  // it keeps its energy at any speed
  const bool adds_up = by == Integrator::kExplicit && !alone;
  const double angle = by == Integrator::kRk4 || adds_up ? 0 : a.angle;
  const double least = w.h_now * w.h_now * mass * g * g + 0.5 * a.springs;
  const double explained = least + std::min(kTurned * there, 2 * a.start_motion * angle * angle);
  const double r = there > 0 ? (w.h_now * std::max(a.start_fall, a.fall) + 0.5 * a.turned) / there : 1;
  const double gone = a.drawn_back ? 2 * std::abs(a.height - a.start_height) + least
                                   : std::numeric_limits<double>::infinity();
  return r < 0.5 ? (std::min(w.h_now * fall, gone) + std::min(turned, explained)) * (1 - r) : 0;
}

/// (3) of the step, at whichever of its ends it is more, where |dv|^2 of its end is not known yet.
double larger_order(const World::Impl& w, int t, const EnergyAccount& a) {
  return std::max(order_of(w, t, a, a.start_fall, a.turned), order_of(w, t, a, a.fall, 0));
}

/// And of its start, which bounds what was lost before.
void find_order(const World::Impl& w, int t, EnergyAccount& a) {
  a.order = a.own_order = larger_order(w, t, a);
  a.credit = std::min(w.trees[t].credit, order_of(w, t, a, a.start_fall, a.turned));
}

// ---- sets of trees

/// All trees that a row acts on. Rows do not know of bodies that do not respond: they are the world to them.
void join(World::Impl& w, const ImpulseRow& first) {
  int set = -1;
  for (const ImpulseRow* row = &first; row; row = row->more) {
    const int a = w.tree_of[row->body], b = w.tree_of[row->other];
    for (const int t : {a, b}) {
      if (t < 0) continue;
      EnergyAccount& account = w.accounts[t];
      account.touched = true;
      account.anchored = account.anchored || a < 0 || b < 0;
      const int own = find_set(w.accounts, t);
      if (set >= 0 && own != set) w.accounts[std::max(own, set)].parent = std::min(own, set);
      set = set < 0 ? own : std::min(own, set);
    }
  }
}

/// @pre w.ws: poses at the start of the step
bool is_open(const World::Impl& w, const RowBlock& block) {
  if (block.source != RowSource::kLoop) return false;
  const LoopRows rows = loop_rows(w.model.loops[block.index], w.ws);
  for (int k = 0; k < rows.count; ++k)
    if ((block.which >> k & 1) != 0 &&
        std::abs(rows.error[k]) * loop_row_unit(rows.row[k], w.rows.length) > kWideOpen * w.scales.length)
      return true;
  return false;
}

void join_all(World::Impl& w) {
  for (const RowBlock& block : w.rows.blocks) {
    bool acts = is_held(block.source);  // also by position
    for (int i = block.row; i < block.row + block.size && !acts; ++i)
      acts = w.total[i] != 0 || w.correction[i] != 0;
    if (!acts) continue;
    join(w, w.rows.impulses[block.row]);
    const int t = tree_of_row(w, w.rows.impulses[block.row]);
    if (t < 0 || !is_held(block.source)) continue;
    w.accounts[t].holds = true;
    w.accounts[t].opened = w.accounts[t].opened || is_open(w, block);
  }
  for (const ImpulseRow& row : w.penalty_rows) join(w, row);
  if (std::any_of(w.bounce.begin(), w.bounce.end(), [](double x) { return x != 0; })) return;
  const auto set_of = [&](std::size_t t) -> EnergyAccount& {
    return w.accounts[find_set(w.accounts, static_cast<int>(t))];
  };
  for (std::size_t t = 0; t < w.trees.size(); ++t)
    if (w.accounts[t].holds) set_of(t).drawn_back = true;
  for (std::size_t t = 0; t < w.trees.size(); ++t)
    if (w.accounts[t].opened)
      set_of(t).drawn_back = false;  // what is open is drawn on by more than its motion
  for (std::size_t t = 0; t < w.trees.size(); ++t) w.accounts[t].drawn_back = set_of(t).drawn_back;
}

// ---- the end of the step

/// How far a correction of positions has lifted a tree that was shifted, from where its velocities would have
/// led it.
double lift_of(World::Impl& w, int t) {
  const Tree& tree = w.model.trees[t];
  const EnergyAccount& a = w.accounts[t];
  const double height = a.height;
  copy_coordinates(w.model, tree, w.state.q, w.stage.q);
  copy_coordinates(w.model, tree, w.q_before, w.state.q);
  const double late = part_of_end(w, t);
  for (int i = first_dof(w.model, tree); i < end_dof(w.model, tree); ++i)
    w.way[i] = late * w.state.v[i] + (1 - late) * w.v_before[i];
  integrate(w.model, tree.first, tree.last, w.state.q_view(), as_vector(w.way), w.h_now);
  look(w, t);
  const double lift = height - a.height;
  copy_coordinates(w.model, tree, w.stage.q, w.state.q);
  look(w, t);
  return lift;
}

/// What corrections of positions lift of a set, up to what overlaps have stored.
double lift_of_set(World::Impl& w, int set) {
  double sum = 0;
  for_each_of(w, set, [&](int t, const Tree&) {
    if (w.is_shifted && w.shifted[t] > 0) sum += lift_of(w, t);
  });
  return std::clamp(sum, 0.0, w.accounts[set].stored);
}

/// Sums over the trees of a set, in the account of its first, which the others follow in a list.
void sum_up(World::Impl& w) {
  for (int t = static_cast<int>(w.trees.size()); t-- > 0;) {
    EnergyAccount& a = w.accounts[t];
    const int first = a.counts ? find_set(w.accounts, t) : t;
    if (first == t) continue;
    EnergyAccount& set = w.accounts[first];
    a.next = std::exchange(set.next, t);
    set.before += a.before, set.exchanged += a.exchanged, set.order += a.order;
    set.tolerated += a.tolerated;
    set.work += a.work;
    set.stored += a.stored, set.risen += a.risen, set.credit += a.credit;
    set.anchored = set.anchored || a.anchored;
    set.touched = true;
    set.slowed = set.slowed || a.slowed;
    set.holds = set.holds || a.holds;
    set.opened = set.opened || a.opened;
  }
}

/// (3), as its trees were looked at last.
double order_of_set(World::Impl& w, int set) {
  double sum = 0;
  for_each_of(w, set, [&](int t, const Tree&) {
    EnergyAccount& a = w.accounts[t];
    sum += a.own_order = larger_order(w, t, a);
  });
  return sum;
}

/// Of (3), what is there however slow the end of the step is.
double least_order_of_set(World::Impl& w, int set) {
  double sum = 0;
  for_each_of(w, set, [&](int t, const Tree&) {
    const EnergyAccount& a = w.accounts[t];
    sum += order_of(w, t, a, a.start_fall, a.turned);
  });
  return sum;
}

/// (4), (5) of one set.
void settle(World::Impl& w, int set) {
  constexpr int kRounds = 4;
  EnergyAccount& a = w.accounts[set];
  double lifted = std::clamp(a.risen, 0.0, a.stored);
  double due = a.before + a.work + work_of(a.set_held) + lifted;
  EnergySum sum = energies_of(w, set);
  const bool finite = std::isfinite(sum.energy());
  if (!finite) sum = stay(w, set);
  // (4). What was lent by a swing that has not returned is paid back by a part of the motion.
  const double paid = kPaid * std::max(0.0, sum.motion);
  const auto most = [&] { return due + std::max(a.credit + a.order, -paid) + a.tolerated; };
  // A body that flies alone keeps its momentum, which bounds its energy: move_bodies.cc (4).
  const bool flies = !a.touched && w.model.bodies[w.model.trees[set].first].alone && finite;
  const double found = sum.energy();
  // Stages lead to other velocities than those that impulses were solved for: drives give what they gave
  // there.
  const bool by_stages = w.settings.integrator == Integrator::kRk4 && !w.driven_dofs.empty();
  double driven = (by_stages || found > most()) && !flies ? driven_work(w, set, w.v_end) : 0;
  const auto drive_less = [&] {
    const double less = std::min(driven, driven_work(w, set, w.state.v));
    due += less - std::exchange(driven, less);
  };
  if (by_stages && !flies) drive_less();
  for (int round = 1; round <= kRounds && sum.energy() > most() && !flies; ++round) {
    if (round == kRounds) {  // each round less is lifted: nothing is needed for nothing
      a.order = least_order_of_set(w, set);
      due -= std::exchange(lifted, 0.0);
    }
    sum = take_away(w, set, most() - a.tolerated);  // once it has to go, all of it: steps would add it up
    a.order = order_of_set(w, set);                 // what is slower is wrong by less, and driven by less
    drive_less();
    const double lower = std::min(lifted, lift_of_set(w, set));  // a way that is shorter lifts less
    due += lower - std::exchange(lifted, lower);
  }
  w.energy_taken += std::max(0.0, found - a.left_open - sum.energy());
  const double beyond = flies ? 0 : sum.energy() - most();  // what could not be taken away, and is told
  const double made =
      std::min(beyond, sum.energy() - std::max(a.before, due));  // in this step, not before it
  w.energy_made += std::max(0.0, made);
  if (made > w.most_made) w.most_made = made, w.energy_made_by = w.root_links[set];
  // Springs in place of contacts give what the swing of the integrator does not.
  const double spared = a.set_contact.allowed;
  if (spared > 0 || a.set_contact.held > 0 || a.set_contact.taken() > 0)
    due += settle_springs(w, set, sum.energy() - (due - spared) - std::max(0.0, a.credit)) - spared;
  // What they have taken, they hold: it is not lost.
  due -= std::clamp(due - sum.energy(), 0.0, a.set_contact.taken());
  // What cannot be paid is not owed, but for what was owed before.
  const double least = std::min(a.credit, -a.order);
  a.credit = std::clamp(a.credit + due - sum.energy(), least, a.order);  // (5)
}

}  // namespace

void world_detail::look(World::Impl& w, int t) {
  const Tree& tree = w.model.trees[t];
  update_poses(w.model, w.state, tree, w.ws);
  update_velocities(w.model, w.state, tree, w.ws);
  take_energies(w, tree, w.accounts[t]);
}

double World::Impl::drive_effort_of(int dof) const {
  return drive_effort_at(*this, dof, implicit[dof] > 0 ? v_end[dof] : v_before[dof]);
}

void World::Impl::open_ledger(double h) {
  const bool by_rows = world_detail::rows_do_work(*this) || !penalty_rows.empty();
  for (std::size_t t = 0; t < trees.size(); ++t) {
    EnergyAccount& a = accounts[t] = {.parent = static_cast<std::int32_t>(t)};
    a.counts = trees[t].responds();
    a.slowed = slowed[t];
    const Tree& tree = model.trees[t];
    if (!a.counts && by_rows && trees[t].awake)
      body_velocities(model, ws, as_vector(v_end), tree, trial_velocity);
    if (!a.counts) continue;
    a.contact.held = std::exchange(trees[t].sprung, 0.0);
    if (!by_rows) trees[t].deep = 0;
    const Body& root = model.bodies[tree.first];
    a.anchored = root.kind != JointKind::kFree || root.parent != 0;
    if (by_rows || !applied.empty()) body_velocities(model, ws, as_vector(v_end), tree, trial_velocity);
    take_start(*this, tree, a);
    a.there = a.start_motion + tree_mass[t] * model.gravity.norm() * tree_size[t];
    count_what_changes(*this, tree, a, by_rows || !applied.empty());
  }
  join_all(*this);
  if (by_rows) add_work_of_rows(*this);
  if (by_rows) add_work_of_springs(*this, h);
  for (std::size_t t = 0; t < trees.size(); ++t)
    if (accounts[t].counts)
      accounts[t].work += work_on_dofs(*this, model.trees[t], v_end) + work_of_forces(*this, model.trees[t]);
  add_work_of_overlaps(*this, h);
}

namespace {

/// Whether a step has led a tree beside what the velocities at its ends lead to, by more than it could turn
/// or is long: the stages of RK4 are no solution then.  @pre w.way: of the step
bool strays(const World::Impl& w, int t) {
  const Tree& tree = w.model.trees[t];
  for (int i = w.model.bodies[tree.first].first_v; i < end_dof(w.model, tree); ++i) {
    const double a = w.h_now * w.v_before[i], b = w.h_now * w.state.v[i];
    const double beside = std::abs(w.way[i] - 0.5 * (a + b)) - 0.5 * std::abs(a - b);
    const bool slides = w.model.dofs[i].kind == DofKind::kTranslation;
    const double far = slides ? std::max(w.tree_size[t], w.scales.length) : kFarTurn;
    if (!(beside <= far + std::max(std::abs(a), std::abs(b)))) return true;
  }
  return false;
}

}  // namespace

bool World::Impl::find_more_plain() {
  if (settings.integrator != Integrator::kRk4 && settings.integrator != Integrator::kExplicit) return false;
  for (EnergyAccount& a : accounts) a.set_energy = a.set_motion = a.set_due = 0;
  difference(model, as_vector(q_before), state.q_view(), Eigen::Map<Eigen::VectorXd>(way.data(), model.nv));
  for (std::size_t t = 0; t < trees.size(); ++t) {
    if (!accounts[t].counts) continue;
    look(*this, static_cast<int>(t));
    const EnergyAccount& a = accounts[t];
    EnergyAccount& set = accounts[find_set(accounts, static_cast<int>(t))];
    set.set_energy +=
        strays(*this, static_cast<int>(t)) ? std::numeric_limits<double>::infinity() : a.motion + a.height;
    set.set_motion += a.motion;
    set.set_due += a.before + a.work + a.stored;
  }
  sum_held_work(*this);
  bool any = false;
  for (std::size_t t = 0; t < trees.size(); ++t) {
    if (!accounts[t].counts || plain[t]) continue;
    const EnergyAccount& set = accounts[find_set(accounts, static_cast<int>(t))];
    if (set.set_energy - set.set_due - work_of(set.set_held) <= kLittle * set.set_motion)
      continue;  // what strays has no end of it
    plain[t] = any = true;
  }
  return any;
}

void World::Impl::close_ledger() {
  for (std::size_t t = 0; t < trees.size(); ++t) {
    if (accounts[t].counts || !trees[t].awake || trees[t].quarantined) continue;
    update_poses(model, state, model.trees[t], ws);
    update_velocities(model, state, model.trees[t], ws);
  }
  for (std::size_t t = 0; t < trees.size(); ++t) {
    EnergyAccount& a = accounts[t];
    if (!a.counts) continue;
    look(*this, static_cast<int>(t));
    find_order(*this, static_cast<int>(t), a);
    if (is_shifted && shifted[t] > 0) a.risen = lift_of(*this, static_cast<int>(t));
    a.exchanged = std::abs(a.motion - a.start_motion) + std::abs(a.height - a.start_height);
    // by what was there, as what is there now may be far too much
    const double there = a.springs + a.there + std::abs(a.work);
    a.tolerated = kRounding * (a.start_motion + std::abs(a.start_height) + std::abs(a.height)) +
                  kNothing * std::min(a.exchanged, there);
  }
  sum_up(*this);
  sum_held_work(*this);
  for (std::size_t t = 0; t < trees.size(); ++t) {
    if (!accounts[t].counts || accounts[t].parent != static_cast<int>(t)) continue;
    energy_exchanged += accounts[t].exchanged + std::abs(accounts[t].work);
    settle(*this, static_cast<int>(t));
  }
  for (std::size_t t = 0; t < trees.size(); ++t)
    if (accounts[t].counts) accounts[find_set(accounts, static_cast<int>(t))].set_mass += tree_mass[t];
  for (std::size_t t = 0; t < trees.size(); ++t) {  // shares of a set's credit, by what each may be wrong by
    if (!accounts[t].counts) continue;
    const EnergyAccount& set = accounts[find_set(accounts, static_cast<int>(t))];
    const double by_mass = tree_mass[t] / set.set_mass;
    trees[t].credit =
        set.credit * (set.credit < 0 || !(set.order > 0) ? by_mass : accounts[t].own_order / set.order);
  }
  if (settings.integrator != Integrator::kRk4) known = state;  // its stages have moved what sleeps
}

}  // namespace karakuri
