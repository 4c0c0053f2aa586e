// No step ends with more energy than it may have. Trees that act on each other in a step form a set, and for
// each set the ledger has
//   E = T(q, v) + U(q)               energy of motion; of height and of the joints' springs               (1)
//   W                                work of all that may do any, as much as it can be                    (2)
//   o = h |v . grad U| + |dv|^2_M    what the integrator may be wrong by, of motions that it resolves     (3)
//   c                                what it has lost so far, and may give back
// with dv = v_free - v. W is that of efforts, drives, forces, kinematic bodies, of springs in place of
// contacts and loops, and of overlaps that come apart, which lift what lies on them. At the end of the step
//   E+ <= E + W + c + o                                                                                   (4)
//   c+ = min(c + E + W - E+, o)                                                                           (5)
// Velocity first, then position, keeps H = E - h v . grad U / 2 rather than E (of a linear spring, exactly;
// Hairer, Lubich and Wanner, Geometric Numerical Integration, IX.3): its energy swings about that of the
// motion by no more than o, which is zero where the motion turns round, and (4) leaves it alone. What grows
// beyond is no swing: the terms of second order in the velocities where joints turn far within a step,
// impulses that are no solution, corrections that lift. As c is bounded by o, nothing adds up over a run.
//
// A set that has more is slowed down. If nothing fixed acts on it, its motion is that of a rigid body with
// its linear and angular momentum P, L, and one within it that is orthogonal to it in the metric of M,
//   T = P^2 / 2m + L^T I^-1 L / 2 + T_within                                                              (6)
// T_within is scaled first, then L; P only of what continuous contact has slowed down, which has lost it
// already. Otherwise all of T is: velocities that respect contacts, limits and loops still do. Where that is
// more than a little, or the set stands too high, its way is shortened with it, so that positions and
// velocities do not part.
#include <algorithm>
#include <cmath>
#include <utility>

#include "dynamics/body_pass.h"
#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/model/configuration.h"
#include "world/correct_positions.h"
#include "world/impl.h"
#include "world/rigid_motion.h"

