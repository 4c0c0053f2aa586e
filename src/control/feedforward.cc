// One step of the world, with the drives of the chosen dofs rigid:
//   M (v' - v) / h = tau - c + S^T u + J^T lambda,   S v' = v_target                  (1)
// where u are the efforts sought and J^T lambda all other constraint forces: loops, limits, dry friction,
// contacts. Given u as an effort, the same step without drives has the same v' and lambda, as far as (1) has
// one solution and the solver's tolerance goes. For accelerations v_target = S v + h a. (2)
#include "karakuri/control/feedforward.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace karakuri {

namespace {

Diagnostic refused(std::string what, std::string remedy) {
  return {Severity::kError, "feed-forward", std::move(what), std::move(remedy)};
}

int dofs_of(const World& world, JointId joint) {
  const JointEntry* entry = world.model().find(joint);
  return entry && entry->first_v >= 0 ? v_size(entry->kind) : 0;
}

std::vector<Diagnostic> flaws_of(const World& world, std::span<const JointId> joints,
                                 const FeedforwardOptions& options) {
  std::vector<Diagnostic> flaws;
  if (joints.empty()) flaws.push_back(refused("no joints are given", "name one at least"));
  for (std::size_t i = 0; i < joints.size(); ++i) {
    const JointEntry* entry = world.model().find(joints[i]);
    const std::string name = entry ? entry->name : fmt::format("number {} of the list", i);
    if (dofs_of(world, joints[i]) == 0)
      flaws.push_back(refused(fmt::format("joint {} has no dofs in this world", name),
                              "take joints of trees that move; loops follow them"));
    else if (std::find(joints.begin(), joints.begin() + static_cast<std::ptrdiff_t>(i), joints[i]) !=
             joints.begin() + static_cast<std::ptrdiff_t>(i))
      flaws.push_back(refused(fmt::format("joint {} is given twice", name), "name each once"));
  }
  if (!(options.duration >= 0 && std::isfinite(options.duration)))
    flaws.push_back(refused(fmt::format("the duration is {:g}", options.duration),
                            "give seconds, or 0 for the world's dt"));
  return flaws;
}

/// A drive that holds a velocity whatever it takes.
Drive rigid(double velocity) {
  Drive drive;
  drive.damping = std::numeric_limits<double>::infinity();
  drive.v_target = velocity;
  return drive;
}

}  // namespace

Feedforward::Feedforward(World trial, std::vector<JointId> joints, const FeedforwardOptions& options)
    : trial_(std::move(trial)), joints_(std::move(joints)), options_(options) {
  std::size_t dofs = 0;
  for (const JointId joint : joints_) dofs += dofs_of(trial_, joint);
  effort_.assign(dofs, 0.0);
  target_.assign(dofs, 0.0);
}

Result<Feedforward> Feedforward::make(const World& world, std::vector<JointId> joints,
                                      const FeedforwardOptions& options) {
  if (std::vector<Diagnostic> flaws = flaws_of(world, joints, options); !flaws.empty()) return flaws;
  return Feedforward(world.clone(), std::move(joints), options);
}

std::vector<Diagnostic> Feedforward::prepare(const World& world, std::span<const double> given,
                                             const char* what) {
  if (given.size() != effort_.size())
    return {refused(fmt::format("{} {} are given", given.size(), what),
                    fmt::format("the {} joints have {} dofs", joints_.size(), effort_.size()))};
  if (!std::all_of(given.begin(), given.end(), [](double x) { return std::isfinite(x); }))
    return {refused(fmt::format("one of the {} is not finite", what), "mend it")};
  std::size_t dofs = 0;
  for (const JointId joint : joints_) dofs += dofs_of(world, joint);
  if (dofs != effort_.size())
    return {refused("joints were cut since it was made", "make another for the joints that are left")};
  if (trial_.scene_stamp() != world.scene_stamp()) trial_ = world.clone();
  WorldSettings settings = world.settings();
  settings.substeps = 1;
  settings.threads = trial_.settings().threads;
  settings.sleep.enabled = false;
  if (options_.duration > 0) settings.dt = options_.duration;
  if (!options_.contact) settings.contact = ContactModel::kNone;
  if (std::vector<Diagnostic> flaws = trial_.set_settings(settings); !flaws.empty()) return flaws;
  return trial_.restore(world);
}

std::vector<Diagnostic> Feedforward::find(const World& world, std::span<const double> velocity) {
  if (std::vector<Diagnostic> flaws = prepare(world, velocity, "velocities"); !flaws.empty()) return flaws;
  std::copy(velocity.begin(), velocity.end(), target_.begin());
  run();
  return {};
}

std::vector<Diagnostic> Feedforward::find_for_acceleration(const World& world,
                                                           std::span<const double> acceleration) {
  if (std::vector<Diagnostic> flaws = prepare(world, acceleration, "accelerations"); !flaws.empty())
    return flaws;
  auto out = target_.begin();
  for (const JointId joint : joints_)
    for (const double v : world.v(joint)) *out++ = v;
  for (std::size_t i = 0; i < target_.size(); ++i)
    target_[i] += trial_.settings().dt * acceleration[i];  // (2)
  run();
  return {};
}

void Feedforward::run() {
  constexpr double kNoEffort[6] = {};
  std::size_t at = 0;
  for (const JointId joint : joints_) {
    const int dofs = dofs_of(trial_, joint);
    trial_.set_effort(joint, std::span(kNoEffort).first(dofs));
    trial_.set_breaking(joint, DofProperties::kNone);  // its efforts are read after the step
    for (int k = 0; k < dofs; ++k) trial_.set_drive(joint, rigid(target_[at++]), k);
  }
  trial_.step();  // (1)
  at = 0;
  missed_ = 0;
  for (const JointId joint : joints_) {
    const std::span<const double> reached = trial_.v(joint);
    const JointLoad load = trial_.load(joint);
    for (std::size_t k = 0; k < reached.size(); ++k, ++at) {
      effort_[at] = load.drive[k];
      missed_ = std::max(missed_, std::abs(reached[k] - target_[at]));
    }
  }
}

bool Feedforward::apply(World& world) const {
  bool all = true;
  std::span<const double> left = effort_;
  for (const JointId joint : joints_) {
    const int dofs = dofs_of(trial_, joint);
    all = world.set_effort(joint, left.first(dofs)) && all;
    left = left.subspan(dofs);
  }
  return all;
}

Result<std::vector<double>> feedforward(const World& world, std::span<const JointId> joints,
                                        std::span<const double> velocity, const FeedforwardOptions& options) {
  Result<Feedforward> found = Feedforward::make(world, {joints.begin(), joints.end()}, options);
  if (!found.ok()) return found.errors();
  if (std::vector<Diagnostic> flaws = found->find(world, velocity); !flaws.empty()) return flaws;
  return std::vector<double>(found->effort().begin(), found->effort().end());
}

}  // namespace karakuri
