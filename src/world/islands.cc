// Trees that act on each other are solved together, and sleep and wake together. Union-find; the lowest tree
// of a set is its root, so that islands come in the same order whatever the order of the unions.
#include <algorithm>

#include "world/impl.h"

namespace karakuri {

using world_detail::Island;
using world_detail::TreeStatus;

namespace {

int find_root(std::vector<std::int32_t>& parent, int t) {
  while (parent[t] != t) t = parent[t] = parent[parent[t]];
  return t;
}

/// Whether a tree takes part in islands: asleep or awake, but free to answer.
bool joins(const World::Impl& w, int tree) {
  return tree >= 0 && !w.trees[tree].kinematic && !w.trees[tree].quarantined;
}

void unite(World::Impl& w, int a, int b) {
  if (!joins(w, a) || !joins(w, b)) return;
  a = find_root(w.parent, a);
  b = find_root(w.parent, b);
  if (a != b) w.parent[std::max(a, b)] = std::min(a, b);
}

/// A moving kinematic tree wakes what it touches, and what a loop joins to it.
void wake_by_kinematic(World::Impl& w, int mover, int sleeper) {
  if (mover < 0 || sleeper < 0 || !w.trees[mover].kinematic || w.trees[sleeper].awake) return;
  const Tree& tree = w.model.trees[mover];
  const Body &root = w.model.bodies[tree.first], &last = w.model.bodies[tree.last - 1];
  const auto begin = w.state.v.begin() + root.first_v, end = w.state.v.begin() + last.first_v + last.dofs;
  if (std::any_of(begin, end, [](double v) { return v != 0; })) w.wake_tree(sleeper);
}

}  // namespace

void World::Impl::connect_trees() {
  const int count = static_cast<int>(model.trees.size());
  has_unresponsive = false;
  for (int t = 0; t < count; ++t) {
    parent[t] = t;
    has_unresponsive = has_unresponsive || trees[t].kinematic || trees[t].quarantined;
  }
  for (std::size_t i = 0; i < model.loops.size(); ++i) {
    if (!state.loop_closed[i]) continue;
    const int a = tree_of[model.loops[i].body_f], b = tree_of[model.loops[i].body_m];
    unite(*this, a, b);
    if (has_unresponsive) {
      wake_by_kinematic(*this, a, b);
      wake_by_kinematic(*this, b, a);
    }
  }
  for (const Relation& r : model.relations) {
    const int first = tree_of[model.dofs[r.terms[0].dof].body];
    r.for_each_dof([&](const Relation::Term& t) { unite(*this, first, tree_of[model.dofs[t.dof].body]); });
  }
  ProxyPair last{-1, -1};
  for (const Contact& c : contacts) {
    const ProxyPair pair{c.collider_a, c.collider_b};
    if (pair == last) continue;  // contacts ascend by pair
    last = pair;
    const int a = tree_of[colliders[c.collider_a].body], b = tree_of[colliders[c.collider_b].body];
    unite(*this, a, b);
    if (has_unresponsive) {
      wake_by_kinematic(*this, a, b);
      wake_by_kinematic(*this, b, a);
    }
  }
  if (!settings.sleep.enabled) return;
  island_at.assign(count, 0);  // here: whether any tree of the set is awake
  for (int t = 0; t < count; ++t) {
    if (trees[t].awake && joins(*this, t)) island_at[find_root(parent, t)] = 1;
  }
  for (int t = 0; t < count; ++t) {
    if (!trees[t].awake && joins(*this, t) && island_at[find_root(parent, t)]) wake_tree(t);
  }
}

namespace {

int tree_of_block(const World::Impl& w, const RowBlock& block) {
  for (const ImpulseRow* row = &w.rows.impulses[block.row]; row; row = row->more)
    for (const int body : {row->body, row->other})
      if (w.tree_of[body] >= 0) return w.tree_of[body];
  return -1;
}

}  // namespace

void World::Impl::gather_islands() {
  const int count = static_cast<int>(model.trees.size());
  islands.clear();
  island_at.assign(count, -1);
  block_island.clear();
  for (const RowBlock& block : rows.blocks) {
    const int tree = tree_of_block(*this, block);
    if (tree < 0) {  // between two that do not respond
      block_island.push_back(-1);
      continue;
    }
    std::int32_t& island = island_at[find_root(parent, tree)];
    if (island < 0) {
      island = static_cast<std::int32_t>(islands.size());
      islands.emplace_back();
    }
    ++islands[island].block_count;
    islands[island].rows += block.size;
    block_island.push_back(island);
  }
  for (int t = 0; t < count; ++t) {
    const std::int32_t island = trees[t].responds() ? island_at[find_root(parent, t)] : -1;
    if (island < 0) continue;
    ++islands[island].trees;
    if (!model.bodies[model.trees[t].first].alone) islands[island].loose = false;
  }
  int blocks = 0;
  for (Island& island : islands) {
    island.first_block = blocks;
    blocks += std::exchange(island.block_count, 0);
  }
  island_blocks.resize(blocks);
  for (std::size_t b = 0; b < rows.blocks.size(); ++b) {
    if (block_island[b] < 0) continue;
    Island& island = islands[block_island[b]];
    island_blocks[island.first_block + island.block_count++] = static_cast<std::int32_t>(b);
  }
}

}  // namespace karakuri
