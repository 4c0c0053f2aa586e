// A session as bytes: magic, version, the world's snapshot, the settings, the fields of SessionState, and one
// checksum of all that, which is looked at before anything is read.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "karakuri/core/archive.h"
#include "karakuri/core/hash.h"
#include "session/impl.h"

namespace karakuri {

using namespace session_detail;

namespace archive {

template <class Ar>
static void visit(Ar& ar, DrivenJoint& d) {
  visit(ar, d.joint);
  for (Drive& drive : d.drives)
    for (double* x : {&drive.stiffness, &drive.damping, &drive.q_target, &drive.v_target, &drive.limit})
      visit(ar, *x);
  for (double& effort : d.efforts) visit(ar, effort);
}
template <class Ar>
static void visit(Ar& ar, ActiveForce& f) {
  visit(ar, f.action.link);
  for (Vec3* v : {&f.action.point, &f.action.force, &f.action.moment}) visit(ar, *v);
  visit(ar, f.action.duration);
  visit(ar, f.until);
}
template <class Ar>
static void visit(Ar& ar, SessionState& s) {
  for (std::vector<double>* v :
       {&s.controls, &s.activations, &s.sliders, &s.readings, &s.next_sample, &s.next_event})
    visit(ar, *v);
  visit(ar, s.driven);
  visit(ar, s.forces);
  for (StepCommand& step : s.walker_commands)
    for (double* x : {&step.forward, &step.side, &step.turn}) visit(ar, *x);
  visit(ar, s.drives_changed);
}
/// All but how many threads there are, which is no matter of state.
template <class Ar>
static void visit(Ar& ar, WorldSettings& s) {
  visit_enum(ar, s.integrator, Integrator::kExplicit);
  visit_enum(ar, s.contact, ContactModel::kNone);
  visit_enum(ar, s.solver, solver::Method::kQuickstep);
  visit_enum(ar, s.stabilization.kind, Stabilization::kNone);
  for (int* x : {&s.substeps, &s.max_sweeps, &s.max_newton, &s.max_newton_rows, &s.pyramid_faces,
                 &s.quickstep_iterations})
    visit(ar, *x);
  for (bool* x : {&s.continuous, &s.warm_start, &s.sleep.enabled, &s.penalty.is_explicit}) visit(ar, *x);
  StabilizationSettings& t = s.stabilization;
  for (double* x : {&s.dt,
                    &s.tolerance,
                    &s.acceptable,
                    &s.quickstep_relaxation,
                    &s.max_work,
                    &s.contact_margin,
                    &s.restitution_threshold,
                    &s.sleep.speed,
                    &s.sleep.time,
                    &s.penalty.stiffness,
                    &s.penalty.damping,
                    &s.penalty.tangential_share,
                    &t.erp,
                    &t.cfm,
                    &t.beta,
                    &t.gamma,
                    &t.stiffness,
                    &t.damping,
                    &t.slop,
                    &t.max_speed})
    visit(ar, *x);
}

}  // namespace archive

namespace {

constexpr std::uint64_t kMagic = 0x3130534b41524b41u;
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kBegin = sizeof kMagic + sizeof kVersion, kSum = sizeof(std::uint64_t);

/// What walkers keep, a row of numbers each.
using WalkerRows = std::vector<std::vector<double>>;

WalkerRows rows_of(const std::vector<Walking>& walkers) {
  WalkerRows rows;
  for (const Walking& walking : walkers) rows.push_back(walking.save());
  return rows;
}

void visit_all(auto& ar, Snapshot& world, WorldSettings& settings, SessionState& own, WalkerRows& walkers) {
  archive::visit(ar, world.scene);
  archive::visit(ar, world.bytes);
  archive::visit(ar, settings);
  archive::visit(ar, own);
  for (std::vector<double>& row : walkers) archive::visit(ar, row);
}

Diagnostic refuse(std::string what, std::string remedy) {
  return {Severity::kError, "snapshot", std::move(what), std::move(remedy)};
}

bool same_settings(WorldSettings a, WorldSettings b) {
  const auto bytes = [](WorldSettings& s) {
    std::array<std::byte, sizeof(WorldSettings)> out{};
    archive::Writer writer(out.data());
    archive::visit(writer, s);
    return out;
  };
  return bytes(a) == bytes(b);
}

bool is_finite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double x) { return std::isfinite(x); });
}

}  // namespace

