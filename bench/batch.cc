// Batches: copies of a world on all cores, compared with one core and with sessions stepped one by one
#include <fmt/format.h>

#include "karakuri/session/batch.h"
#include "support/options.h"
#include "support/report.h"
#include "support/test_models.h"
#include "support/timing.h"

namespace karakuri::bench {
namespace {

constexpr double kWanted = 1.8;  // times as fast on two cores as on one

/// A robot of 36 dofs under PD control, in the air.
Scene robot() {
  Scene scene;
  scene.mechanism = test::humanoid36();
  return scene;
}

/// Boxes that come to rest on each other.
Scene pile() {
  Scene scene;
  scene.add_ground();
  for (int i = 0; i < 12; ++i)
    scene.add_body(fmt::format("box{}", i), Shape::box({0.1, 0.1, 0.1}), 1,
                   Transform::translation({0.05 * (i % 3), 0.03 * (i % 2), 0.1 + 0.21 * i}));
  return scene;
}

struct Options {
  int copies = 64, rounds = 9;
  double seconds = 0.1;  // that one contender runs in a round
  std::string json;
};

Report measure(const Options& o) {
  Report report;
  report.title = fmt::format("A step of {} copies, in microseconds", o.copies);
  report.peers = {"on one core", "sessions one by one"};
  for (const auto& [name, scene] :
       {std::pair{"robot of 36 dofs", robot()}, std::pair{"pile of 12 boxes", pile()}}) {
    LoadedScene loaded;
    loaded.scene = scene;
    loaded.settings.sleep.enabled = false;
    Result<Session> session = Session::make(std::move(loaded));
    if (!session.ok()) continue;
    for (const JointEntry& joint : session->world().model().joints)
      if (joint.kind == JointKind::kRevolute) session->set_drive(joint.id, {.stiffness = 100, .damping = 10});
    session->step(
        5000);  // to rest: contenders take different numbers of steps, and all must be the same work
    Result<Batch> all = Batch::make(*session, o.copies), one = Batch::make(*session, o.copies, 1);
    std::vector<Session> sessions;
    for (int i = 0; i < o.copies; ++i) sessions.push_back(session->clone());
    report.comparisons.push_back({name, "step",
                                  race({{kOurs, [&](int) { all->step(); }},
                                        {"on one core", [&](int) { one->step(); }},
                                        {"sessions one by one",
                                         [&](int) {
                                           for (Session& copy : sessions) copy.step();
                                         }}},
                                       {.rounds = o.rounds, .seconds = o.seconds})});
    const int threads = all->threads();
    const double speedup = 1 / report.ratio(name, "step", "on one core").value_or(1);
    report.notes.push_back(
        fmt::format("{}: {:.2f} times as fast on {} cores as on one", name, speedup, threads));
    if (threads >= 2) report.aim_for_ratio(name, "step", "on one core", 1 / kWanted);
  }
  report.notes.emplace_back("the wall-clock ratio means something only where all cores are free for it");
  return report;
}

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Steps of a batch on all cores, beside one core and beside sessions stepped one by one.");
  app.add_option("--json", options.json, "Write the figures to this file");
  app.add_option("--copies", options.copies, "Number of sessions in a batch")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  app.add_option("--rounds", options.rounds, "Number of rounds, of which the fastest counts")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  if (const auto code = parse_options(app, argc, argv)) return *code;
  const Report report = measure(options);
  print(report);
  return write_json(report, options.json) ? 0 : 2;
}

}  // namespace
}  // namespace karakuri::bench

int main(int argc, char** argv) { return karakuri::bench::main(argc, argv); }
