#include "karakuri/session/statistics.h"

#include <algorithm>

namespace karakuri {

void RunStatistics::begin(const Session& session) {
  *this = {};
  energy_first = energy_last = session.world().energies().total();
}

void RunStatistics::add(const Session& session) {
  const World& world = session.world();
  const StepReport& report = world.report();
  ++steps;
  contacts_sum += report.contacts;
  contacts_max = std::max(contacts_max, report.contacts);
  residual_max = std::max(residual_max, report.residual);
  penetration_max = std::max(penetration_max, report.penetration);
  for (const Event& event : world.events()) {
    if (event.kind != EventKind::kQuarantine) continue;
    quarantined.push_back(world.scene().mechanism.link(event.link_a).name);
  }
}

void RunStatistics::end(const Session& session) { energy_last = session.world().energies().total(); }

}  // namespace karakuri
