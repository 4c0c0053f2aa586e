// Whole steps against MuJoCo, Bullet, ODE and DART: robots, stacks, bins and pits
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "scenes/scenes.h"
#include "support/options.h"
#include "support/timing.h"
#include "table.h"

namespace karakuri::bench {
namespace {

struct Options {
  std::string json;
  std::string only;
  std::string engines;
  std::string corpus;
  std::uint64_t seed = 0;
  bool quick = false;
  RunPlan plan;
  WorldSettings ours;
};

std::vector<Stepper> all_engines(const WorldSettings& ours) {
  return {{kOurs, [=](const Setup& s) { return make_karakuri(s, ours); }},
          {"MuJoCo", [](const Setup& s) { return make_mujoco(s, MujocoCone::kPyramidal); }},
          {"MuJoCo elliptic", [](const Setup& s) { return make_mujoco(s, MujocoCone::kElliptic); }},
          {"Bullet", make_bullet},
          {"ODE", make_ode},
          {"DART", make_dart}};
}

/// The parts of a list of names, separated by commas.
std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t to = std::min(list.find(',', from), list.size());
    if (to > from) parts.push_back(list.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

bool contains(const std::string& name, const std::string& part) {
  return name.find(part) != std::string::npos;
}

/// Whether a name contains any part of a list; an empty list takes all.
bool chosen(const std::string& list, const std::string& name) {
  const std::vector<std::string> parts = parts_of(list);
  return parts.empty() || std::any_of(parts.begin(), parts.end(),
                                      [&](const std::string& part) { return contains(name, part); });
}

/// Whether every part of a list is part of a name; says where not.
bool are_known(const std::string& list, const std::vector<std::string>& names, const char* what) {
  for (const std::string& part : parts_of(list)) {
    const auto has = [&](const std::string& name) { return contains(name, part); };
    if (std::any_of(names.begin(), names.end(), has)) continue;
    fmt::print(stderr, "no {}'s name contains '{}'; there are: {}\n", what, part, fmt::join(names, ", "));
    return false;
  }
  return true;
}

/// Timing engines that simulate different things would be worthless.
void compare_with_file(const Options& options, Report& report) {
  const std::string path = (std::filesystem::path(options.corpus) / "mujoco" / "humanoid.xml").string();
  const auto file = read_with_mujoco(path);
  if (!file) {
    report.notes.push_back(
        "humanoid: its masses were not compared with MuJoCo's own file: no mujoco/humanoid.xml "
        "that MuJoCo reads in the folder of --corpus");
    return;
  }
  const Setup ours = falling_humanoids(1);
  report.notes.push_back(fmt::format("humanoid: {:.6f} kg and {} dofs, {:.6f} kg and {} in MuJoCo's own file",
                                     total_mass(ours), ours.dofs(), file->mass, file->dofs));
  if (std::abs(file->mass - total_mass(ours)) > 1e-6 * file->mass || file->dofs != ours.dofs()) {
    report.aims.push_back({"humanoid: difference in mass [kg]", std::abs(file->mass - total_mass(ours)), 0});
  }
}

void aim_for_ratio(const SceneResult& scene, const std::string& phase, double at_most, Report& report) {
  const PhaseResult* ours = scene.find(kOurs, phase);
  const PhaseResult* theirs = scene.find(scene.entry.reference, phase);
  if (!ours || !theirs) return;
  report.aims.push_back(
      {fmt::format("{}, {}: {} / {}", scene.entry.name, phase, kOurs, scene.entry.reference),
       ours->mean / theirs->mean, at_most});
}

void aim_for_stack(const SceneResult& scene, Report& report) {
  const PhaseResult* p = scene.find(kOurs, "resting");
  const std::string& name = scene.entry.name;
  if (!p) return;
  report.aims.push_back({name + ": falls", scene.engines[0].stands ? 0.0 : 1.0, 0});
  report.aims.push_back({name + ": depth at rest [mm]", 1e3 * p->penetration, 0.5});
  report.aims.push_back({name + ": moved from 5 to 10 s [mm]", 1e3 * scene.engines[0].moved, 0.01});
}

void add_aims(const SceneResult& scene, Report& report) {
  const std::string& name = scene.entry.name;
  const bool boxes = scene.entry.reference == "Bullet";
  if (scene.entry.at_most > 0)
    for (const Phase& phase : scene.entry.phases)
      aim_for_ratio(scene, phase.name, scene.entry.at_most, report);
  if (boxes && scene.entry.stands_within > 0) aim_for_stack(scene, report);
  if (name != "100 humanoids") return;
  for (const Phase& phase : scene.entry.phases) {
    if (const PhaseResult* p = scene.find(kOurs, phase.name)) {
      report.aims.push_back(
          {fmt::format("{}, {}: time of 500 steps [s]", name, phase.name), 500e-6 * p->mean, 1});
    }
  }
}

SceneResult run_scene(const Entry& entry, const Options& options) {
  std::vector<Stepper> engines;
  const auto takes_part = [&](const std::string& name) {
    return name == kOurs || entry.peers.empty() ||
           std::find(entry.peers.begin(), entry.peers.end(), name) != entry.peers.end();
  };
  for (const Stepper& c : all_engines(options.ours)) {
    if (chosen(options.engines, c.name) && takes_part(c.name)) engines.push_back(c);
  }
  const Setup setup = varied(entry.make(options.seed), options.seed);
  SceneResult scene{entry, static_cast<int>(setup.bodies.size()), setup.dofs(), setup.dt, {}};
  scene.engines = run(entry, setup, engines, options.plan);
  return scene;
}

/// Whether all that is asked for is there.
bool is_possible(const Options& options) {
  std::vector<std::string> scenes, engines;
  for (const Entry& entry : all_scenes()) scenes.push_back(entry.name);
  for (const Stepper& engine : all_engines(options.ours)) engines.push_back(engine.name);
  return are_known(options.only, scenes, "scene") && are_known(options.engines, engines, "engine");
}

int run_all(const Options& options) {
  if (!is_possible(options)) return 2;
  pin_to_core();
  Report report;
  report.title =
      "Whole steps: processor time, each step's the best of all rounds; ratio to the scene's reference";
  compare_with_file(options, report);
  std::vector<SceneResult> scenes;
  fmt::print("{}\n\n", report.title);
  print_head();
  for (const Entry& entry : all_scenes()) {
    if (!chosen(options.only, entry.name)) continue;
    scenes.push_back(run_scene(entry, options));
    print_scene(scenes.back());
    std::fflush(stdout);
    add_aims(scenes.back(), report);
  }
  print_profile(scenes);
  print_aims_and_notes(report);
  if (!options.json.empty() && !(std::ofstream(options.json) << as_json(scenes, report).dump(1) << '\n')) {
    fmt::print(stderr, "cannot write '{}': choose a file in a folder that exists\n", options.json);
    return 1;
  }
  const bool met = std::all_of(report.aims.begin(), report.aims.end(), [](const Aim& a) { return a.met(); });
  return met || options.quick ? 0 : 1;
}

int main(int argc, char** argv) {
  Options options;
#ifdef KARAKURI_CORPUS_DIR
  options.corpus = KARAKURI_CORPUS_DIR;
#endif
  CLI::App app(
      "Steps the same scenes in karakuri, MuJoCo, Bullet, ODE and DART in the same run. Ends with 1 where an "
      "aim is missed, unless it is asked to be quick.");
  app.add_option("--json", options.json, "Write all numbers to this file");
  app.add_option("--only", options.only,
                 "Only the scenes whose name contains one of these, separated by commas");
  app.add_option("--engines", options.engines, "Only the engines whose name contains one of these");
  app.add_option("--corpus", options.corpus, "Folder with mujoco/humanoid.xml, to compare masses");
  app.add_option("--rounds", options.plan.rounds, "Largest number of runs of each scene")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--tolerance", options.ours.tolerance, "Tolerance of our solver [m/s]")
      ->capture_default_str();
  app.add_option("--sweeps", options.ours.max_sweeps, "Largest number of sweeps of our solver")
      ->capture_default_str();
  app.add_option("--newton", options.ours.max_newton, "Largest number of linear solves of our solver")
      ->capture_default_str();
  app.add_option("--seed", options.seed,
                 "Vary the sizes, masses, frictions and places in the scenes with this seed (0: do not)")
      ->capture_default_str();
  app.add_flag("--quick", options.quick,
               "Run one round of a tenth of the time, to check that everything works");
  if (const auto code = parse_options(app, argc, argv)) return *code;
  if (options.quick) options.plan = {.rounds = 1, .shorten = 0.1};
  return run_all(options);
}

}  // namespace
}  // namespace karakuri::bench

int main(int argc, char** argv) { return karakuri::bench::main(argc, argv); }
