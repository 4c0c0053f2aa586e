#include "karakuri/session/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "session/impl.h"

namespace karakuri {

using session_detail::DrivenJoint;

namespace {

constexpr int kMostCopies = 1 << 20;
constexpr int kMostThreads = 1 << 10;

Diagnostic refused(std::string what, std::string remedy) {
  return {Severity::kError, "batch", std::move(what), std::move(remedy)};
}

}  // namespace

Result<Batch> Batch::make(const Session& session, int count, int threads) {
  std::vector<Diagnostic> flaws;
  if (count < 1 || count > kMostCopies)
    flaws.push_back(
        refused(fmt::format("{} copies are asked for", count), fmt::format("ask for 1 to {}", kMostCopies)));
  if (threads < 0 || threads > kMostThreads)
    flaws.push_back(
        refused(fmt::format("{} threads are asked for", threads),
                fmt::format("ask for 1 to {}, or 0 for as many as the machine has", kMostThreads)));
  if (session.has_behaviours())
    flaws.push_back(refused("the session's behaviours are run by a program that steps this one alone",
                            "load the scene without its behaviours, or step the copies one by one"));
  if (session.has_hooks())
    flaws.push_back(refused("the session has hooks, which cannot be copied",
                            "remove them, and act on the copies between steps"));
  if (!flaws.empty()) return flaws;
  return Batch(session, count, threads == 0 ? kMostThreads : threads);
}

Batch::Batch(const Session& session, int count, int threads)
    : start_(session.clone()),
      parallel_(threads),
      nq_(session.world().model().nq),
      nv_(session.world().model().nv),
      nu_(static_cast<int>(session.controls().size())) {
  WorldSettings settings = start_.world().settings();
  settings.threads = 1;  // copies are what is spread over the cores
  start_.world().set_settings(settings);
  for (const JointEntry& joint : session.world().model().joints)
    if (joint.first_v >= 0) joints_.emplace_back(joint.id, joint.first_v);
  const auto n = static_cast<std::size_t>(count);
  copies_.reserve(n);
  for (int i = 0; i < count; ++i) copies_.push_back(start_.clone());
  q_.resize(n * static_cast<std::size_t>(nq_));
  v_.resize(n * static_cast<std::size_t>(nv_));
  for (int input = 0; input < kInputs; ++input)
    for (std::vector<double>* all : {&inputs_[input], &taken_[input]})
      all->resize(n * static_cast<std::size_t>(columns(input)));
  refresh();
}

std::vector<Diagnostic> Batch::find_copy(int copy) const {
  if (copy >= 0 && copy < size()) return {};
  return {refused(fmt::format("there is no copy {}", copy), fmt::format("they are 0 to {}", size() - 1))};
}

/// A cut gives a tree a free joint, and so more coordinates.
bool Batch::is_whole(int copy) const { return world(copy).model().nq == nq_; }

std::span<double> Batch::row(std::vector<double>& all, int input, int copy) {
  const auto n = static_cast<std::size_t>(columns(input));
  return {all.data() + static_cast<std::size_t>(copy) * n, n};
}

/// Events, trajectories and sliders change them, too.
void Batch::take_inputs(int copy) {
  if (!is_whole(copy)) return;
  std::span<double> to[kInputs];
  for (int input = 0; input < kInputs; ++input) to[input] = row(taken_[input], input, copy);
  for (const Input input : {kEffort, kQTarget, kVTarget}) std::ranges::fill(to[input], 0.0);
  const Session& s = copies_[copy];
  for (const DrivenJoint& d : s.impl_->state.driven) {
    const JointEntry* joint = s.world().model().find(d.joint);
    if (!joint || joint->first_v < 0) continue;
    for (int k = 0; k < v_size(joint->kind); ++k) {
      to[kEffort][joint->first_v + k] = d.efforts[k];
      to[kQTarget][joint->first_v + k] = d.drives[k].q_target;
      to[kVTarget][joint->first_v + k] = d.drives[k].v_target;
    }
  }
  std::ranges::copy(s.controls(), to[kControl].begin());
  for (int input = 0; input < kInputs; ++input)
    std::ranges::copy(to[input], row(inputs_[input], input, copy).begin());
}

void Batch::give_joint(int copy, JointId joint, int first, int dofs) {
  Session& s = copies_[copy];
  const auto changed = [&](int input, int k) {
    return row(inputs_[input], input, copy)[first + k] != row(taken_[input], input, copy)[first + k];
  };
  bool effort = false;
  for (int k = 0; k < dofs; ++k) {
    effort = effort || changed(kEffort, k);
    if (!changed(kQTarget, k) && !changed(kVTarget, k)) continue;
    Drive drive = s.drive(joint, k);
    drive.q_target = row(inputs_[kQTarget], kQTarget, copy)[first + k];
    drive.v_target = row(inputs_[kVTarget], kVTarget, copy)[first + k];
    s.set_drive(joint, drive, k);
  }
  if (effort)
    s.set_effort(joint, row(inputs_[kEffort], kEffort, copy)
                            .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(dofs)));
}

