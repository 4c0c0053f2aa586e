// Looks at a world with closed loops after each step, and at the time that the steps take.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/loop_rows.h"
#include "karakuri/world/world.h"

namespace karakuri::test {

/// The largest error of any closed loop now [m or rad].
inline double loop_error(const World& world, Workspace& ws) {
  update_poses(world.model(), world.state(), ws);
  double most = 0;
  for (std::size_t i = 0; i < world.model().loops.size(); ++i) {
    if (!world.state().loop_closed[i]) continue;
    const LoopRows rows = loop_rows(world.model().loops[i], ws);
    for (int k = 0; k < rows.count; ++k)  // not std::max: it would pass over what is not a number
      if (!(std::abs(rows.error[k]) <= most)) most = std::abs(rows.error[k]);
  }
  return most;
}
inline double loop_error(const World& world) {
  Workspace ws(world.model());
  return loop_error(world, ws);
}

/// How long a run lasts: KARAKURI_LONG asks for a minute, or for as many seconds as it says.
inline double long_or(double seconds) {
  const char* wish = std::getenv("KARAKURI_LONG");
  if (!wish) return seconds;
  const double wished = std::atof(wish);
  return wished > 1 ? wished : 60;
}

struct LoopWatch {
  double error = 0;                   // largest of the loops after any step [m or rad]
  double residual = 0;                // largest of the solver [m/s]
  bool finite = true;                 // all of q and v, always
  double machine = 0, simulated = 0;  // [s]

  /// Runs `step`, which moves the world on, until the world's time is `end`.
  template <class Step>
  void until(const World& world, double end, Step&& step) {
    while (world.time() < end - 1e-9) {
      const double before = world.time();
      const std::clock_t start = std::clock();  // of this process: others may be busy too
      step();
      machine += static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
      simulated += world.time() - before;
      look(world);
      if (std::floor(world.time() / 10) > std::floor(before / 10)) print("... ");  // this may take minutes
    }
  }
  void until(World& world, double end) {
    until(world, end, [&] { world.step(); });
  }
  void print(const char* name) const {
    std::printf("%s: %.1f s, loop %.2e, residual %.2e, %.2f times real time\n", name, simulated, error,
                residual, simulated / machine);
    std::fflush(stdout);
  }

 private:
  void look(const World& world) {
    const State& s = world.state();
    finite = finite && s.q_view().allFinite() && s.v_view().allFinite();
    if (const double now = loop_error(world); !(now <= error)) error = now;
    residual = std::max(residual, world.report().residual);
  }
};

}  // namespace karakuri::test
