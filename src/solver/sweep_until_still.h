// The loop of the published sweeping methods: until the residual is small or nothing moves any more.
#pragma once

#include <cmath>

#include "solver/memory.h"

namespace karakuri::solver {

/// "Stop on relative change" as the papers do; at this change nothing more is to be expected in doubles.
inline constexpr double kStill = 1e-14;

/// @param sweep Does one sweep on λ and returns |Δλ|.
template <class Sweep>
void sweep_until_still(const Problem& p, const Settings& settings, Workspace::Memory& m,
                       std::span<double> lambda, Report& report, const Sweep& sweep) {
  constexpr int kCheckEvery = 10;
  if (check(p, lambda, m) <= m.target) return;
  for (int k = 0; k < settings.max_sweeps && !m.budget.spent(); ++k) {
    const double change = sweep();
    ++report.sweeps;
    m.budget.spend(sweep_cost(p));
    double size = 0.0;
    for (const double x : lambda) size += x * x;
    const bool still = !(change > kStill * std::sqrt(size));
    if (!still && (k + 1) % kCheckEvery != 0) continue;
    const double residual = check(p, lambda, m);
    if (still || residual <= m.target || !std::isfinite(residual)) {
      if (still && residual > m.target) report.status = Status::kStalled;
      return;
    }
  }
}

}  // namespace karakuri::solver