std::vector<Diagnostic> find_flaws(const SessionSnapshot& snapshot) {
  const std::span<const std::byte> bytes(snapshot.bytes);
  std::uint64_t magic = 0, sum = 0;
  std::uint32_t version = 0;
  if (bytes.size() < kBegin + kSum) return {refuse("it is too short to be one", "write it whole")};
  std::memcpy(&magic, bytes.data(), sizeof magic);
  std::memcpy(&version, bytes.data() + sizeof magic, sizeof version);
  if (magic != kMagic) return {refuse("it does not begin as one", "give what Session::snapshot() gave")};
  if (version != kVersion)
    return {
        refuse(fmt::format("it has version {}", version), fmt::format("this library reads {}", kVersion))};
  std::memcpy(&sum, bytes.data() + bytes.size() - kSum, kSum);
  if (checksum(bytes.first(bytes.size() - kSum)) == sum) return {};
  return {refuse("its checksum is wrong: it is damaged or cut off", "copy it whole, or take it again")};
}

/// What this session cannot take, or nothing. Sliders may have been added since.
std::string Session::Impl::find_misfit(const SessionState& own) const {
  const std::pair<const char*, std::pair<std::size_t, std::size_t>> counts[] = {
      {"controls", {own.controls.size(), state.controls.size()}},
      {"activations", {own.activations.size(), state.activations.size()}},
      {"readings", {own.readings.size(), state.readings.size()}},
      {"sensors", {own.next_sample.size(), state.next_sample.size()}},
      {"timed events", {own.next_event.size(), state.next_event.size()}}};
  for (const auto& [what, count] : counts)
    if (count.first != count.second)
      return fmt::format("it has {} {}, the session {}", count.first, what, count.second);
  if (own.sliders.size() > state.sliders.size()) return "it has more sliders than the session";
  if (!is_finite(own.controls) || !is_finite(own.activations) || !is_finite(own.sliders))
    return "one of its controls is not finite";
  if (own.driven.size() < scene_driven) return "it lacks joints that the scene drives";
  for (std::size_t i = 0; i < own.driven.size(); ++i) {
    if (i < scene_driven && own.driven[i].joint != state.driven[i].joint)
      return "it drives other joints than the scene";
    if (!is_finite(own.driven[i].efforts) || !std::ranges::all_of(own.driven[i].drives, is_possible))
      return "it has a drive that cannot be set";
  }
  for (const ActiveForce& f : own.forces)
    if (!world.model().find(f.action.link)) return "it has a force on a link that is not there";
  return {};
}

std::uint64_t Session::hash() const {
  const std::uint64_t of_world = world().hash();
  if (!std::ranges::any_of(impl_->scene.actuators,
                           [](const Actuator& a) { return a.dynamics != ActuatorDynamics::kNone; }))
    return of_world;
  Hash hash;
  hash.add(of_world);
  hash.add(impl_->state.activations);
  return hash.value();
}

SessionSnapshot Session::snapshot() const {
  Snapshot world = impl_->world.snapshot();
  WorldSettings settings = impl_->world.settings();
  WalkerRows walkers = rows_of(impl_->walkers);
  archive::Sizer sizer;
  visit_all(sizer, world, settings, impl_->state, walkers);
  SessionSnapshot out{std::vector<std::byte>(kBegin + sizer.value() + kSum)};
  archive::Writer writer(out.bytes.data());
  writer.raw(&kMagic, sizeof kMagic);
  writer.raw(&kVersion, sizeof kVersion);
  visit_all(writer, world, settings, impl_->state, walkers);
  const std::uint64_t sum = checksum(std::span<const std::byte>(out.bytes).first(out.bytes.size() - kSum));
  writer.raw(&sum, kSum);
  return out;
}

