// karakuri run: steps a scene, as fast as it goes or in real time, and tells how it went.
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "behaviours.h"
#include "commands.h"
#include "common.h"
#include "interrupt.h"
#include "karakuri/server/live_session.h"
#include "karakuri/session/doubts.h"
#include "karakuri/session/recorder.h"
#include "karakuri/session/session.h"
#include "karakuri/session/statistics.h"
#include "page.h"
#include "session_choice.h"
#include "status_line.h"
#include "trust.h"

namespace karakuri::cli {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr double kDefaultTime = 10;  // [s]

struct RunOptions {
  SessionChoice session;
  std::optional<double> time;
  std::string record;
  int record_every = 1;
  bool headless = false, stats = false, no_behaviours = false, trust = false;
  PageOptions page;
};

using Errors = std::vector<Diagnostic>;

// ---- running

struct Run {
  const RunOptions& options;
  Session& session;
  std::optional<Recorder>& recorder;
  double end = kDefaultTime;  // [s] of the scene's time
  bool has_page = false;
  RunStatistics statistics;
  double wall_seconds = 0;
  bool failed = false;
  std::mutex recording;  // but while the session steps

  bool finished() const {
    return was_interrupted() || failed || session.time() >= end - 1e-3 * session.world().settings().dt;
  }

  /// A behaviour has failed. Without anybody to mend it, that is the end.
  void wait_for_behaviours(StatusLine& status) {
    say_problems(status);
    failed = options.headless;
    if (!failed) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }

  void say_problems(StatusLine& status) const {
    if (session.problems().empty()) return;
    status.clear();
    say({session.problems().begin(), session.problems().end()});
    if (!has_page) session.clear_problems();  // the page tells them as well
  }

  void fail(const Errors& errors) {
    if (errors.empty()) return;
    say(errors);
    failed = true;
  }

  void step(StatusLine& status) {
    session.step();
    if (session.halted()) return wait_for_behaviours(status);
    const std::lock_guard lock(recording);
    statistics.add(session);
    say_problems(status);
    if (recorder && statistics.steps % options.record_every == 0) fail(recorder->record(session));
  }
};

/// On another thread, in the midst of a step that takes long: what was recorded before it is kept.
void give_up(Run& run, const std::optional<LivePage>& page) {
  say("interrupted in the midst of a step that takes long; the run ended without that step");
  if (page) page->door.remove();
  if (run.recording.try_lock() && run.recorder) say(run.recorder->close());
}

void run_headless(Run& run) {
  StatusLine status;
  const auto start = Clock::now();
  const double first = run.session.time();
  while (!run.finished()) {
    run.step(status);
    if (!status.due()) continue;
    const double wall = seconds_since(start), done = run.session.time() - first, all = run.end - first;
    status.show(fmt::format("{}  {:.2f} of {:.6g} s  {:.0f} steps/s  {} left", bar(done / all), done, all,
                            static_cast<double>(run.statistics.steps) / wall,
                            clock_time(wall * (all - done) / done)));
  }
}

/// How it goes, on a terminal.
void show_state(const Run& run, double simulated, double wall_seconds, StatusLine& status) {
  if (!status.due()) return;
  const World& world = run.session.world();
  status.show(
      fmt::format("{:8.2f} s  {:5.2f} x real time  {:4} contacts  residual {:.0e} m/s  energy {:.6g} J",
                  run.session.time(), simulated / wall_seconds, world.report().contacts,
                  world.report().residual, world.energies().total()));
}

/// In real time with the page: its clients pause, step, drag and tune.
void run_live(Run& run, Server& server) {
  StatusLine status;
  const auto start = Clock::now();
  const double first = run.session.time();
  LiveOptions options{.wait_for_client = std::isinf(run.end), .doubts = find_doubts(run.session)};
  if (!run.options.no_behaviours) options.prepare_second = start_behaviours;
  LiveSession live(run.session, server, options);
  live.run([&] { return run.finished(); },
           [&] {
             run.step(status);
             show_state(run, run.session.time() - first, seconds_since(start), status);
           });
}

/// In real time, or as near to it as the steps allow; what is late is not made up for beyond 0.1 s.
void run_real_time(Run& run) {
  StatusLine status;
  auto origin = Clock::now();  // when the scene's time was 0, had it never been late
  const double first = run.session.time();
  const auto start = origin;
  while (!run.finished()) {
    run.step(status);
    const double ahead = run.session.time() - first - seconds_since(origin);
    if (ahead < -0.1)
      origin += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(-ahead - 0.1));
    show_state(run, run.session.time() - first, seconds_since(start), status);
    // waking up costs some 50 us: sleep in slices of a millisecond at least
    if (ahead > 1e-3) std::this_thread::sleep_for(std::chrono::duration<double>(ahead));
  }
}

