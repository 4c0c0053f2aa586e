// The stages of loop_stage.h.
#include <algorithm>
#include <cmath>

#include "karakuri/constraint/joint_rows.h"
#include "karakuri/dynamics/aba.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/loop_rows.h"
#include "karakuri/dynamics/relation_rows.h"
#include "karakuri/model/configuration.h"
#include "world/impl.h"
#include "world/loop_work.h"

namespace karakuri {

using world_detail::add_given;
using world_detail::find_contradictions;
using world_detail::Island;
using world_detail::LoopStage;
using Member = HeldLoops::Member;

namespace {

// Position errors are brought below this, of a body's size: well within 1e-9, well above rounding a hundred
// bodies away.
constexpr double kClosed = 1e-11;
constexpr int kMostRepeats = 8;
// Rounds of the proximal point method where nobody looks at what they leave.
constexpr int kMostRounds = 3;
// Rows that are left with more than this of what there is contradict each other.
constexpr double kContradicting = 1e-8;
// Share of the kinetic energy that the chord may borrow for a step.
constexpr double kBorrowed = 0.01;

Eigen::Map<Eigen::VectorXd> as_vector(std::vector<double>& v) {
  return {v.data(), static_cast<Eigen::Index>(v.size())};
}

/// What the loops need to know of trees; and which of them are held.  @pre w.ws has the poses of `at`
void list_members(World::Impl& w, const State& at, LoopStage& s, int root = -1) {
  const std::size_t trees = w.model.trees.size();
  s.answers.resize(trees);
  s.root.resize(trees);
  for (std::size_t t = 0; t < trees; ++t) {
    s.answers[t] = w.trees[t].responds();
    s.root[t] = w.root_of(static_cast<int>(t));
  }
  s.tree_of = w.tree_of;
  s.length = w.rows.length;
  s.scratch.response = &w.slots[0].response;
  list_held(w.model, at, w.ws, w.state, root, s);
}

/// What part of the chord the next step may take, by loop_stage.h (1).  @pre factored at the present poses,
/// with velocities
void limit_chords(World::Impl& w, double h, LoopStage& s) {
  measure(w.model, w.ws, s);
  update_bias_accelerations(w.model, w.ws);
  for (const Member& m : s.members) {
    if (m.is_loop) {
      const Loop& loop = w.model.loops[m.index];
      const std::array<double, 6> bias = loop_bias(loop, loop_rows(loop, w.ws), w.ws);
      for_each_row(m, [&](int k, int row) { s.right[row] = 0.5 * h * s.unit[row] * bias[k]; });
    } else {
      s.right[m.first_row] = 0.5 * h * s.unit[m.first_row] *
                             relation_bias(w.model.relations[m.index], w.state.q_view(), w.state.v_view());
    }
  }
  ask(w.model, s, kMostRounds);
  for (const Member& m : s.members) {
    const int root = root_of(w.model, s, m);
    const double most = 2 * kBorrowed * s.kinetic[root];
    (m.is_loop ? w.loop_chord : w.relation_chord)[m.index] =
        s.asked[root] > most ? std::sqrt(most / s.asked[root]) : 1;
  }
}

/// Of a loop or coupling in LoopStage::rows_alone.
std::size_t slot_of(const World::Impl& w, const RowBlock& block) {
  return block.index + (block.source == RowSource::kLoop ? 0 : w.model.loops.size());
}

/// Where the rows of islands are that have nothing but rigid loops and couplings. @return How many rows.
int find_alone(const World::Impl& w, LoopStage& s) {
  int rows = 0;
  s.rows_alone.assign(w.model.loops.size() + w.model.relations.size(), -1);
  for (const Island& island : w.islands) {
    const auto all = std::span(w.island_blocks).subspan(island.first_block, island.block_count);
    const bool alone = !island.solved && std::all_of(all.begin(), all.end(), [&](int b) {
      return is_held(w.rows.blocks[b].source) && w.rows.compliance[w.rows.blocks[b].row] == 0;
    });
    for (std::size_t k = 0; k < all.size() && alone; ++k) {
      const RowBlock& block = w.rows.blocks[all[k]];
      s.rows_alone[slot_of(w, block)] = block.row;
      rows += block.size;
    }
  }
  return rows;
}

/// Row of the world for each row here. @return How many have one.
int map_rows(const World::Impl& w, LoopStage& s) {
  int found = 0;
  s.world_row.assign(s.size(), -1);
  for (const Member& m : s.members) {
    const std::int32_t first = s.rows_alone[m.index + (m.is_loop ? 0 : w.model.loops.size())];
    for (int k = 0; k < m.count && first >= 0; ++k, ++found) s.world_row[m.first_row + k] = first + k;
  }
  return found;
}

/// The set of trees of an island whose solution leaves velocities that its loops do not have; -1: it does
/// not.
int unheld_set(const World::Impl& w, const Island& island) {
  for (const int b : w.blocks_of(island)) {
    const RowBlock& block = w.rows.blocks[b];
    if (!is_held(block.source)) continue;
    for (int i = block.row; i < block.row + block.size; ++i) {
      if (w.rows.compliance[i] > 0 || !(std::abs(w.row_velocity[i] + w.rows.bias[i]) > w.settings.acceptable))
        continue;
      for (const int body : {w.rows.impulses[i].body, w.rows.impulses[i].other})
        if (w.responds(body)) return w.root_of(w.tree_of[body]);
    }
  }
  return -1;
}

/// Row of the world for each row here.
void find_rows_of(const World::Impl& w, LoopStage& s) {
  s.rows_alone.assign(w.model.loops.size() + w.model.relations.size(), -1);
  for (const RowBlock& block : w.rows.blocks)
    if (is_held(block.source)) s.rows_alone[slot_of(w, block)] = block.row;
  map_rows(w, s);
}

/// Of all rows of an island, at w.v_end.
void find_velocities_of_rows(World::Impl& w, const Island& island) {
  body_velocities(w.model, w.ws, as_vector(w.v_end), w.trial_velocity);
  for (const int b : w.blocks_of(island)) {
    const RowBlock& block = w.rows.blocks[b];
    row_velocities({&w.rows.impulses[block.row], static_cast<std::size_t>(block.size)}, w.ws,
                   w.trial_velocity,
                   Eigen::Map<Eigen::VectorXd>(w.row_velocity.data() + block.row, block.size));
    for (int i = block.row; i < block.row + block.size && w.has_unresponsive; ++i)
      w.row_velocity[i] += w.row_carried[i];
  }
}

/// J v + bias of the rows that are alone, at w.free_velocity. @return Its size.
double velocities_alone(const World::Impl& w, LoopStage& s) {
  row_velocities(s.seen, w.ws, w.free_velocity, as_vector(s.right));
  for (int i = 0; i < s.size(); ++i)
    s.right[i] = s.world_row[i] >= 0 ? s.right[i] + w.rows.bias[s.world_row[i]] : 0;
  return as_vector(s.right).norm();
}

/// Marks the islands as solved, or leaves them to the solver where something is left.
void finish_alone(World::Impl& w, const LoopStage& s, const solver::Report& report) {
  for (int i = 0; i < s.size(); ++i)
    if (const int row = s.world_row[i]; row >= 0) w.row_velocity[row] = s.right[i] - w.rows.bias[row];
  bool all = true;
  for (Island& island : w.islands) {
    const RowBlock& block = w.rows.blocks[w.island_blocks[island.first_block]];
    if (!island.solved && is_held(block.source) && s.rows_alone[slot_of(w, block)] >= 0) {
      island.solved = report.residual <= w.settings.acceptable / w.settings.tolerance * report.target;
      island.report = report;
      if (report.residual > report.target)
        island.report.status = solver::Status::kAccepted, island.report.ending = solver::Ending::kStall;
    }
    all = all && island.solved;
  }
  if (all) return;
  w.state_free.v = w.v_free;
  body_velocities(w.model, w.ws, w.state_free.v_view(), w.free_velocity);
}

}  // namespace

void World::Impl::close_loops(State& at, double h) {
  LoopStage& s = loop_stage;
  if (!holds_anything() || settings.stabilization.kind != Stabilization::kPosition) return;
  update_poses(model, at, ws);
  list_members(*this, at, s);
  if (s.members.empty()) return;
  close_held(model, at, h, kClosed * scales.length, kWideOpen * scales.length,
             settings.stabilization.max_speed, ws, s);
}

void World::Impl::project_on_loops(State& at, int root) {
  LoopStage& s = loop_stage;
  const bool wanted = root >= 0 || settings.stabilization.kind == Stabilization::kPosition;
  if (!holds_anything() || !wanted) return;
  update_poses(model, at, ws);
  if (root >= 0 || !s.is_factored) list_members(*this, at, s, root);
  if (s.members.empty()) return;
  look(model, at, ws, s);
  articulated_factor(model, ws);
  if (root >= 0 || !s.is_factored) factor(model, ws, s);
  s.fastest = 0;
  for (int i = 0; i < model.nv; ++i)
    s.fastest = std::max(s.fastest, std::abs(at.v[i]) * dof_unit(model, i, rows.length));
  project_held(model, at, s.fastest, root >= 0 ? kMostRounds : 1, ws, s);
  s.is_factored = false;
}

void World::Impl::settle_loops(double h) {
  if (!holds_anything() || settings.stabilization.kind != Stabilization::kPosition) return;
  close_loops(state, h);
  project_on_loops(state);
  if (loop_stage.members.empty()) return;
  update_velocities(model, state, ws);
  LoopStage& s = loop_stage;
  row_velocities(s.seen, ws, as_vector(s.right));
  find_contradictions(*this, s, kContradicting * s.fastest);
  add_given(*this, s, 1);
  limit_chords(*this, h, s);
}

// Nothing but linear equations.
void World::Impl::solve_loops_alone() {
  LoopStage& s = loop_stage;
  if (settings.solver != solver::Method::kDefault || !holds_anything()) return;
  const int count = find_alone(*this, s);
  if (count == 0) return;
  list_members(*this, state, s);
  if (map_rows(*this, s) != count) return;
  look(model, state, ws, s);
  factor(model, ws, s);
  s.is_factored = false;
  for (const std::int32_t row : s.world_row)
    if (row >= 0) rows.lambda[row] = 0;
  const double target = settings.tolerance * std::sqrt(static_cast<double>(count));
  state_free.v = v_free;
  double residual = velocities_alone(*this, s);
  for (int round = 0; round < kMostRepeats && residual > target; ++round) {
    const double before = residual;
    take_back(model, ws, s, state_free.v_view(), 1);
    for (int i = 0; i < s.size(); ++i)
      if (s.world_row[i] >= 0) rows.lambda[s.world_row[i]] += s.x[i];
    body_velocities(model, ws, state_free.v_view(), free_velocity);
    residual = velocities_alone(*this, s);
    if (!(residual < 0.5 * before)) break;  // a contradiction
  }
  finish_alone(*this, s,
               {.backend = solver::Backend::kElimination,
                .method = solver::Method::kNewton,
                .residual = residual,
                .target = target,
                .promised = target,
                .newton_iterations = 1});
}

// Impulses of a solver that stopped early, as on loops that contradict each other, leave velocities that the
// loops do not have. They are projected before anything moves by them, so that the way of the step is theirs.
void World::Impl::hold_end_velocities() {
  if (!holds_anything() || settings.stabilization.kind != Stabilization::kPosition) return;
  LoopStage& s = loop_stage;
  for (const Island& island : islands) {
    const int root = unheld_set(*this, island);
    if (root < 0) continue;
    list_members(*this, state, s, root);
    find_rows_of(*this, s);
    look(model, state, ws, s);
    factor(model, ws, s);
    s.is_factored = false;
    for (int round = 0; round < kMostRounds; ++round) {
      body_velocities(model, ws, as_vector(v_end), trial_velocity);
      row_velocities(s.seen, ws, trial_velocity, as_vector(s.right));
      for (int i = 0; i < s.size(); ++i)
        s.right[i] = s.world_row[i] >= 0 ? s.right[i] + rows.bias[s.world_row[i]] : 0;
      take_back(model, ws, s, as_vector(v_end), kMostRounds);
      for (int i = 0; i < s.size(); ++i)
        if (const int row = s.world_row[i]; row >= 0) rows.lambda[row] += s.x[i], total[row] += s.x[i];
    }
    find_velocities_of_rows(*this, island);
  }
}

void World::Impl::hold_loops(std::vector<double>& a, double lasts) {
  LoopStage& s = loop_stage;
  if (!holds_anything() || settings.stabilization.kind != Stabilization::kPosition) return;
  list_members(*this, stage, s);
  if (s.members.empty()) return;
  for (int i = 0; has_unresponsive && i < model.nv; ++i)
    if (!responds(model.dofs[i].body)) a[i] = 0;
  look(model, stage, ws, s);
  factor(model, ws, s);
  double asked = 0;
  s.sum.assign(s.rows.size(), 0.0);
  for (int round = 0; round < 2; ++round) {
    update_accelerations(model, as_vector(a), ws);
    for (const Member& m : s.members) {
      if (m.is_loop) {
        const Loop& loop = model.loops[m.index];
        const std::array<double, 6> rate = loop_bias(loop, loop_rows(loop, ws), ws);
        for_each_row(m, [&](int k, int row) { s.right[row] = s.unit[row] * rate[k]; });
      } else {
        const Relation& r = model.relations[m.index];
        s.right[m.first_row] = s.unit[m.first_row] * (relation_rate(r, stage.q_view(), as_vector(a)) +
                                                      relation_bias(r, stage.q_view(), stage.v_view()));
      }
    }
    if (round == 0)
      asked = as_vector(s.right).cwiseAbs().maxCoeff();
    else
      find_contradictions(*this, s, kContradicting * asked);
    take_back(model, ws, s, as_vector(a), kMostRounds);  // (3)
    as_vector(s.sum) += as_vector(s.x);
  }
  add_given(*this, s, lasts);
  s.is_factored = false;
}

}  // namespace karakuri
