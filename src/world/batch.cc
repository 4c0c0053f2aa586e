#include "karakuri/world/batch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/compose.h"
#include "world/impl.h"

namespace karakuri {

namespace {

constexpr int kMostCopies = 1 << 20;
constexpr int kMostThreads = 1 << 10;

Diagnostic refused(std::string what, std::string remedy) {
  return {Severity::kError, "batch", std::move(what), std::move(remedy)};
}

}  // namespace

Result<Batch> Batch::make(const World& world, int count, int threads) {
  std::vector<Diagnostic> flaws;
  if (count < 1 || count > kMostCopies)
    flaws.push_back(
        refused(compose("{} copies are asked for", count), compose("ask for 1 to {}", kMostCopies)));
  if (threads < 0 || threads > kMostThreads)
    flaws.push_back(refused(compose("{} threads are asked for", threads),
                            compose("ask for 1 to {}, or 0 for as many as the machine has", kMostThreads)));
  if (!flaws.empty()) return flaws;
  return Batch(world, count, threads == 0 ? kMostThreads : threads);
}

Batch::Batch(const World& world, int count, int threads)
    : start_(world.clone()), parallel_(threads), nq_(world.model().nq), nv_(world.model().nv) {
  WorldSettings settings = world.settings();
  settings.threads = 1;  // copies are what is spread over the cores
  start_.set_settings(settings);
  for (const JointEntry& joint : world.model().joints)
    if (joint.first_v >= 0) joints_.emplace_back(joint.id, joint.first_v);
  worlds_.reserve(count);
  for (int i = 0; i < count; ++i) worlds_.push_back(start_.clone());
  const std::size_t n = count;
  q_.resize(n * nq_);
  for (std::vector<double>* v : {&v_, &effort_, &q_target_, &v_target_}) v->resize(n * nv_);
  for (int i = 0; i < count; ++i) take_inputs(i);
  refresh();
}

std::vector<Diagnostic> Batch::find_copy(int copy) const {
  if (copy >= 0 && copy < size()) return {};
  return {refused(compose("there is no copy {}", copy), compose("they are 0 to {}", size() - 1))};
}

/// A cut gives a tree a free joint, and so more coordinates.
bool Batch::is_whole(int copy) const { return worlds_[copy].model().nq == nq_; }

void Batch::take_inputs(int copy) {
  const std::size_t row = static_cast<std::size_t>(copy) * nv_;
  const World& w = worlds_[copy];
  for (const auto& [joint, first] : joints_) {
    const std::span<const double> effort = w.effort(joint);
    for (std::size_t k = 0; k < effort.size(); ++k) {
      const Drive& drive = w.drive(joint, static_cast<int>(k));
      effort_[row + first + k] = effort[k];
      q_target_[row + first + k] = drive.q_target;
      v_target_[row + first + k] = drive.v_target;
    }
  }
}

void Batch::give_inputs(int copy) {
  if (!is_whole(copy)) return;
  const std::size_t row = static_cast<std::size_t>(copy) * nv_;
  World& w = worlds_[copy];
  for (const auto& [joint, first] : joints_) {  // setting costs more than looking
    const std::span<const double> now = w.effort(joint), wanted{effort_.data() + row + first, now.size()};
    if (!std::ranges::equal(now, wanted)) w.set_effort(joint, wanted);
    for (std::size_t k = 0; k < now.size(); ++k) {
      const double q = q_target_[row + first + k], v = v_target_[row + first + k];
      Drive drive = w.drive(joint, static_cast<int>(k));
      if (drive.q_target == q && drive.v_target == v) continue;
      drive.q_target = q;
      drive.v_target = v;
      w.set_drive(joint, drive, static_cast<int>(k));
    }
  }
}

void Batch::read_state(int copy) {
  const auto q = q_.begin() + static_cast<std::ptrdiff_t>(copy) * nq_,
             v = v_.begin() + static_cast<std::ptrdiff_t>(copy) * nv_;
  if (is_whole(copy)) {
    std::ranges::copy(worlds_[copy].state().q, q);
    std::ranges::copy(worlds_[copy].state().v, v);
  } else {
    std::fill_n(q, nq_, std::numeric_limits<double>::quiet_NaN());
    std::fill_n(v, nv_, std::numeric_limits<double>::quiet_NaN());
  }
}

void Batch::refresh() {
  for (int i = 0; i < size(); ++i) read_state(i);
}

std::vector<Diagnostic> Batch::step(int count) {
  const std::array<std::pair<const char*, const std::vector<double>*>, 3> inputs{
      {{"effort", &effort_}, {"q_target", &q_target_}, {"v_target", &v_target_}}};
  for (const auto& [name, values] : inputs) {
    const auto bad = std::find_if(values->begin(), values->end(), [](double x) { return !std::isfinite(x); });
    if (bad == values->end()) continue;
    const auto at = bad - values->begin();
    return {refused(compose("{}[{}][{}] is {}", name, at / nv_, at % nv_, *bad), "give finite numbers")};
  }
  parallel_.for_each(size(), [&](int i, int) {
    give_inputs(i);
    worlds_[i].step(count);
    read_state(i);
  });
  return {};
}

std::vector<Diagnostic> Batch::reset(int copy) {
  if (std::vector<Diagnostic> flaws = find_copy(copy); !flaws.empty()) return flaws;
  std::vector<Diagnostic> flaws = worlds_[copy].restore(start_);
  take_inputs(copy);
  read_state(copy);
  return flaws;
}

void Batch::reset() {
  for (int i = 0; i < size(); ++i) reset(i);
}

std::vector<Diagnostic> Batch::restore(int copy, const Snapshot& snapshot) {
  if (std::vector<Diagnostic> flaws = find_copy(copy); !flaws.empty()) return flaws;
  std::vector<Diagnostic> flaws = worlds_[copy].restore(snapshot);
  if (flaws.empty()) {
    take_inputs(copy);
    read_state(copy);
  }
  return flaws;
}

std::vector<Diagnostic> Batch::set_state(int copy, std::span<const double> q, std::span<const double> v) {
  if (std::vector<Diagnostic> flaws = find_copy(copy); !flaws.empty()) return flaws;
  if (static_cast<int>(q.size()) != nq_ || static_cast<int>(v.size()) != nv_)
    return {refused(compose("{} positions and {} velocities are given", q.size(), v.size()),
                    compose("a copy has {} and {}", nq_, nv_))};
  if (!worlds_[copy].set_state(q, v))
    return {
        refused(is_whole(copy) ? "one of the numbers is not finite" : "the structure of the copy has changed",
                is_whole(copy) ? "mend it" : "reset it first")};
  read_state(copy);
  return {};
}

}  // namespace karakuri
