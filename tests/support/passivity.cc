#include "support/passivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>

#include "karakuri/constraint/joint_rows.h"
#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/loop_rows.h"
#include "karakuri/dynamics/rnea.h"
#include "karakuri/model/configuration.h"

namespace karakuri::test {
namespace {

constexpr double kShare = 1e-6;      // of what a step exchanges
constexpr double kMostOrder = 0.5;   // of the energy that is there
constexpr double kMargin = 1.1;      // what forces change by while the step lasts
constexpr double kRounding = 1e-12;  // of the largest numbers that were added up

int tree_of(const Model& model, int body) { return body == 0 ? -1 : model.bodies[body].tree; }
int tree_of(const Model& model, LinkId link) {
  const LinkEntry* entry = model.find(link);
  return entry ? tree_of(model, entry->body) : -1;
}
int tree_of_dof(const Model& model, int dof) { return model.bodies[model.dofs[dof].body].tree; }

bool turns(const Model& model, int dof) {
  const Body& body = model.bodies[model.dofs[dof].body];
  return has_quaternion(body.kind) && dof - body.first_v >= body.dofs - 3;
}
/// Of a dof from the rest of its spring.
double stretch(const Model& model, const State& state, int dof) {
  return dof_position(model, state.q_view(), dof) - (turns(model, dof) ? 0 : model.dof_properties[dof].rest);
}
double tree_mass(const Model& model, int t) {
  double mass = 0;
  if (t >= 0)
    for (int i = model.trees[t].first; i < model.trees[t].last; ++i) mass += model.bodies[i].mass;
  return mass;
}

/// The deepest contact of each pair of colliders at the start of the last step.
std::map<std::pair<int, int>, double> depths(const World& world) {
  std::map<std::pair<int, int>, double> deepest;
  for (const Contact& c : world.contacts()) {
    double& depth = deepest[{c.collider_a, c.collider_b}];
    depth = std::max(depth, -c.separation);
  }
  return deepest;
}

/// The rotation that a dof belongs to, as axis times angle.
Vec3 turned(const Model& model, const State& state, int dof) {
  const Body& body = model.bodies[model.dofs[dof].body];
  const int first = body.first_v + body.dofs - 3;
  Vec3 turn;
  for (int k = 0; k < 3; ++k) turn[k] = dof_position(model, state.q_view(), first + k);
  return turn;
}

/// How far the rotation that a dof belongs to is beyond its largest angle.
double beyond_cone(const Model& model, const State& state, int dof) {
  const Body& body = model.bodies[model.dofs[dof].body];
  return turned(model, state, dof).norm() - model.dof_properties[body.first_v + body.dofs - 3].upper;
}

/// How far the worst dof is beyond its limits.
double beyond_limits(const Model& model, const State& state) {
  double worst = 0;
  for (int i = 0; i < model.nv; ++i) {
    const DofProperties& p = model.dof_properties[i];
    const double at = dof_position(model, state.q_view(), i);
    if (!turns(model, i)) worst = std::max({worst, p.lower - at, at - p.upper});
    if (turns(model, i)) worst = std::max(worst, beyond_cone(model, state, i));
  }
  return worst;
}

/// How far loops are open, the worst row of each, at poses; closing them moves as coming out of overlaps
/// does.
double open_loops(const Model& model, const State& state, const Workspace& at, double size) {
  double sum = 0;
  for (std::size_t i = 0; i < model.loops.size(); ++i) {
    if (!state.loop_closed[i] || !model.loops[i].held()) continue;
    const LoopRows rows = loop_rows(model.loops[i], at);
    double worst = 0;
    for (int k = 0; k < rows.count; ++k)
      worst = std::max(worst, std::abs(rows.error[k]) * loop_row_unit(rows.row[k], size));
    sum += worst;
  }
  return sum;
}

std::vector<std::uint8_t> trees_awake(const World& world) {
  std::vector<std::uint8_t> awake(world.model().trees.size(), 0);
  for (const LinkEntry& link : world.model().links)
    if (const int t = tree_of(world.model(), link.body); t >= 0) awake[t] = world.awake(link.id);
  return awake;
}

/// From the origin of the root to the end of the tree's shapes, and from its joint to the centres of mass.
std::vector<double> tree_sizes(const World& world) {
  const Model& model = world.model();
  std::vector<double> size(model.trees.size(), 0);
  const Mechanism& mechanism = world.scene().mechanism;
  const auto root_of = [&](int t) {
    return std::find_if(model.links.begin(), model.links.end(),
                        [&](const LinkEntry& l) { return l.body == model.trees[t].first; })
        ->id;
  };
  for (const ColliderInfo& c : world.colliders()) {
    const int t = tree_of(model, c.link);
    if (t < 0) continue;
    const Vec3 apart = world.pose(c.link) * c.X_LS.p - world.pose(root_of(t)).p;
    size[t] = std::max(size[t], apart.norm() + bounding_radius(world.scene().shapes[c.shape]));
  }
  for (const LinkEntry& link : model.links) {
    const int t = tree_of(model, link.body);
    if (t < 0) continue;
    const LinkId root = root_of(t);
    const Vec3 joint = world.pose(root) * mechanism.joint(mechanism.link(root).joint).X_CM.p;
    const Vec3 com = world.pose(link.id) * mechanism.link(link.id).inertia.com;
    size[t] = std::max(size[t], (com - joint).norm());
  }
  return size;
}

/// What is left of an effort where a joint's stop pushes against it.
double beside_stop(double effort, double stop) {
  return effort > 0 ? std::max(0.0, effort + std::min(0.0, stop))
                    : std::min(0.0, effort + std::max(0.0, stop));
}

/// The fastest that a body without others may spin on its way, by Euler's equations, which keep its energy:
/// about the axis of its least moment. What it has at either end says little of that where these differ.
double fastest_spin(const Model& model, const Body& body, const State& state) {
  const FreeBody& free = model.free_bodies[body.extra];
  const double *q = state.q.data() + body.first_q + 3, *v = state.v.data() + body.first_v + 3;
  const Vec3 spin = Mat3(free.axes).transpose() * (Quat(q[0], q[1], q[2], q[3]).conjugate() * Vec3(v));
  const Vec3 moments = free.moments;
  const double twice_energy = moments.dot(spin.cwiseAbs2());
  return moments.minCoeff() > 0 ? std::sqrt(twice_energy / moments.minCoeff()) : 0;
}

}  // namespace

PassivityJudge::PassivityJudge(const World& world, std::vector<LinkId> kinematic)
    : model_(world.model()),
      held_(world.model().trees.size(), 0),
      ws_(world.model()),
      scratch_(world.model()),
      start_(world.model()),
      answered_(world.model()),
      before_{world.state(), MassMatrix(world.model())},
      now_(before_),
      straight_(before_),
      h_(world.settings().dt / world.settings().substeps),
      tree_size_(tree_sizes(world)) {
  for (const LinkId link : kinematic)
    if (const int t = tree_of(world.model(), link); t >= 0) held_[t] = 1;
  take(world, now_);
  lowest_ = now_.potential;
  top_ = energy();
  level_ = energy() + now_.order;
}

double PassivityJudge::of_responding(const Eigen::VectorXd& a, const Eigen::VectorXd& b) const {
  double sum = 0;
  for (int i = 0; i < model_.nv; ++i)
    if (!held_[tree_of_dof(model_, i)]) sum += a[i] * b[i];
  return sum;
}

void PassivityJudge::take(const World& world, Moment& out) {
  const Model& model = world.model();
  out.state = world.state();
  const Eigen::VectorXd v = out.state.v_view();
  crba(model, out.state, ws_, out.mass);
  Eigen::VectorXd momentum(model.nv);
  multiply(model, out.mass, v, momentum);
  out.kinetic = 0.5 * of_responding(v, momentum);
  out.smooth.resize(model.nv);
  bias_effort(model, out.state, {}, ws_, out.smooth);
  out.smooth = -out.smooth;
  add_energies(world, out);
  MassMatrix factored = out.mass;
  factor(model, factored);
  out.answer = out.smooth;
  solve(model, factored, out.answer);
  out.order = 0;
  out.order_of_tree.assign(model.trees.size(), 0);
  for (std::size_t t = 0; t < model.trees.size(); ++t)
    if (!held_[t]) out.order += out.order_of_tree[t] = order_of(world, out, static_cast<int>(t), momentum);
}

/// (1) of one tree.
double PassivityJudge::order_of(const World& world, const Moment& at, int t,
                                const Eigen::VectorXd& momentum) const {
  const Model& model = world.model();
  const Body &root = model.bodies[model.trees[t].first], &last = model.bodies[model.trees[t].last - 1];
  double power = 0, square = 0, there = tree_mass(model, t) * world.gravity().norm() * tree_size_[t];
  for (int i = root.first_v; i < last.first_v + last.dofs; ++i) {
    const double k = model.dof_properties[i].stiffness, x = k > 0 ? stretch(model, at.state, i) : 0;
    power += at.state.v[i] * at.potential_force[i];
    square += at.smooth[i] * at.answer[i];
    there += 0.5 * at.state.v[i] * momentum[i] + 0.5 * k * x * x;
  }
  return std::min(kMargin * (h_ * std::abs(power) + h_ * h_ * square), kMostOrder * there);
}

void PassivityJudge::add_energies(const World& world, Moment& out) {
  const Model& model = world.model();
  State at_rest = out.state;  // without dampers
  std::fill(at_rest.v.begin(), at_rest.v.end(), 0.0);
  add_passive_efforts(model, at_rest, out.smooth);
  out.potential_force.setZero(model.nv);
  bias_effort(model, at_rest, {}, scratch_, out.potential_force);
  out.potential_force = -out.potential_force;
  add_passive_efforts(model, at_rest, out.potential_force);
  out.potential = out.magnitude = out.springs = 0;
  out.potential_of_tree.assign(held_.size(), 0);
  for (int i = 1; i < model.body_count(); ++i) {
    if (held_[model.bodies[i].tree]) continue;
    const Vec3 moment =
        model.bodies[i].mass * Vec3(ws_.pose[i].p) + Mat3(ws_.pose[i].R) * Vec3(model.bodies[i].mass_com);
    out.potential -= world.gravity().dot(moment);
    out.potential_of_tree[model.bodies[i].tree] -= world.gravity().dot(moment);
    out.magnitude += std::abs(world.gravity().dot(moment));
  }
  for (int i = 0; i < model.nv; ++i) {
    const double k = model.dof_properties[i].stiffness, x = k > 0 ? stretch(model, out.state, i) : 0;
    if (held_[tree_of_dof(model, i)]) continue;
    out.springs += 0.5 * k * x * x;
    out.potential_of_tree[tree_of_dof(model, i)] += 0.5 * k * x * x;
  }
  out.potential += out.springs;
  out.magnitude += out.springs + out.kinetic;
}

/// Of what the drives gave, which is within their limits, on the way or at a velocity; what the joint's stop
/// holds of it does no work. The stop of a rotation acts along the axis that it is turned about, on all three
/// dofs, and is told as its first one's. Where energy was taken away, velocities at the end are not those
/// that they acted at, and what they took is not asked for.
double PassivityJudge::drive_work(const World& world) const {
  double work = 0;
  Eigen::VectorXd moved(model_.nv);
  difference(model_, before_.state.q_view(), now_.state.q_view(), moved);
  for (const JointEntry& joint : world.model().joints) {
    if (joint.first_v < 0 || held_[tree_of_dof(world.model(), joint.first_v)]) continue;
    const JointLoad load = world.load(joint.id);
    const int count = v_size(joint.kind);
    Eigen::VectorXd given(count);
    for (int k = 0; k < count; ++k) {
      const double limit = world.drive(joint.id, k).limit;
      given[k] = std::clamp(load.drive[k], -limit, limit);
      if (!turns(world.model(), joint.first_v + k)) given[k] = beside_stop(given[k], load.limit[k]);
    }
    if (turns(world.model(), joint.first_v + count - 1)) {
      const Vec3 axis = turned(world.model(), before_.state, joint.first_v + count - 1).normalized();
      const double along = axis.dot(given.tail<3>());
      given.tail<3>() += (beside_stop(along, load.limit[count - 3]) - along) * axis;
    }
    for (int k = 0; k < count; ++k) {
      const int i = joint.first_v + k;
      const double most = std::max(
          {given[k] * h_ * now_.state.v[i], given[k] * h_ * before_.state.v[i], given[k] * moved[i]});
      work += world.report().energy_taken > 0 ? std::max(0.0, most) : most;
    }
  }
  return work;
}

/// Of contacts, and of joints that close loops, on trees that move as they like, at most: what each of them
/// takes is not counted, what holds a joint turns within the step, and what slides along a guide that turns
/// comes to where that is faster.
double PassivityJudge::kinematic_work(const World& world) const {
  if (std::all_of(held_.begin(), held_.end(), [](std::uint8_t held) { return held == 0; })) return 0;
  const Model& model = world.model();
  double work = 0;
  const auto velocity_at = [&](const Workspace& ws, LinkId link, const Vec3& at) -> Motion {
    const int t = tree_of(model, link);
    if (t < 0 || !held_[t]) return {};
    return point_velocity(model, ws, link, link_pose(model, ws, link).inverse_apply(at));
  };
  const auto held_velocity = [&](LinkId link, const Vec3& at) { return velocity_at(start_, link, at); };
  for (const Contact& c : world.contacts()) {
    const Force on_b{c.moment, c.force};
    work += h_ * std::max(0.0, dot(on_b, held_velocity(c.link_a, c.point)));
    work += h_ * std::max(0.0, -dot(on_b, held_velocity(c.link_b, c.point)));
  }
  const auto add_loop = [&](JointId id, LinkId parent, LinkId child, const Transform& X_CM) {
    const Force on_child = world.load(id).wrench;
    for (const LinkId link : {parent, child}) {
      const Motion v = velocity_at(start_, link, link_pose(model, start_, child) * X_CM.p),
                   after = velocity_at(ws_, link, link_pose(model, ws_, child) * X_CM.p);
      work += h_ * (on_child.force.norm() * std::max(v.linear.norm(), after.linear.norm()) +
                    on_child.moment.norm() * std::max(v.angular.norm(), after.angular.norm()));
    }
  };
  const Mechanism& mechanism = world.scene().mechanism;
  for (const Loop& loop : model.loops) {
    if (!mechanism.contains(loop.joint)) continue;
    const Joint& joint = mechanism.joint(loop.joint);
    add_loop(loop.joint, joint.parent, mechanism.link(joint.child).real, joint.X_CM);
  }
  for (const Attachment& a : world.attachments()) add_loop(a.id, a.joint.parent, a.joint.child, a.joint.X_CM);
  return work;
}

/// What overlaps and joints beyond their limits hold by the forces that they carry.  (3)
double PassivityJudge::stored_now(const World& world) const {
  double sum = 0;
  for (const Contact& c : world.contacts())
    sum += std::max(0.0, -c.separation) * std::max(0.0, c.force.dot(c.normal));
  for (const JointEntry& joint : world.model().joints) {
    if (joint.first_v < 0) continue;
    const JointLoad load = world.load(joint.id);
    for (int k = 0; k < v_size(joint.kind); ++k) {
      const int i = joint.first_v + k;
      const DofProperties& p = world.model().dof_properties[i];
      const double at = dof_position(world.model(), before_.state.q_view(), i);
      const double beyond = turns(world.model(), i)
                                ? std::max(0.0, beyond_cone(world.model(), before_.state, i))
                                : std::max({0.0, p.lower - at, at - p.upper});
      sum += beyond * std::abs(load.limit[k]);
    }
  }
  return sum;
}

/// How far trees are above where a velocity leads from the start of the step, raised where they were less.
void PassivityJudge::raise_lift(const World& world, const Eigen::VectorXd& velocity,
                                std::vector<double>& lift) {
  straight_.state = before_.state;
  integrate(model_, straight_.state.q_view(), velocity, h_);
  straight_.smooth.setZero(model_.nv);
  update_poses(model_, straight_.state, ws_);
  add_energies(world, straight_);
  for (std::size_t t = 0; t < held_.size(); ++t)
    lift[t] = std::max(lift[t], now_.potential_of_tree[t] - straight_.potential_of_tree[t]);
}

/// (3). RK4 and explicit Euler move trees that turn far, or that something stops, as the others do all trees:
/// by the velocity at the end.
double PassivityJudge::lift_now(const World& world) {
  const Eigen::VectorXd before = before_.state.v_view(), after = now_.state.v_view();
  std::vector<double> lift(held_.size(), 0.0);
  raise_lift(world, after, lift);
  if (world.settings().integrator == Integrator::kExplicit) raise_lift(world, before, lift);
  if (world.settings().integrator == Integrator::kRk4) raise_lift(world, 0.5 * (before + after), lift);
  return std::min(std::accumulate(lift.begin(), lift.end(), 0.0), stored_now(world));
}

void PassivityJudge::fail(const char* fault, std::string detail) {
  if (!verdict_.holds()) return;
  verdict_.fault = fault, verdict_.detail = std::move(detail), verdict_.step = verdict_.steps;
}

void PassivityJudge::judge_soundness(const World& world) {
  for (const double x : world.state().q)
    if (!std::isfinite(x)) fail("not finite", "q");
  for (const double x : world.state().v)
    if (!std::isfinite(x)) fail("not finite", "v");
  for (const LinkEntry& link : world.model().links)
    if (world.quarantined(link.id)) fail("quarantine", link.name);
}

/// Of springs in place of contacts: they give back what they took, while what they push turns within the
/// step. Impulses act where the step starts: what they give is that at the mean of the velocities at both
/// ends, as these are there. Where something is squeezed while it slides, the velocity at the end has turned
/// off the force by the time the step has ended, and says less.
double PassivityJudge::spring_work(const World& world) {
  if (world.settings().contact != ContactModel::kPenalty) return 0;
  update_velocities(model_, now_.state, answered_);
  double work = 0;
  for (const Contact& c : world.contacts()) {
    const auto power = [&](const Workspace& at) {
      const auto velocity = [&](LinkId link) -> Vec3 {
        if (tree_of(model_, link) < 0) return Vec3::Zero();
        return point_velocity(model_, at, link, link_pose(model_, start_, link).inverse_apply(c.point))
            .linear;
      };
      return c.force.dot(velocity(c.link_b) - velocity(c.link_a));
    };
    const double turn = std::max(turn_of(tree_of(model_, c.link_a)), turn_of(tree_of(model_, c.link_b)));
    work += h_ * (1 + std::min(1.0, turn)) * std::max({0.0, power(start_), power(answered_), power(ws_)});
  }
  return work;
}

void PassivityJudge::judge_energy(const World& world) {
  const Eigen::VectorXd change = now_.state.v_view() - before_.state.v_view();
  Eigen::VectorXd Mchange(model_.nv);
  multiply(model_, before_.mass, change, Mchange);
  const double raised = now_.potential - before_.potential, gained = now_.kinetic - before_.kinetic;
  const double exchanged = std::abs(gained) + std::abs(raised) + 0.5 * of_responding(change, Mchange);  // (4)
  update_velocities(model_, now_.state, ws_);
  const double work = drive_work(world) + kinematic_work(world) + spring_work(world);
  const double lift = lift_now(world);
  double pushes = 0;
  for (const Contact& c : world.contacts()) pushes += h_ * c.force.norm();
  level_ += work + lift + kShare * exchanged + pushes * world.effective_settings().acceptable;
  lowest_ = std::min(lowest_, now_.potential);
  top_ = std::max(top_, energy());
  double order = 0;  // of the step: trees swing at times of their own
  for (std::size_t t = 0; t < held_.size(); ++t)
    order += std::max(before_.order_of_tree[t], now_.order_of_tree[t]);
  highest_order_ = std::max(highest_order_, order);
  const double made =
      energy() - level_ - highest_order_ - kRounding * (before_.magnitude + now_.magnitude);  // (2)
  verdict_.worst_made = std::max(verdict_.worst_made, made / (top_ - lowest_));
  if (made > 0)
    fail("made energy", fmt::format("{:.3g} J of {:.3g} J, in a step that exchanged {:.3g} J", made,
                                    top_ - lowest_, exchanged));
  if (energy() + now_.order > level_) return;
  level_ = energy() + now_.order;
  highest_order_ = now_.order;
}

/// What a tree turns in the step, all its joints together, at most [rad]
double PassivityJudge::turn_of(int t) const {
  double turn = 0;
  if (t < 0) return turn;
  const Body &first = model_.bodies[model_.trees[t].first], &last = model_.bodies[model_.trees[t].last - 1];
  for (int i = first.first_v; i < last.first_v + last.dofs; ++i)
    if (model_.dofs[i].kind != DofKind::kTranslation)
      turn += h_ * std::max(std::abs(before_.state.v[i]), std::abs(now_.state.v[i]));
  if (first.alone)
    turn = std::max(turn, h_ * std::max(fastest_spin(model_, first, before_.state),
                                        fastest_spin(model_, first, now_.state)));
  return turn;
}

/// How far the chord of what loops hold may lead a dof beside its velocity.
double PassivityJudge::chord_of(int dof) const {
  constexpr double kBorrowed = 0.01;  // of the energy of motion
  MassMatrix factored = before_.mass;
  factor(model_, factored);
  Eigen::VectorXd unit = Eigen::VectorXd::Unit(model_.nv, dof);
  solve(model_, factored, unit);
  return h_ * std::sqrt(2 * kBorrowed * std::max(before_.kinetic, now_.kinetic) * unit[dof]);
}

/// What a coordinate may move beside its velocities.
double PassivityJudge::parting_bound(const World& world, int dof, double depth) const {
  const Model& model = world.model();
  const int t = tree_of_dof(model, dof);
  const bool joined = !model.loops.empty() || !world.attachments().empty();  // by loops: all trees turn
  double turn = joined ? 0 : turn_of(t);
  for (std::size_t other = 0; other < model.trees.size() && joined; ++other)
    turn += turn_of(static_cast<int>(other));
  const bool slides = model.dofs[dof].kind == DofKind::kTranslation;
  const double reach = slides ? tree_size_[t] : 1;
  const double correction = slides ? depth : std::min(1.0, 10 * depth / tree_size_[t]);
  const double within = h_ * h_ * std::max(std::abs(before_.answer[dof]), std::abs(now_.answer[dof]));
  // What loops hold speeds up and slows down again within a step or two where they are nearly singular, and
  // velocities are turned along them after they have moved it.
  const double held = joined ? h_ * std::max(std::abs(before_.state.v[dof] - earlier_v_[dof]),
                                             std::abs(now_.state.v[dof] - before_.state.v[dof]))
                             : 0;
  return reach * turn * std::min(1.0, turn) + std::min(within + held, reach) + correction + 1e-9 * reach;
}

/// Velocities after impacts, which act at the start of RK4's steps: what contacts did beside the impulses
/// that last for the step.
Eigen::VectorXd PassivityJudge::struck(const World& world) {
  const Model& model = world.model();
  std::vector<Force> on_body(model.body_count());
  const auto add = [&](LinkId link, const Contact& c, double sign) {
    const LinkEntry* entry = model.find(link);
    if (!entry || entry->body == 0) return;
    const Vec3 force = sign * (h_ * c.force - c.impulse), moment = sign * (h_ * c.moment - c.turning_impulse);
    const Vec3 arm = c.point - Vec3(start_.pose[entry->body].p);
    on_body[entry->body] = on_body[entry->body] + Force{moment + arm.cross(force), force};
  };
  for (const Contact& c : world.contacts()) add(c.link_a, c, -1), add(c.link_b, c, 1);
  Eigen::VectorXd without(model.nv), with(model.nv);
  bias_effort(model, before_.state, {}, scratch_, without);
  bias_effort(model, before_.state, on_body, scratch_, with);
  MassMatrix factored = before_.mass;
  factor(model, factored);
  Eigen::VectorXd change = without - with;
  solve(model, factored, change);
  return before_.state.v_view() + change;
}

void PassivityJudge::judge_positions(const World& world) {
  const Model& model = world.model();
  const bool stages = world.settings().integrator == Integrator::kRk4;
  const Eigen::VectorXd after_impacts = stages ? struck(world) : Eigen::VectorXd(before_.state.v_view());
  double depth = beyond_limits(model, before_.state);
  for (const auto& [pair, deep] : depths(world)) depth += std::max(0.0, deep);
  if (!model.loops.empty())
    depth +=
        open_loops(model, before_.state, start_, *std::max_element(tree_size_.begin(), tree_size_.end()));
  const std::vector<std::uint8_t> awake = trees_awake(world);
  Eigen::VectorXd moved(model.nv);
  difference(model, before_.state.q_view(), now_.state.q_view(), moved);
  for (int i = 0; i < model.nv; ++i) {
    const double a = h_ * before_.state.v[i], b = h_ * now_.state.v[i];
    const double c = h_ * after_impacts[i];
    double parting = std::abs(moved[i] - std::clamp(moved[i], std::min({a, b, c}), std::max({a, b, c})));
    if (stages) parting = std::max(0.0, parting - std::abs(b - a));  // and so do impacts on joints' stops
    if (turns(model, i) && std::abs(a) + std::abs(b) > 1) continue;  // more than half a turn is not told
    double bound = parting_bound(world, i, depth);
    if (!awake[tree_of_dof(model, i)])
      bound += 10 * h_ * world.effective_settings().sleep.speed;  // fell asleep
    if (parting > bound && (!model.loops.empty() || !world.attachments().empty())) bound += chord_of(i);
    verdict_.worst_parting = std::max(verdict_.worst_parting, parting / bound);
    if (parting > bound)
      fail("position and velocity part",
           fmt::format("dof {} of tree {} moved {:.3g}, h v {:.3g} to {:.3g}, depth {:.3g}, bound {:.3g}", i,
                       tree_of_dof(model, i), moved[i], a, b, depth, bound));
  }
}

/// Whether drives, what is kinematic, or springs in place of contacts may work on anything.
bool PassivityJudge::something_works(const World& world) const {
  if (world.settings().contact == ContactModel::kPenalty) return true;
  if (std::any_of(held_.begin(), held_.end(), [](std::uint8_t held) { return held != 0; })) return true;
  for (const JointEntry& joint : world.model().joints)
    for (int k = 0; joint.first_v >= 0 && k < v_size(joint.kind); ++k)
      if (const Drive& drive = world.drive(joint.id, k); drive.stiffness > 0 || drive.damping > 0)
        return true;
  return false;
}

void PassivityJudge::watch(World& world) {
  watches_ = true;
  world.watch_parts([this](const World& now) {
    if (!verdict_.holds()) return;
    const double whole = now.settings().dt / now.settings().substeps, passed = now.time() - now_.state.time;
    h_ = std::abs(passed - whole) < 1e-6 * whole ? whole : passed;
    look(now);
  });
}

bool PassivityJudge::look(const World& world) {
  ++verdict_.steps;
  judge_soundness(world);
  if (!verdict_.holds()) return false;
  earlier_v_ = before_.state.v;
  std::swap(before_, now_);
  update_poses(model_, before_.state, start_);
  update_velocities(model_, before_.state, start_);
  update_poses(model_, before_.state, answered_);
  take(world, now_);
  // what acted within a step that was made in parts is told of the last of them
  const bool unseen = !watches_ && world.report().parts > world.settings().substeps;
  if (!unseen) judge_positions(world);
  if (unseen && something_works(world)) level_ = std::max(level_, energy());
  judge_energy(world);
  return verdict_.holds();
}

Verdict judge(const RandomWorld& random, const JudgeOptions& options) {
  Verdict verdict;
  Result<World> world = start(random);
  if (!world.ok()) {
    verdict.fault = "refused", verdict.detail = to_string(world.errors());
    return verdict;
  }
  const auto began = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  PassivityJudge judge(*world, random.kinematic);
  const int steps = std::clamp(static_cast<int>(options.seconds / random.settings.dt), 1, options.max_steps);
  judge.watch(*world);
  for (int k = 0; k < steps && elapsed() < options.patience && judge.verdict().holds(); ++k) world->step();
  verdict = judge.verdict();
  verdict.seconds = elapsed();
  return verdict;
}

std::string to_line(const RandomWorld& world, const Verdict& v) {
  return fmt::format("{}: {}; made {:.2g}, parting {:.2g} of its bound", world.title(),
                     v.holds() ? fmt::format("holds for {} steps", v.steps)
                               : fmt::format("{} in step {} ({})", v.fault, v.step, v.detail),
                     v.worst_made, v.worst_parting);
}

}  // namespace karakuri::test
