// Impulses of every island: stated, solved by solver/island.h or solver/rigid_islands.h, and handed back.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "world/assemble.h"
#include "world/correct_positions.h"
#include "world/impl.h"
#include "world/observe.h"
#include "world/rigid_islands.h"

namespace karakuri {

using world_detail::Island;
using world_detail::Slot;

namespace {

/// One island on its way to being solved.
struct Task {
  World::Impl& w;
  const Island& island;
  Slot& slot;
  double h;

  int block_count() const { return static_cast<int>(slot.near.size()); }
  int block_index(int b) const { return slot.near[b]; }
  const RowBlock& block(int b) const { return w.rows.blocks[block_index(b)]; }
};

bool has_position(const RowBlock& block) {
  return block.source == RowSource::kContact || is_limit(block.source);
}

/// Of what a row acts on, as if each body were free [1/kg].
double mobility_of_bodies(const World::Impl& w, const ImpulseRow& row) {
  double sum = 0;
  for (const int body : {row.body, row.other})
    if (const double m = w.model.bodies[body].mass; w.tree_of[body] >= 0 && m > 0) sum += 1 / m;
  return sum;
}

/// correct_positions.cc (2)
double least_give(const World::Impl& w, const RowBlock& block) {
  const ImpulseRow& row = w.rows.impulses[block.row];
  return row.force.isZero(0) ? 0 : world_detail::kGivesWayMass * mobility_of_bodies(w, row);
}

/// What the island knows beside its problem.
void state_rows(const Task& t) {
  solver::Island& s = t.slot.island;
  const Rows& rows = t.w.rows;
  const std::size_t n = s.problem.q.size();
  for (std::vector<double>* v : {&s.lambda, &s.u_now, &s.u_free, &s.bias}) v->resize(n);
  s.blocks.resize(t.slot.near.size());
  int row = 0;
  for (int b = 0; b < t.block_count(); ++b) {
    const RowBlock& block = t.block(b);
    s.blocks[b] = {.touches = block.source == RowSource::kContact,
                   .has_gap = has_position(block),
                   .holds = is_held(block.source),
                   .restitution = t.w.restitution[t.block_index(b)],
                   .gap = rows.error[block.row],
                   .least_give = has_position(block) ? least_give(t.w, block) : 0};
    for (int k = 0; k < block.size; ++k, ++row) {
      s.lambda[row] = rows.lambda[block.row + k];
      s.u_now[row] = t.w.row_velocity[block.row + k];
      s.u_free[row] = t.w.row_free[block.row + k];
      s.bias[row] = rows.bias[block.row + k];
    }
  }
  s.loose = t.island.loose;
  s.bodies = t.island.trees;
  s.hardly_moves = t.island.hardly_moves;
}

solver::Settings solver_settings(const WorldSettings& s, int rows) {
  solver::Settings out;
  out.method = chosen_method(s);
  out.measure = solver::Measure::kScaled;
  out.tolerance = 1e-13;  // rounding, where velocities are large
  out.absolute = s.tolerance * std::sqrt(static_cast<double>(rows));
  out.strict = out.absolute;
  out.acceptable = s.acceptable * std::sqrt(static_cast<double>(rows));
  out.max_sweeps = s.max_sweeps;
  out.max_newton = s.max_newton;
  out.max_newton_rows = s.max_newton_rows;
  out.pyramid_faces = s.pyramid_faces;
  out.quickstep_iterations = s.quickstep_iterations;
  out.quickstep_relaxation = s.quickstep_relaxation;
  const bool pivots = s.solver == solver::Method::kDantzig || s.solver == solver::Method::kLemke;
  out.max_pivots = pivots ? 20000 : 0;
  out.explain_failure = false;
  out.trusted = true;
  return out;
}

/// The settings' work is that of a step.
double work_of(const WorldSettings& s, const Island& island, double h) {
  constexpr double kRows = 50'000;  // that get twice as much as few
  return s.max_work * (h / s.dt) * (1 + island.rows / kRows);
}

solver::IslandSettings island_settings(const Task& t) {
  const WorldSettings& s = t.w.settings;
  solver::IslandSettings out{.solver = solver_settings(s, t.slot.island.problem.rows()),
                             .step = t.h,
                             .usual = t.w.scales.speed,
                             .fall = t.h * t.w.model.gravity.norm(),
                             .restitution_threshold = s.restitution_threshold,
                             .slow = s.acceptable,
                             .stops_at_start = s.integrator == Integrator::kRk4,
                             .correction = world_detail::correction_of(s.stabilization, t.h)};
  out.solver.max_work = work_of(s, t.island, t.h);
  return out;
}

/// Hands rows back.
void scatter(const Task& t) {
  const solver::Island& s = t.slot.island;
  int row = 0;
  for (int b = 0; b < t.block_count(); ++b) {
    const RowBlock& block = t.block(b);
    if (block.source == RowSource::kContact) t.w.contacts[block.index].mobility = 1 / s.rho[b];
    for (int k = block.row; k < block.row + block.size; ++k, ++row) {
      t.w.rows.lambda[k] = s.lambda[row];
      t.w.row_velocity[k] = s.u_free[row];
      t.w.bounce[k] = s.bounce[row];
      t.w.correction[k] = s.correction[row];
    }
  }
  t.slot.corrected = t.slot.corrected || s.corrected;
}

/// v+ of the island's trees where their responses are at hand; else move_bodies() finds it from the impulses.
bool answer(const Task& t) {
  if (!t.slot.state.can_answer) return false;
  std::vector<double>& total = t.slot.given;
  total = t.slot.island.lambda;
  for (std::size_t k = 0; k < total.size(); ++k) total[k] += t.slot.island.bounce[k];
  const auto as_vector = [](std::vector<double>& v) {
    return Eigen::Map<Eigen::VectorXd>(v.data(), static_cast<Eigen::Index>(v.size()));
  };
  answer_impulses(t.w.model, t.w.ws, as_vector(total), t.slot.response, as_vector(t.w.v_answered));
  return true;
}

// ---- what is not reached
// --------------------------------------------------------------------------------------------------------
// Contacts are known from as far as bodies may come in the step, limits likewise: of a robot that falls a
// third of them stay open. One that did nothing in the last step, and that free motion leaves open by far, is
// left out. Where the impulses of the others close it after all, the island is solved once more with it, so
// that the solution is that of all rows.

/// Whether a contact or limit is left out at first.
bool is_remote(const World::Impl& w, const RowBlock& block) {
  constexpr double kFar = 0.06;  // of what is usual in the scene, that impulses would have to add
  if (block.source != RowSource::kContact && !is_limit(block.source)) return false;
  return w.rows.lambda[block.row] == 0 &&
         w.row_free[block.row] + w.rows.bias[block.row] > kFar * w.scales.speed;
}

void part_blocks(const Task& t) {
  const BlockList all = t.w.blocks_of(t.island);
  t.slot.near.clear();
  t.slot.remote.clear();
  for (const std::int32_t b : all) {
    const bool remote = !t.island.loose && is_remote(t.w, t.w.rows.blocks[b]);
    (remote ? t.slot.remote : t.slot.near).push_back(b);
  }
}

/// Takes back what one solution has left behind, before another.
void take_back(const Task& t) {
  for (const ResponseBuffers::DofLanes::Tree& tree : t.slot.response.lanes.trees)
    std::copy_n(t.w.v_free.begin() + tree.first_dof, tree.dofs, t.w.v_answered.begin() + tree.first_dof);
}

/// Velocity of a row after the impulses that were answered.
double answered(const Task& t, int row) {
  return t.w.row_free[row] + answered_velocity(t.w.ws, t.w.rows.impulses[row], t.slot.response);
}

/// Blocks that were left out and close after all become near. @return Whether any does.
bool admit_closed(const Task& t) {
  Slot& s = t.slot;
  const std::size_t before = s.near.size();
  for (const std::int32_t b : s.remote) {
    const int row = t.w.rows.blocks[b].row;
    if (answered(t, row) + t.w.rows.bias[row] < 0) s.near.push_back(b);
  }
  if (s.near.size() == before) return false;
  take_back(t);
  std::erase_if(s.remote, [&](std::int32_t b) {
    return std::find(s.near.begin() + before, s.near.end(), b) != s.near.end();
  });
  std::sort(s.near.begin(), s.near.end());
  return true;
}

/// Rows as solve_near() leaves them, of the blocks that are left out.
void pass_by(const Task& t) {
  for (const std::int32_t b : t.slot.remote) {
    const RowBlock& block = t.w.rows.blocks[b];
    for (int k = 0; k < block.size; ++k) t.w.row_velocity[block.row + k] = answered(t, block.row + k);
  }
}

void assemble(const Task& t) {
  world_detail::assemble(t.w, t.slot.near, t.slot);
  if (t.slot.state.can_answer || t.slot.remote.empty()) return;
  t.slot.remote.clear();  // what becomes of them could not be told
  const BlockList all = t.w.blocks_of(t.island);
  t.slot.near.assign(all.begin(), all.end());
  world_detail::assemble(t.w, t.slot.near, t.slot);
}

void solve_near(const Task& t, Island& island) {
  assemble(t);
  state_rows(t);
  const OneSidedRows one_sided(world_detail::rows_on_trees(t.w), t.slot.near, t.slot.state);
  t.slot.island.one_sided = &one_sided;
  solver::solve(t.slot.island, island_settings(t), t.slot.solver);
  t.slot.island.one_sided = nullptr;
  island.report = t.slot.island.report;
  island.refused = t.slot.island.refused;
  island.answered = answer(t);
}

/// Nothing is reached at all: free motion it is.
void leave_free(const Task& t, Island& island) {
  for (const std::int32_t b : t.slot.remote) {
    const RowBlock& block = t.w.rows.blocks[b];
    std::copy_n(t.w.row_free.begin() + block.row, block.size, t.w.row_velocity.begin() + block.row);
  }
  island.report = {};
  island.refused = false;
  island.answered = true;
}

void solve_by_rows(const Task& t, Island& island) {
  part_blocks(t);
  if (t.slot.near.empty()) return leave_free(t, island);
  do solve_near(t, island);
  while (admit_closed(t));
  scatter(t);
  pass_by(t);
}

/// @param before  What has been tried already.
void solve_by_rows(World::Impl& w, Island& island, double h, const solver::Report& before, Slot& slot) {
  slot.island.work = before.work;
  slot.island.out_of_work = before.out_of_work;
  solve_by_rows({w, island, slot, h}, island);
  island.work = slot.island.work;
  island.out_of_work = slot.island.out_of_work;
}

/// Free bodies are solved together, in the lanes of vectors; what is left, and all else, by its rows.
void solve_batch(World::Impl& w, std::span<const std::int32_t> batch, double h, Slot& slot) {
  slot.rigid.clear();
  slot.rigid_bodies.clear();
  for (const std::int32_t i : batch) {
    if (!w.islands[i].rigid) continue;
    world_detail::state_rigid(w, w.islands[i], h, work_of(w.settings, w.islands[i], h), slot);
  }
  solver::solve(slot.rigid, world_detail::rigid_settings(w, h), slot.rigid_solver);
  int next = 0;
  for (const std::int32_t i : batch) {
    Island& island = w.islands[i];
    const int k = island.rigid ? next++ : -1;
    const solver::Report tried = k >= 0 ? slot.rigid.islands[k].report : solver::Report{};
    if (k < 0 || !slot.rigid.islands[k].solved) {
      solve_by_rows(w, island, h, tried, slot);
    } else {
      world_detail::take_answer(w, island, k, slot);
      island.work = tried.work;
      island.out_of_work = tried.out_of_work;
    }
  }
}

/// Islands that are left to be solved, in batches: those of free bodies share the lanes of vectors, the
/// largest first, so that lanes shrink on the way. What is in a batch must not depend on the number of
/// threads.
void form_batches(World::Impl& w) {
  constexpr int kMostIslands = 32, kMostTrees = 320;
  w.solve_order.clear();
  w.solve_batches.clear();
  for (std::size_t i = 0; i < w.islands.size(); ++i) {
    Island& island = w.islands[i];
    island.rigid = !island.solved && world_detail::is_rigid(w, island);
    if (!island.solved) w.solve_order.push_back(static_cast<std::int32_t>(i));
  }
  std::sort(w.solve_order.begin(), w.solve_order.end(), [&](int a, int b) {
    const auto key = [&](int i) {
      return std::tuple(!w.islands[i].rigid, w.islands[i].rigid ? -w.islands[i].trees : 0, i);
    };
    return key(a) < key(b);
  });
  int islands = 0, trees = 0;
  for (std::size_t k = 0; k < w.solve_order.size(); ++k) {
    const Island& island = w.islands[w.solve_order[k]];
    const bool joins = k > 0 && island.rigid && islands < kMostIslands && trees + island.trees <= kMostTrees;
    if (!joins) w.solve_batches.push_back(static_cast<std::int32_t>(k)), islands = trees = 0;
    ++islands;
    trees += island.trees;
  }
  w.solve_batches.push_back(static_cast<std::int32_t>(w.solve_order.size()));
}

/// Whether an island is told of before another: the least solved one, of these that leaves most.
bool is_worse(const solver::Report& a, const StepReport& b) {
  const auto rank = [](solver::Status s) {
    return s == solver::Status::kConverged ? 0 : s == solver::Status::kAccepted ? 1 : 2;
  };
  return std::pair(rank(a.status), a.residual) > std::pair(rank(b.status), b.residual);
}

}  // namespace

void World::Impl::solve_islands(double h) {
  bounce.assign(rows.impulses.size(), 0.0);
  correction.assign(rows.impulses.size(), 0.0);
  for (Slot& slot : slots) slot.corrected = false;
  v_answered = v_free;
  const world_detail::IslandWindow window(*this, h);
  accept_what_holds(h);
  solve_loops_alone();
  form_batches(*this);
  parallel.for_each(static_cast<int>(solve_batches.size()) - 1, [&](int i, int slot) {
    const int first = solve_batches[i], end = solve_batches[i + 1];
    solve_batch(*this, std::span(solve_order).subspan(first, end - first), h, slots[slot]);
  });
  total.resize(rows.impulses.size());
  for (int i = 0; i < rows.size(); ++i) total[i] = bounce[i] + rows.lambda[i];
  unanswered = total;
  for (const Island& island : islands) {
    if (!island.answered) continue;
    for (const int b : blocks_of(island)) {
      const RowBlock& block = rows.blocks[b];
      std::fill_n(unanswered.begin() + block.row, block.size, 0.0);
    }
  }
  const WorkReport before = report.budget;
  const int parts = report.parts;
  report = {};
  report.budget = before;
  report.parts = parts;
  report.rows = rows.size();
  report.islands = static_cast<int>(islands.size());
  report.contacts = static_cast<int>(contacts.size());
  for (const Island& island : islands) {
    if (is_worse(island.report, report)) {
      report.status = island.report.status;
      report.ending = island.report.ending;
      report.backend = island.report.backend;
      report.residual = island.report.residual;
      report.promised = island.report.promised;
    }
    report.sweeps = std::max(report.sweeps, island.report.sweeps);
    report.newton = std::max(report.newton, island.report.newton_iterations);
    report.refused += island.refused ? 1 : 0;
    report.budget.work += island.work;
    report.budget.exhausted += island.out_of_work ? 1 : 0;
    if (island.out_of_work) report.budget.method = chosen_method(settings);
  }
  for (const Contact& c : contacts) report.penetration = std::max(report.penetration, -c.separation);
  window.close();
}

}  // namespace karakuri