namespace karakuri {

using world_detail::EnergyAccount;
using world_detail::rigid_motion;
using world_detail::RigidMotion;
using world_detail::root_rates;

namespace {

constexpr double kRounding = 1e-12;  // of the energies that are compared
constexpr double kNothing = 1e-7;    // of what a step exchanges
// Of the energy of motion that may be taken away while the way stays as it is: the two part by half of that.
constexpr double kLittle = 0.1;

using Velocity = Workspace::Velocity;
using kernel::cross;
using kernel::WorldInertia;
using simd::V3;

int first_dof(const Model& model, const Tree& tree) { return model.bodies[tree.first].first_v; }
int end_dof(const Model& model, const Tree& tree) {
  const Body& last = model.bodies[tree.last - 1];
  return last.first_v + last.dofs;
}

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

/// Calls f(dof, stiffness, stretch) for the springs of a tree.
template <class F>
void for_each_spring(const World::Impl& w, const Tree& tree, F&& f) {
  if (w.passive_dofs.empty()) return;
  for (int i = first_dof(w.model, tree); i < end_dof(w.model, tree); ++i) {
    const DofProperties& p = w.model.dof_properties[i];
    if (!(p.stiffness > 0)) continue;
    const Body& body = w.model.bodies[w.model.dofs[i].body];
    const bool turns = has_quaternion(body.kind) && i - body.first_v >= body.dofs - 3;
    f(i, p.stiffness, dof_position(w.model, w.state.q_view(), i) - (turns ? 0 : p.rest));
  }
}

double spring_energy(const World::Impl& w, const Tree& tree) {
  double sum = 0;
  for_each_spring(w, tree, [&](int, double k, double x) { sum += 0.5 * k * x * x; });
  return sum;
}

/// What the springs of a tree give to a motion [W].
double spring_power(const World::Impl& w, const Tree& tree, const std::vector<double>& v) {
  double sum = 0;
  for_each_spring(w, tree, [&](int i, double k, double x) { sum -= k * x * v[i]; });
  return sum;
}

/// (1) at the state and the kinematics of `ws`.
void take_energies(const World::Impl& w, const Tree& tree, EnergyAccount& a) {
  const V3 gravity = simd::v3(w.model.gravity);
  double twice = 0, height = spring_energy(w, tree), fall = spring_power(w, tree, w.state.v);
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

/// (1), and what (3) is made of.
void take_start(World::Impl& w, const Tree& tree, EnergyAccount& a) {
  body_velocities(w.model, w.ws, as_vector(w.v_free), tree, w.free_velocity);
  const V3 gravity = simd::v3(w.model.gravity);
  double twice = 0, square = 0;
  double fall = spring_power(w, tree, w.state.v);  // - v . grad U
  a.start_height = a.springs = spring_energy(w, tree);
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
    twice += armature * v * v;
    square += armature * dv * dv;
  }
  a.start_motion = 0.5 * twice;
  a.before = a.start_motion + a.start_height;
  a.start_fall = std::abs(fall);
  a.turned = square;
}

/// (3), with the energy of motion and of springs, and of the tree's weight over its size, that is there. A
/// swing whose energy is wrong by r of that takes 1 / r steps a radian, and needs r / 2: it has r (1 - r) up
/// to half a radian a step. What turns further is not resolved and gets nothing. Of |dv|^2, gravity explains
/// h^2 m g^2, and springs that are taken at the start of a step half of their energy; terms of second order
/// in velocities may add a little.
/// @param fall    |v . grad U|
/// @param turned  what of |dv|^2_M counts
double order_of(const World::Impl& w, int t, const EnergyAccount& a, double fall, double turned) {
  constexpr double kTurned = 0.001;  // of what is there
  const double g = w.model.gravity.norm(), mass = w.tree_mass[t], there = a.springs + a.there;
  const double explained = w.h_now * w.h_now * mass * g * g + 0.5 * a.springs + kTurned * there;
  const double r = there > 0 ? (w.h_now * std::max(a.start_fall, a.fall) + 0.5 * a.turned) / there : 1;
  return r < 0.5 ? (w.h_now * fall + std::min(turned, explained)) * (1 - r) : 0;
}

/// (3) of the step, at whichever of its ends it is more, where |dv|^2 of its end is not known yet; and of its
/// start, which bounds what was lost before.
void find_order(const World::Impl& w, int t, EnergyAccount& a) {
  const double at_start = order_of(w, t, a, a.start_fall, a.turned), at_end = order_of(w, t, a, a.fall, 0);
  a.order = a.own_order = std::max(at_start, at_end);
  a.credit = std::min(w.trees[t].credit, at_start);
}

// ---- sets of trees

int find_set(std::vector<EnergyAccount>& accounts, int t) {
  while (accounts[t].parent != t) t = accounts[t].parent = accounts[accounts[t].parent].parent;
  return t;
}

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

/// The tree in whose account the work of a row is entered.
int tree_of_row(const World::Impl& w, const ImpulseRow& first) {
  for (const ImpulseRow* row = &first; row; row = row->more)
    for (const int body : {row->body, row->other})
      if (w.tree_of[body] >= 0) return w.tree_of[body];
  return -1;
}

void join_all(World::Impl& w) {
  for (const RowBlock& block : w.rows.blocks) {
    bool acts = is_held(block.source);  // also by position
    for (int i = block.row; i < block.row + block.size && !acts; ++i)
      acts = w.total[i] != 0 || w.correction[i] != 0;
    if (!acts) continue;
    join(w, w.rows.impulses[block.row]);
    if (const int t = tree_of_row(w, w.rows.impulses[block.row]); t >= 0 && is_held(block.source))
      w.accounts[t].holds = true;
  }
  for (const ImpulseRow& row : w.penalty_rows) join(w, row);
}

// ---- work

/// Whether a row may give energy: it is driven, or gives back what it has taken, or undoes errors of
/// positions by velocities.
bool is_active(const World::Impl& w, const RowBlock& block, int row) {
  return block.source == RowSource::kDrive || block.source == RowSource::kSpring ||
         w.rows.compliance[row] > 0 || w.settings.stabilization.kind != Stabilization::kPosition;
}

/// Of impulses that act together, at the velocities at both ends of the step.
struct Work {
  double before = 0, after = 0;

