// How far positions are corrected. The pseudo-impulses p of solve_islands.cc (3) shift positions by
//   s = M^-1 J^T p                                                                                        (1)
// A contact near a joint's axis, or one of several that contradict each other, may ask for a large motion to
// gain a small distance. So rows give way,
//   (W + C) p + gap >= 0,   C = max(a W_ii, b (1 / m_A + 1 / m_B))                                        (2)
// which bounds p whatever the mobility W_ii: where the energy of (1) is W_ii p^2 / 2, a body of mass m moves
// by at most p sqrt(W_ii / m), which (2) keeps below depth / (2 sqrt(b)). And no shape of a tree moves
// further than a few times what the depths of its contacts and limits warrant,
//   |s| <= c max(depth that is undone)                                                                    (3)
// or all of its shift is shortened.
#include "world/correct_positions.h"

#include <algorithm>
#include <cmath>

#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/response.h"
#include "world/reach.h"

namespace karakuri {

using world_detail::BodyShape;

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

void find_shifted(World::Impl& w) {
  const Eigen::Map<const Eigen::VectorXd> shift(w.shift.data(), w.model.nv);
  for (std::size_t t = 0; t < w.trees.size(); ++t)
    if (w.shift_warranted[t] > 0) body_velocities(w.model, w.ws, shift, w.model.trees[t], w.trial_velocity);
  for (const BodyShape& c : w.colliders) {
    const int t = w.tree_of[c.body];
    if (t < 0 || !(w.shift_warranted[t] > 0)) continue;
    const Workspace::Velocity& by = w.trial_velocity[c.body];
    w.shifted[t] = std::max(w.shifted[t], world_detail::speed_of(c, by.v, by.w));
  }
}

/// (3)
void shorten(World::Impl& w, int t) {
  const Tree& tree = w.model.trees[t];
  const Body &root = w.model.bodies[tree.first], &last = w.model.bodies[tree.last - 1];
  const double most = kMost * w.shift_warranted[t];
  const double share = w.shifted[t] > most ? most / w.shifted[t] : 1;
  if (share == 1) return;
  for (int i = root.first_v; i < last.first_v + last.dofs; ++i) w.shift[i] *= share;
  w.shifted[t] = most;
}

/// What the shift raises, of height: energy that overlaps had stored, as far as their forces over their
/// depths account for it [J].
double energy_released(World::Impl& w, double h) {
  const Eigen::Map<const Eigen::VectorXd> shift(w.shift.data(), w.model.nv);
  double risen = 0, stored = 0;
  for (std::size_t t = 0; t < w.trees.size(); ++t) {
    if (!(w.shift_warranted[t] > 0)) continue;
    const Tree& tree = w.model.trees[t];
    body_velocities(w.model, w.ws, shift, tree, w.trial_velocity);
    for (int i = tree.first; i < tree.last; ++i) {
      const Vec3 moment = Mat3(w.ws.pose[i].R) * Vec3(w.model.bodies[i].mass_com);
      const Workspace::Velocity& by = w.trial_velocity[i];
      risen -= w.model.gravity.dot(w.model.bodies[i].mass * Vec3(by.v) + Vec3(by.w).cross(moment));
    }
  }
  for (const RowBlock& block : w.rows.blocks)
    stored += std::max(0.0, -world_detail::wanted_shift(w, block, h)) * w.total[block.row] / h;
  return std::clamp(risen, 0.0, std::max(0.0, stored));
}

}  // namespace

double world_detail::wanted_shift(const World::Impl& w, const RowBlock& block, double h) {
  if (block.source != RowSource::kContact && !is_limit(block.source)) return 0;
  const StabilizationSettings& s = w.settings.stabilization;
  if (w.rows.compliance[block.row] > 0) return 0;  // soft: as deep as its spring lets it
  return undone(s, w.rows.error[block.row] + h * w.row_velocity[block.row] + s.slop, h);
}

namespace {

/// What rows that give way have given back: the work of springs whose energy nobody counts [J].
double energy_of_springs(const World::Impl& w) {
  double sum = 0;
  for (const RowBlock& block : w.rows.blocks) {
    if (block.source == RowSource::kDrive || block.source == RowSource::kSpring) continue;  // counted as work
    for (int i = block.row; i < block.row + block.size; ++i)
      if (w.rows.compliance[i] > 0) sum += std::max(0.0, w.total[i] * w.row_velocity[i]);
  }
  return sum;
}

}  // namespace

void World::Impl::find_shift(double h) {
  released = energy_of_springs(*this);
  is_shifted = std::any_of(slots.begin(), slots.end(), [](const auto& slot) { return slot.corrected; });
  std::fill(shifted.begin(), shifted.end(), 0.0);
  if (!is_shifted) return;
  std::fill(shift.begin(), shift.end(), 0.0);
  std::fill(shift_warranted.begin(), shift_warranted.end(), 0.0);
  apply_impulses(model, rows.impulses, Eigen::Map<const Eigen::VectorXd>(correction.data(), rows.size()), ws,
                 Eigen::Map<Eigen::VectorXd>(shift.data(), model.nv));  // (1)
  for (const RowBlock& block : rows.blocks) warrant(*this, block, h);
  find_shifted(*this);
  for (std::size_t t = 0; t < trees.size(); ++t) {
    if (shift_warranted[t] > 0) {
      shorten(*this, static_cast<int>(t));
      continue;
    }
    const Tree& tree = model.trees[t];
    const Body &root = model.bodies[tree.first], &last = model.bodies[tree.last - 1];
    std::fill(shift.begin() + root.first_v, shift.begin() + last.first_v + last.dofs, 0.0);
  }
  released += energy_released(*this, h);
}

}  // namespace karakuri
