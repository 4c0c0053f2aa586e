// W of the energy ledger (energy_ledger.cc): the work of all that may do any in a step, as much as it can be.
// Rows that are driven, that give way, or that undo errors of positions by velocities; what is kinematic,
// through the rows that hold something to it; efforts, drives, forces; and overlaps that come apart.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "karakuri/constraint/joint_rows.h"
#include "karakuri/dynamics/loop_rows.h"
#include "karakuri/dynamics/response.h"
#include "karakuri/model/configuration.h"
#include "world/correct_positions.h"
#include "world/dofs.h"
#include "world/energy_ledger.h"

namespace karakuri::world_detail {

namespace {

using Velocity = Workspace::Velocity;

Eigen::Map<const Eigen::VectorXd> as_vector(const std::vector<double>& v) {
  return {v.data(), static_cast<Eigen::Index>(v.size())};
}

/// Whether a row may give energy: it is driven, or gives back what it has taken, or undoes errors of
/// positions by velocities.
bool is_active(const World::Impl& w, const RowBlock& block, int row) {
  return block.source == RowSource::kDrive || block.source == RowSource::kSpring ||
         w.rows.compliance[row] > 0 || w.settings.stabilization.kind != Stabilization::kPosition;
}

/// Of impulses that act together, at the velocities at both ends of the step.
struct Work {
  double before = 0, after = 0;

