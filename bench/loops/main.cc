// Closed loops: drift and time per step against MuJoCo's equality constraints; chains of four-bars up to 1000
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/loop_rows.h"
#include "karakuri/world/world.h"
#include "support/figures.h"
#include "support/options.h"
#include "support/report.h"
#include "support/timing.h"

#ifdef KARAKURI_HAVE_MUJOCO
#include <mujoco/mujoco.h>
#endif

namespace karakuri::bench {
namespace {

constexpr double kStep = 1e-3;  // [s]

struct Options {
  double seconds = 2;  // of simulated time, at most
  double budget = 4;   // of this machine's time for one engine and size, at most
  int largest = 1000;
  std::string json;
};

struct Found {
  std::string engine;
  double best = 0, mean = 0;  // [us] per step
  double drift = 0;           // largest opening of a loop [m]
  double energy = 0;          // largest change [J]
  int steps = 0;
};

/// Steps until the time is over, looking at the state after each.
template <class Step, class Look>
Found follow(std::string engine, const Options& o, Step step, Look look) {
  Found f{.engine = std::move(engine), .best = 1e300};
  const double energy = look(f);
  double spent = 0;
  for (; f.steps < static_cast<int>(o.seconds / kStep) && (spent < 1e6 * o.budget || f.steps < 1);
       ++f.steps) {
    const auto start = std::chrono::steady_clock::now();
    step();
    const double us = 1e6 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    f.best = std::min(f.best, us);
    spent += us;
    f.energy = std::max(f.energy, std::abs(look(f) - energy));
  }
  f.mean = spent / f.steps;
  return f;
}

Found run_ours(int n, Integrator integrator, const Options& o) {
  WorldSettings settings;
  settings.dt = kStep;
  settings.integrator = integrator;
  settings.sleep.enabled = false;
  auto world = World::make(test::ladder(n), settings);
  if (!world.ok()) return {};
  Workspace ws(world->model());
  const auto look = [&](Found& f) {
    update_poses(world->model(), world->state(), ws);
    for (const Loop& loop : world->model().loops) {
      const LoopRows rows = loop_rows(loop, ws);
      f.drift = std::max(f.drift, Vec3(rows.error[0], rows.error[1], rows.error[2]).norm());
    }
    return world->energies().total();
  };
  const std::string engine = integrator == Integrator::kRk4 ? kOurs + ", rk4" : kOurs;
  return follow(engine, o, [&] { world->step(); }, look);
}

#ifdef KARAKURI_HAVE_MUJOCO

std::string bar(int k, const char* name, const char* place, const char* middle, const char* moments) {
  return fmt::format(
      R"(<body name="{}{}" pos="{}"><joint type="hinge" axis="0 1 0"/><inertial pos="{}" mass="1" diaginertia="{}"/>)",
      name, k, place, middle, moments);
}

std::string ladder_as_mjcf(int n) {
  std::string bodies, loops;
  for (int k = 0; k <= n; ++k) {
    bodies += bar(k, "upright", fmt::format("{} 0 0", k).c_str(), "0 0 0.5",
                  "0.0833333333333 0.0833333333333 1e-6");
    if (k < n) {
      bodies += bar(k, "level", "0 0 1", "0.5 0 0", "1e-6 0.0833333333333 0.0833333333333") + "</body>";
      loops += fmt::format(R"(<connect body1="level{}" body2="upright{}" anchor="1 0 0"/>)", k, k + 1);
    }
    bodies += "</body>\n";
  }
  return fmt::format(
      R"(<mujoco><size njmax="{}" nconmax="10"/><option timestep="{}" gravity="0 0 -9.81"><flag energy="enable"/></option>
<worldbody>{}</worldbody><equality>{}</equality></mujoco>)",
      3 * n + 10, kStep, bodies, loops);
}

std::optional<Found> run_mujoco(int n, const Options& o) {
  const std::string text = ladder_as_mjcf(n);
  mjVFS vfs;
  mj_defaultVFS(&vfs);
  if (mj_makeEmptyFileVFS(&vfs, "ladder.xml", static_cast<int>(text.size())) != 0) return std::nullopt;
  std::copy(text.begin(), text.end(), static_cast<char*>(vfs.filedata[vfs.nfile - 1]));
  char error[500] = "";
  mjModel* model = mj_loadXML("ladder.xml", &vfs, error, sizeof error);
  mj_deleteVFS(&vfs);
  if (!model) {
    fmt::print(stderr, "MuJoCo: {}\n", error);
    return std::nullopt;
  }
  mjData* data = mj_makeData(model);
  for (int v = 0; v < model->nv; ++v) data->qvel[v] = v % 2 == 0 || v == model->nv - 1 ? 1 : -1;
  const auto look = [&](Found& f) {
    mj_kinematics(model, data);
    for (int k = 0; k < n; ++k) {
      const int a = mj_name2id(model, mjOBJ_BODY, fmt::format("level{}", k).c_str());
      const int b = mj_name2id(model, mjOBJ_BODY, fmt::format("upright{}", k + 1).c_str());
      double sum = 0;
      for (int x = 0; x < 3; ++x) {
        const double p = data->xpos[3 * a + x] + data->xmat[9 * a + 3 * x];      // its far end, along x
        const double q = data->xpos[3 * b + x] + data->xmat[9 * b + 3 * x + 2];  // its top, along z
        sum += (p - q) * (p - q);
      }
      f.drift = std::max(f.drift, std::sqrt(sum));
    }
    mj_energyPos(model, data);
    mj_energyVel(model, data);
    return data->energy[0] + data->energy[1];
  };
  mj_forward(model, data);
  const Found found = follow("MuJoCo", o, [&] { mj_step(model, data); }, look);
  mj_deleteData(data);
  mj_deleteModel(model);
  return found;
}

#endif

/// Best of some cuts at the elbow of the 40-dof figure, beside loose boxes [us].
double time_of_cut(int boxes) {
  constexpr int kRounds = 20;
  test::Linkage figure = test::human40(2.0);
  figure.scene.add_ground();
  for (int i = 0; i < boxes; ++i)
    figure.scene.add_body("box" + std::to_string(i), Shape::box({0.1, 0.1, 0.1}), 1,
                          Transform::translation({3 + 0.5 * (i % 100), 0.5 * (i / 100), 0.1}));
  Result<World> made = World::make(std::move(figure.scene));
  World& world = *made;
  world.step(2);
  const Snapshot start = world.snapshot();
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRounds; ++i) {
    const Mechanism& m = world.scene().mechanism;
    (void)world.pose(m.find_link("head"));  // read-outs are paid for once per step
    const JointId elbow = m.find_joint("forearm.l");
    const auto begin = std::chrono::steady_clock::now();
    (void)world.detach(elbow);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    (void)world.restore(start);
  }
  return 1e6 * best;
}

