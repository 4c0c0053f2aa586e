#include "solver/island.h"

#include <algorithm>
#include <cmath>

#include "karakuri/solver/guess.h"
#include "solver/choose.h"

namespace karakuri::solver {

Report solve_or_default(const Problem& problem, Settings settings, Island& island, Workspace& ws,
                        std::span<double> lambda, bool* refused) {
  constexpr double kLeast = 0.05;  // of the work of an island, for what is solved after it was spent
  settings.max_work = std::max(kLeast * settings.max_work, settings.max_work - island.work);
  const auto counted = [&](const Report& report) {
    island.work += report.work;
    island.out_of_work = island.out_of_work || report.out_of_work;
    return report;
  };
  auto report = solve(problem, settings, ws, lambda);
  if (report.ok()) return counted(*report);
  *refused = true;
  settings.method = Method::kDefault;
  report = solve(problem, settings, ws, lambda);
  if (report.ok()) return counted(*report);
  std::fill(lambda.begin(), lambda.end(), 0.0);  // not finite: whoever asks finds out which body it is
  return {.status = Status::kIterationLimit, .ending = Ending::kStall, .residual = kInfinity};
}

namespace {

/// Sum of squares of the speeds with which rows move, and with which positions are about to be corrected.
double square_of_motion(const Island& i, const IslandSettings& s) {
  double sum = 0;
  for (int b = 0; b < i.block_count(); ++b) {
    const Block& block = i.problem.blocks[b];
    const bool rigid = i.blocks[b].touches && i.problem.compliance[block.row] == 0;
    const double correction = rigid ? s.correction.speed_due(i.blocks[b].gap) : 0;
    sum += correction * correction;
    for (int k = block.row; k < block.row + block.size; ++k) sum += i.u_now[k] * i.u_now[k];
  }
  return sum;
}

/// Natural map of `lambda`, as solve() measures it.
double residual_of(const Island& i, std::span<const double> lambda, IslandWorkspace& ws) {
  ws.velocity.resize(i.problem.velocities());
  ws.change.resize(i.problem.q.size());
  row_velocities(i.problem, lambda, ws.velocity, ws.change);
  return natural_map(i.problem, lambda, ws.change, i.rho);
}

/// Whether the rows' bodies are hardly moving: stacks, not things that fall or slide.
bool rests_nearly(const Island& i, const IslandSettings& s) {
  double sum = 0;
  for (const double u : i.u_now) sum += u * u;
  const double rows = static_cast<double>(i.u_now.size());
  return is_calm({.motion = std::sqrt(sum), .usual = s.usual * std::sqrt(rows)});
}

/// Large islands at rest are carried from below: the old impulses are mended from the top down before any
/// sweeps, where that is nearer to a solution than their residual `warm`.
void mend_from_above(Island& i, double warm, IslandWorkspace& ws) {
  find_levels(i.problem, ws);
  ws.q_above.resize(i.problem.q.size());
  i.one_sided->find(ws.first_is_higher, ws.q_above);
  ws.all = i.lambda;
  guess_from_above(i.problem, ws.level, ws.q_above, ws.solver, ws.all);
  if (residual_of(i, ws.all, ws) < warm) std::swap(i.lambda, ws.all);
}

/// Impulses to start from, and the tolerance of what moves otherwise than the last step's impulses `warm`
/// make it: a heap of loose things that tumble is solved to a share of that. What comes to rest or slides on
/// is solved to the end.
void prepare_large(Island& i, const IslandSettings& s, double square_of_motion, IslandWorkspace& ws,
                   Settings& settings) {
  const bool large = i.one_sided && may_be_mended(i.problem) && rests_nearly(i, s);
  const bool heap = i.loose && i.bodies >= kLeastRigidBodies;
  if (!large && !heap) return;
  const double warm = residual_of(i, i.lambda, ws);
  if (large && warm > kAcceptedAtRest * settings.absolute) mend_from_above(i, warm, ws);
  if (heap) follow_heap({.motion = std::sqrt(square_of_motion), .change = warm}, settings);
}

/// What moves is left where Newton's method stalls at a share of that motion and of what impulses have to do
/// about it (the residual without any), and a robot is solved to a hundred-thousandth. What rests, what a
/// loop holds, and joints of what touches nothing, are solved to the tolerance.
void ask_of_motion(const Island& i, const IslandSettings& s, double square_of_motion, IslandWorkspace& ws,
                   Settings& settings) {
  bool touches = false;
  for (const IslandBlock& block : i.blocks) {
    if (block.holds) return;
    touches = touches || block.touches;
  }
  if (!touches) return;
  ws.all.assign(i.problem.q.size(), 0.0);
  const double needed = natural_map(i.problem, ws.all, i.problem.q, i.rho);
  follow_motion(i.loose, std::sqrt(square_of_motion), needed, settings);
  if (i.loose || is_soon_exact(i.problem)) return;
  const double unit = std::sqrt(static_cast<double>(i.problem.rows()));
  follow_tangle(
      {.motion = std::sqrt(square_of_motion), .change = residual_of(i, i.lambda, ws), .fall = s.fall * unit},
      settings);
}

void state_velocities(Island& i) {
  for (std::size_t k = 0; k < i.u_free.size(); ++k) i.problem.q[k] = i.u_free[k] + i.bias[k];
}

/// Whether the island rests but for tiny motions, under a load that hardly changes: of a robot that moves
/// elsewhere, contacts may rest too. Then the impulses of the step may hold the next.
bool is_settling(Island& i, double square_of_motion, const Settings& settings, IslandWorkspace& ws) {
  if (!i.hardly_moves || square_of_motion > settings.absolute * settings.absolute ||
      !is_soon_exact(i.problem))
    return false;
  state_velocities(i);
  return residual_of(i, i.lambda, ws) <= kSettling * settings.absolute;
}

/// (2). Leaves J v+ in u_free.
void step(Island& i, const IslandSettings& s, double square_of_motion, Settings settings,
          IslandWorkspace& ws) {
  const Problem& p = i.problem;
  state_velocities(i);
  prepare_large(i, s, square_of_motion, ws, settings);
  ask_of_motion(i, s, square_of_motion, ws, settings);
  settings.rho = i.rho;
  i.report = solve_or_default(p, settings, i, ws.solver, i.lambda, &i.refused);
  if (!std::isfinite(i.report.residual)) return;
  const std::span<const double> u = ws.solver.velocities();
  for (std::size_t k = 0; k < u.size(); ++k) i.u_free[k] += u[k] - p.q[k] - p.compliance[k] * i.lambda[k];
}

/// How far a contact or limit is from where its position is left alone, at the end of the step; 0 where it is
/// soft: it is as deep as its spring lets it.
double gap_after(const Island& i, const PositionCorrection& c, int b) {
  const int row = i.problem.blocks[b].row;
  return i.problem.compliance[row] > 0 ? 0 : c.gap(i.blocks[b].gap, i.u_free[row]);
}

bool is_too_deep(const Island& i, const PositionCorrection& c) {
  for (int b = 0; b < i.block_count(); ++b)
    if (i.blocks[b].has_gap && c.is_too_deep(gap_after(i, c, b))) return true;
  return false;
}

/// Chooses the rows of (3) and writes how far each is from its place.
void pick_positions(const Island& i, const PositionCorrection& c, IslandWorkspace& ws) {
  ws.picks.clear();
  ws.errors.clear();
  for (int b = 0; b < i.block_count(); ++b) {
    if (i.blocks[b].holds) {  // not opened by the others' correction
      const int size = i.problem.blocks[b].size;
      ws.picks.push_back({b, size, RowKind::kEquality});
      ws.errors.insert(ws.errors.end(), size, 0.0);
    } else if (i.blocks[b].has_gap) {
      ws.picks.push_back({b, 1, RowKind::kComplementarity});
      ws.errors.push_back(c.undone(gap_after(i, c, b)));
    }
  }
}

/// Rows whose lever is bad give way, so that they do not ask for large motions.
void let_positions_give_way(const Island& i, IslandWorkspace& ws) {
  for (std::size_t k = 0; k < ws.picks.size(); ++k) {
    if (ws.picks[k].kind != RowKind::kComplementarity) continue;
    double own = 0;
    block_diagonal(ws.part, static_cast<int>(k), &own);
    ws.part.compliance[ws.part.blocks[k].row] =
        std::max(kGivesWay * own, i.blocks[ws.picks[k].block].least_give);
  }
}

}  // namespace

void correct_positions(Island& i, const IslandSettings& s, IslandWorkspace& ws) {
  constexpr int kMostSweeps = 20;
  if (!s.correction.wanted || !is_too_deep(i, s.correction)) return;
  pick_positions(i, s.correction, ws);
  extract(i.problem, ws.picks, ws.part);
  std::copy(ws.errors.begin(), ws.errors.end(), ws.part.q.begin());
  let_positions_give_way(i, ws);
  ws.part_lambda.assign(ws.part.q.size(), 0.0);
  Settings settings = s.solver;
  settings.method = Method::kDefault;
  settings.max_sweeps = std::min(settings.max_sweeps, kMostSweeps);
  settings.absolute = kOfPositions * s.correction.slop;
  settings.acceptable = 0;
  const bool swept = has_few_motions(i.problem) || i.report.method == Method::kBlock;
  if (i.loose && swept) settings.max_newton = 0;
  bool refused = false;
  solve_or_default(ws.part, settings, i, ws.solver, ws.part_lambda, &refused);
  int from = 0;
  for (const Pick& pick : ws.picks) {
    const int row = i.problem.blocks[pick.block].row;
    for (int k = 0; k < pick.rows; ++k) i.correction[row + k] = ws.part_lambda[from + k];
    from += pick.rows;
  }
  i.corrected = true;
}

namespace {

/// One more step from the ground for all that touch what has a level already. @return Whether anything was
/// reached.
bool next_level(const Problem& p, int now, std::vector<int>& level) {
  bool any = false;
  for (int b = 0; b < p.block_count(); ++b) {
    const int first = p.term_start[b];
    if (p.term_start[b + 1] - first != 2) continue;
    int &x = level[p.terms[first].subsystem], &y = level[p.terms[first + 1].subsystem];
    if (x == now && y < 0) y = now + 1, any = true;
    if (y == now && x < 0) x = now + 1, any = true;
  }
  return any;
}

}  // namespace

void find_levels(const Problem& p, IslandWorkspace& ws) {
  ws.level.assign(p.subsystems.size(), -1);
  for (int b = 0; b < p.block_count(); ++b)
    if (p.term_start[b + 1] - p.term_start[b] == 1) ws.level[p.terms[p.term_start[b]].subsystem] = 1;
  for (int now = 1; next_level(p, now, ws.level);) ++now;
  ws.first_is_higher.resize(p.blocks.size());
  for (int b = 0; b < p.block_count(); ++b) {
    const int first = p.term_start[b];
    const bool two = p.term_start[b + 1] - first == 2;
    ws.first_is_higher[b] =
        two && ws.level[p.terms[first].subsystem] > ws.level[p.terms[first + 1].subsystem];
  }
}

void solve(Island& i, const IslandSettings& s, IslandWorkspace& ws) {
  const std::size_t rows = i.problem.q.size();
  i.bounce.assign(rows, 0.0);
  i.correction.assign(rows, 0.0);
  i.corrected = i.refused = false;
  Settings settings = s.solver;
  bounce(i, s, ws);
  const double motion = square_of_motion(i, s);
  i.rho.resize(i.problem.block_count());
  block_rho(i.problem, i.rho);
  if (is_settling(i, motion, settings, ws)) {
    settings.absolute *= kAcceptedAtRest;
    stop(i, settings, ws);
  }
  step(i, s, motion, settings, ws);
  IslandSettings rest = s;
  rest.solver = settings;
  correct_positions(i, rest, ws);
}

}  // namespace karakuri::solver
