#include "karakuri/session/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace karakuri {

namespace {

constexpr int kLookEvery = 16;     // steps
constexpr std::size_t kNamed = 5;  // links

/// Of a ball with the same mass and mean moment of inertia [m].
double size_by_inertia(const Inertia& inertia) {
  return inertia.mass > 0 ? 2 * std::sqrt(inertia.about_com.trace() / (1.2 * inertia.mass)) : 0;
}

/// From end to end of its shapes, or as its inertia says; infinite where neither is known.
double size_of(const World& world, LinkId link) {
  double size = size_by_inertia(world.scene().mechanism.link(link).inertia);
  for (const ColliderInfo& c : world.colliders())
    if (c.link == link)
      size = std::max(size, 2 * bounding_box(*world.scene().shapes.find(c.shape), {}).half().maxCoeff());
  return size > 0 ? size : std::numeric_limits<double>::infinity();
}

std::string in_words(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : i + 1 == names.size() ? " and " : ", ", names[i]);
  return text;
}

}  // namespace

void RunStatistics::begin(const Session& session) {
  *this = {};
  const World& world = session.world();
  energy_first = energy_last = world.energies().total();
  for (const LinkEntry& link : world.model().links) {
    if (link.body == 0) continue;
    const Inertia& inertia = world.scene().mechanism.link(link.id).inertia;
    lift_ += inertia.mass * world.gravity().norm() * size_by_inertia(inertia);
  }
  look_at_energy(world);
}

void RunStatistics::look_at_energy(const World& world) {
  if (const double kinetic = world.energies().kinetic; kinetic > kinetic_max_) kinetic_max_ = kinetic;
  energy_scale = lift_ + kinetic_max_ + exchanged_max_;
}

void RunStatistics::share(const Session& session, LinkId link, double amount, Shares& shares) {
  const World& world = session.world();
  if (!(amount > 0) || !world.model().find(link)) return;
  const auto [at, is_new] = shares.try_emplace(link);
  if (is_new) at->second = {world.scene().mechanism.link(link).name, 0, size_of(world, link)};
  at->second.amount += amount;
}

void RunStatistics::add(const Session& session, const StepReport& report) {
  const World& world = session.world();
  ++steps;
  contacts_sum += report.contacts;
  contacts_max = std::max(contacts_max, report.contacts);
  residual_max = std::max(residual_max, report.residual);
  penetration_max = std::max(penetration_max, report.penetration);
  work_max = std::max(work_max, report.budget.work);
  steps_exhausted += report.budget.exhausted > 0 ? 1 : 0;
  steps_cut += report.budget.cut > 0 ? 1 : 0;
  energy_made += report.energy_made;
  energy_taken += report.energy_taken;
  exchanged_max_ = std::max(exchanged_max_, report.energy_exchanged);
  share(session, report.energy_link, report.energy_made, made_);
  share(session, report.motion_link, report.motion_lost, lost_);
  if (steps % kLookEvery == 0) look_at_energy(world);
  for (const Event& event : world.events()) {
    if (event.kind != EventKind::kQuarantine) continue;
    quarantined.push_back(world.scene().mechanism.link(event.link_a).name);
  }
}

void RunStatistics::end(const Session& session) {
  energy_last = session.world().energies().total();
  look_at_energy(session.world());
}

std::vector<RunStatistics::Share> RunStatistics::sorted(const Shares& shares) {
  std::vector<Share> all;
  for (const auto& [link, share] : shares) all.push_back(share);
  std::sort(all.begin(), all.end(), [](const Share& a, const Share& b) {
    return a.amount != b.amount ? a.amount > b.amount : a.name < b.name;
  });
  return all;
}

std::vector<std::string> RunStatistics::energy_made_by() const {
  std::vector<std::string> names;
  for (const Share& share : sorted(made_))
    if (names.size() < kNamed) names.push_back(share.name);
  return names;
}

double RunStatistics::motion_lost() const {
  const std::vector<Share> all = sorted(lost_);
  return all.empty() ? 0 : all[0].amount;
}

std::vector<std::string> RunStatistics::motion_lost_by() const {
  std::vector<std::string> names;
  for (const Share& share : sorted(lost_))
    if (names.size() < kNamed) names.push_back(share.name);
  return names;
}

std::vector<Diagnostic> RunStatistics::failures() const {
  std::vector<Diagnostic> found;
  for (const std::string& name : quarantined)
    found.push_back({Severity::kError, "run", fmt::format("'{}' became non-finite", name), ""});
  if (!(energy_made <= kMostEnergyMade * energy_scale) && energy_made > 0)
    found.push_back({Severity::kError, "run",
                     fmt::format("{:.3g} J came from nowhere, where the largest energy was {:.3g} J: by {}",
                                 energy_made, energy_scale, in_words(energy_made_by())),
                     "take a shorter dt, and see what 'karakuri check' tells of the scene"});
  std::vector<std::string> behind;
  double most = 0;
  for (const Share& share : sorted(lost_)) {
    if (!(share.amount > kMostMotionLost * share.size)) continue;
    most = std::max(most, share.amount);
    if (behind.size() < kNamed) behind.push_back(share.name);
  }
  if (!behind.empty())
    found.push_back(
        {Severity::kError, "run",
         fmt::format("{} moved less than the velocity says, by {:.3g} m in all", in_words(behind), most),
         "take a shorter dt, and see what 'karakuri check' tells of the scene"});
  return found;
}

}  // namespace karakuri