  /// @param most  that the row may give
  void add(const World::Impl& w, const ImpulseRow& row, double impulse,
           double most = std::numeric_limits<double>::infinity()) {
    double u = 0;
    const std::span<const ImpulseRow> one(&row, 1);
    row_velocities(one, w.ws, Eigen::Map<Eigen::VectorXd>(&u, 1));
    before += std::min(impulse * u, most);
    row_velocities(one, w.ws, w.trial_velocity, Eigen::Map<Eigen::VectorXd>(&u, 1));
    after += std::min(impulse * u, most);
  }
  /// What gives way has taken before what it gives.
  double in_all(bool gives_way) const {
    const double work = std::max(before, after);
    return gives_way ? std::max(0.0, work) : work;
  }
};

/// Of a contact by springs.
void enter(const Work& work, double carried, ContactSprings& a) {
  a.most += work.in_all(true);
  a.mean += 0.5 * (work.before + work.after);
  a.carried += carried;
}

/// What is kinematic gives to a spring in place of a contact that is no row.
double carried_by(const World::Impl& w, const Contact& c, const ImpulseRow& row, double impulse) {
  if (!w.has_unresponsive) return 0;
  const auto velocity = [&](int collider) -> Vec3 {
    const int body = w.colliders[collider].body;
    if (w.tree_of[body] < 0 || w.responds(body)) return Vec3::Zero();
    const Velocity& v = w.ws.velocity[body];
    return Vec3(v.v) + Vec3(v.w).cross(row.point - Vec3(w.ws.pose[body].p));
  };
  return -impulse * row.force.dot(velocity(c.collider_b) - velocity(c.collider_a));
}

/// Of a row that holds what responds to what is kinematic.
void add_work_of_hold(World::Impl& w, const RowBlock& block, int row, HeldWork& a) {
  double u = 0;
  row_velocities({&w.rows.impulses[row], 1}, w.ws, w.trial_velocity, Eigen::Map<Eigen::VectorXd>(&u, 1));
  const double impulse = w.total[row], carried = w.row_carried[row];
  a.given -= impulse * carried;
  a.received += impulse * u;
  double pushes = 0, moves = 0;  // of all rows of its loop, as vectors
  for (int i = block.row; i < block.row + block.size; ++i)
    pushes += w.total[i] * w.total[i], moves += w.row_carried[i] * w.row_carried[i];
  a.most += std::sqrt(pushes * moves) * impulse * impulse / pushes;
  a.undone += std::abs(impulse * (u + carried + w.rows.bias[row]));
  a.pressed += std::abs(impulse) * (std::abs(u) + std::abs(carried));
}

/// How fast what is kinematic moves where a loop holds something to it: linear and angular.
std::array<double, 2> speed_of_carrier(const World::Impl& w, const Loop& loop) {
  std::array<double, 2> speed{};
  const Vec3 at = loop_rows(loop, w.ws).row[0].point;
  for (const int body : {loop.body_f, loop.body_m}) {
    if (w.tree_of[body] < 0 || w.responds(body)) continue;
    const Velocity& v = w.ws.velocity[body];
    const Vec3 arm = at - Vec3(w.ws.pose[body].p);
    speed[0] = std::max(speed[0], (Vec3(v.v) + Vec3(v.w).cross(arm)).norm());
    speed[1] = std::max(speed[1], Vec3(v.w).norm());
  }
  return speed;
}

/// What the load of a loop could give in the step, whichever way it points: the impulses of its rows and
/// those of loops.cc at the end of the step may be many times that, and cancel.
double told_work(const World::Impl& w, const RowBlock& block) {
  const Loop& loop = w.model.loops[block.index];
  const int t = w.tree_of[w.responds(loop.body_f) ? loop.body_f : loop.body_m];
  const std::array<double, 6>& turning = w.loop_turning[block.index];
  const bool in_stages = w.integrator_of(t) == Integrator::kRk4 && turning != std::array<double, 6>{};
  Vec3 force = Vec3::Zero(), moment = Vec3::Zero();
  for (int k = 0, row = block.row; k < 6; ++k) {
    if (!(block.which >> k & 1)) continue;
    const double impulse = (in_stages ? 0 : w.total[row]) + turning[k] / w.rows.unit[row];
    force += impulse * w.rows.impulses[row].force;
    moment += impulse * w.rows.impulses[row].moment;
    ++row;
  }
  const std::array<double, 2>&start = w.loop_speed[block.index], end = speed_of_carrier(w, loop);
  return force.norm() * std::max(start[0], end[0]) + moment.norm() * std::max(start[1], end[1]);
}

/// Of an effort while a dof's velocity goes from one to another, as much as it can be; RK4 follows it on the
/// way.
double work_between(const World::Impl& w, double effort, double before, double after) {
  const double mean = 0.5 * effort * (before + after);
  return w.h_now *
         (w.settings.integrator == Integrator::kRk4 ? mean : std::max(effort * before, effort * after));
}

}  // namespace

double drive_effort_at(const World::Impl& w, int dof, double rate) {
  const Drive& drive = w.drives[dof];
  const double lead = w.implicit[dof] > 0 ? w.h_now : 0;
  const double at = dof_position(w.model, as_vector(w.q_before), dof) + lead * rate;
  return drive.stiffness * (drive.q_target - at) + drive.damping * (drive.v_target - rate);
}

bool rows_do_work(const World::Impl& w) {
  if (w.has_unresponsive || w.settings.stabilization.kind != Stabilization::kPosition)
    return w.rows.size() > 0;
  const std::vector<double>& c = w.rows.compliance;
  return std::any_of(c.begin(), c.end(), [](double x) { return x > 0; }) ||
         std::any_of(w.rows.blocks.begin(), w.rows.blocks.end(), [](const RowBlock& block) {
           return block.source == RowSource::kDrive || block.source == RowSource::kSpring;
         });
}

void add_work_of_rows(World::Impl& w) {
  if (w.has_unresponsive) {
    w.loop_speed.resize(w.model.loops.size());
    for (const RowBlock& block : w.rows.blocks)
      if (block.source == RowSource::kLoop)
        w.loop_speed[block.index] = speed_of_carrier(w, w.model.loops[block.index]);
  }
  Work active;
  double kinematic = 0;  // what is kinematic gives to it
  for (std::size_t b = 0; b < w.rows.blocks.size(); ++b) {
    const RowBlock& block = w.rows.blocks[b];
    const int t = tree_of_row(w, w.rows.impulses[block.row]);
    if (t < 0) continue;
    for (int i = block.row; i < block.row + block.size; ++i) {
      if (w.total[i] == 0) continue;
      const double carried = w.has_unresponsive ? -w.total[i] * w.row_carried[i] : 0;
      if (is_active(w, block, i)) {
        active.add(w, w.rows.impulses[i], w.total[i]);
        kinematic += carried;
      } else if (block.source == RowSource::kExcess)
        active.add(w, w.rows.impulses[i], w.total[i], carried);
      else if (w.has_unresponsive && is_held(block.source))
        add_work_of_hold(w, block, i, w.accounts[t].held);
      else
        w.accounts[t].work += carried;
    }
    // What keeps a spring from giving way too far takes from what the spring gives: the two are one contact.
    if (b + 1 < w.rows.blocks.size() && w.rows.blocks[b + 1].source == RowSource::kExcess) continue;
    const Work work = std::exchange(active, {});
    if (block.source == RowSource::kExcess ||
        (block.source == RowSource::kContact && is_by_springs(w, w.contacts[block.index])))
      enter(work, kinematic, w.accounts[t].contact);
    else
      w.accounts[t].work += work.in_all(block.source != RowSource::kDrive);
    kinematic = 0;
  }
  for (std::size_t i = 0; i < w.penalty_rows.size(); ++i) {
    Work push;
    push.add(w, w.penalty_rows[i], w.penalty_impulses[i]);
    if (const int t = tree_of_row(w, w.penalty_rows[i]); t >= 0)
      enter(push, carried_by(w, w.contacts[w.penalty_contact[i]], w.penalty_rows[i], w.penalty_impulses[i]),
            w.accounts[t].contact);
  }
}

// What is kinematic gives to a set through loops that are held: at the start of the step, or along the chord
// that it leads to, which is no more than the impulses could give at its velocity, whichever way that turns.
// Rows that contradict each other are not solved, and press without bound: what they give is not needed to
// carry anything. Nor is it more than what the loads that are told can give.
double work_of(const HeldWork& set) {
  constexpr double kUndone = 1e-3;
  const bool contradicts = set.undone > kUndone * set.pressed;
  if (contradicts) return std::min(0.0, set.received) + std::min(0.0, set.by_stages);
  return std::min(std::max(set.given, std::min(set.received, set.most)) + set.by_stages, set.told);
}

// RK4 holds loops in its stages, where others do by rows.
void sum_held_work(World::Impl& w) {
  for (EnergyAccount& a : w.accounts) a.set_held = {};
  for (std::size_t t = 0; t < w.trees.size(); ++t) {
    const EnergyAccount& a = w.accounts[t];
    if (!a.counts) continue;
    HeldWork& set = w.accounts[find_set(w.accounts, static_cast<int>(t))].set_held;
    if (w.integrator_of(static_cast<int>(t)) != Integrator::kRk4) set += a.held;
    set.by_stages += w.given_by_loops[t];
    if (loops_contradict(w, static_cast<int>(t))) set.undone = std::numeric_limits<double>::infinity();
  }
  for (const RowBlock& block : w.rows.blocks) {
    const int t = w.has_unresponsive ? tree_of_row(w, w.rows.impulses[block.row]) : -1;
    if (t < 0 || !is_held(block.source)) continue;
    w.accounts[find_set(w.accounts, t)].set_held.told +=
        block.source == RowSource::kLoop ? told_work(w, block) : std::numeric_limits<double>::infinity();
  }
}

double work_on_dofs(const World::Impl& w, const Tree& tree, const std::vector<double>& after) {
  double work = 0;
  for (int i = first_dof(w.model, tree); i < end_dof(w.model, tree); ++i) {
    if (w.effort[i] != 0) work += work_between(w, w.effort[i], w.v_before[i], after[i]);
    if (is_driven_freely(w, i)) work += work_between(w, w.drive_effort_of(i), w.v_before[i], after[i]);
  }
  return work;
}

double work_of_forces(const World::Impl& w, const Tree& tree) {
  double work = 0;
  for (int i = tree.first; i < tree.last && !w.applied.empty(); ++i) {
    const Force& f = w.f_ext[i];
    const Velocity &a = w.ws.velocity[i], &b = w.trial_velocity[i];
    work += w.h_now * (f.moment.norm() * std::max(Vec3(a.w).norm(), Vec3(b.w).norm()) +
                       f.force.norm() * std::max(Vec3(a.v).norm(), Vec3(b.v).norm()));
  }
  return work;
}

double driven_work(World::Impl& w, int set, const std::vector<double>& after) {
  double work = 0;
  for_each_of(w, set, [&](int, const Tree& tree) { work += work_on_dofs(w, tree, after); });
  for (const RowBlock& block : w.rows.blocks) {
    if (block.source != RowSource::kDrive) continue;
    const int dof = block.index, t = w.tree_of[w.model.dofs[dof].body];
    if (!w.accounts[t].counts || find_set(w.accounts, t) != set) continue;
    const double impulse = w.rows.unit[block.row] * w.total[block.row];
    work += std::max(impulse * w.v_before[dof], impulse * after[dof]);
  }
  return work;
}

// Overlaps that come apart may lift what lies on them, as far as the forces between them over what is undone
// of their depths.
void add_work_of_overlaps(World::Impl& w, double h) {
  if (!w.is_shifted) return;
  for (const RowBlock& block : w.rows.blocks) {
    const double undone = -wanted_shift(w, block, h);
    const int t = undone > 0 ? tree_of_row(w, w.rows.impulses[block.row]) : -1;
    if (t >= 0) w.accounts[t].stored += undone * std::max(0.0, w.total[block.row]) / h;
  }
}

}  // namespace karakuri::world_detail
