// How far positions are corrected. The pseudo-impulses p of solver/island.h (3) shift positions by
//   s = M^-1 J^T p                                                                                        (1)
// A contact near a joint's axis, or one of several that contradict each other, may ask for a large motion to
// gain a small distance. So rows give way,
//   (W + C) p + gap >= 0,   C = max(a W_ii, b (1 / m_A + 1 / m_B))                                        (2)
// which bounds p whatever the mobility W_ii: where the energy of (1) is W_ii p^2 / 2, a body of mass m moves
// by at most p sqrt(W_ii / m), which (2) keeps below depth / (2 sqrt(b)). And no shape of a tree moves
// further than a few times what the depths of its contacts and limits warrant,
//   |s| <= c max(depth that is undone)                                                                    (3)
// and no joint turns by more than a part of a radian, or all of its shift is shortened. Springs of joints
// that are wound by it hold against it in the next steps, and what goes on to push would wind them without a
// bound. So a tree moves within itself only to where they resist as much as its weight m g,
//   e . s + s . K s / 2 <= m g max(depth that is undone),   e = K (q - rest)                              (4)
// with g = v^2 / l from the scene (scales.h), which is gravity where there is any; and beyond that as a
// whole, if its joint is free. What resists more stays in the other, and is told as penetration.
#include "world/correct_positions.h"

#include <algorithm>
#include <cmath>

#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/response.h"
#include "world/dofs.h"
#include "world/reach.h"
#include "world/rigid_motion.h"