  void add(const World::Impl& w, const ImpulseRow& row, double impulse) {
    double u = 0;
    const std::span<const ImpulseRow> one(&row, 1);
    row_velocities(one, w.ws, Eigen::Map<Eigen::VectorXd>(&u, 1));
    before += impulse * u;
    row_velocities(one, w.ws, w.trial_velocity, Eigen::Map<Eigen::VectorXd>(&u, 1));
    after += impulse * u;
  }
  /// What gives way has taken before what it gives.
  double most(bool gives_way) const {
    const double work = std::max(before, after);
    return gives_way ? std::max(0.0, work) : work;
  }
};

/// @pre trial_velocity at the end of the step
void add_work_of_rows(World::Impl& w) {
  for (const RowBlock& block : w.rows.blocks) {
    const int t = tree_of_row(w, w.rows.impulses[block.row]);
    if (t < 0) continue;
    Work active;
    for (int i = block.row; i < block.row + block.size; ++i) {
      if (w.total[i] == 0) continue;
      if (is_active(w, block, i))
        active.add(w, w.rows.impulses[i], w.total[i]);
      else if (w.has_unresponsive)
        w.accounts[t].work -= w.total[i] * w.row_carried[i];
    }
    w.accounts[t].work += active.most(block.source != RowSource::kDrive);
  }
  for (std::size_t i = 0; i < w.penalty_rows.size(); ++i) {
    Work push;
    push.add(w, w.penalty_rows[i], w.penalty_impulses[i]);
    if (const int t = tree_of_row(w, w.penalty_rows[i]); t >= 0) w.accounts[t].work += push.most(true);
  }
}

/// Of efforts, of drives that are no rows, and of forces, at the velocities at both ends of the step.
void add_work_of_efforts(World::Impl& w, int t, double h) {
  const Tree& tree = w.model.trees[t];
  double work = 0;
  const auto add = [&](int dof, double effort) {
    if (effort != 0) work += h * std::max(effort * w.state.v[dof], effort * w.v_end[dof]);
  };
  for (int i = first_dof(w.model, tree); i < end_dof(w.model, tree); ++i) add(i, w.effort[i]);
  for (int i = tree.first; i < tree.last && !w.applied.empty(); ++i) {
    const Force& f = w.f_ext[i];
    const Velocity &a = w.ws.velocity[i], &b = w.trial_velocity[i];
    // whatever way the body turns meanwhile
    work += h * (f.moment.norm() * std::max(Vec3(a.w).norm(), Vec3(b.w).norm()) +
                 f.force.norm() * std::max(Vec3(a.v).norm(), Vec3(b.v).norm()));
  }
  w.accounts[t].work += work;
}

void add_work_of_drives(World::Impl& w, double h) {
  for (const std::int32_t i : w.driven_dofs) {
    const int t = w.tree_of[w.model.dofs[i].body];
    if (w.drive_is_row[i] || !w.trees[t].responds()) continue;
    const double effort = w.drive_effort_of(i, h);
    const double work = h * std::max(effort * w.state.v[i], effort * w.v_end[i]);
    w.accounts[t].work += work;
  }
}

/// Overlaps that come apart may lift what lies on them, as far as the forces between them over what is undone
/// of their depths.
void add_work_of_overlaps(World::Impl& w, double h) {
  if (!w.is_shifted) return;
  for (const RowBlock& block : w.rows.blocks) {
    const double undone = -world_detail::wanted_shift(w, block, h);
    const int t = undone > 0 ? tree_of_row(w, w.rows.impulses[block.row]) : -1;
    if (t >= 0) w.accounts[t].stored += undone * std::max(0.0, w.total[block.row]) / h;
  }
}

// ---- too much of it

/// Calls f(t, tree) for the trees of a set.
template <class F>
void for_each_of(World::Impl& w, int set, F&& f) {
  for (int t = set; t >= 0; t = w.accounts[t].next) f(t, w.model.trees[t]);
}

void look(World::Impl& w, int t) {
  const Tree& tree = w.model.trees[t];
  update_poses(w.model, w.state, tree, w.ws);
  update_velocities(w.model, w.state, tree, w.ws);
  take_energies(w, tree, w.accounts[t]);
}

/// How far a correction of positions has lifted a tree that was shifted, from where its velocities would have
/// led it.
void take_lift(World::Impl& w, int t) {
  const Tree& tree = w.model.trees[t];
  const Body &root = w.model.bodies[tree.first], &last = w.model.bodies[tree.last - 1];
  EnergyAccount& a = w.accounts[t];
  const double height = a.height;
  const auto first = w.state.q.begin() + root.first_q,
             end = w.state.q.begin() + last.first_q + q_size(last.kind);
  std::copy(first, end, w.stage.q.begin() + root.first_q);
  std::copy_n(w.q_before.begin() + root.first_q, end - first, first);
  const double late = w.integrator_of(t) == Integrator::kExplicit ? 0
                      : w.integrator_of(t) == Integrator::kRk4    ? 0.5
                                                                  : 1;
  for (int i = root.first_v; i < end_dof(w.model, tree); ++i)
    w.way[i] = late * w.state.v[i] + (1 - late) * w.v_before[i];
  integrate(w.model, tree.first, tree.last, w.state.q_view(), as_vector(w.way), w.h_now);
  look(w, t);
  a.risen = height - a.height;
  std::copy_n(w.stage.q.begin() + root.first_q, end - first, first);
  look(w, t);
}

struct Sum {
  double motion = 0, height = 0;
  double energy() const { return motion + height; }
};
Sum energies_of(World::Impl& w, int set) {
  Sum sum;
  for_each_of(w, set, [&](int t, const Tree&) {
    sum.motion += w.accounts[t].motion;
    sum.height += w.accounts[t].height;
  });
  return sum;
}

void scale_all(World::Impl& w, int set, double scale) {
  for_each_of(w, set, [&](int, const Tree& tree) {
    for (int i = first_dof(w.model, tree); i < end_dof(w.model, tree); ++i) w.state.v[i] *= scale;
  });
}

/// Of a set as one rigid body.
TreeMotion motion_of(World::Impl& w, int set) {
  w.group_now.clear();
  for_each_of(w, set,
              [&](int, const Tree& tree) { w.group_now.push_back(tree_motion(w.model, w.ws, tree)); });
  return sum_of(w.group_now);
}

/// (6). @param excess  of energy
void slow_within(World::Impl& w, int set, double motion, double excess) {
  const TreeMotion sum = motion_of(w, set);
  const RigidMotion rigid = rigid_motion(sum);
  const double turning = 0.5 * rigid.angular.dot(sum.momentum.moment);
  const double linear = 0.5 * rigid.linear.dot(sum.momentum.force);
  const double within = std::max(0.0, motion - turning - linear);
  const auto take = [&](double energy) {  // scales what has this energy
    if (!(excess > 0)) return 1.0;
    const double taken = std::min(excess, energy);
    excess -= taken;
    return energy > taken ? std::sqrt(1 - taken / energy) : 0.0;
  };
  const double share = take(within), spin = take(turning);
  const double along = w.accounts[set].slowed ? take(linear) : 1;
  const RigidMotion slow{rigid.center, along * rigid.linear, spin * rigid.angular};
  for_each_of(w, set, [&](int, const Tree& tree) {
    const Body& root = w.model.bodies[tree.first];
    const Eigen::Matrix<double, 6, 1> as_one = root_rates(w, tree, rigid), kept = root_rates(w, tree, slow);
    for (int k = 0, i = root.first_v; k < 6; ++k, ++i)  // what is not to change does not, to the last digit
      w.state.v[i] += (share - 1) * (w.state.v[i] - as_one[k]) + (kept[k] - as_one[k]);
    for (int i = root.first_v + 6; i < end_dof(w.model, tree); ++i) w.state.v[i] *= share;
  });
}

/// Velocity of the centre of mass of a set on which nothing fixed acts: as keep_momentum.cc wants it, which
/// knew it before anything was too fast to be added up, or as it is.
Vec3 linear_velocity(World::Impl& w, int set) {
  Vec3 momentum = Vec3::Zero();
  double mass = 0;
  bool wanted = w.settings.integrator != Integrator::kRk4;
  for_each_of(w, set, [&](int t, const Tree&) {
    wanted = wanted && w.floats[t].keeps;
    momentum += w.motions[t].momentum.force;
    mass += w.motions[t].mass;
  });
  if (wanted) return momentum / mass;
  const TreeMotion now = motion_of(w, set);
  return now.momentum.force / now.mass;
}

/// Gives a set the velocity of its centre of mass back that rounding has taken.
void keep_linear_momentum(World::Impl& w, int set, const Vec3& velocity) {
  const TreeMotion now = motion_of(w, set);
  const Vec3 missing = velocity - now.momentum.force / now.mass;
  for_each_of(w, set, [&](int t, const Tree& tree) {
    const Body& root = w.model.bodies[tree.first];
    Eigen::Map<Vec3>(w.state.v.data() + root.first_v) += Mat3(root.R_PF).transpose() * missing;
    look(w, t);
  });
}

/// That of a floating set, with its centre of mass where the mean of its velocities has led it.
TreeMotion wanted_motion(World::Impl& w, int set) {
  TreeMotion motion = motion_of(w, set);
  Vec3 moment = Vec3::Zero(), momentum = Vec3::Zero();
  for_each_of(w, set, [&](int t, const Tree&) {
    moment += w.accounts[t].start_moment;
    momentum += w.accounts[t].start_momentum;
  });
  motion.momentum.force = motion.mass * linear_velocity(w, set);
  motion.center = (moment + 0.5 * w.h_now * (momentum + motion.momentum.force)) / motion.mass;
  return motion;
}

/// Moves a floating set as a whole, so that it is where it was and has the momentum that it had.
void restore_motion(World::Impl& w, int set, const TreeMotion& wanted) {
  const TreeMotion now = motion_of(w, set);
  TreeMotion missing = now;
  missing.momentum = wanted.momentum - now.momentum;
  const RigidMotion rigid = rigid_motion(missing);
  for_each_of(w, set, [&](int t, const Tree& tree) {
    const Body& root = w.model.bodies[tree.first];
    Eigen::Map<Eigen::Matrix<double, 6, 1>>(w.state.v.data() + root.first_v) += root_rates(w, tree, rigid);
    Eigen::Map<Vec3>(w.state.q.data() + root.first_q) +=
        Mat3(root.R_PF).transpose() * (wanted.center - now.center);
    look(w, t);
  });
}

/// A share of the way and of the velocities of a set; if it floats, of those within it, while it goes all of
/// its way as a rigid body.
/// @pre w.way: all of the way, w.v_whole: all of the velocities
/// @param motion  that the set is to have, if it floats
void take_share(World::Impl& w, int set, bool anchored, double share, const TreeMotion& motion) {
  const RigidMotion rigid = anchored ? RigidMotion{} : rigid_motion(motion);
  for_each_of(w, set, [&](int t, const Tree& tree) {
    const Body &root = w.model.bodies[tree.first], &last = w.model.bodies[tree.last - 1];
    for (int i = root.first_v; i < end_dof(w.model, tree); ++i) {
      w.share_of_way[i] = share * w.way[i];
      w.state.v[i] = share * w.v_whole[i];
    }
    if (!anchored) {
      const Eigen::Matrix<double, 6, 1> rates = (1 - share) * root_rates(w, tree, rigid);
      Eigen::Map<Eigen::Matrix<double, 6, 1>>(w.share_of_way.data() + root.first_v) += w.h_now * rates;
      Eigen::Map<Eigen::Matrix<double, 6, 1>>(w.state.v.data() + root.first_v) += rates;
    }
    std::copy(w.q_before.begin() + root.first_q, w.q_before.begin() + last.first_q + q_size(last.kind),
              w.state.q.begin() + root.first_q);
    integrate(w.model, tree.first, tree.last, w.state.q_view(), as_vector(w.share_of_way), 1);
    look(w, t);
  });
  if (!anchored) restore_motion(w, set, motion);
}

/// A part of the way opens loops.
void close_again(World::Impl& w, int set) {
  if (!w.accounts[set].holds) return;
  w.close_loops(w.state, w.h_now);
  w.project_on_loops(w.state);
  for_each_of(w, set, [&](int t, const Tree&) { look(w, t); });
}

/// Slows a set down by so much that its way is shorter, too: the longest part of it that leaves no more
/// energy than there may be, by bisection, or none, which takes no more than the energy of height at the
/// start.
void shorten(World::Impl& w, int set, bool anchored, double most) {
  constexpr int kRounds = 8;
  difference(w.model, as_vector(w.q_before), w.state.q_view(),
             Eigen::Map<Eigen::VectorXd>(w.way.data(), w.model.nv));
  w.v_whole = w.state.v;
  const TreeMotion motion = anchored ? TreeMotion{} : wanted_motion(w, set);
  double fits = 0, exceeds = 1, share = 1;
  for (int k = 0; k < kRounds; ++k) {
    share = 0.5 * (fits + exceeds);
    take_share(w, set, anchored, share, motion);
    close_again(w, set);
    (energies_of(w, set).energy() > most ? exceeds : fits) = share;
  }
  if (share == fits) return;
  take_share(w, set, anchored, fits, motion);
  close_again(w, set);
}

/// As it was at the start of the step: where stages of RK4 have overflowed.
void stay(World::Impl& w, int set) {
  for_each_of(w, set, [&](int t, const Tree& tree) {
    const Body &root = w.model.bodies[tree.first], &last = w.model.bodies[tree.last - 1];
    std::copy(w.q_before.begin() + root.first_q, w.q_before.begin() + last.first_q + q_size(last.kind),
              w.state.q.begin() + root.first_q);
    std::copy(w.v_before.begin() + root.first_v, w.v_before.begin() + end_dof(w.model, tree),
              w.state.v.begin() + root.first_v);
    look(w, t);
  });
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
    set.fall_sum += a.fall_sum;
  }
}

/// (4), (5) of one set.
void settle(World::Impl& w, int set) {
  EnergyAccount& a = w.accounts[set];
  const double due = a.before + a.work + std::clamp(a.risen, 0.0, a.stored);
  Sum sum = energies_of(w, set);
  if (!std::isfinite(sum.energy())) {
    stay(w, set);
    sum = energies_of(w, set);
  }
  const double most = due + a.credit + a.order + a.tolerated;  // (4)
  // A body that flies alone keeps its momentum, which bounds its energy: move_bodies.cc (4).
  const bool flies =
      !a.touched && w.model.bodies[w.model.trees[set].first].alone && std::isfinite(sum.energy());
  if (sum.energy() > most && !flies) {
    const double found = sum.energy();
    const Vec3 along = a.anchored ? Vec3(Vec3::Zero()) : linear_velocity(w, set);
    if (sum.energy() - most > kLittle * sum.motion) shorten(w, set, a.anchored, most);
    sum = energies_of(w, set);
    double excess = std::min(sum.energy() - most, sum.motion);
    if (excess > 0 && a.risen > 0) {  // what is slower has been lifted by more of its way
      const double slower = 1 - std::sqrt(1 - excess / sum.motion);
      excess = std::min(excess + slower * w.h_now * a.fall_sum, sum.motion);
    }
    if (excess > 0 && a.anchored)
      scale_all(w, set, std::sqrt(1 - excess / sum.motion));
    else if (excess > 0)
      slow_within(w, set, sum.motion, excess);
    if (excess > 0) for_each_of(w, set, [&](int t, const Tree&) { look(w, t); });
    if (!a.anchored && !a.slowed) keep_linear_momentum(w, set, along);
    sum = energies_of(w, set);
    w.energy_taken += std::max(0.0, found - sum.energy());
  }
  const double beyond = flies ? 0 : sum.energy() - most;  // what could not be taken away, and is told
  w.energy_made += std::max(0.0, beyond);
  if (beyond > w.most_made) w.most_made = beyond, w.energy_made_by = w.root_links[set];
  a.credit = std::min(a.credit + due - sum.energy(), a.order);  // (5)
}

}  // namespace