// ---- telling

nlohmann::ordered_json stats_json(const Run& run, double load_seconds) {
  const RunStatistics& s = run.statistics;
  const WorldSettings& settings = run.session.world().settings();
  const double simulated = static_cast<double>(s.steps) * settings.dt;
  return {{"scene", run.options.session.scene},
          {"steps", s.steps},
          {"dt", settings.dt},
          {"time", run.session.time()},
          {"wall_seconds", run.wall_seconds},
          {"steps_per_second", run.wall_seconds > 0 ? static_cast<double>(s.steps) / run.wall_seconds : 0.0},
          {"real_time_factor", run.wall_seconds > 0 ? simulated / run.wall_seconds : 0.0},
          {"load_seconds", load_seconds},
          {"contacts_mean", s.contacts_mean()},
          {"contacts_max", s.contacts_max},
          {"residual_max", s.residual_max},
          {"penetration_max", s.penetration_max},
          {"budget",
           {{"max_work", settings.max_work},
            {"work_max", s.work_max},
            {"steps_exhausted", s.steps_exhausted},
            {"steps_cut", s.steps_cut},
            {"method", solver::name_of(chosen_method(settings))}}},
          {"energy_first", s.energy_first},
          {"energy_last", s.energy_last},
          {"threads", settings.threads},
          {"energy_made", s.energy_made},
          {"energy_made_by", s.energy_made_by()},
          {"energy_taken", s.energy_taken},
          {"motion_lost", s.motion_lost()},
          {"motion_lost_by", s.motion_lost_by()},
          {"quarantined", s.quarantined},
          {"interrupted", was_interrupted()},
          {"state_hash", fmt::format("{:016x}", run.session.hash())}};
}

/// What should be zero, where it is not; rounding is not told.
void print_losses(const RunStatistics& s) {
  constexpr double kRounding = 1e-9, kTold = 0.01;
  if (s.energy_made > kRounding * s.energy_scale)
    fmt::print("energy made: {:.3g} J, mostly by '{}'\n", s.energy_made, s.energy_made_by().front());
  if (s.energy_taken > kTold * s.energy_scale)
    fmt::print(
        "energy taken: {:.3g} J. The steps were too long for this motion and would have added that much "
        "energy; "
        "the motion was slowed down instead. A shorter dt avoids it.\n",
        s.energy_taken);
  if (s.motion_lost() > kRounding)
    fmt::print("motion lost: {:.3g} m, mostly by '{}'\n", s.motion_lost(), s.motion_lost_by().front());
}

void print_summary(const Run& run) {
  const RunStatistics& s = run.statistics;
  const double wall = run.wall_seconds;
  fmt::print("{}: {:.6g} s in {:.3g} s of wall time ({}, {:.0f} steps/s){}\n", run.options.session.scene,
             run.session.time(), wall, count(s.steps, "step"),
             wall > 0 ? static_cast<double>(s.steps) / wall : 0.0, was_interrupted() ? ", interrupted" : "");
  fmt::print("contacts: {:.1f} mean, {} most, penetration up to {:.2g} mm\n", s.contacts_mean(),
             s.contacts_max, 1e3 * s.penetration_max);
  fmt::print("energy: {:.6g} J at the start, {:.6g} J at the end\n", s.energy_first, s.energy_last);
  print_losses(s);
  if (s.steps_exhausted > 0)
    fmt::print(
        "budget: {} ran out of max_work; the rest of what '{}' should have solved was left to sweeps\n",
        count(s.steps_exhausted, "step"), solver::name_of(chosen_method(run.session.world().settings())));
  if (s.steps_cut > 0)
    fmt::print(
        "budget: {} with shapes so deep in each other that contacts were taken of an even spread of them\n",
        count(s.steps_cut, "step"));
  fmt::print("residual: up to {:.1e} m/s; state hash {:016x}\n", s.residual_max, run.session.hash());
  if (run.recorder)
    fmt::print("recorded: {}, {} in {}\n", count(run.recorder->rows(), "row"),
               count(static_cast<long long>(run.recorder->columns().size()), "column"), run.options.record);
}

// ---- the command

/// Without a terminal nobody could end it.
double end_time(const RunOptions& options, const Session& session) {
  if (options.time) return session.time() + *options.time;
  const bool endless = !options.headless && isatty(STDERR_FILENO) == 1;
  return endless ? std::numeric_limits<double>::infinity() : session.time() + kDefaultTime;
}