namespace {

/// Nothing changes where a part of it is refused.
std::vector<Diagnostic> take_over(World& world, WorldSettings settings, auto&& restore) {
  settings.threads = world.settings().threads;
  if (same_settings(settings, world.settings())) return restore(world);
  const Snapshot before = world.snapshot();
  if (std::vector<Diagnostic> flaws = restore(world); !flaws.empty()) return flaws;
  if (std::vector<Diagnostic> flaws = world.set_settings(settings); !flaws.empty()) {
    world.restore(before);
    return flaws;
  }
  return restore(world);  // once more: settings may have woken what slept
}

}  // namespace

std::vector<Diagnostic> Session::restore(const SessionSnapshot& snapshot) {
  if (std::vector<Diagnostic> flaws = find_flaws(snapshot); !flaws.empty()) return flaws;
  Impl& s = *impl_;
  Snapshot world;
  WorldSettings settings;
  SessionState own;
  own.walker_commands.resize(s.walkers.size());
  WalkerRows rows(s.walkers.size());
  const std::span<const std::byte> bytes(snapshot.bytes);
  archive::Reader reader(bytes.subspan(kBegin, bytes.size() - kBegin - kSum));
  visit_all(reader, world, settings, own, rows);
  if (!reader.finished())
    return {refuse("its fields do not fill it", "take it again with Session::snapshot() of this library")};
  if (const std::string misfit = s.find_misfit(own); !misfit.empty())
    return {refuse(misfit, "restore it in the scene that it was taken of")};
  if (std::vector<Diagnostic> flaws = find_flaws(settings); !flaws.empty()) return flaws;
  std::vector<Walking> walkers = s.walkers;
  for (std::size_t i = 0; i < walkers.size(); ++i)
    if (!walkers[i].restore(rows[i]))
      return {refuse("what it has of a walker does not fit", "restore it in the scene that it was taken of")};
  if (std::vector<Diagnostic> flaws =
          take_over(s.world, settings, [&](World& w) { return w.restore(world); });
      !flaws.empty())
    return flaws;
  s.walkers = std::move(walkers);
  own.sliders.insert(own.sliders.end(),
                     s.state.sliders.begin() + static_cast<std::ptrdiff_t>(own.sliders.size()),
                     s.state.sliders.end());
  s.state = std::move(own);
  if (s.behaviours) s.behaviours->after_reset(*this);
  return {};
}

std::vector<Diagnostic> Session::restore(const Session& other) {
  if (&other == this) return {};
  Impl& s = *impl_;
  const Impl& from = *other.impl_;
  if (const std::string misfit = s.find_misfit(from.state); !misfit.empty())
    return {refuse(misfit, "take a session of the same scene, or its clone")};
  if (s.walkers.size() != from.walkers.size())
    return {refuse("it has other walkers", "take a session of the same scene, or its clone")};
  if (std::vector<Diagnostic> flaws =
          take_over(s.world, from.world.settings(), [&](World& w) { return w.restore(from.world); });
      !flaws.empty())
    return flaws;
  if (s.state.sliders.size() == from.state.sliders.size()) {
    s.state = from.state;
  } else {
    std::vector<double> sliders = s.state.sliders;
    std::ranges::copy(from.state.sliders, sliders.begin());
    s.state = from.state;
    s.state.sliders = std::move(sliders);
  }
  s.walkers = from.walkers;
  if (s.behaviours) s.behaviours->after_reset(*this);
  return {};
}

Session Session::clone() const {
  const Impl& from = *impl_;
  auto out = std::make_unique<Impl>(from.scene, from.world.clone(), from.options);
  out->state = from.state;
  out->walkers = from.walkers;
  out->problems = from.problems;
  out->told = from.told;
  out->presses = from.presses;
  out->ui_version = from.ui_version;
  return Session(std::move(out));
}

}  // namespace karakuri