void Batch::give_inputs(int copy) {
  if (!is_whole(copy)) return;
  bool any = false;
  for (int input = 0; input < kInputs; ++input)
    any = any || !std::ranges::equal(row(inputs_[input], input, copy), row(taken_[input], input, copy));
  if (!any) return;
  for (const auto& [joint, first] : joints_)
    give_joint(copy, joint, first, static_cast<int>(world(copy).v(joint).size()));
  for (int a = 0; a < nu_; ++a)
    if (const double u = row(inputs_[kControl], kControl, copy)[a]; u != copies_[copy].controls()[a])
      copies_[copy].set_control(a, u);
}

void Batch::read_state(int copy) {
  const auto q = q_.begin() + static_cast<std::ptrdiff_t>(copy) * nq_,
             v = v_.begin() + static_cast<std::ptrdiff_t>(copy) * nv_;
  if (is_whole(copy)) {
    std::ranges::copy(world(copy).state().q, q);
    std::ranges::copy(world(copy).state().v, v);
  } else {
    std::fill_n(q, nq_, std::numeric_limits<double>::quiet_NaN());
    std::fill_n(v, nv_, std::numeric_limits<double>::quiet_NaN());
  }
}

void Batch::read(int copy) {
  read_state(copy);
  take_inputs(copy);
}

void Batch::refresh() {
  for (int i = 0; i < size(); ++i) read(i);
}

std::vector<Diagnostic> Batch::step(int count) {
  constexpr const char* kNames[kInputs] = {"effort", "q_target", "v_target", "control"};
  for (int input = 0; input < kInputs; ++input) {
    const std::vector<double>& values = inputs_[input];
    const auto bad = std::ranges::find_if(values, [](double x) { return !std::isfinite(x); });
    if (bad == values.end()) continue;
    const auto at = bad - values.begin();
    return {refused(
        fmt::format("{}[{}][{}] is {}", kNames[input], at / columns(input), at % columns(input), *bad),
        "give finite numbers")};
  }
  parallel_.for_each(size(), [&](int i, int) {
    give_inputs(i);
    copies_[i].step(count);
    read(i);
  });
  return {};
}

std::vector<Diagnostic> Batch::reset(int copy) {
  if (std::vector<Diagnostic> flaws = find_copy(copy); !flaws.empty()) return flaws;
  std::vector<Diagnostic> flaws = copies_[copy].restore(start_);
  read(copy);
  return flaws;
}

void Batch::reset() {
  for (int i = 0; i < size(); ++i) reset(i);
}

std::vector<Diagnostic> Batch::restore(int copy, const SessionSnapshot& snapshot) {
  if (std::vector<Diagnostic> flaws = find_copy(copy); !flaws.empty()) return flaws;
  std::vector<Diagnostic> flaws = copies_[copy].restore(snapshot);
  if (flaws.empty()) read(copy);
  return flaws;
}

std::vector<Diagnostic> Batch::set_state(int copy, std::span<const double> q, std::span<const double> v) {
  if (std::vector<Diagnostic> flaws = find_copy(copy); !flaws.empty()) return flaws;
  if (static_cast<int>(q.size()) != nq_ || static_cast<int>(v.size()) != nv_)
    return {refused(fmt::format("{} positions and {} velocities are given", q.size(), v.size()),
                    fmt::format("a copy has {} and {}", nq_, nv_))};
  if (!world(copy).set_state(q, v))
    return {
        refused(is_whole(copy) ? "one of the numbers is not finite" : "the structure of the copy has changed",
                is_whole(copy) ? "mend it" : "reset it first")};
  read_state(copy);
  return {};
}

}  // namespace karakuri
