// Impulses of every island. With u = J v of the rows:
//
// 1. Bouncing: bounce.cc.
// 2. The step itself: u+ = u_free + W lambda under all laws. (2)
// 3. Positions that would end deeper than the slop are corrected by pseudo-impulses on the normals alone,
//      W p + gap+ >= 0,  gap+ = gap + h u+, (3)
//    which shift positions and leave velocities as they are: no energy of motion arises.
#include <algorithm>
#include <cmath>

#include "karakuri/solver/guess.h"
#include "solver/accuracy.h"
#include "world/assemble.h"
#include "world/correct_positions.h"
#include "world/heap.h"
#include "world/impl.h"
#include "world/island_task.h"
#include "world/observe.h"
#include "world/towers.h"

namespace karakuri {

using solver::RowKind;
using world_detail::BlockList;
using world_detail::bounce;
using world_detail::has_position;
using world_detail::Island;
using world_detail::Slot;
using world_detail::solve_or_default;
using world_detail::stop;
using Task = world_detail::IslandTask;

namespace world_detail {

solver::Report solve_or_default(const solver::Problem& problem, solver::Settings settings, Slot& slot,
                                std::span<double> lambda, bool* refused) {
  constexpr double kLeast = 0.05;  // of the work of an island, for what is solved after it was spent
  settings.max_work = std::max(kLeast * slot.most_work, slot.most_work - slot.work);
  const auto counted = [&](const solver::Report& report) {
    slot.work += report.work;
    slot.out_of_work = slot.out_of_work || report.out_of_work;
    return report;
  };
  auto report = solver::solve(problem, settings, slot.solver, lambda);
  if (report.ok()) return counted(*report);
  *refused = true;
  settings.method = solver::Method::kDefault;
  report = solver::solve(problem, settings, slot.solver, lambda);
  if (report.ok()) return counted(*report);
  std::fill(lambda.begin(), lambda.end(), 0.0);  // not finite: finish() finds out which body it is
  return {.status = solver::Status::kIterationLimit, .residual = std::numeric_limits<double>::infinity()};
}

}  // namespace world_detail

namespace {

/// Whether the solver's first method is Newton's.
bool is_small(const Slot& s) {
  constexpr int kSmall = 128;  // ways to move
  return s.problem.velocities() <= kSmall;
}

/// Whether few steps of the solver are enough for many more digits: of trees that are walked along, sweeps
/// are.
bool is_soon_exact(const Slot& s) { return is_small(s) || !s.problem.links.empty(); }

void gather(const Task& t) {
  Slot& s = t.slot;
  const std::size_t n = s.problem.q.size();
  for (std::vector<double>* v : {&s.lambda, &s.u_now, &s.u_free, &s.change}) v->resize(n);
  s.velocity.resize(s.problem.velocities());
  int row = 0;
  for (int b = 0; b < t.block_count(); ++b) {
    const RowBlock& block = t.block(b);
    for (int k = 0; k < block.size; ++k, ++row) {
      s.lambda[row] = t.w.rows.lambda[block.row + k];
      s.u_now[row] = t.w.row_velocity[block.row + k];
      s.u_free[row] = t.w.row_free[block.row + k];
    }
  }
}

solver::Settings solver_settings(const WorldSettings& s, int rows) {
  solver::Settings out;
  out.method = chosen_method(s);
  out.measure = solver::Measure::kScaled;
  out.tolerance = 1e-13;  // rounding, where velocities are large
  out.absolute = s.tolerance * std::sqrt(static_cast<double>(rows));
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

/// Sum of squares of the speeds with which rows move, and with which their positions are about to be
/// corrected.
double square_of_motion(const Task& t) {
  constexpr double kShare = 0.1;  // of a correction: it changes directions of contacts, not what they carry
  const StabilizationSettings& st = t.w.settings.stabilization;
  double sum = 0;
  int row = 0;
  for (int b = 0; b < t.block_count(); ++b) {
    const RowBlock& block = t.block(b);
    const double too_deep = std::max(0.0, -t.w.rows.error[block.row] - 1.5 * st.slop);
    const bool rigid = block.source == RowSource::kContact && t.w.rows.compliance[block.row] == 0;
    const double correction = rigid ? kShare * st.erp * too_deep / t.h : 0;
    sum += correction * correction;
    for (int k = 0; k < block.size; ++k, ++row) sum += t.slot.u_now[row] * t.slot.u_now[row];
  }
  return sum;
}

/// Natural map of `lambda`, as the solver measures it.
double residual_of(const Slot& s, std::span<const double> lambda, Slot& scratch) {
  solver::row_velocities(s.problem, lambda, scratch.velocity, scratch.change);
  return solver::natural_map(s.problem, lambda, scratch.change, s.rho);
}

/// Whether the rows' bodies are hardly moving: stacks, not things that fall or slide.
bool is_calm(const Slot& s, const Scales& scales) {
  double sum = 0;
  for (const double u : s.u_now) sum += u * u;
  const double rows = static_cast<double>(s.u_now.size());
  return solver::is_calm({.motion = std::sqrt(sum), .usual = scales.speed * std::sqrt(rows)});
}

/// Large islands at rest are carried from below: the old impulses are mended from the top down before any
/// sweeps, where that is nearer to a solution than their residual `warm`.
void mend_from_above(const Task& t, double warm) {
  Slot& s = t.slot;
  world_detail::find_levels(t.w, s.near, s);
  s.all = s.lambda;
  solver::guess_from_above(s.problem, s.level, s.q_above, s.solver, s.all);
  if (residual_of(s, s.all, s) < warm) std::swap(s.lambda, s.all);
}

/// Impulses to start from, and the tolerance of what moves otherwise than the last step's impulses `warm`
/// make it: a heap of loose things that tumble is solved to a share of that. What comes to rest or slides on
/// is solved to the end.
void prepare_large(const Task& t, double square_of_motion, solver::Settings& settings) {
  constexpr int kHeap = 4;  // bodies
  Slot& s = t.slot;
  const bool large = s.problem.storage == solver::OperatorKind::kMatrixFree && s.problem.links.empty() &&
                     !is_small(s) && is_calm(s, t.w.scales);
  const bool heap = t.island.loose && t.island.trees >= kHeap;
  if (!large && !heap) return;
  const double warm = residual_of(s, s.lambda, s);
  if (large && warm > solver::kAcceptedAtRest * settings.absolute) mend_from_above(t, warm);
  if (heap) solver::follow_heap({.motion = std::sqrt(square_of_motion), .change = warm}, settings);
}

/// What moves is left where Newton's method stalls at a share of that motion and of what impulses have to do
/// about it (the residual without any), and a robot is solved to a hundred-thousandth. What rests, what a
/// loop holds, and joints of what touches nothing, are solved to the tolerance.
void follow_motion(const Task& t, double square_of_motion, solver::Settings& settings) {
  Slot& s = t.slot;
  bool touches = false;
  for (int b = 0; b < t.block_count(); ++b) {
    if (is_held(t.block(b).source)) return;
    touches = touches || t.block(b).source == RowSource::kContact;
  }
  if (!touches) return;
  s.all.assign(s.problem.q.size(), 0.0);
  const double needed = solver::natural_map(s.problem, s.all, s.problem.q, s.rho);
  solver::follow_motion(t.island.loose, std::sqrt(square_of_motion), needed, settings);
}

void remember_mobility(const Task& t) {
  for (int b = 0; b < t.block_count(); ++b) {
    const RowBlock& block = t.block(b);
    if (block.source == RowSource::kContact) t.w.contacts[block.index].mobility = 1 / t.slot.rho[b];
  }
}

void state_velocities(const Task& t) {
  Slot& s = t.slot;
  int row = 0;
  for (int b = 0; b < t.block_count(); ++b) {
    const RowBlock& block = t.block(b);
    for (int k = 0; k < block.size; ++k, ++row)
      s.problem.q[row] = s.u_free[row] + t.w.rows.bias[block.row + k];
  }
}

/// Whether the island rests but for tiny motions, under a load that hardly changes: of a robot that moves
/// elsewhere, contacts may rest too. Then the impulses of the step may hold the next (verify.cc).
bool is_settling(const Task& t, double square_of_motion, const solver::Settings& settings) {
  Slot& s = t.slot;
  if (!t.island.hardly_moves || square_of_motion > settings.absolute * settings.absolute || !is_soon_exact(s))
    return false;
  state_velocities(t);
  return residual_of(s, s.lambda, s) <= solver::kSettling * settings.absolute;
}

/// (2). Leaves J v+ in u_free.
solver::Report step(const Task& t, double square_of_motion, solver::Settings settings, bool* refused) {
  Slot& s = t.slot;
  solver::Problem& p = s.problem;
  state_velocities(t);
  prepare_large(t, square_of_motion, settings);
  follow_motion(t, square_of_motion, settings);
  settings.rho = s.rho;
  const solver::Report report = solve_or_default(p, settings, s, s.lambda, refused);
  if (!std::isfinite(report.residual)) return report;
  const std::span<const double> u = s.solver.velocities();
  for (std::size_t i = 0; i < u.size(); ++i) s.u_free[i] += u[i] - p.q[i] - p.compliance[i] * s.lambda[i];
  return report;
}

/// How far a contact or limit is from where its position is left alone, at the end of the step; 0 where it is
/// soft: it is as deep as its spring lets it.
double gap_after(const Task& t, const RowBlock& block, int row) {
  if (t.w.rows.compliance[block.row] > 0) return 0;
  return t.w.rows.error[block.row] + t.h * t.slot.u_free[row] + t.w.settings.stabilization.slop;
}

/// Whether any is too deep.
bool is_too_deep(const Task& t) {
  const double deep = -0.5 * t.w.settings.stabilization.slop;
  int row = 0;
  for (int b = 0; b < t.block_count(); ++b) {
    const RowBlock& block = t.block(b);
    if (has_position(block) && gap_after(t, block, row) < deep) return true;
    row += block.size;
  }
  return false;
}

/// Chooses the rows of (3) and writes how far each is from its place.
void pick_positions(const Task& t) {
  Slot& s = t.slot;
  const StabilizationSettings& st = t.w.settings.stabilization;
  s.picks.clear();
  s.errors.clear();
  int row = 0;
  for (int b = 0; b < t.block_count(); ++b) {
    const RowBlock& block = t.block(b);
    if (is_held(block.source)) {  // not opened by the others' correction; loops.cc closes them
      s.picks.push_back({b, block.size, RowKind::kEquality});
      s.errors.insert(s.errors.end(), block.size, 0.0);
    } else if (has_position(block)) {
      const double gap = gap_after(t, block, row);
      s.picks.push_back({b, 1, RowKind::kComplementarity});
      s.errors.push_back(world_detail::undone(st, gap, t.h));
    }
    row += block.size;
  }
}

/// Of what a row acts on, as if each body were free [1/kg].
double mobility_of_bodies(const World::Impl& w, const ImpulseRow& row) {
  double sum = 0;
  for (const int body : {row.body, row.other})
    if (const double m = w.model.bodies[body].mass; w.tree_of[body] >= 0 && m > 0) sum += 1 / m;
  return sum;
}

/// correct_positions.cc (2)
void let_positions_give_way(const Task& t) {
  Slot& s = t.slot;
  for (std::size_t i = 0; i < s.picks.size(); ++i) {
    if (s.picks[i].kind != RowKind::kComplementarity) continue;
    const ImpulseRow& row = t.w.rows.impulses[t.block(s.picks[i].block).row];
    double own = 0;
    solver::block_diagonal(s.part, static_cast<int>(i), &own);
    const double least = row.force.isZero(0) ? 0 : world_detail::kGivesWayMass * mobility_of_bodies(t.w, row);
    s.part.compliance[s.part.blocks[i].row] = std::max(world_detail::kGivesWay * own, least);
  }
}

/// (3)
void correct_positions(const Task& t, solver::Settings settings) {
  Slot& s = t.slot;
  if (t.w.settings.stabilization.kind != Stabilization::kPosition || !is_too_deep(t)) return;
  pick_positions(t);
  world_detail::extract(s);
  std::copy(s.errors.begin(), s.errors.end(), s.part.q.begin());
  let_positions_give_way(t);
  s.part_lambda.assign(s.part.q.size(), 0.0);
  settings.method = solver::Method::kDefault;
  settings.max_sweeps = std::min(settings.max_sweeps, 20);
  settings.absolute = 1e-3 * t.w.settings.stabilization.slop;
  settings.acceptable = 0;
  const bool swept = is_small(s) || t.island.report.method == solver::Method::kBlock;
  if (t.island.loose && swept) settings.max_newton = 0;
  bool refused = false;
  solve_or_default(s.part, settings, s, s.part_lambda, &refused);
  int from = 0;
  for (const Slot::Pick& pick : s.picks) {
    const RowBlock& block = t.block(pick.block);
    for (int k = 0; k < pick.rows; ++k) t.w.correction[block.row + k] = s.part_lambda[from + k];
    from += pick.rows;
  }
  t.slot.corrected = true;
}

void scatter(const Task& t) {
  int row = 0;
  for (int b = 0; b < t.block_count(); ++b) {
    const RowBlock& block = t.block(b);
    for (int k = 0; k < block.size; ++k, ++row) {
      t.w.rows.lambda[block.row + k] = t.slot.lambda[row];
      t.w.row_velocity[block.row + k] = t.slot.u_free[row];
    }
  }
}

/// v+ of the island's trees where their responses are at hand; else move_bodies() finds it from the impulses.
bool answer(const Task& t) {
  if (!t.slot.can_answer) return false;
  std::vector<double>& total = t.slot.change;
  int row = 0;
  for (int b = 0; b < t.block_count(); ++b) {
    const RowBlock& block = t.block(b);
    for (int k = 0; k < block.size; ++k, ++row) total[row] = t.slot.lambda[row] + t.w.bounce[block.row + k];
  }
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
  for (int b = 0; b < t.block_count(); ++b) {
    const RowBlock& block = t.block(b);
    std::fill_n(t.w.bounce.begin() + block.row, block.size, 0.0);
    std::fill_n(t.w.correction.begin() + block.row, block.size, 0.0);
  }
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
  if (t.slot.can_answer || t.slot.remote.empty()) return;
  t.slot.remote.clear();  // what becomes of them could not be told
  const BlockList all = t.w.blocks_of(t.island);
  t.slot.near.assign(all.begin(), all.end());
  world_detail::assemble(t.w, t.slot.near, t.slot);
}

void solve_near(const Task& t, Island& island) {
  assemble(t);
  solver::Settings settings = solver_settings(t.w.settings, t.slot.problem.rows());
  gather(t);
  bounce(t, settings);
  const double motion = square_of_motion(t);
  t.slot.rho.resize(t.slot.problem.block_count());
  solver::block_rho(t.slot.problem, t.slot.rho);
  remember_mobility(t);
  if (is_settling(t, motion, settings)) {
    settings.absolute *= solver::kAcceptedAtRest;
    stop(t, settings);
  }
  bool refused = false;
  island.report = step(t, motion, settings, &refused);
  island.refused = refused;
  correct_positions(t, settings);
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

/// The settings' work is that of a step.
void grant_work(const Task& t) {
  constexpr double kRows = 50'000;  // that get twice as much as few
  t.slot.most_work = t.w.settings.max_work * (t.h / t.w.settings.dt) * (1 + t.island.rows / kRows);
  t.slot.work = 0;
  t.slot.out_of_work = false;
}

void solve_all_of(const Task& t, Island& island) {
  if (world_detail::solve_heap(t.w, island, t.slot, t.h)) return;
  part_blocks(t);
  if (t.slot.near.empty()) return leave_free(t, island);
  do solve_near(t, island);
  while (admit_closed(t));
  scatter(t);
  pass_by(t);
}

void solve_island(const Task& t, Island& island) {
  island.answered = false;
  grant_work(t);
  solve_all_of(t, island);
  island.work = t.slot.work;
  island.out_of_work = t.slot.out_of_work;
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
  world_detail::solve_towers(*this, h);
  parallel.for_each(static_cast<int>(islands.size()), [&](int i, int slot) {
    if (!islands[i].solved) solve_island({*this, islands[i], slots[slot], h}, islands[i]);
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
    report.residual = std::max(report.residual, island.report.residual);
    report.sweeps = std::max(report.sweeps, island.report.sweeps);
    report.newton = std::max(report.newton, island.report.newton_iterations);
    report.refused += island.refused ? 1 : 0;
    report.budget.work += island.work;
    report.budget.exhausted += island.out_of_work ? 1 : 0;
    if (island.out_of_work) report.budget.method = chosen_method(settings);
    if (island.report.status != solver::Status::kConverged) report.status = island.report.status;
  }
  for (const Contact& c : contacts) report.penetration = std::max(report.penetration, -c.separation);
  window.close();
}

}  // namespace karakuri