int run_all(const Options& o) {
  pin_to_core();
  Report report;
  report.title =
      fmt::format("Chains of four-bars (IFToMM A02), steps of {} ms, {} s or what {} s of machine time allow",
                  1e3 * kStep, o.seconds, o.budget);
  fmt::print("{}\n\n{:>6} {:>14} {:>12} {:>12} {:>12} {:>12} {:>8}\n", report.title, "loops", "engine",
             "best [us]", "mean [us]", "drift [m]", "energy [J]", "steps");
  double per_loop_ten = 0, per_loop_last = 0, worst_drift = 0;
  for (int n = 1; n <= o.largest; n *= 10) {
    std::vector<Found> all{run_ours(n, Integrator::kSemiImplicit, o), run_ours(n, Integrator::kRk4, o)};
    if (n == 10) per_loop_ten = all[0].best / n;
    per_loop_last = all[0].best / n;
    worst_drift = std::max({worst_drift, all[0].drift, all[1].drift});
#ifdef KARAKURI_HAVE_MUJOCO
    if (const auto found = run_mujoco(n, o)) {
      report.aims.push_back(
          {fmt::format("{} loops: our time over MuJoCo's", n), all[0].best / found->best, 1});
      all.push_back(*found);
    }
#endif
    for (const Found& f : all)
      fmt::print("{:>6} {:>14} {:>12.2f} {:>12.2f} {:>12.2e} {:>12.2e} {:>8}\n", n, f.engine, f.best, f.mean,
                 f.drift, f.energy, f.steps);
    std::fflush(stdout);
  }
  if (per_loop_ten > 0)
    report.aims.push_back({fmt::format("time per loop of {} loops over that of 10", o.largest),
                           per_loop_last / per_loop_ten, 2});
  report.aims.push_back({"our largest drift [m]", worst_drift, 1e-9});
  fmt::print("\ncut of a tree joint of the 40-dof figure: {:.0f} us, beside 1000 boxes {:.0f} us\n\n",
             time_of_cut(0), time_of_cut(1000));
  print_aims_and_notes(report);
  return write_json(report, o.json) ? 0 : 2;
}

int main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Drift and time of closed loops, compared with MuJoCo's equality constraints in the same run.");
  app.add_option("--json", options.json, "Write the requirements and their results to this file");
  app.add_option("--seconds", options.seconds, "Largest simulated time [s]")->capture_default_str();
  app.add_option("--budget", options.budget, "Largest computing time for each engine and size [s]")
      ->capture_default_str();
  app.add_option("--largest", options.largest, "Number of loops of the longest chain")->capture_default_str();
  if (const auto code = parse_options(app, argc, argv)) return *code;
  return run_all(options);
}

}  // namespace
}  // namespace karakuri::bench

int main(int argc, char** argv) { return karakuri::bench::main(argc, argv); }
