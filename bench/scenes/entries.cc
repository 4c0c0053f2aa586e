#include "scenes/entries.h"

#include <fmt/format.h>

#include "scenes/scenes.h"

namespace karakuri::bench {

namespace {

using Peers = std::vector<std::string>;

Peers loose() { return {"Bullet"}; }
Peers robots() { return {"MuJoCo", "MuJoCo elliptic"}; }
Peers both() { return {"MuJoCo", "MuJoCo elliptic", "Bullet"}; }

void add_robots(std::vector<Entry>& all) {
  constexpr double kAim = 0.4;
  all.push_back({"1 humanoid",
                 [](auto seed) { return falling_humanoids(1, seed); },
                 "MuJoCo",
                 {{"falling", 0, 1.5}, {"lying", 2, 6}},
                 0,
                 kAim});
  for (const int contacts : {8, 16, 32, 64}) {
    all.push_back({fmt::format("standing, {} contacts", contacts),
                   [=](auto) { return standing_humanoid(contacts); },
                   "MuJoCo",
                   {{"standing", 0.5, 4}},
                   0.2,
                   kAim});
  }
  for (const int count : {22, 100}) {
    all.push_back({fmt::format("{} humanoids", count),
                   [=](auto seed) { return falling_humanoids(count, seed); },
                   "MuJoCo",
                   {{"falling", 0, 1.5}, {"lying", 2, 3}},
                   0,
                   kAim});
  }
}

void add_stacks(std::vector<Entry>& all) {
  const std::vector<Phase> rest{{"settling", 0, 5}, {"resting", 5, 10}};
  const auto add = [&](const std::string& name, auto make, double within, double at_most) {
    all.push_back({name, [=](auto) { return make(); }, "Bullet", rest, within, at_most});
  };
  const auto add_pile = [&](const std::string& name, int nx, int ny, int nz, double end) {
    all.push_back({name,
                   [=](auto seed) { return pile(nx, ny, nz, seed); },
                   "Bullet",
                   {{"falling", 0, 3}, {"lying", 5, end}},
                   0,
                   1});
  };
  add("pyramid 105", [] { return pyramid(14); }, 0.3, 1);
  add("wall 95", [] { return wall(10); }, 0.3, 1);
  add("solid pyramid 1015", [] { return solid_pyramid(14); }, 0.3, 1);
  add("pyramid 990", [] { return pyramid(44); }, 0.3, 1);
  add_pile("pile 100", 5, 5, 4, 8);
  add_pile("pile 1000", 10, 10, 10, 8);
  add_pile("pile 5000", 25, 20, 10, 6);
  add("card house", [] { return card_house(4); }, 0.2, 0);  // the others' lie on the floor
  add("arch", [] { return arch(21); }, 0.3, 1);
  const std::vector<Phase> landing{{"landing", 0, 0.5}, {"lying", 1, 2}};
  all.push_back({"chain 100", [](auto) { return chain_on_floor(100); }, "MuJoCo", landing, 0, 0.4});
  all.push_back({"chain 1000", [](auto) { return chain_on_floor(1000); }, "ODE", landing, 0, 1});
}

/// Scenes whose halves are as unlike as a fall and what comes of it.
void add_halves(std::vector<Entry>& all, const std::string& name, std::function<Setup(std::uint64_t)> make,
                const Peers& peers, double at_most) {
  const std::string reference = peers == loose() ? "Bullet" : "MuJoCo";
  all.push_back(
      {name, std::move(make), reference, {{"first", 0, 2.5}, {"later", 2.5, 5}}, 0, at_most, peers});
}

void add_loose(std::vector<Entry>& all) {
  const auto add = [&](const std::string& name, std::function<Setup(std::uint64_t)> make) {
    add_halves(all, name, std::move(make), loose(), 0.7);
  };
  const auto add_bin = [&](const std::string& name, Things things, int count) {
    add(name, [=](auto seed) { return bin(things, count, seed); });
  };
  add("struck tower of 18 layers", [](auto seed) { return struck_tower(18, seed); });
  add("struck wall of 100 bricks", [](auto seed) { return struck_wall(10, seed); });
  add("114 logs between posts", [](auto) { return logs_between_posts(12); });
  add_bin("bin of 200 boxes", Things::kBoxes, 200);
  add_bin("bin of 200 spheres", Things::kSpheres, 200);
  add_bin("bin of 200 hulls", Things::kHulls, 200);
  for (const int count : {100, 200, 1000, 10000})
    add_bin(fmt::format("bin of {} mixed", count), Things::kMixed, count);
  add_bin("bin of 1000 boxes", Things::kBoxes, 1000);
  add("drum of 500 spheres", [](auto seed) { return drum(500, seed); });
}

void add_tangles(std::vector<Entry>& all) {
  const auto add_pit = [&](int count, double at_most) {
    add_halves(
        all, fmt::format("{} humanoids in a pit", count),
        [=](auto seed) { return humanoids_in_pit(count, seed); }, robots(), at_most);
  };
  add_pit(5, 0.4);
  add_pit(20, 0.25);
  add_pit(50, 0.2);
  add_halves(all, "20 ragdolls in a pit", [](auto seed) { return ragdolls_in_pit(20, seed); }, robots(), 0.4);
  add_halves(all, "quadruped on hills", [](auto seed) { return quadruped_on_hills(seed); }, robots(), 0.4);
  add_halves(all, "hand in a bin of 60", [](auto seed) { return hand_in_bin(60, seed); }, both(), 0.4);
  add_halves(all, "arm stirs a bin of 100", [](auto seed) { return stirred_bin(100, seed); }, both(), 0.4);
}

}  // namespace

std::vector<Entry> all_scenes() {
  std::vector<Entry> all;
  add_robots(all);
  add_stacks(all);
  add_loose(all);
  add_tangles(all);
  return all;
}

}  // namespace karakuri::bench
