// One step, as a table of contents.
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
    const double h = impl_->settings.dt / impl_->settings.substeps;
    for (int k = 0; k < impl_->settings.substeps; ++k) impl_->substep(*this, h);
  }
}

void World::Impl::substep(World& self, double h) {
  Stopwatch watch;
  run_hooks(self);
  h_now = h;
  watch.lap(times.hooks);
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
  watch.lap(times.integrate);
  finish(h);
  h_now = 0;
  watch.lap(times.finish);
}

void World::Impl::run_hooks(World& self) {
  for (std::size_t i = 0; i < hooks.size(); ++i) {  // a hook may add another
    if (hooks[i]) hooks[i](self);
  }
}

}  // namespace karakuri
