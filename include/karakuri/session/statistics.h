// How a run went, in a few numbers.
#pragma once

#include <string>
#include <vector>

#include "karakuri/session/session.h"

namespace karakuri {

/// Add after every step; the first call of begin() gives the energy at the start.
struct RunStatistics {
  long long steps = 0;
  double contacts_sum = 0;
  int contacts_max = 0;
  double residual_max = 0;                   // [m/s]
  double penetration_max = 0;                // [m]
  double energy_first = 0, energy_last = 0;  // [J]
  std::vector<std::string> quarantined;      // links whose state became non-finite

  void begin(const Session& session);
  void add(const Session& session);
  void end(const Session& session);
  double contacts_mean() const { return steps > 0 ? contacts_sum / static_cast<double>(steps) : 0; }
};

}  // namespace karakuri
