// Islands recorded from scenes: times, residuals and motions of every solver backend on each
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "karakuri/io/load.h"
#include "karakuri/session/session.h"
#include "karakuri/solver/solve.h"
#include "scenes/build_scene.h"
#include "scenes/entries.h"
#include "support/contact_problems.h"
#include "support/island_corpus.h"
#include "support/options.h"
#include "support/timing.h"

namespace karakuri::bench {
namespace {

using test::RecordedIsland;

struct Options {
  std::string json, record, corpus, scenes, only;
  int most = 60;       // of a scene
  double seconds = 3;  // of a scene
  std::uint64_t seed = 0;
};

// ---- recording

bool chosen(const Options& o, const std::string& name) {
  return o.only.empty() || name.find(o.only) != std::string::npos;
}

void watch_bench(const Options& o, test::IslandRecorder& recorder) {
  for (const Entry& entry : all_scenes()) {
    if (!chosen(o, entry.name)) continue;
    const Setup setup = varied(entry.make(o.seed), o.seed);
    if (setup.bodies.size() > 2000) continue;  // its islands are as those of fewer, or one that is too large
    show_progress(entry.name);
    BuiltScene built = build_scene(setup);
    WorldSettings settings;
    settings.dt = setup.dt;
    Result<World> world = World::make(std::move(built.scene), settings);
    if (!world) continue;
    set_velocities(setup, built, *world);
    recorder.follow(entry.name, *world);
    while (world->time() < o.seconds) {
      set_drives(built, *world);
      world->step();
    }
  }
}

void watch_bundled(const Options& o, test::IslandRecorder& recorder) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(o.scenes))
    for (const auto& file : std::filesystem::directory_iterator(o.scenes))
      if (file.path().string().ends_with(".scene.yaml")) files.push_back(file.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    const std::string name = file.filename().string();
    if (!chosen(o, name)) continue;
    show_progress(name);
    Result<LoadedScene> loaded = load_scene(file);
    if (!loaded) continue;
    Result<Session> session = Session::make(std::move(loaded).value());
    if (!session) continue;
    recorder.follow(name, session->world());
    while (session->time() < o.seconds) {
      const double before = session->time();
      session->step();
      if (session->time() <= before) break;  // a behaviour has failed
    }
  }
}

std::vector<RecordedIsland> record(const Options& o) {
  constexpr std::size_t kMostNumbers = 500'000;
  test::IslandRecorder recorder(o.most, kMostNumbers);
  watch_bundled(o, recorder);
  watch_bench(o, recorder);
  show_progress("");
  std::vector<RecordedIsland> islands = recorder.take();
  fmt::print("{} islands kept of {} that went by\n", islands.size(), recorder.seen());
  return islands;
}

// ---- solving

struct Backend {
  std::string name;
  solver::Method method = solver::Method::kDefault;
  bool dense = false;
  solver::RigidBackend rigid = solver::RigidBackend::kChosen;  // else this, of rigid bodies alone
};

const std::vector<Backend>& backends() {
  static const std::vector<Backend> all{
      {"default, dense", solver::Method::kDefault, true},
      {"default, free", solver::Method::kDefault},
      {"newton", solver::Method::kNewton},
      {"newton, dense", solver::Method::kNewton, true},
      {"block", solver::Method::kBlock},
      {.name = "banded lanes", .rigid = solver::RigidBackend::kBandedNewton},
      {.name = "sweeps in lanes", .rigid = solver::RigidBackend::kLaneSweeps}};
  return all;
}

constexpr int kDenseRows = 600;

solver::Settings settings_for(const RecordedIsland& island, const Backend& backend) {
  solver::Settings s;
  s.method = backend.method;
  s.measure = solver::Measure::kScaled;
  s.tolerance = 1e-13;
  s.absolute = island.tolerance * std::sqrt(static_cast<double>(island.rows()));
  s.max_sweeps = 5000;
  s.max_newton = 200;
  s.max_pivots = 0;
  s.max_work = 1e9;
  s.explain_failure = false;
  s.trusted = true;
  return s;
}

struct Solution {
  bool tried = false, converged = false;
  double residual = 0, seconds = 0, work = 0;
  std::vector<double> impulses;
};

/// The lanes of a vector are meant for many islands; one alone takes as long as four or eight.
Solution solve_in_lanes(const Backend& backend, const RecordedIsland& island) {
  constexpr int kMostSweeps = 5000;
  Solution out;
  out.tried = !island.rigid.islands.empty();
  if (!out.tried) return out;
  const auto start = std::chrono::steady_clock::now();
  solver::Report report;
  const double exact = island.tolerance * std::sqrt(static_cast<double>(island.rows()));
  out.impulses = test::solve_rigid(island, backend.rigid, exact, kMostSweeps, &report);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  out.converged = !out.impulses.empty();
  out.residual = report.residual;
  out.work = report.work;
  return out;
}

Solution solve_by(const Backend& backend, const RecordedIsland& island, solver::Workspace& workspace) {
  if (backend.rigid != solver::RigidBackend::kChosen) return solve_in_lanes(backend, island);
  Solution out;
  if (backend.dense && island.rows() > kDenseRows) return out;
  const solver::Problem problem = backend.dense ? test::as_dense(island.problem) : island.problem;
  out.impulses = island.old;
  const auto start = std::chrono::steady_clock::now();
  const auto report = solver::solve(problem, settings_for(island, backend), workspace, out.impulses);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!report.ok()) return out;
  out.tried = true;
  out.converged = report->status == solver::Status::kConverged;
  out.residual = report->residual;
  out.work = report->work;
  return out;
}

