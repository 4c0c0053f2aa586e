// Velocities after two links were joined. The impact is plastic:
//   v+ = v + M^-1 J^T lambda,   u+ = J v+                                                         (1)
// where u+ = 0 along the rows of all closed loops and u+ obeys Coulomb's law at contacts and complementarity
// at limits that held already. The energy of motion changes by lambda . u+ - |J^T lambda|^2 / 2 in the metric
// of M^-1, and no law lets lambda . u+ be positive: it never rises. Rows may depend on each other in any way.
#include <algorithm>

#include "karakuri/constraint/contact_rows.h"
#include "karakuri/constraint/joint_rows.h"
#include "karakuri/dynamics/aba.h"
#include "karakuri/dynamics/kinematics.h"
#include "world/assemble.h"
#include "world/impl.h"

namespace karakuri {

using world_detail::Island;
using world_detail::Slot;

namespace {

constexpr StabilizationSettings kNoCorrection{
    .kind = Stabilization::kNone, .slop = 0, .max_speed = solver::kInfinity};

/// Contacts and limits that carried something in the last step and would be pressed again.
void add_unilateral_rows(World::Impl& w, int root) {
  const StabilizationSettings& none = kNoCorrection;
  const auto takes_part = [&](int body) { return w.responds(body) && w.root_of(w.tree_of[body]) == root; };
  for (const std::int32_t body : w.limited_bodies) {
    if (!takes_part(body)) continue;
    const std::size_t first = w.rows.blocks.size();
    add_limit_rows(w.model, w.state, w.ws, body, w.state.v_view(), none, 1, w.rows);
    for (std::size_t b = first; b < w.rows.blocks.size(); ++b) {
      const bool held = w.limit_impulse[w.rows.blocks[b].index] != 0;
      w.rows.bias[w.rows.blocks[b].row] = held ? 0 : 1e3 * w.scales.speed;  // not there
    }
  }
  for (std::size_t i = 0; i < w.contacts.size(); ++i) {
    const Contact& c = w.contacts[i];
    const int a = w.colliders[c.collider_a].body, b = w.colliders[c.collider_b].body;
    if (!(c.force.squaredNorm() > 0) || (!takes_part(a) && !takes_part(b))) continue;
    const Surface& surface = w.surface_of(c.collider_a, c.collider_b);
    add_contact_rows({a, b, c.point, contact_frame(c.normal), 0}, surface, surface.static_friction, 0, none,
                     1, static_cast<int>(i), w.rows);
  }
}

void solve_rows(World::Impl& w) {
  w.rows.close();
  w.row_velocity.resize(w.rows.impulses.size());
  row_velocities(w.rows.impulses, w.ws, Eigen::Map<Eigen::VectorXd>(w.row_velocity.data(), w.rows.size()));
  w.release_unresponsive(w.rows.impulses);
  w.release_unresponsive(w.rows.parts);
  w.gather_islands();
  Slot& slot = w.slots[0];
  for (const Island& island : w.islands) {
    world_detail::assemble(w, w.blocks_of(island), slot);
    slot.island.lambda.assign(slot.island.problem.q.size(), 0.0);
    int row = 0;
    const auto each_row = [&](auto&& visit) {
      row = 0;
      for (const int b : w.blocks_of(island)) {
        const RowBlock& block = w.rows.blocks[b];
        for (int k = 0; k < block.size; ++k, ++row) visit(row, block.row + k);
      }
    };
    each_row(
        [&](int here, int all) { slot.island.problem.q[here] = w.row_velocity[all] + w.rows.bias[all]; });
    solver::Settings settings;
    settings.measure = solver::Measure::kScaled;
    settings.tolerance = 1e-12;
    settings.explain_failure = false;
    (void)solver::solve(slot.island.problem, settings, slot.solver.solver, slot.island.lambda);
    each_row([&](int here, int all) { w.rows.lambda[all] = slot.island.lambda[here]; });
  }
  apply_impulses(w.model, w.rows.impulses,
                 Eigen::Map<const Eigen::VectorXd>(w.rows.lambda.data(), w.rows.size()), w.ws,
                 w.state.v_view());
}

}  // namespace

void World::Impl::impact(int index) {
  const Loop& loop = model.loops[index];
  for (const int body : {loop.body_f, loop.body_m})
    if (tree_of[body] >= 0) wake_tree(tree_of[body]);
  view_fresh = past_fresh = false;
  if (!responds(loop.body_f) && !responds(loop.body_m)) return;
  connect_trees();
  const int root = root_of(tree_of[responds(loop.body_f) ? loop.body_f : loop.body_m]);
  std::copy(model.armature.begin(), model.armature.end(), ws.diagonal.begin());
  refresh_kinematics();
  articulated_factor(model, ws);
  rows.clear();
  rows.reserve(model);
  add_unilateral_rows(*this, root);
  if (rows.size() > 0) {
    for (std::size_t i = 0; i < model.loops.size(); ++i) {
      const Loop& l = model.loops[i];
      const bool of_island = is_of_island(l.body_f, root) || is_of_island(l.body_m, root);
      if (!l.held() || !state.loop_closed[i] || !of_island) continue;
      add_loop_rows(model, ws, static_cast<int>(i), kNoCorrection, 1, 0, rows);
    }
    for (std::size_t i = 0; i < model.relations.size(); ++i) {
      bool part = false;
      model.relations[i].for_each_dof(
          [&](const Relation::Term& t) { part = part || is_of_island(model.dofs[t.dof].body, root); });
      if (part && model.relations[i].held)
        add_coupling_row(model, state, ws, static_cast<int>(i), kNoCorrection, 1, 0, rows);
    }
    solve_rows(*this);
  }
  project_on_loops(state, root);  // exact, and all there is to do where nothing else holds
}

bool World::Impl::is_of_island(int body, int root) const {
  return responds(body) && root_of(tree_of[body]) == root;
}

}  // namespace karakuri
