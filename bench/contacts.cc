// Dynamics of one step of a humanoid of 36 joints against the number of its contacts, as Nakaoka et al.
// (2007), figure 7: extended PGS with RK4 beside the default solver, and beside real time
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "karakuri/io/load.h"
#include "karakuri/session/session.h"
#include "support/options.h"
#include "support/report.h"
#include "support/timing.h"

namespace karakuri::bench {
namespace {

constexpr double kWanted = 20;  // times real time at 64 contacts
constexpr double kStep = 1e-3;  // [s]

struct Options {
  int steps = 400;
  int rounds = 3;
  std::string json, csv;
};

/// The humanoid on rubber bushes, each of its soles on so many pads in rows.
std::string scene_text(int pads) {
  const std::string biped = std::string(KARAKURI_SOURCE_DIR) + "/scenes/biped/bush.scene.yaml";
  std::string text = "ground: true\nrobots:\n  - {file: " + biped + "}\nbodies:\n";
  const int rows = pads <= 4 ? 2 : pads <= 16 ? 4 : 5, columns = (pads + rows - 1) / rows;
  for (const std::string side : {"left", "right"}) {
    text += fmt::format(
        "  - name: {0}_pads\n    parent: {0}_foot\n    inertia: {{mass: 0.01, moments: [1e-5, 1e-5, "
        "1e-5]}}\n    shapes:\n",
        side);
    for (int i = 0; i < pads; ++i) {
      const double x = -0.09 + 0.22 * (i % columns) / std::max(columns - 1, 1);
      const double y = (side == "left" ? 1 : -1) * (-0.05 + 0.12 * (i / columns) / std::max(rows - 1, 1));
      text += fmt::format("      - {{sphere: 0.005, at: [{:.5f}, {:.5f}, -0.046]}}\n", x, y);
    }
  }
  text += R"(walkers:
  - name: walk
    root: pelvis
    feet: [left_foot, right_foot]
    sole: [0, 0, -0.051]
    sole_box: [-0.10, -0.06, 0.14, 0.08]
    passive: "*_bush_*"
    posture: {left_knee: 0.6, right_knee: 0.6, left_hip_pitch: -0.3, right_hip_pitch: -0.3}
    gait: {height: 0.77, spacing: 0.095, zmp_forward: 0.02}
settings: {sleep: {enabled: false}}
)";
  return text;
}

struct Measured {
  double contacts = 0, seconds = 0, residual = 0;
};

/// A slow push round about keeps the forces changing. Times are without contact detection, hooks and control;
/// the median, which others on the machine disturb least.
Measured run(Session& session, int steps) {
  Measured out;
  std::vector<double> times;
  const LinkId pelvis = session.world().scene().mechanism.find_link("pelvis");
  for (int i = 0; i < steps; ++i) {
    const double phase = 2 * std::numbers::pi * session.time();
    session.world().add_force(pelvis, {20 * std::cos(phase), 20 * std::sin(phase), 0});
    session.step();
    const StepTimes& t = session.world().times();
    times.push_back(t.dynamics + t.rows + t.solve + t.integrate + t.finish);
    out.contacts += static_cast<double>(session.world().report().contacts) / steps;
    out.residual = std::max(out.residual, session.world().report().residual);
  }
  std::ranges::nth_element(times, times.begin() + steps / 2);
  out.seconds = times[static_cast<std::size_t>(steps / 2)];
  return out;
}

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Time of the dynamics of a step against the number of contacts, of a humanoid of 36 joints.");
  app.add_option("--json", o.json, "Write the figures to this file");
  app.add_option("--csv", o.csv, "Write contacts and times of both methods to this file");
  app.add_option("--steps", o.steps, "In a round")->capture_default_str()->check(CLI::Range(10, 100000));
  app.add_option("--rounds", o.rounds, "Of which the fastest counts")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  if (const auto code = parse_options(app, argc, argv)) return *code;
  std::ofstream csv(o.csv);
  std::string json = "{\"contacts\": [";
  fmt::print("Dynamics of a step of 1 ms, humanoid of 36 joints, without detection and control\n\n");
  fmt::print("{:>9} {:>22} {:>12} {:>22} {:>12}\n", "contacts", "pgs, rk4, 120 sweeps", "x real time",
             "default", "x real time");
  bool reached = true;
  for (const int pads : {4, 8, 16, 24, 32, 50}) {
    Measured best[2];
    for (int published = 1; published >= 0; --published) {
      Result<LoadedScene> scene = load_native(scene_text(pads), "contacts.scene.yaml");
      if (!scene.ok()) {
        fmt::print(stderr, "{}\n", to_string(scene.errors()));
        return 2;
      }
      if (published) {
        scene->settings.solver = solver::Method::kPgs;
        scene->settings.integrator = Integrator::kRk4;
        scene->settings.max_sweeps = 120;
      }
      Result<Session> session = Session::make(std::move(*scene));
      if (!session.ok()) {
        fmt::print(stderr, "{}\n", to_string(session.errors()));
        return 2;
      }
      session->step(1000);
      for (int round = 0; round < o.rounds; ++round) {
        const Measured m = run(*session, o.steps);
        if (round == 0 || m.seconds < best[published].seconds) best[published] = m;
      }
    }
    fmt::print("{:>9.0f} {:>19.0f} us {:>12.1f} {:>19.0f} us {:>12.1f}\n", best[0].contacts,
               1e6 * best[1].seconds, kStep / best[1].seconds, 1e6 * best[0].seconds,
               kStep / best[0].seconds);
    csv << fmt::format("{:.0f},{:.6e},{:.6e}\n", best[0].contacts, best[1].seconds, best[0].seconds);
    json += fmt::format("{}{{\"contacts\": {:.1f}, \"pgs\": {:.4e}, \"default\": {:.4e}}}",
                        pads == 4 ? "" : ", ", best[0].contacts, best[1].seconds, best[0].seconds);
    if (pads == 32) reached = kStep / best[0].seconds >= kWanted;
  }
  fmt::print("\n{} {:.0f} times real time at 64 contacts (default)\n",
             reached ? "reached:" : "not reached:", kWanted);
  if (!o.json.empty()) std::ofstream(o.json) << json << "]}\n";
  return 0;
}

}  // namespace
}  // namespace karakuri::bench

int main(int argc, char** argv) { return karakuri::bench::main(argc, argv); }