double World::Impl::drive_effort_of(int dof, double h) const {
  const Drive& drive = drives[dof];
  const bool at_end = implicit[dof] > 0;
  const double rate = at_end ? v_end[dof] : v_before[dof], lead = at_end ? h : 0;
  const double at = dof_position(model, as_vector(q_before), dof) + lead * rate;
  return drive.stiffness * (drive.q_target - at) + drive.damping * (drive.v_target - rate);
}

void World::Impl::open_ledger(double h) {
  for (std::size_t t = 0; t < trees.size(); ++t) {
    EnergyAccount& a = accounts[t] = {.parent = static_cast<std::int32_t>(t)};
    a.counts = trees[t].responds();
    a.slowed = slowed[t];
    if (!a.counts) continue;
    const Tree& tree = model.trees[t];
    const Body& root = model.bodies[tree.first];
    a.anchored = root.kind != JointKind::kFree || root.parent != 0;
    body_velocities(model, ws, as_vector(v_end), tree, trial_velocity);
    take_start(*this, tree, a);
    a.there = a.start_motion + tree_mass[t] * model.gravity.norm() * tree_size[t];
  }
  join_all(*this);
  add_work_of_rows(*this);
  for (std::size_t t = 0; t < trees.size(); ++t)
    if (accounts[t].counts) add_work_of_efforts(*this, static_cast<int>(t), h);
  add_work_of_drives(*this, h);
  add_work_of_overlaps(*this, h);
}