struct Score {
  int tried = 0, converged = 0, other = 0;
  double seconds = 0, worst = 0, farthest = 0;  // other motions: how many, and how far at most
};

/// Of the best solution: more is another motion, as where contacts of one patch slip and share their load
/// otherwise.
constexpr double kSameMotion = 1e-4;
/// No share of a load does that.
constexpr double kWrongMotion = 0.05;

void compare(const RecordedIsland& island, std::vector<Solution>& solutions, std::vector<Score>& scores,
             std::vector<std::string>& notes) {
  const Solution* best = nullptr;
  for (const Solution& s : solutions)
    if (s.converged && (!best || s.residual < best->residual)) best = &s;
  for (std::size_t k = 0; k < solutions.size(); ++k) {
    const Solution& s = solutions[k];
    Score& score = scores[k];
    if (!s.tried) continue;
    ++score.tried;
    score.seconds += s.seconds;
    score.worst = std::max(score.worst, s.residual);
    if (!s.converged) continue;
    ++score.converged;
    const auto distance = test::distance_of_motions(island.problem, s.impulses, best->impulses);
    score.farthest = std::max(score.farthest, distance.relative());
    if (distance.relative() <= kSameMotion) continue;
    ++score.other;
    if (notes.size() < 20)
      notes.push_back(fmt::format("{}, step {}, {} rows: {} moves otherwise by {:.1e}", island.scene,
                                  island.step, island.rows(), backends()[k].name, distance.relative()));
  }
}

int run(const Options& o) {
  std::vector<RecordedIsland> islands;
  if (o.corpus.empty()) {
    islands = record(o);
  } else {
    auto read = test::read_islands(o.corpus);
    if (!read) {
      fmt::print(stderr, "{}\n", to_string(read.errors()));
      return 2;
    }
    islands = std::move(read).value();
  }
  if (!o.record.empty()) {
    if (const auto wrong = test::write_islands(o.record, islands); !wrong.empty()) {
      fmt::print(stderr, "{}\n", to_string(wrong));
      return 2;
    }
    return 0;
  }
  std::map<std::string, std::vector<Score>> by_scene;
  std::vector<Score> total(backends().size());
  std::vector<std::string> notes;
  solver::Workspace workspace;
  for (const RecordedIsland& island : islands) {
    if (!chosen(o, island.scene)) continue;
    show_progress(fmt::format("{} step {}: {} rows", island.scene, island.step, island.rows()));
    std::vector<Solution> solutions;
    for (const Backend& backend : backends()) solutions.push_back(solve_by(backend, island, workspace));
    auto& scores = by_scene[island.scene];
    scores.resize(backends().size());
    std::vector<std::string> twice;
    compare(island, solutions, scores, notes);
    compare(island, solutions, total, twice);
  }
  show_progress("");
  fmt::print("{:<28} {:<15} {:>7} {:>8} {:>10} {:>10} {:>6} {:>9}\n", "scene", "backend", "islands", "solved",
             "ms each", "residual", "other", "farthest");
  nlohmann::json json;
  const auto tell = [&](const std::string& name, const std::vector<Score>& scores) {
    for (std::size_t k = 0; k < scores.size(); ++k) {
      const Score& s = scores[k];
      if (s.tried == 0) continue;
      fmt::print("{:<28} {:<15} {:>7} {:>8} {:>10.3f} {:>10.1e} {:>6} {:>9.1e}\n", k == 0 ? name : "",
                 backends()[k].name, s.tried, s.converged, 1e3 * s.seconds / s.tried, s.worst, s.other,
                 s.farthest);
      json[name][backends()[k].name] = {{"islands", s.tried},      {"solved", s.converged},
                                        {"seconds", s.seconds},    {"worst_residual", s.worst},
                                        {"other_motion", s.other}, {"farthest", s.farthest}};
    }
  };
  for (const auto& [name, scores] : by_scene) tell(name, scores);
  tell("all", total);
  for (const std::string& note : notes) fmt::print("{}\n", note);
  if (!o.json.empty() && !(std::ofstream(o.json) << json.dump(1) << '\n')) {
    fmt::print(stderr, "cannot write '{}': choose a file in a folder that exists\n", o.json);
    return 2;
  }
  const bool same =
      std::all_of(total.begin(), total.end(), [](const Score& s) { return s.farthest <= kWrongMotion; });
  return same ? 0 : 1;
}

int main(int argc, char** argv) {
  Options options;
#ifdef KARAKURI_SOURCE_DIR
  options.scenes = KARAKURI_SOURCE_DIR "/scenes";
#endif
  CLI::App app(
      "Runs the bundled scenes and those of `bench world`, keeps a sample of the islands that they meet, and "
      "lets "
      "every backend of the solver solve each. Ends with 1 where two of them converge to different motions.");
  app.add_option("--json", options.json, "Write the figures to this file");
  app.add_option("--record", options.record, "Write the islands to this file without solving them");
  app.add_option("--corpus", options.corpus, "Read the islands from a file that --record wrote");
  app.add_option("--scenes", options.scenes, "Folder with bundled scenes")->capture_default_str();
  app.add_option("--only", options.only, "Use only the scenes whose name contains this");
  app.add_option("--most", options.most, "Number of islands that are kept of a scene")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  app.add_option("--seconds", options.seconds, "Simulated seconds of each scene")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option(
      "--seed", options.seed,
      "Vary the sizes, masses, frictions and places in the scenes of the benchmark with this seed");
  if (const auto code = parse_options(app, argc, argv)) return *code;
  return run(options);
}

}  // namespace
}  // namespace karakuri::bench

int main(int argc, char** argv) { return karakuri::bench::main(argc, argv); }
