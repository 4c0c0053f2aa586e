// Tree dynamics against MuJoCo and DART: an arm, a humanoid, chains, loose bodies
#include <algorithm>
#include <cstdlib>
#include <functional>

#include <fmt/format.h>

#include "kernels/engine.h"
#include "kernels/own_ways.h"
#include "support/options.h"
#include "support/report.h"
#include "support/test_models.h"
#include "support/timing.h"

namespace karakuri::bench {
namespace {

// Beyond these sizes a peer takes minutes or gigabytes: MuJoCo's mass matrix of a chain grows with the square
// of its length and the factor with the cube, DART's Jacobians and mass matrix likewise.
constexpr int kMujocoMostDofs = 6000;
constexpr int kMujocoLongestChain = 1000;
constexpr int kDartLongestChain = 1000;
constexpr int kDartLongestDense = 100;

struct Options {
  std::string json;
  std::string only;
  TimingPlan plan;
};

struct Entry {
  std::string name;
  std::function<Mechanism()> make;
};

Mechanism free_bodies(int count) {
  Random random(3);
  Mechanism m;
  for (int i = 0; i < count; ++i) {
    m.add_free_link(fmt::format("body{}", i), test::random_inertia(random),
                    test::random_transform(random, 10));
  }
  return m;
}

std::vector<Entry> entries() {
  std::vector<Entry> all{{"arm7", test::arm7}, {"humanoid36", test::humanoid36}};
  for (int links : {10, 100, 1000, 10000}) {
    all.push_back({fmt::format("chain{}", links), [=] { return test::chain(links); }});
  }
  all.push_back({"free1000", [] { return free_bodies(1000); }});
  return all;
}

int longest_chain(const Model& model) {
  int depth = 0;
  for (const Dof& dof : model.dofs) depth = std::max(depth, dof.depth + 1);
  return depth;
}

/// All engines that can take the subject, ours first.
std::vector<Engine> engines_for(const Subject& subject, Report& report) {
  std::vector<Engine> engines{make_ours(subject)};
  const auto add = [&](Result<Engine> made) {
    if (made) {
      engines.push_back(std::move(made).value());
    } else if (const std::string note = to_string(made.errors());
               std::find(report.notes.begin(), report.notes.end(), note) == report.notes.end()) {
      report.notes.push_back(note);
    }
  };
  const int depth = longest_chain(subject.model);
  if (depth <= kMujocoLongestChain && subject.model.nv <= kMujocoMostDofs) add(make_mujoco(subject));
  if (depth <= kDartLongestChain) add(make_dart(subject));
  return engines;
}

bool takes_too_long(const Engine& engine, Task task, int depth) {
  const bool dense = task == Task::kJacobians || task == Task::kCrba;
  return engine.name == "DART" && dense && depth > kDartLongestDense;
}

/// Timing engines that simulate different things would be worthless.
void check_agreement(const Subject& subject, const std::vector<Engine>& engines) {
  const Eigen::VectorXd ours = engines[0].acceleration(0);
  for (const Engine& engine : engines) {
    const double error = (engine.acceleration(0) - ours).norm() / ours.norm();
    // rounding times the condition of the mass matrix, which grows with the fourth power of a chain's length
    if (!(error < 1e-6)) {
      show_progress("");
      fmt::print(stderr, "{}: the accelerations of {} differ from ours by {:.1e}\n", subject.name,
                 engine.name, error);
      std::exit(1);
    }
  }
}

void run(const Entry& entry, const Options& options, Report& report) {
  show_progress(entry.name);
  const Subject subject = make_subject(entry.name, entry.make());
  const std::vector<Engine> engines = engines_for(subject, report);
  const int depth = longest_chain(subject.model);
  check_agreement(subject, engines);
  for (Task task : kTasks) {
    show_progress(fmt::format("{}: {}", entry.name, name(task)));
    std::vector<Contender> contenders;
    for (const Engine& engine : engines) {
      if (takes_too_long(engine, task, depth)) continue;
      if (Engine::Call call = engine.task(task)) contenders.push_back({engine.name, std::move(call)});
    }
    if (!contenders.empty())
      report.comparisons.push_back({entry.name, name(task), race(contenders, options.plan)});
  }
  show_progress("");
}

void add_aims(Report& report) {
  report.aim_for_ratio("humanoid36", name(Task::kRnea), "MuJoCo", 0.33);
  report.aim_for_ratio("humanoid36", name(Task::kCrba), "MuJoCo", 0.36);
  report.aim_for_ratio("humanoid36", name(Task::kForward), "MuJoCo", 0.45);
  const Timing* at_100 = report.find("chain100", name(Task::kForward), kOurs);
  const Timing* at_10000 = report.find("chain10000", name(Task::kForward), kOurs);
  if (at_100 && at_10000) {
    report.aims.push_back({"forward dynamics, time per link: 10000 links / 100 links",
                           at_10000->best / 10000 / (at_100->best / 100), 1.5});
  }
}

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Times tree dynamics against MuJoCo and DART in the same run.");
  app.add_option("--json", options.json, "Write all numbers to this file");
  app.add_option("--only", options.only, "Only the models whose name contains this");
  app.add_option("--rounds", options.plan.rounds, "How often each engine is timed")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  if (const auto code = parse_options(app, argc, argv)) return *code;

  pin_to_core();
  Report report{.title = "Tree dynamics, microseconds per call from (q, v) on; best of all rounds",
                .peers = {"MuJoCo", "DART"}};
  report.notes.push_back(
      "poses and Jacobians: MuJoCo's is mj_kinematics + mj_comPos, which moves the inertias too; DART's has "
      "a "
      "matrix per body, ours and MuJoCo's the joint axes that all such matrices consist of.");
  for (const Entry& entry : entries()) {
    if (entry.name.find(options.only) != std::string::npos) run(entry, options, report);
  }
  if (report.comparisons.empty()) {
    fmt::print(stderr, "no model's name contains '{}'; there are:", options.only);
    for (const Entry& entry : entries()) fmt::print(stderr, " {}", entry.name);
    fmt::print(stderr, "\n");
    return 1;
  }
  add_aims(report);
  print(report);
  const Report own = options.only.empty() ? race_own_ways(options.plan) : Report{};
  if (options.only.empty()) {
    fmt::print("\n");
    print(own);
  }
  report.comparisons.insert(report.comparisons.end(), own.comparisons.begin(), own.comparisons.end());
  return write_json(report, options.json) ? 0 : 2;
}

}  // namespace
}  // namespace karakuri::bench

int main(int argc, char** argv) { return karakuri::bench::main(argc, argv); }