/// The scene's Python files, if they may run.
Errors run_code(const RunOptions& options, Session& session) {
  if (options.no_behaviours) return {};
  const Result<std::filesystem::path> file = find_scene(options.session.scene);
  if (!file.ok()) return file.errors();
  if (Errors errors = permit_code(session.scene(), *file, options.trust); !errors.empty()) return errors;
  return start_behaviours(session);
}

int run(const RunOptions& options) {
  const auto start = Clock::now();
  Result<Session> session = make_session(options.session);
  if (!session.ok()) {
    say(session.errors());
    return kBadUsage;
  }
  if (const Errors errors = run_code(options, *session); !errors.empty()) {
    say(errors);
    return kBadUsage;
  }
  const double load_seconds = seconds_since(start);
  std::optional<Recorder> recorder;
  if (!options.record.empty()) {
    Result<Recorder> opened = Recorder::open(options.record, *session);
    if (!opened.ok()) {
      say(opened.errors());
      return kBadUsage;
    }
    recorder = std::move(*opened);
  }
  bool page_failed = false;
  std::optional<LivePage> page;
  if (!options.headless) page = open_page(options.page, page_failed);
  if (page_failed) return kBadUsage;
  Run run{options, *session, recorder, end_time(options, *session), page.has_value()};
  Interrupts interrupts([&] { give_up(run, page); });
  run.statistics.begin(*session);
  if (recorder) run.fail(recorder->record(*session));
  const auto first = Clock::now();
  if (options.headless) {
    run_headless(run);
  } else {
    page ? run_live(run, page->server) : run_real_time(run);
  }
  interrupts.seen();
  run.wall_seconds = seconds_since(first);
  run.statistics.end(*session);
  if (recorder) run.fail(recorder->close());
  options.stats ? print_json(stats_json(run, load_seconds)) : print_summary(run);
  const Errors failures = run.statistics.failures();
  say(failures);
  // With the page, people change the scene while it runs: then what is told is for them to judge.
  const bool counts = options.headless || !run.statistics.quarantined.empty();
  return run.failed || (counts && !failures.empty()) ? kFailed : kSuccess;
}

}  // namespace

void add_run(CLI::App& app, int& code) {
  auto o = std::make_shared<RunOptions>();
  CLI::App* sub = app.add_subcommand("run", "Simulate a scene");
  add_session_options(*sub, o->session);
  sub->add_option("--time", o->time,
                  "Length of the simulation (default: 10; on a terminal without --headless: until Ctrl-C)")
      ->type_name("SECONDS")
      ->check(number(0, 1e9));
  sub->add_flag("--headless", o->headless,
                "Run as fast as possible and without the live page, instead of in real time");
  sub->add_option("--port", o->page.port,
                  "Port of the live page (default: 8137); if it is taken, the next free one")
      ->type_name("N")
      ->check(whole_number(0, 65535));
  sub->add_option("--listen", o->page.listen,
                  "IP address of the live page (default: 127.0.0.1, this machine only)")
      ->type_name("ADDRESS");
  sub->add_flag("--no-browser", o->page.no_browser,
                "Print the address of the live page, but do not open a browser");
  sub->add_flag("--no-page", o->page.no_page, "Run in real time, but without the live page");
  sub->add_flag("--stats", o->stats, "Print the summary of the run as JSON");
  sub->add_option("--record", o->record,
                  "Record every step in FILE.csv or, for large runs, FILE.npz or FILE.h5")
      ->type_name("FILE");
  sub->add_option("--record-every", o->record_every, "Record only every Nth step")
      ->type_name("N")
      ->check(whole_number(1, 1'000'000'000));
  sub->add_flag("--trust", o->trust,
                "Allow the scene's Python files, which can do all that you can, to run from any folder");
  sub->add_flag("--no-behaviours", o->no_behaviours, "Do not run the scene's Python files")
      ->excludes("--trust");
  sub->footer(
      "Columns of a record: time; for every link NAME.px .py .pz .qw .qx .qy .qz .vx .vy .vz .wx .wy .wz; "
      "for every\n"
      "joint NAME.q .v .tau (.q0 .q1 ... if it has several coordinates).\n"
      "Exit code: 0 success; 1 a state became non-finite, energy was created, motion was lost, a behaviour "
      "failed\n"
      "(--headless), the record could not be written, or Ctrl-C interrupted a step longer than half a "
      "second; 2 bad input.");
  sub->callback([o, &code] { code = run(*o); });
}

}  // namespace karakuri::cli
