// Robots of the scene that walk: made with the session, asked before each step for the targets of their
// joints' drives.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "session/impl.h"

namespace karakuri {

using namespace session_detail;

namespace {

constexpr double kGone = std::numeric_limits<double>::quiet_NaN();

/// In the order of WalkerProperty.
constexpr std::array<std::string_view, 24> kWalkerProperties = {"steps",
                                                                "left",
                                                                "standing",
                                                                "fallen",
                                                                "stabilizer",
                                                                "margin",
                                                                "zmp_x",
                                                                "zmp_y",
                                                                "planned_zmp_x",
                                                                "planned_zmp_y",
                                                                "wanted_zmp_x",
                                                                "wanted_zmp_y",
                                                                "center_x",
                                                                "center_y",
                                                                "center_z",
                                                                "planned_center_x",
                                                                "planned_center_y",
                                                                "planned_center_z",
                                                                "left_force",
                                                                "right_force",
                                                                "tilt",
                                                                "forward",
                                                                "side",
                                                                "turn"};
enum WalkerProperty : std::uint8_t {
  kSteps,
  kLeft,
  kStanding,
  kFallen,
  kStabilizer,
  kMargin,
  kZmp,
  kPlannedZmp = 8,
  kWantedZmp = 10,
  kCenter = 12,
  kPlannedCenter = 15,
  kForce = 18,
  kTilt = 20,
  kForward,
  kSide,
  kTurn
};

Diagnostic refused(std::string_view key, std::string what, std::string remedy) {
  return {Severity::kError, std::string(key), std::move(what), std::move(remedy)};
}

}  // namespace

namespace session_detail {

std::span<const std::string_view> walker_properties() { return kWalkerProperties; }

}  // namespace session_detail

std::span<const Walking> Session::walkers() const { return impl_->walkers; }

/// From the world as it is at the start; those of the scene that stand there.
std::vector<Diagnostic> Session::Impl::make_walkers() {
  walkers.clear();
  state.walker_commands.assign(scene.script.walkers.size(), {});
  for (const Walker& walker : scene.script.walkers) {
    Result<Walking> made = Walking::make(world, walker, walker.floor);
    if (!made.ok()) return made.errors();
    if (walker.place) made->place(world);
    walkers.push_back(std::move(*made));
  }
  return {};
}

void Session::Impl::update_walkers() {
  const double dt = world.settings().dt;
  for (Walking& walking : walkers) {
    walking.update(world, dt);
    for (const JointTarget& target : walking.targets()) {
      if (world.v(target.joint).empty()) continue;  // it was cut
      Drive& drive = state.driven[static_cast<std::size_t>(driven_index(target.joint))].drives[0];
      // an effort beside the drive is a target that is further off; the limit of the drive counts for both
      drive.q_target = target.q + (drive.stiffness > 0 ? target.effort / drive.stiffness : 0);
      drive.v_target = target.v;
    }
    state.drives_changed = true;
  }
}

double Session::Impl::read_walker(std::size_t index, std::uint8_t property) const {
  if (index >= walkers.size()) return kGone;
  const WalkingReport& r = walkers[index].report();
  const StepCommand& step = state.walker_commands[index];
  if (property >= kZmp && property < kPlannedZmp) return r.zmp[property - kZmp];
  if (property >= kPlannedZmp && property < kWantedZmp) return r.zmp_planned[property - kPlannedZmp];
  if (property >= kWantedZmp && property < kCenter) return r.zmp_wanted[property - kWantedZmp];
  if (property >= kCenter && property < kPlannedCenter) return r.center[property - kCenter];
  if (property >= kPlannedCenter && property < kForce) return r.center_planned[property - kPlannedCenter];
  switch (property) {
    case kSteps: return r.steps;
    case kLeft: return r.left;
    case kStanding: return r.standing ? 1 : 0;
    case kFallen: return r.fallen ? 1 : 0;
    case kStabilizer: return walkers[index].stabilized() ? 1 : 0;
    case kMargin: return r.margin;
    case kForce: return r.force[0];
    case kForce + 1: return r.force[1];
    case kTilt: return r.tilt;
    case kForward: return step.forward;
    case kSide: return step.side;
    case kTurn: return step.turn;
    default: return kGone;
  }
}

std::vector<Diagnostic> Session::Impl::set_walker(const Signal& s, std::string_view key, double number) {
  if (s.index >= walkers.size() || !std::isfinite(number))
    return {refused(key, "it needs a finite number", "give one")};
  Walking& walking = walkers[s.index];
  StepCommand& step = state.walker_commands[s.index];
  const auto most = [&](double limit) -> std::vector<Diagnostic> {
    if (std::abs(number) <= limit) return {};
    return {refused(key, fmt::format("{:g} is more than a step of this gait may be", number),
                    fmt::format("give at most {:g}, or raise its limit in `gait`", limit))};
  };
  const Gait& gait = walking.walker().gait;
  std::vector<Diagnostic> flaws;
  switch (s.property) {
    case kForward: flaws = most(gait.max_forward); break;
    case kSide: flaws = most(gait.max_side); break;
    case kTurn: flaws = most(gait.max_turn); break;
    case kSteps:
      if (number < 0 || number > 1e6 || number != std::floor(number))
        return {refused(key, fmt::format("{:g} is no number of steps", number), "give 0 to 1000000")};
      walking.walk(step, static_cast<int>(number));
      return {};
    case kStabilizer: walking.set_stabilized(number != 0); return {};
    default: return {refused(key, "it can only be read", "")};
  }
  if (!flaws.empty()) return flaws;
  (s.property == kForward ? step.forward : s.property == kSide ? step.side : step.turn) = number;
  return {};
}

}  // namespace karakuri
