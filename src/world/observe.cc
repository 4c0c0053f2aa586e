#include "world/observe.h"

#include "world/assemble.h"
#include "world/impl.h"
#include "world/rigid_islands.h"

namespace karakuri::world_detail {

namespace {

/// Of a problem that is written out: what each row does to whole trees, twice.
std::size_t numbers_of(const World::Impl& w, const Island& island) {
  std::size_t size = 0;
  for (const std::int32_t b : w.blocks_of(island)) {
    const RowBlock& block = w.rows.blocks[b];
    for (const ImpulseRow* row = &w.rows.impulses[block.row]; row; row = row->more) {
      for (const int body : {row->body, row->other}) {
        if (w.tree_of[body] < 0) continue;
        const Tree& tree = w.model.trees[w.tree_of[body]];
        const Body &root = w.model.bodies[tree.first], &last = w.model.bodies[tree.last - 1];
        size += static_cast<std::size_t>(2 * block.size * (last.first_v + last.dofs - root.first_v));
      }
    }
  }
  return size;
}

IslandState state_of(const World::Impl& w, const Island& island, double h, Slot& slot) {
  assemble_written_out(w, w.blocks_of(island), slot);
  IslandState s{.step = w.steps,
                .h = h,
                .fall = h * w.model.gravity.norm(),
                .speed = w.scales.speed,
                .tolerance = w.settings.tolerance,
                .loose = island.loose,
                .problem = slot.island.problem};
  if (is_rigid(w, island)) {
    slot.rigid.clear();
    slot.rigid_bodies.clear();
    state_rigid(w, island, h, w.settings.max_work, slot);
    s.rigid = slot.rigid;
  }
  int row = 0;
  for (const std::int32_t b : w.blocks_of(island)) {
    const RowBlock& block = w.rows.blocks[b];
    for (int k = block.row; k < block.row + block.size; ++k, ++row) {
      s.problem.q[row] = w.row_free[k] + w.rows.bias[k];
      s.old.push_back(w.rows.lambda[k]);
      s.velocity.push_back(w.row_velocity[k]);
    }
  }
  return s;
}

}  // namespace

IslandWindow::IslandWindow(World::Impl& w, double h) : w_(w) {
  for (const auto& hook : w.hooks)
    if (const auto* named = hook.target<ObserveIslands>()) observer_ = named->observer;
  if (!observer_) return;
  observer_->seen_.clear();
  for (int i = 0; i < static_cast<int>(w.islands.size()); ++i) {
    const Island& island = w.islands[i];
    if (!observer_->wants(i, island.rows, numbers_of(w, island))) continue;
    observer_->before(i, state_of(w, island, h, w.slots[0]));
    observer_->seen_.push_back(i);
  }
}

void IslandWindow::close() const {
  if (!observer_) return;
  std::vector<double> impulses;
  for (const int i : observer_->seen_) {
    impulses.clear();
    for (const std::int32_t b : w_.blocks_of(w_.islands[i])) {
      const RowBlock& block = w_.rows.blocks[b];
      for (int k = block.row; k < block.row + block.size; ++k) impulses.push_back(w_.total[k]);
    }
    observer_->after(i, impulses, w_.islands[i].report);
  }
}

}  // namespace karakuri::world_detail
