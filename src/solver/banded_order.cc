#include <algorithm>
#include <tuple>
#include <utility>

#include "solver/banded_newton.h"

namespace karakuri::solver {

namespace {

constexpr int kMostPoints = 4;  // of a patch

using Patches = std::span<IslandPatch>;

auto key(const auto& patch) { return std::pair(patch.body, patch.other); }

/// Patches of points between the same bodies.
void list_patches(std::span<const RigidPoint> points, const RigidIsland& island, BandGroup& g) {
  const std::size_t first = g.patches.size();
  for (std::int32_t i = island.first_point; i < island.first_point + island.points; ++i) {
    const RigidPoint& x = points[i];
    const bool same = g.patches.size() > first && key(g.patches.back()) == std::pair(x.body, x.other) &&
                      g.patches.back().count < kMostPoints;
    if (same)
      ++g.patches.back().count;
    else
      g.patches.push_back({x.body, x.other, i, 1, 1});
  }
}

/// order ← bodies by their distance from what does not move (Cuthill and McKee), place_of ← the inverse.
void order_bodies(Patches patches, std::size_t count, BandGroup& g) {
  g.place_of.assign(count, -1);
  g.order.assign(1, 0);
  g.place_of[0] = 0;
  const auto append = [&](std::int32_t body) {
    g.place_of[body] = static_cast<std::int32_t>(g.order.size());
    g.order.push_back(body);
  };
  for (std::size_t next = 0; g.order.size() < count; ++next) {
    if (next == g.order.size())  // nothing that is left touches what is in order
      append(static_cast<std::int32_t>(std::find(g.place_of.begin(), g.place_of.end(), -1) -
                                       g.place_of.begin()));
    for (const IslandPatch& p : patches) {
      for (const auto& [from, to] : {std::pair(p.body, p.other), std::pair(p.other, p.body)})
        if (from == g.order[next] && g.place_of[to] < 0) append(to);
    }
  }
}

/// Patches by places of bodies, in their order. @return Largest distance between two bodies that touch.
int sort_patches(const BandGroup& g, Patches patches) {
  int band = 0;
  for (IslandPatch& p : patches) {
    p.body = g.place_of[p.body];
    p.other = g.place_of[p.other];
    if (p.body < p.other) std::swap(p.body, p.other), p.sign = -1;
    if (p.other > 0) band = std::max(band, p.body - p.other);
  }
  std::sort(patches.begin(), patches.end(), [](const IslandPatch& a, const IslandPatch& b) {
    return std::tie(a.body, a.other, a.point) < std::tie(b.body, b.other, b.point);
  });
  return band;
}

Patches patches_of(BandGroup& g, const BandIsland& island) {
  return Patches(g.patches).subspan(island.first_patch, island.patches);
}

/// places ← places and what the island needs beyond them.
void merge(BandGroup& g, Patches patches) {
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
void find_own_places(const BandGroup& g, Patches patches) {
  std::int32_t next = 0;
  for (IslandPatch& p : patches) {
    while (key(g.places[next]) != key(p)) ++next;
    p.place = next++;
  }
}

}  // namespace

void list_island(std::span<const RigidPoint> points, RigidIsland& island, int most_band, BandGroup& g) {
  const auto first = static_cast<std::int32_t>(g.patches.size());
  list_patches(points, island, g);
  const Patches patches = Patches(g.patches).subspan(first);
  order_bodies(patches, island.bodies + 1, g);
  const int band = sort_patches(g, patches);
  if (band > most_band) return g.patches.resize(first);
  const bool is_carried =
      std::any_of(patches.begin(), patches.end(), [](const IslandPatch& p) { return p.other == 0; });
  g.islands.push_back({&island, static_cast<std::int32_t>(g.bodies.size()), island.bodies, first,
                       static_cast<std::int32_t>(patches.size()), band, is_carried});
  for (int b = 1; b <= island.bodies; ++b) g.bodies.push_back(island.first_body + g.order[b] - 1);
}

void find_places(BandGroup& g) {
  g.places.clear();
  g.most_bodies = g.points = 0;
  for (const BandIsland& island : g.islands) {
    merge(g, patches_of(g, island));
    g.most_bodies = std::max(g.most_bodies, island.bodies);
  }
  for (BandPatch& place : g.places) {
    place.first = g.points;
    g.points += place.count;
  }
  for (const BandIsland& island : g.islands) find_own_places(g, patches_of(g, island));
}

}  // namespace karakuri::solver
