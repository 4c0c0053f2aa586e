// One step, as a table of contents.
#include <utility>

#include "world/impl.h"

namespace karakuri {

namespace {

/// Adds the time since its making, or since the last lap, to one of the stages.
class Stopwatch {
 public:
  void lap(double& stage) {
    const auto now = std::chrono::steady_clock::now();
    stage += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace

void World::step(int count) {
  for (int i = 0; i < count; ++i) {
    impl_->events.clear();
    impl_->times = {};
    const int substeps = impl_->settings.substeps;
    const double h = impl_->settings.dt / substeps;
    for (int k = 0; k < substeps; ++k) {
      if (!impl_->hooks.empty()) {  // reading a clock takes as long as some stages of a small world
        Stopwatch watch;
        run_hooks();
        watch.lap(impl_->times.hooks);
      }
      impl_->substep(h);
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

void World::Impl::substep(double h) {
  Stopwatch watch;
  h_now = h;
  free_motion(h);
  quarantine_infinite_motion();
  watch.lap(times.dynamics);
  detect(h);
  watch.lap(times.collision);
  connect_trees();
  build_rows(h);
  gather_islands();
  watch.lap(times.rows);
  solve_islands(h);
  watch.lap(times.solve);
  move_bodies(h);
  stop_fast_bodies(h);
  settle_loops(h);
  keep_group_momentum(h);
  watch.lap(times.integrate);
  finish(h);
  h_now = 0;
  watch.lap(times.finish);
}

}  // namespace karakuri
