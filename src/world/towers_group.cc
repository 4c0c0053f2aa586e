#include <algorithm>
#include <tuple>
#include <utility>

#include "world/impl.h"
#include "world/towers.h"

namespace karakuri::world_detail {

namespace {

constexpr int kMostBand = 3;    // 6 x 6 blocks beside the diagonal
constexpr int kMostPoints = 4;  // of a patch

using Patches = std::span<IslandPatch>;

auto key(const auto& patch) { return std::pair(patch.body, patch.other); }

/// Bodies in the order of their first contact; patches between them.
void list_patches(const World::Impl& w, const Island& island, Slot& slot, TowerGroup& g) {
  const std::size_t first = g.patches.size();
  g.found.assign(1, 0);
  const auto number_of = [&](int body) {
    const int tree = w.tree_of[body];
    if (tree < 0) return 0;
    std::int32_t& number = slot.tree_subsystem[tree];
    if (number < 0) {
      number = static_cast<std::int32_t>(g.found.size());
      g.found.push_back(body);
    }
    return number;
  };
  for (int b = 0; b < island.block_count; ++b) {
    const RowBlock& block = w.rows.blocks[w.island_blocks[island.first_block + b]];
    const ImpulseRow& row = w.rows.impulses[block.row];
    const int body = number_of(row.body), other = number_of(row.other);
    const bool same = g.patches.size() > first && key(g.patches.back()) == std::pair(body, other) &&
                      g.patches.back().count < kMostPoints;
    if (same)
      ++g.patches.back().count;
    else
      g.patches.push_back({body, other, b, 1, 1});
  }
  for (std::size_t i = 1; i < g.found.size(); ++i) slot.tree_subsystem[w.tree_of[g.found[i]]] = -1;
}

/// order ← bodies by their distance from the world (Cuthill and McKee), place_of ← the inverse.
void order_bodies(Patches patches, TowerGroup& g) {
  const std::size_t count = g.found.size();
  g.place_of.assign(count, -1);
  g.order.assign(1, 0);
  g.place_of[0] = 0;
  const auto append = [&](std::int32_t body) {
    g.place_of[body] = static_cast<std::int32_t>(g.order.size());
    g.order.push_back(body);
  };
  for (std::size_t next = 0; g.order.size() < count; ++next) {
    if (next == g.order.size()) append(1);  // nothing that moves touches the world
    for (const IslandPatch& p : patches) {
      for (const auto& [from, to] : {std::pair(p.body, p.other), std::pair(p.other, p.body)})
        if (from == g.order[next] && g.place_of[to] < 0) append(to);
    }
  }
}

/// Patches by places of bodies, in their order. @return Largest distance between two bodies that touch.
int sort_patches(const TowerGroup& g, Patches patches) {
  int band = 0;
  for (IslandPatch& p : patches) {
    p.body = g.place_of[p.body];
    p.other = g.place_of[p.other];
    if (p.body < p.other) std::swap(p.body, p.other), p.sign = -1;
    if (p.other > 0) band = std::max(band, p.body - p.other);
  }
  std::sort(patches.begin(), patches.end(), [](const IslandPatch& a, const IslandPatch& b) {
    return std::tie(a.body, a.other, a.block) < std::tie(b.body, b.other, b.block);
  });
  return band;
}

Patches patches_of(TowerGroup& g, const TowerIsland& island) {
  return Patches(g.patches).subspan(island.first_patch, island.patches);
}

/// places ← places and what the island needs beyond them.
void merge(TowerGroup& g, Patches patches) {
  g.merged.clear();
  auto place = g.places.begin();
  for (const IslandPatch& p : patches) {
    while (place != g.places.end() && key(*place) < key(p)) g.merged.push_back(*place++);
    if (place != g.places.end() && key(*place) == key(p))
      g.merged.push_back(*place++);
    else
      g.merged.push_back({p.body, p.other, 0, 0});
    g.merged.back().count = std::max(g.merged.back().count, p.count);
  }
  g.merged.insert(g.merged.end(), place, g.places.end());
  std::swap(g.places, g.merged);
}

/// Where the island's patches have their places.
void find_own_places(const TowerGroup& g, Patches patches) {
  std::int32_t next = 0;
  for (IslandPatch& p : patches) {
    while (key(g.places[next]) != key(p)) ++next;
    p.place = next++;
  }
}

}  // namespace

void list_island(const World::Impl& w, Island& island, Slot& slot, TowerGroup& g) {
  const auto first = static_cast<std::int32_t>(g.patches.size());
  list_patches(w, island, slot, g);
  const Patches patches = Patches(g.patches).subspan(first);
  order_bodies(patches, g);
  const int band = sort_patches(g, patches);
  if (band > kMostBand) return g.patches.resize(first);
  const bool is_carried =
      std::any_of(patches.begin(), patches.end(), [](const IslandPatch& p) { return p.other == 0; });
  const auto bodies = static_cast<std::int32_t>(g.order.size()) - 1;
  g.islands.push_back({&island, static_cast<std::int32_t>(g.bodies.size()), bodies, first,
                       static_cast<std::int32_t>(patches.size()), band, is_carried});
  for (int b = 1; b <= bodies; ++b) g.bodies.push_back(g.found[g.order[b]]);
}

void find_places(TowerGroup& g) {
  g.places.clear();
  g.most_bodies = g.points = 0;
  for (const TowerIsland& island : g.islands) {
    merge(g, patches_of(g, island));
    g.most_bodies = std::max(g.most_bodies, island.bodies);
  }
  for (TowerPatch& place : g.places) {
    place.first = g.points;
    g.points += place.count;
  }
  for (const TowerIsland& island : g.islands) find_own_places(g, patches_of(g, island));
}

}  // namespace karakuri::world_detail