namespace karakuri {

using world_detail::BodyShape;
using world_detail::kMostTurn;

namespace {

constexpr double kMost = 2;  // c of (3)

/// Takes down what the rows of a block warrant for the trees that they act on.
void warrant(World::Impl& w, const RowBlock& block, double h) {
  const double wanted = -world_detail::wanted_shift(w, block, h);
  if (!(wanted > 0)) return;
  for (const ImpulseRow* row = &w.rows.impulses[block.row]; row; row = row->more)
    for (const int body : {row->body, row->other}) {
      const int t = w.tree_of[body];
      if (t < 0) continue;
      const bool turns = row->force.isZero(0);  // angles, times a length: see Rows
      const double arm = turns ? w.tree_reach[t] / w.rows.unit[block.row] : 1;
      w.shift_warranted[t] = std::max(w.shift_warranted[t], arm * wanted);
    }
}

/// (4): the share of a tree's shift that its springs let pass.
double share_of_springs(const World::Impl& w, int t) {
  double resists = 0, stiffens = 0;
  for (const World::Impl::Passive& p : w.passive_of(t)) {
    if (!(p.stiffness > 0)) continue;
    const double s = w.shift[p.dof];
    resists += p.stiffness * (dof_position(w.model, w.state.q_view(), p.dof) - p.rest) * s;
    stiffens += 0.5 * p.stiffness * s * s;
  }
  const double g = w.scales.speed * w.scales.speed / w.scales.length;
  const double left = w.tree_mass[t] * g * w.shift_warranted[t] - resists;
  return stiffens > left ? std::max(0.0, left) / stiffens : 1;
}

/// @pre trial_velocity at the shift
void let_springs_resist(World::Impl& w) {
  const Eigen::Map<const Eigen::VectorXd> shift(w.shift.data(), w.model.nv);
  for (std::size_t t = 0; t < w.trees.size(); ++t) {
    if (!(w.shift_warranted[t] > 0)) continue;
    const double share = share_of_springs(w, static_cast<int>(t));
    if (share == 1) continue;
    world_detail::slow_within(w, w.model.trees[t], share, w.shift);
    body_velocities(w.model, w.ws, shift, w.model.trees[t], w.trial_velocity);
  }
}

void find_shifted(World::Impl& w) {
  const Eigen::Map<const Eigen::VectorXd> shift(w.shift.data(), w.model.nv);
  for (std::size_t t = 0; t < w.trees.size(); ++t)
    if (w.shift_warranted[t] > 0) body_velocities(w.model, w.ws, shift, w.model.trees[t], w.trial_velocity);
  let_springs_resist(w);
  for (const BodyShape& c : w.colliders) {
    const int t = w.tree_of[c.body];
    if (t < 0 || !(w.shift_warranted[t] > 0)) continue;
    const Workspace::Velocity& by = w.trial_velocity[c.body];
    w.shifted[t] = std::max(w.shifted[t], world_detail::speed_of(c, by.v, by.w));
  }
}

/// Whether something that does not respond pushes a tree of the set, by its root.
void find_pushed_sets(World::Impl& w) {
  std::fill(w.pushed.begin(), w.pushed.end(), std::uint8_t{0});
  for (const RowBlock& block : w.rows.blocks) {
    if (w.correction[block.row] == 0 && w.total[block.row] == 0) continue;
    for (const ImpulseRow* row = &w.rows.impulses[block.row]; row; row = row->more) {
      const int a = w.tree_of[row->body], b = w.tree_of[row->other];
      if ((a < 0) != (b < 0)) w.pushed[w.root_of(std::max(a, b))] = 1;
    }
  }
  for (std::size_t t = 0; t < w.trees.size(); ++t)
    if (w.model.bodies[w.model.trees[t].first].kind != JointKind::kFree)
      w.pushed[w.root_of(static_cast<int>(t))] = 1;
}

/// (3). Trees that push nothing but each other are shortened alike, so that their centre of mass stays.
void shorten(World::Impl& w) {
  find_pushed_sets(w);
  const auto share_of = [&](std::size_t t) {
    const double most = kMost * w.shift_warranted[t],
                 turn = world_detail::largest_turn(w.model, w.model.trees[t], w.shift);
    return std::min(w.shifted[t] > most ? most / w.shifted[t] : 1, turn > kMostTurn ? kMostTurn / turn : 1);
  };
  std::vector<double>& share = w.free_until;  // by root
  std::fill(share.begin(), share.end(), 1.0);
  for (std::size_t t = 0; t < w.trees.size(); ++t) {
    double& of_set = share[w.root_of(static_cast<int>(t))];
    if (w.shift_warranted[t] > 0) of_set = std::min(of_set, share_of(t));
  }
  for (std::size_t t = 0; t < w.trees.size(); ++t) {
    const int root = w.root_of(static_cast<int>(t));
    const double own = !(w.shift_warranted[t] > 0) ? 0 : w.pushed[root] ? share_of(t) : share[root];
    const Tree& tree = w.model.trees[t];
    const Body &first = w.model.bodies[tree.first], &last = w.model.bodies[tree.last - 1];
    for (int i = first.first_v; i < last.first_v + last.dofs && own != 1; ++i) w.shift[i] *= own;
    w.shifted[t] *= own;
  }
}

}  // namespace

namespace {

/// Rows of an explicit step know where the velocity of its start would lead (build_rows.cc). What turns out
/// to be moved plainly does not go there.
double velocity_not_gone(const World::Impl& w, const RowBlock& block) {
  if (w.settings.integrator != Integrator::kExplicit) return 0;
  const ImpulseRow& row = w.rows.impulses[block.row];
  for (const int body : {row.body, row.other}) {
    if (!w.responds(body) || !w.led_by_start[w.tree_of[body]] || !w.plain[w.tree_of[body]]) continue;
    double u = 0;
    row_velocities({&row, 1}, w.ws, Eigen::Map<Eigen::VectorXd>(&u, 1));
    return u + (w.has_unresponsive ? w.row_carried[block.row] : 0);
  }
  return 0;
}

}  // namespace

double world_detail::wanted_shift(const World::Impl& w, const RowBlock& block, double h) {
  if (block.source != RowSource::kContact && !is_limit(block.source)) return 0;
  if (w.rows.compliance[block.row] > 0) return 0;  // soft: as deep as its spring lets it
  const solver::PositionCorrection c = correction_of(w.settings.stabilization, h);
  return c.undone(c.gap(w.rows.error[block.row], w.row_velocity[block.row] - velocity_not_gone(w, block)));
}

void World::Impl::find_shift(double h) {
  is_shifted = std::any_of(slots.begin(), slots.end(), [](const auto& slot) { return slot.corrected; });
  std::fill(shifted.begin(), shifted.end(), 0.0);
  if (!is_shifted) return;
  std::fill(shift.begin(), shift.end(), 0.0);
  std::fill(shift_warranted.begin(), shift_warranted.end(), 0.0);
  apply_impulses(model, rows.impulses, Eigen::Map<const Eigen::VectorXd>(correction.data(), rows.size()), ws,
                 Eigen::Map<Eigen::VectorXd>(shift.data(), model.nv));  // (1)
  for (const RowBlock& block : rows.blocks) warrant(*this, block, h);
  find_shifted(*this);
  shorten(*this);
}

}  // namespace karakuri
