// Whole steps against MuJoCo, Bullet, ODE and DART: humanoids, boxes, stacks, a chain
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "scenes.h"
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

std::vector<Entry> all_scenes() {
  const std::vector<Phase> fall{{"falling", 0, 1.5}, {"lying", 2, 6}};
  const std::vector<Phase> rest{{"settling", 0, 5}, {"resting", 5, 10}};
  std::vector<Entry> all;
  all.push_back({"1 humanoid", [] { return falling_humanoids(1); }, "MuJoCo", fall});
  for (const int contacts : {8, 16, 32, 64}) {
    all.push_back({fmt::format("standing, {} contacts", contacts),
                   [=] { return standing_humanoid(contacts); },
                   "MuJoCo",
                   {{"standing", 0.5, 4}},
                   0.2});
  }
  for (const int count : {22, 100}) {
    all.push_back({fmt::format("{} humanoids", count),
                   [=] { return falling_humanoids(count); },
                   "MuJoCo",
                   {{"falling", 0, 1.5}, {"lying", 2, 3}}});
  }
  all.push_back({"pyramid 105", [] { return pyramid(14); }, "Bullet", rest, 0.3});
  all.push_back({"wall 95", [] { return wall(10); }, "Bullet", rest, 0.3});
  all.push_back({"solid pyramid 1015", [] { return solid_pyramid(14); }, "Bullet", rest, 0.3});
  all.push_back({"pyramid 990", [] { return pyramid(44); }, "Bullet", rest, 0.3});
  all.push_back({"pile 100", [] { return pile(5, 5, 4); }, "Bullet", {{"falling", 0, 3}, {"lying", 5, 8}}});
  all.push_back(
      {"pile 1000", [] { return pile(10, 10, 10); }, "Bullet", {{"falling", 0, 3}, {"lying", 5, 8}}});
  all.push_back(
      {"pile 5000", [] { return pile(25, 20, 10); }, "Bullet", {{"falling", 0, 3}, {"lying", 5, 6}}});
  // the other engines' card houses lie on the floor: nothing to be timed against
  all.push_back({"card house", [] { return card_house(4); }, "Bullet", rest, 0.2, false});
  all.push_back({"arch", [] { return arch(21); }, "Bullet", rest, 0.3});
  const std::vector<Phase> landing{{"landing", 0, 0.5}, {"lying", 1, 2}};
  all.push_back({"chain 100", [] { return chain_on_floor(100); }, "MuJoCo", landing});
  all.push_back({"chain 1000", [] { return chain_on_floor(1000); }, "ODE", landing});
  return all;
}

/// Whether two texts that are lists of names, separated by commas, and a name agree; an empty list takes all.
bool chosen(const std::string& list, const std::string& name) {
  if (list.empty()) return true;
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t to = std::min(list.find(',', from), list.size());
    if (to > from && name.find(list.substr(from, to - from)) != std::string::npos) return true;
    from = to + 1;
  }
  return false;
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
  const double at_most = scene.entry.reference == "MuJoCo" ? 0.4 : 1;
  if (scene.entry.is_timed)
    for (const Phase& phase : scene.entry.phases) aim_for_ratio(scene, phase.name, at_most, report);
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
  for (const Stepper& c : all_engines(options.ours)) {
    if (chosen(options.engines, c.name)) engines.push_back(c);
  }
  const Setup setup = entry.make();
  SceneResult scene{entry, static_cast<int>(setup.bodies.size()), setup.dofs(), setup.dt, {}};
  scene.engines = run(entry, engines, options.plan);
  return scene;
}

int run_all(const Options& options) {
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
  if (scenes.empty()) {
    fmt::print(stderr, "no scene's name contains '{}'; there are:", options.only);
    for (const Entry& entry : all_scenes()) fmt::print(stderr, " '{}'", entry.name);
    fmt::print(stderr, "\n");
    return 2;
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
  app.add_option("--rounds", options.plan.rounds, "How often each scene is run, at most")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--tolerance", options.ours.tolerance, "Of our solver [m/s]")->capture_default_str();
  app.add_option("--sweeps", options.ours.max_sweeps, "Of our solver, at most")->capture_default_str();
  app.add_option("--newton", options.ours.max_newton, "Linear solves of our solver, at most")
      ->capture_default_str();
  app.add_flag("--quick", options.quick, "One round of a tenth of the time: to see that all works");
  if (const auto code = parse_options(app, argc, argv)) return *code;
  if (options.quick) options.plan = {.rounds = 1, .shorten = 0.1};
  return run_all(options);
}

}  // namespace
}  // namespace karakuri::bench

int main(int argc, char** argv) { return karakuri::bench::main(argc, argv); }
