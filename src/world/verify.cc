// Islands at rest are solved already: the impulses of the last step hold this one too. Where all trees of an
// island hardly moved in the last step, its old impulses are tried before anything is assembled,
//   u = J (v_free + M^-1 J^T lambda)                                                                      (1)
// and kept when the natural map of u and lambda is well within tolerance. That costs one pass over bodies and
// rows. An error that is let through comes back as velocity in the next step, and stacks magnify it from step
// to step. Impulses that stop such a motion are not those that hold the stack afterwards: a residual that is
// not there because something moves already, but will make it move, is let through only where it is tiny.
#include <algorithm>
#include <cmath>

#include "karakuri/constraint/joint_rows.h"
#include "karakuri/dynamics/kinematics.h"
#include "solver/accuracy.h"
#include "world/assemble.h"
#include "world/impl.h"

namespace karakuri {

using world_detail::Island;
using world_detail::Slot;

namespace {

/// rho of solver::Measure::kScaled from the last step's contact, or from the dof's own articulated inertia;
/// 0: unknown.
double rho_of(const World::Impl& w, const RowBlock& block) {
  switch (block.source) {
    case RowSource::kContact: {
      const double mobility = w.contacts[block.index].mobility;
      return mobility > 0 ? 1 / mobility : 0;
    }
    case RowSource::kLimit:
    case RowSource::kFriction:
    case RowSource::kDrive: {
      if (w.model.bodies[w.model.dofs[block.index].body].alone) return 0;
      const double unit = w.rows.unit[block.row];
      return 1 / (w.ws.pivot[block.index].inverse_d * unit * unit);
    }
    case RowSource::kLoop:
    case RowSource::kSoftLoop:
    case RowSource::kLoopLow:
    case RowSource::kLoopHigh:
    case RowSource::kCoupling:
    case RowSource::kTendonLow:
    case RowSource::kTendonHigh:
    case RowSource::kTendonSpring:
    case RowSource::kSpring:
    case RowSource::kExcess: break;
  }
  return 0;
}

/// Whether the island may be tried: known, and nothing about to bounce.
bool is_candidate(const World::Impl& w, const Island& island) {
  for (const int b : w.blocks_of(island)) {
    const RowBlock& block = w.rows.blocks[b];
    if (!(rho_of(w, block) > 0)) return false;
    if (w.row_velocity[block.row] < -w.settings.restitution_threshold) return false;
  }
  return true;
}

/// Whether the tree moves so little that the load on its contacts can be what it was: where a robot lies and
/// an arm swings, gravity alone changes it by far more than a tolerance.
bool hardly_moves(const World::Impl& w, int t) {
  constexpr double kHardly = 1e-4;  // of what is slow
  const Tree& tree = w.model.trees[t];
  const Body &root = w.model.bodies[tree.first], &last = w.model.bodies[tree.last - 1];
  if (!(w.trees[t].still > 0)) return false;
  for (int i = root.first_v; i < last.first_v + last.dofs; ++i) {
    const double speed = std::abs(w.state.v[i]) * dof_unit(w.model, i, w.rows.length);
    if (!(speed < kHardly * w.settings.sleep.speed)) return false;
  }
  return true;
}

void find_candidates(World::Impl& w) {
  for (Island& island : w.islands) island.hardly_moves = true;
  for (std::size_t t = 0; t < w.trees.size(); ++t) {
    const std::int32_t island = w.island_at[w.root_of(static_cast<int>(t))];
    if (island >= 0 && w.islands[island].hardly_moves)
      w.islands[island].hardly_moves = hardly_moves(w, static_cast<int>(t));
  }
  for (Island& island : w.islands) island.solved = island.hardly_moves && is_candidate(w, island);
}

bool too_deep(const World::Impl& w, const RowBlock& block, double h) {
  const StabilizationSettings& s = w.settings.stabilization;
  if (s.kind != Stabilization::kPosition) return false;
  if (block.source != RowSource::kContact && !is_limit(block.source)) return false;
  if (w.rows.compliance[block.row] > 0) return false;  // soft: as deep as its spring lets it
  return w.rows.error[block.row] + h * w.row_trial[block.row] < -1.5 * s.slop;
}

/// Natural map of the island at (1); infinite where positions need correcting.
double residual_of(const World::Impl& w, const Island& island, double h, Slot& slot) {
  state_laws(w.rows, w.blocks_of(island), slot.island.problem);
  slot.island.lambda.clear();
  slot.island.u_free.clear();
  slot.island.rho.clear();
  for (const int b : w.blocks_of(island)) {
    const RowBlock& block = w.rows.blocks[b];
    if (too_deep(w, block, h)) return solver::kInfinity;
    slot.island.rho.push_back(rho_of(w, block));
    for (int r = block.row; r < block.row + block.size; ++r) {
      slot.island.lambda.push_back(w.rows.lambda[r]);
      slot.island.u_free.push_back(w.row_trial[r] + w.rows.bias[r] + w.rows.compliance[r] * w.rows.lambda[r]);
    }
  }
  return solver::natural_map(slot.island.problem, slot.island.lambda, slot.island.u_free, slot.island.rho);
}

/// |J v| of the island at the start of the step.
double speed(const World::Impl& w, const Island& island) {
  double sum = 0;
  for (const int b : w.blocks_of(island)) {
    const RowBlock& block = w.rows.blocks[b];
    for (int r = block.row; r < block.row + block.size; ++r) sum += w.row_velocity[r] * w.row_velocity[r];
  }
  return std::sqrt(sum);
}

template <class F>
void for_each_tried(const World::Impl& w, F&& f) {
  for (std::size_t b = 0; b < w.rows.blocks.size(); ++b)
    if (const std::int32_t island = w.block_island[b]; island >= 0 && w.islands[island].solved)
      f(w.rows.blocks[b]);
}

/// (1) of the candidates.
void try_old_impulses(World::Impl& w) {
  const Eigen::Map<Eigen::VectorXd> v(w.v_trial.data(), w.model.nv);
  w.row_trial.assign(w.rows.impulses.size(), 0.0);  // here: the impulses
  for_each_tried(w, [&](const RowBlock& block) {
    std::copy_n(w.rows.lambda.begin() + block.row, block.size, w.row_trial.begin() + block.row);
  });
  w.v_trial = w.v_free;
  apply_impulses(w.model, w.rows.impulses,
                 Eigen::Map<const Eigen::VectorXd>(w.row_trial.data(), w.rows.size()), w.ws, v);
  for (std::size_t t = 0; t < w.trees.size(); ++t)
    if (const std::int32_t island = w.island_at[w.root_of(static_cast<int>(t))];
        island >= 0 && w.islands[island].solved)
      body_velocities(w.model, w.ws, v, w.model.trees[t], w.trial_velocity);
  for_each_tried(w, [&](const RowBlock& block) {
    row_velocities({w.rows.impulses.data() + block.row, static_cast<std::size_t>(block.size)}, w.ws,
                   w.trial_velocity, Eigen::Map<Eigen::VectorXd>(w.row_trial.data() + block.row, block.size));
  });
}

/// Velocities of the islands that the old impulses solve.
void answer_by_trial(World::Impl& w) {
  for (std::size_t t = 0; t < w.trees.size(); ++t) {
    const std::int32_t island = w.island_at[w.root_of(static_cast<int>(t))];
    if (island < 0 || !w.islands[island].answered || !w.trees[t].responds()) continue;
    const Tree& tree = w.model.trees[t];
    const Body &root = w.model.bodies[tree.first], &last = w.model.bodies[tree.last - 1];
    std::copy(w.v_trial.begin() + root.first_v, w.v_trial.begin() + last.first_v + last.dofs,
              w.v_answered.begin() + root.first_v);
  }
}

}  // namespace

void World::Impl::accept_what_holds(double h) {
  find_candidates(*this);
  const bool usual =
      settings.contact == ContactModel::kCone && settings.warm_start &&
      (settings.solver == solver::Method::kDefault || settings.solver == solver::Method::kBlock ||
       settings.solver == solver::Method::kNewton);
  const bool any = std::any_of(islands.begin(), islands.end(), [](const Island& i) { return i.solved; });
  if (!usual || !any) {
    for (Island& island : islands) island.solved = false;
    return;
  }
  try_old_impulses(*this);
  for (Island& island : islands) {
    if (island.solved) {
      const double unit = settings.tolerance * std::sqrt(static_cast<double>(island.rows));
      const double target = solver::target_of_kept(unit);
      const double residual = residual_of(*this, island, h, slots[0]);
      island.solved = solver::may_be_kept(unit, residual, speed(*this, island));
      island.report = {
          .method = solver::Method::kBlock, .residual = residual, .target = target, .promised = unit};
      island.refused = false;
    }
    island.answered = island.solved;
    if (!island.solved) continue;
    for (const int b : blocks_of(island)) {
      const RowBlock& block = rows.blocks[b];
      std::copy_n(row_trial.begin() + block.row, block.size, row_velocity.begin() + block.row);
    }
  }
  answer_by_trial(*this);
}

}  // namespace karakuri
