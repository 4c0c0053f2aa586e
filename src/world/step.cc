// One step, as a table of contents.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "world/impl.h"

namespace karakuri {

namespace {

/// How often a step is solved where its motion meets what its rows did not know of.
constexpr int kMostRounds = 4;

/// How often a step is halved that moves something further than it can be followed.
constexpr int kMostHalvings = 6;

/// Something that grows evenly with time and is read in no time: a clock takes longer than some stages of a
/// small world.
std::uint64_t ticks() {
#ifdef __x86_64__
  return __builtin_ia32_rdtsc();
#else
  return std::chrono::steady_clock::now().time_since_epoch().count();
#endif
}

/// Shares the time from its making to its end among stages.
class Stopwatch {
 public:
  /// What has passed since its making, or since the last lap, belongs to `stage`.
  void lap(double& stage) {
    const std::uint64_t now = ticks();
    laps_[count_++] = {&stage, now - last_};
    last_ = now;
  }
  ~Stopwatch() {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    std::uint64_t sum = 0;
    for (int k = 0; k < count_; ++k) sum += laps_[k].ticks;
    if (sum == 0) return;
    for (int k = 0; k < count_; ++k)
      *laps_[k].stage += seconds * static_cast<double>(laps_[k].ticks) / static_cast<double>(sum);
  }

 private:
  struct Lap {
    double* stage;
    std::uint64_t ticks;
  };
  Lap laps_[8 + 2 * kMostRounds];
  int count_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::uint64_t last_ = ticks();
};

}  // namespace

void World::step(int count) {
  for (int i = 0; i < count; ++i) {
    impl_->events.clear();
    impl_->times = {};
    impl_->motion_lost = 0;
    impl_->energy_made = impl_->energy_taken = impl_->energy_exchanged = impl_->most_made = 0;
    impl_->energy_made_by = {};
    impl_->report.budget = {};
    impl_->report.parts = 0;
    const int substeps = impl_->settings.substeps;
    const double h = impl_->settings.dt / substeps;
    for (int k = 0; k < substeps; ++k) {
      if (!impl_->hooks.empty()) {
        Stopwatch watch;
        run_hooks();
        watch.lap(impl_->times.hooks);
      }
      impl_->substep(h, kMostHalvings, *this);
      detach_broken();
    }
  }
}

/// A hook may add another, or change the structure: `impl_` is not the same then, but its hooks are.
void World::run_hooks() {
  for (std::size_t i = 0; i < impl_->hooks.size(); ++i) {
    if (impl_->hooks[i]) impl_->hooks[i](*this);
  }
}

void World::detach_broken() {
  for (const JointId joint : std::exchange(impl_->broken, {})) detach(joint);
}

void World::Impl::move_and_settle(double h) {
  std::fill(given_by_loops.begin(), given_by_loops.end(), 0.0);
  loop_turning.assign(model.loops.size(), {});
  loop_stage.contradicts.assign(trees.size(),
                                0);  // where loops are held by position it is found out, else not
  move_bodies(h);
  settle_loops(h);
  keep_group_momentum(h);
}

void World::Impl::substep(double h, int halvings, const World& of) {
  drive_overruns.assign(model.nv, 0);
  Attempt outcome = attempt(h, halvings == 0);
  while (outcome == Attempt::kWithMoreRowsInstead) {
    forces = applied;
    outcome = attempt(h, halvings == 0);
  }
  if (outcome == Attempt::kMade) {
    if (part_observer) part_observer(of);
    return;
  }
  forces = applied;
  substep(0.5 * h, halvings - 1, of);
  forces = applied;
  substep(0.5 * h, halvings - 1, of);
}

World::Impl::Attempt World::Impl::attempt(double h, bool is_last) {
  Stopwatch watch;
  h_now = h;
  free_motion(h);
  quarantine_infinite_motion();
  watch.lap(times.dynamics);
  detect(h);
  penalty_contacts(h);
  meets_more(v_free, h);
  watch.lap(times.collision);
  const int exhausted = report.budget.exhausted;
  bool may_pass = true;
  for (int round = 1; may_pass; ++round) {
    connect_trees();
    find_led_by_start(h);
    build_rows(h);
    gather_islands();
    watch.lap(times.rows);
    solve_islands(h);
    find_end_velocities();
    hold_end_velocities();
    watch.lap(times.solve);
    if (round == kMostRounds || report.budget.exhausted > exhausted) break;
    may_pass = meets_more(v_end, h);
  }
  is_last = is_last || report.budget.exhausted > exhausted;
  if (overruns_drives()) return Attempt::kWithMoreRowsInstead;
  if (!is_last && ((may_pass && passes(v_end, h)) || turns_loops_far(v_end, h)))
    return Attempt::kInHalvesInstead;
  slow_down_what_passes(v_end, h, is_last && may_pass);
  slow_down_loops(v_end, h);
  find_plain(h);
  find_shift(h);
  open_ledger(h);
  move_and_settle(h);
  if (find_more_plain()) {
    start_again();
    find_shift(h);
    move_and_settle(h);
  }
  close_ledger();
  watch.lap(times.integrate);
  finish(h);
  ++report.parts;
  h_now = 0;
  watch.lap(times.finish);
  return Attempt::kMade;
}

}  // namespace karakuri
