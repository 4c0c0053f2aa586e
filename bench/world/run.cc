#include "run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>

#include <fmt/format.h>

#include "support/timing.h"

namespace karakuri::bench {

namespace {

constexpr double kFar = 1e4;       // [m]: a body that is there was thrown
constexpr double kTooSlow = 1;     // [s] a step
constexpr int kMostSlowSteps = 3;  // before an engine is stopped

/// Of this thread: what others do on the machine does not count, but for what they do to the caches.
double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// What reading that clock adds to a time between two readings, at least: a system call, near a microsecond
/// on a virtual machine, where a step of one robot takes ten.
double seconds_of_clock() {
  static const double least = [] {
    double found = 1;
    for (int k = 0; k < 1000; ++k) {
      const double start = processor_seconds();
      found = std::min(found, processor_seconds() - start);
    }
    return found;
  }();
  return least;
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct StepRecord {
  double seconds = 1e300;  // best of the rounds
  int contacts = 0;
  double penetration = 0;
  StepReport report;
  StepTimes times;
};

std::vector<Vec3> positions(const Engine& engine, const std::vector<int>& bodies) {
  std::vector<Vec3> all;
  for (const int body : bodies) all.push_back(engine.position(body));
  return all;
}

double farthest(const std::vector<Vec3>& a, const std::vector<Vec3>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = (a[i] - b[i]).norm();
    most = std::isfinite(d) ? std::max(most, d) : kInfinity;
  }
  return most;
}

/// One engine's way through the scene, from the first round to the last.
struct Track {
  std::string name;
  std::unique_ptr<Engine> engine;
  std::vector<StepRecord> records;
  std::vector<int> roots;           // bodies without parents, by which the scene is judged
  std::vector<Vec3> start, before;  // their positions at the start, and at the start of the last phase
  int at = 0;                       // next step
  int slow = 0;
  std::string trouble;
  EngineResult result;
};

struct Steps {
  int count = 0;
  int turn = 0;                             // before the next engine's
  std::vector<std::pair<int, int>> phases;  // [first, last)
};

/// Small scenes have long turns: what another engine has left in the caches is nobody's time.
int turn_of(const Setup& setup) {
  constexpr int kLeast = 20, kMost = 200, kBodies = 4000;
  return std::clamp(kBodies / static_cast<int>(std::max<std::size_t>(1, setup.bodies.size())), kLeast, kMost);
}

Steps steps_of(const Entry& entry, const Setup& setup, double shorten) {
  Steps steps{.turn = turn_of(setup)};
  for (const Phase& phase : entry.phases) {
    const auto index = [&](double t) { return static_cast<int>(std::lround(t * shorten / setup.dt)); };
    steps.phases.emplace_back(index(phase.from), index(phase.to));
    steps.count = std::max(steps.count, steps.phases.back().second);
  }
  return steps;
}

void take_step(Track& track, const Steps& steps, bool first_round) {
  if (first_round && track.at == steps.phases.back().first) {
    track.before = positions(*track.engine, track.roots);
  }
  const double unread = seconds_of_clock(), start = processor_seconds();
  track.engine->step();
  const double seconds = processor_seconds() - start - unread;
  StepRecord& record = track.records[static_cast<std::size_t>(track.at++)];
  if (seconds < record.seconds) {
    record.seconds = seconds;
    record.times = track.engine->times().value_or(StepTimes{});
  }
  if (first_round) {
    record.contacts = track.engine->contacts();
    record.penetration = track.engine->penetration();
    record.report = track.engine->report().value_or(StepReport{});
  }
  track.slow += seconds > kTooSlow;
  if (track.slow >= kMostSlowSteps) {
    track.trouble = fmt::format("stopped at step {}: {:.1f} s a step", track.at, seconds);
  }
}

void look_for_trouble(Track& track) {
  track.trouble = track.engine->trouble();
  if (farthest(track.start, positions(*track.engine, track.roots)) > kFar) {
    track.trouble = fmt::format("blew up before step {}", track.at);
  }
}

void run_round(std::vector<Track>& tracks, const Steps& steps, const std::string& scene, bool first_round) {
  for (int from = 0; from < steps.count; from += steps.turn) {
    const int to = std::min(from + steps.turn, steps.count);
    for (Track& track : tracks) {
      if (from % (10 * steps.turn) == 0)
        show_progress(fmt::format("{}: {} {}/{}", scene, track.name, from, steps.count));
      while (track.at < to && track.trouble.empty()) take_step(track, steps, first_round);
      if (first_round && track.trouble.empty()) look_for_trouble(track);
    }
  }
}

void add(StepTimes& sum, const StepTimes& t, double weight) {
  sum.hooks += weight * t.hooks;
  sum.dynamics += weight * t.dynamics;
  sum.collision += weight * t.collision;
  sum.rows += weight * t.rows;
  sum.solve += weight * t.solve;
  sum.integrate += weight * t.integrate;
  sum.finish += weight * t.finish;
}

PhaseResult summary(const std::string& name, const std::vector<StepRecord>& records, int first, int last) {
  PhaseResult result;
  result.phase = name;
  const double share = 1.0 / std::max(1, last - first);
  double exchanged = 0;
  for (int k = first; k < last; ++k) {
    const StepRecord& r = records[static_cast<std::size_t>(k)];
    result.mean += 1e6 * share * r.seconds;
    result.worst = std::max(result.worst, 1e6 * r.seconds);
    result.contacts += share * r.contacts;
    result.penetration = std::max(result.penetration, r.penetration);
    result.residual = std::max(result.residual, r.report.residual);
    result.sweeps += share * r.report.sweeps;
    result.newton += share * r.report.newton;
    result.made += r.report.energy_made;
    exchanged += r.report.energy_exchanged;
    const solver::Status status = r.report.status;
    const bool done = status == solver::Status::kConverged || status == solver::Status::kAccepted;
    result.unconverged += done ? 0 : share;
    add(result.times, r.times, share);
  }
  if (exchanged > 0) result.made /= exchanged;
  return result;
}

/// After the first round: what depends on positions.
void judge(Track& track, const Entry& entry) {
  if (!track.trouble.empty()) return;
  const std::vector<Vec3> end = positions(*track.engine, track.roots);
  track.result.moved = farthest(track.before, end);
  track.result.stands = farthest(track.start, end) <= entry.stands_within;
}

bool build(std::vector<Track>& tracks, const std::vector<Stepper>& steppers, const Setup& setup) {
  bool any = false;
  for (std::size_t k = 0; k < tracks.size(); ++k) {
    if (!tracks[k].trouble.empty()) continue;
    Made made = steppers[k].make(setup);
    if (!made) {
      tracks[k].trouble = made.errors().front().what;
      continue;
    }
    tracks[k].engine = std::move(made).value();
    tracks[k].at = 0;
    any = true;
  }
  return any;
}

std::vector<int> roots_of(const Setup& setup) {
  std::vector<int> roots;
  for (std::size_t i = 0; i < setup.bodies.size(); ++i) {
    if (setup.bodies[i].parent < 0) roots.push_back(static_cast<int>(i));
  }
  return roots;
}

std::vector<Vec3> starting_points(const Setup& setup, const std::vector<int>& roots) {
  std::vector<Vec3> all;
  for (const int i : roots) all.push_back(setup.bodies[i].X_PB * inertia_of(setup.bodies[i]).com);
  return all;
}

}  // namespace

std::vector<EngineResult> run(const Entry& entry, const Setup& setup, const std::vector<Stepper>& steppers,
                              const RunPlan& plan) {
  const Steps steps = steps_of(entry, setup, plan.shorten);
  std::vector<Track> tracks(steppers.size());
  for (std::size_t k = 0; k < tracks.size(); ++k) {
    tracks[k].name = steppers[k].name;
    tracks[k].records.resize(static_cast<std::size_t>(steps.count));
    tracks[k].roots = roots_of(setup);
    tracks[k].start = starting_points(setup, tracks[k].roots);
  }
  const double start = wall_seconds();
  for (int round = 0; round < plan.rounds && wall_seconds() - start < plan.seconds; ++round) {
    if (!build(tracks, steppers, setup)) break;
    run_round(tracks, steps, entry.name, round == 0);
    for (Track& track : tracks) {
      if (round == 0) judge(track, entry);
      track.engine.reset();
    }
  }
  show_progress("");
  std::vector<EngineResult> results;
  for (Track& track : tracks) {
    track.result.engine = track.name;
    track.result.trouble = track.trouble;
    for (std::size_t p = 0; p < entry.phases.size() && track.trouble.empty(); ++p) {
      const auto [first, last] = steps.phases[p];
      track.result.phases.push_back(summary(entry.phases[p].name, track.records, first, last));
    }
    results.push_back(std::move(track.result));
  }
  return results;
}

}  // namespace karakuri::bench
