// Impacts at the start of a step. With u = J v of the rows of an island, contacts that would close within the
// step and approach faster than the threshold bounce:
//   u+ >= -e u-,  complementary to their impulses, u- = J v (1)
// Only those that approach take part, and the rest sees what they did: so an impact runs through a row of
// balls one after the other, until none approaches. The flight that follows starts from the velocity after
// the bounce at the place before it: no energy is lost or gained on the way. An integrator that moves by the
// mean of the velocities at both ends of the step has all rigid contacts and limits that would close at J v
// within the step meet there, with u+ >= -gap / h where they do not bounce.
#include <algorithm>
#include <cmath>

#include "solver/island.h"

namespace karakuri::solver {

namespace {

/// Of block b, the velocity along its normal that an impact at the start of the step takes away, negative; 0:
/// none.  (1)
double impact_of(const Island& i, const IslandSettings& s, int b) {
  const IslandBlock& block = i.blocks[b];
  const int row = i.problem.blocks[b].row;
  const double e = block.restitution, u = i.u_now[row];
  const bool closes = block.gap + s.step * i.u_free[row] < 0;
  if (block.touches && e > 0 && closes && u < -s.restitution_threshold) return (1 + e) * u;
  const bool rigid = i.problem.compliance[row] == 0;
  if (!s.stops_at_start || !block.has_gap || !rigid) return 0;
  const double left = u + std::max(0.0, i.bias[row]);
  return left < -s.slow ? left : 0;
}

/// Chooses the contacts of (1). @return Whether there are any.
bool pick_bouncing(const Island& i, const IslandSettings& s, IslandWorkspace& ws) {
  ws.picks.clear();
  bool any = false;
  for (int b = 0; b < i.block_count(); ++b) {
    const bool bounces = impact_of(i, s, b) < 0;
    if (bounces || i.blocks[b].holds)
      ws.picks.push_back({b, i.problem.blocks[b].size, i.problem.blocks[b].kind});
    any = any || bounces;
  }
  return any;
}

/// Adds W times the impulses of the part to the velocities of all rows.
void spread(Island& i, IslandWorkspace& ws) {
  ws.all.assign(i.problem.q.size(), 0.0);
  int from = 0;
  for (const Pick& pick : ws.picks) {
    const int row = i.problem.blocks[pick.block].row;
    for (int k = 0; k < pick.rows; ++k) {
      ws.all[row + k] = ws.part_lambda[from + k];
      i.bounce[row + k] += ws.part_lambda[from + k];
    }
    from += pick.rows;
  }
  ws.velocity.resize(i.problem.velocities());
  ws.change.resize(i.problem.q.size());
  apply_operator(i.problem, ws.all, ws.velocity, ws.change);
  for (std::size_t k = 0; k < ws.change.size(); ++k) {
    i.u_now[k] += ws.change[k];
    i.u_free[k] += ws.change[k];
  }
}

/// Restitution and friction together may ask for more energy than the impact has (Kane and Levinson, 1985):
/// with u before the impact the energy of motion changes by lambda . u + lambda . W lambda / 2, and all
/// impulses are shortened where that is a gain. What still approaches then is left to the step.
void take_energy_back(const Island& i, IslandWorkspace& ws) {
  constexpr double kRounding = 1e-12;
  ws.all.resize(ws.part.q.size());
  ws.velocity.resize(ws.part.velocities());
  apply_operator(ws.part, ws.part_lambda, ws.velocity, ws.all);
  double linear = 0, quadratic = 0;
  int row = 0;
  for (const Pick& pick : ws.picks) {
    const int at = i.problem.blocks[pick.block].row;
    for (int k = 0; k < pick.rows; ++k, ++row) {
      linear += ws.part_lambda[row] * i.u_now[at + k];
      quadratic += ws.part_lambda[row] * ws.all[row];
    }
  }
  if (!(linear + 0.5 * quadratic > kRounding * quadratic)) return;
  const double share = std::clamp(-2 * linear / quadratic, 0.0, 1.0);
  for (double& x : ws.part_lambda) x *= share;
}

/// part.q ← velocities at the start of the step of what is picked.
void take_velocities(const Island& i, IslandWorkspace& ws) {
  int row = 0;
  for (const Pick& pick : ws.picks) {
    const int at = i.problem.blocks[pick.block].row;
    for (int k = 0; k < pick.rows; ++k) ws.part.q[row++] = i.u_now[at + k];
  }
  ws.part_lambda.assign(ws.part.q.size(), 0.0);
}

}  // namespace

void bounce(Island& i, const IslandSettings& s, IslandWorkspace& ws) {
  constexpr int kMostRounds = 50;
  for (int round = 0; round < kMostRounds && pick_bouncing(i, s, ws); ++round) {
    extract(i.problem, ws.picks, ws.part);
    take_velocities(i, ws);
    int row = 0;
    for (const Pick& pick : ws.picks) {
      if (pick.kind == RowKind::kCone || pick.kind == RowKind::kComplementarity)
        ws.part.q[row] = impact_of(i, s, pick.block);
      row += pick.rows;
    }
    bool refused = false;
    solve_or_default(ws.part, s.solver, i, ws.solver, ws.part_lambda, &refused);
    take_energy_back(i, ws);
    spread(i, ws);
  }
}

void stop(Island& i, Settings settings, IslandWorkspace& ws) {
  ws.picks.clear();
  for (int b = 0; b < i.block_count(); ++b)
    if (i.lambda[i.problem.blocks[b].row] != 0)
      ws.picks.push_back({b, i.problem.blocks[b].size, RowKind::kEquality});
  if (ws.picks.empty()) return;
  extract(i.problem, ws.picks, ws.part);
  take_velocities(i, ws);
  settings.tolerance = kOfStops;
  settings.absolute = 0;
  bool refused = false;
  solve_or_default(ws.part, settings, i, ws.solver, ws.part_lambda, &refused);
  spread(i, ws);
}

}  // namespace karakuri::solver
