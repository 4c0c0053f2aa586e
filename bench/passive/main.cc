// Random passive worlds: how many create no energy and keep positions consistent with velocities
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/options.h"
#include "support/passivity.h"
#include "support/timing.h"

namespace karakuri::bench {
namespace {

using test::RandomWorld;
using test::Verdict;
using test::WorldKind;

struct Options {
  int count = 20000, threads = 0, shapes = 200;
  std::uint64_t first = 0;
  std::string kind = "all", json;
  test::JudgeOptions judge;
  bool verbose = false;
};

struct Failure {
  std::uint64_t seed;
  WorldKind kind;
  std::string fault, line;
};

struct Tally {
  std::map<WorldKind, int> worlds, held;
  std::vector<Failure> failures;
  std::vector<std::string> slow;  // judged only as far as patience went

  int done() const {
    int sum = 0;
    for (const auto& [kind, n] : worlds) sum += n;
    return sum;
  }
};

/// All kinds in turn, those that take long less often.
WorldKind kind_of(const Options& o, std::uint64_t seed) {
  if (const auto one = test::world_kind_from_name(o.kind)) return *one;
  if (seed % 97 == 0) return WorldKind::kBin;
  return static_cast<WorldKind>(seed % (test::kWorldKinds - 1));
}

void judge_one(const Options& o, std::uint64_t seed, Tally& tally, std::mutex& lock) {
  const WorldKind kind = kind_of(o, seed);
  const RandomWorld world = test::make_random_world(seed, {.kind = kind, .shapes_in_bin = o.shapes});
  const Verdict verdict = test::judge(world, o.judge);
  const std::string line = test::to_line(world, verdict);
  const std::lock_guard guard(lock);
  ++tally.worlds[kind];
  if (verdict.holds())
    ++tally.held[kind];
  else
    tally.failures.push_back({seed, kind, verdict.fault, line});
  if (verdict.seconds > o.judge.patience) tally.slow.push_back(line);
  if (o.verbose) fmt::print("{}\n", line);
  show_progress(fmt::format("{} of {} worlds, {} do not hold", tally.done(), o.count, tally.failures.size()));
}

Tally judge_all(const Options& o) {
  Tally tally;
  std::mutex lock;
  std::atomic<int> next = 0;
  const auto work = [&] {
    for (int i = next++; i < o.count; i = next++)
      judge_one(o, o.first + static_cast<std::uint64_t>(i), tally, lock);
  };
  const int threads = o.threads > 0 ? o.threads : static_cast<int>(std::thread::hardware_concurrency());
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  show_progress("");
  std::sort(tally.failures.begin(), tally.failures.end(),
            [](const Failure& a, const Failure& b) { return a.seed < b.seed; });
  return tally;
}

void print(const Options& o, const Tally& tally) {
  for (const Failure& f : tally.failures) fmt::print("{}\n", f.line);
  for (const std::string& line : tally.slow) fmt::print("slow: {}\n", line);
  std::map<std::string, int> faults;
  for (const Failure& f : tally.failures) ++faults[f.fault];
  fmt::print("\n{:<12} {:>8} {:>8}\n", "kind", "worlds", "hold");
  for (const auto& [kind, n] : tally.worlds) {
    const auto held = tally.held.find(kind);
    fmt::print("{:<12} {:>8} {:>8}\n", test::name_of(kind), n, held == tally.held.end() ? 0 : held->second);
  }
  for (const auto& [fault, n] : faults) fmt::print("{} worlds: {}\n", n, fault);
  fmt::print("{} of {} worlds hold (seeds from {})\n", o.count - static_cast<int>(tally.failures.size()),
             o.count, o.first);
}

bool write_json(const Options& o, const Tally& tally) {
  if (o.json.empty()) return true;
  nlohmann::json out = {{"count", o.count}, {"first", o.first}, {"failures", nlohmann::json::array()}};
  out["hold"] = o.count - static_cast<int>(tally.failures.size());
  for (const Failure& f : tally.failures)
    out["failures"].push_back(
        {{"seed", f.seed}, {"kind", test::name_of(f.kind)}, {"fault", f.fault}, {"line", f.line}});
  std::ofstream file(o.json);
  file << out.dump(1) << "\n";
  if (!file) fmt::print(stderr, "{}: cannot be written\n", o.json);
  return static_cast<bool>(file);
}

bool known_kind(const std::string& name) {
  return name == "all" || test::world_kind_from_name(name).has_value();
}

int main(int argc, char** argv) {
  Options o;
  o.judge.patience = 60;
  CLI::App app(
      "Steps random worlds and judges each step from outside: energy made, motion lost. Prints the seeds of "
      "those that do not hold and ends with 1 if there are any.");
  app.add_option("--json", o.json, "Write the figures to this file");
  app.add_option("--count", o.count, "Number of worlds")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000000));
  app.add_option("--first", o.first, "Seed of the first world; the others use the following seeds")
      ->capture_default_str();
  app.add_option("--kind", o.kind,
                 "Kind of worlds: all, trees, loops, drives, meshes, bouncing, kinematic, models, mixed, "
                 "long-steps or bin")
      ->capture_default_str();
  app.add_option("--seconds", o.judge.seconds, "Simulated time of each world [s]")
      ->capture_default_str()
      ->check(CLI::Range(1e-3, 1e6));
  app.add_option("--steps", o.judge.max_steps, "Largest number of steps of each world")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000000));
  app.add_option("--shapes", o.shapes, "Largest number of shapes in a bin")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  app.add_option("--threads", o.threads, "Number of threads (0: as many as the machine has)")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024));
  app.add_flag("--verbose", o.verbose, "Print a line for every world");
  if (const auto code = parse_options(app, argc, argv)) return *code;
  if (!known_kind(o.kind)) {
    fmt::print(stderr, "--kind {}: unknown (see --help for the kinds)\n", o.kind);
    return 2;
  }
  const Tally tally = judge_all(o);
  print(o, tally);
  if (!write_json(o, tally)) return 2;
  return tally.failures.empty() ? 0 : 1;
}

}  // namespace
}  // namespace karakuri::bench

int main(int argc, char** argv) { return karakuri::bench::main(argc, argv); }
