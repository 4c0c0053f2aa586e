// Bouncing, the first part of solve_islands.cc. With u = J v of the rows of an island, contacts that would
// close within the step and approach faster than the threshold bounce at its start:
//   u+ >= -e u-,  complementary to their impulses, u- = J v (1)
// Only those that approach take part, and the rest sees what they did: so an impact runs through a row of
// balls one after the other, until none approaches. The flight that follows starts from the velocity after
// the bounce at the place before it: no energy is lost or gained on the way. For RK4 all rigid contacts
// and limits that would close at J v within the step meet there, with u+ >= -gap / h where they do not
// bounce.
#include <algorithm>
#include <cmath>

#include "world/assemble.h"
#include "world/impl.h"
#include "world/island_task.h"

namespace karakuri::world_detail {

using solver::RowKind;
using Task = IslandTask;

namespace {

/// Of block b, the velocity along its normal that an impact at the start of the step takes away, negative; 0:
/// none. RK4 moves by the mean of the velocities at both ends of the step: what would come too close at that
/// of its start is stopped before.  (1)
double impact_of(const Task& t, int b, int row) {
  const RowBlock& block = t.block(b);
  const double e = t.w.restitution[t.block_index(b)], u = t.slot.u_now[row];
  const bool closes = t.w.rows.error[block.row] + t.h * t.slot.u_free[row] < 0;
  if (block.source == RowSource::kContact && e > 0 && closes && u < -t.w.settings.restitution_threshold)
    return (1 + e) * u;
  const bool rigid = t.w.rows.compliance[block.row] == 0;
  if (t.w.settings.integrator != Integrator::kRk4 || !has_position(block) || !rigid) return 0;
  const double left = u + std::max(0.0, t.w.rows.bias[block.row]);
  return left < -t.w.settings.acceptable ? left : 0;
}

/// Chooses the contacts of (1). @return Whether there are any.
bool pick_bouncing(const Task& t) {
  Slot& s = t.slot;
  s.picks.clear();
  bool any = false;
  int row = 0;
  for (int b = 0; b < t.block_count(); ++b) {
    const RowBlock& block = t.block(b);
    const bool bounces = impact_of(t, b, row) < 0;
    if (bounces || is_held(block.source)) s.picks.push_back({b, block.size, block.kind});
    any = any || bounces;
    row += block.size;
  }
  return any;
}

/// Adds W times the impulses of the part to the velocities of all rows.
void spread(const Task& t) {
  Slot& s = t.slot;
  s.all.assign(s.problem.q.size(), 0.0);
  int from = 0;
  for (const Slot::Pick& pick : s.picks) {
    const RowBlock& block = t.block(pick.block);
    const int row = s.problem.blocks[pick.block].row;
    for (int k = 0; k < pick.rows; ++k) {
      s.all[row + k] = s.part_lambda[from + k];
      t.w.bounce[block.row + k] += s.part_lambda[from + k];
    }
    from += pick.rows;
  }
  solver::apply_operator(s.problem, s.all, s.velocity, s.change);
  for (std::size_t i = 0; i < s.change.size(); ++i) {
    s.u_now[i] += s.change[i];
    s.u_free[i] += s.change[i];
  }
}

/// Restitution and friction together may ask for more energy than the impact has (Kane and Levinson, 1985):
/// with u before the impact the energy of motion changes by lambda . u + lambda . W lambda / 2, and all
/// impulses are shortened where that is a gain. What still approaches then is left to the step.
void take_energy_back(const Task& t) {
  constexpr double kRounding = 1e-12;
  Slot& s = t.slot;
  s.all.resize(s.part.q.size());
  s.velocity.resize(s.part.velocities());
  solver::apply_operator(s.part, s.part_lambda, s.velocity, s.all);
  double linear = 0, quadratic = 0;
  int row = 0;
  for (const Slot::Pick& pick : s.picks) {
    const int at = s.problem.blocks[pick.block].row;
    for (int k = 0; k < pick.rows; ++k, ++row) {
      linear += s.part_lambda[row] * s.u_now[at + k];
      quadratic += s.part_lambda[row] * s.all[row];
    }
  }
  if (!(linear + 0.5 * quadratic > kRounding * quadratic)) return;
  const double share = std::clamp(-2 * linear / quadratic, 0.0, 1.0);
  for (double& x : s.part_lambda) x *= share;
}

}  // namespace

void bounce(const Task& t, const solver::Settings& settings) {
  constexpr int kMostRounds = 50;
  Slot& s = t.slot;
  for (int round = 0; round < kMostRounds && pick_bouncing(t); ++round) {
    extract(s);
    int row = 0;
    for (const Slot::Pick& pick : s.picks) {
      const int at = s.problem.blocks[pick.block].row;
      for (int k = 0; k < pick.rows; ++k) s.part.q[row + k] = s.u_now[at + k];
      if (pick.kind == RowKind::kCone || pick.kind == RowKind::kComplementarity)
        s.part.q[row] = impact_of(t, pick.block, at);
      row += pick.rows;
    }
    s.part_lambda.assign(s.part.q.size(), 0.0);
    bool refused = false;
    solve_or_default(s.part, settings, s, s.part_lambda, &refused);
    take_energy_back(t);
    spread(t);
  }
}

void stop(const Task& t, solver::Settings settings) {
  Slot& s = t.slot;
  s.picks.clear();
  int row = 0;
  for (int b = 0; b < t.block_count(); ++b) {
    const RowBlock& block = t.block(b);
    if (s.lambda[row] != 0) s.picks.push_back({b, block.size, RowKind::kEquality});
    row += block.size;
  }
  if (s.picks.empty()) return;
  extract(s);
  row = 0;
  for (const Slot::Pick& pick : s.picks) {
    const int at = s.problem.blocks[pick.block].row;
    for (int k = 0; k < pick.rows; ++k) s.part.q[row++] = s.u_now[at + k];
  }
  s.part_lambda.assign(s.part.q.size(), 0.0);
  settings.tolerance = 1e-2;
  settings.absolute = 0;
  bool refused = false;
  solve_or_default(s.part, settings, s, s.part_lambda, &refused);
  spread(t);
}

}  // namespace karakuri::world_detail