bool World::Impl::find_more_plain() {
  if (settings.integrator != Integrator::kRk4 && settings.integrator != Integrator::kExplicit) return false;
  for (EnergyAccount& a : accounts) a.set_energy = a.set_motion = a.set_due = 0;
  for (std::size_t t = 0; t < trees.size(); ++t) {
    if (!accounts[t].counts) continue;
    look(*this, static_cast<int>(t));
    const EnergyAccount& a = accounts[t];
    EnergyAccount& set = accounts[find_set(accounts, static_cast<int>(t))];
    set.set_energy += a.motion + a.height;
    set.set_motion += a.motion;
    set.set_due += a.before + a.work + a.stored;
  }
  bool any = false;
  for (std::size_t t = 0; t < trees.size(); ++t) {
    if (!accounts[t].counts || plain[t]) continue;
    const EnergyAccount& set = accounts[find_set(accounts, static_cast<int>(t))];
    if (set.set_energy - set.set_due <= kLittle * set.set_motion) continue;  // not finite: neither
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
    a.fall_sum = a.fall;
    if (is_shifted && shifted[t] > 0) take_lift(*this, static_cast<int>(t));
    a.exchanged = std::abs(a.motion - a.start_motion) + std::abs(a.height - a.start_height);
    // by what was there, as what is there now may be far too much
    const double there = a.springs + a.there + std::abs(a.work);
    a.tolerated = kRounding * (a.start_motion + std::abs(a.start_height) + std::abs(a.height)) +
                  kNothing * std::min(a.exchanged, there);
  }
  sum_up(*this);
  for (std::size_t t = 0; t < trees.size(); ++t) {
    if (!accounts[t].counts || accounts[t].parent != static_cast<int>(t)) continue;
    energy_exchanged += accounts[t].exchanged + std::abs(accounts[t].work);
    settle(*this, static_cast<int>(t));
  }
  for (std::size_t t = 0; t < trees.size(); ++t) {  // shares of a set's credit, by what each may be wrong by
    if (!accounts[t].counts) continue;
    const EnergyAccount& set = accounts[find_set(accounts, static_cast<int>(t))];
    trees[t].credit = set.order > 0 ? set.credit * (accounts[t].own_order / set.order) : 0;
  }
  if (settings.integrator != Integrator::kRk4) known = state;  // its stages have moved what sleeps
}

}  // namespace karakuri
