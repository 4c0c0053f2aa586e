// A session's own state as a row of numbers. One list of fields serves writing and reading.
#include <algorithm>
#include <cmath>

#include "karakuri/core/hash.h"
#include "session/impl.h"

namespace karakuri {

using namespace session_detail;

namespace {

class Writer {
 public:
  explicit Writer(std::vector<double>& out) : out_(out) {}
  void number(double& x) { out_.push_back(x); }
  std::size_t count(std::size_t n) {
    out_.push_back(static_cast<double>(n));
    return n;
  }

 private:
  std::vector<double>& out_;
};

class Reader {
 public:
  explicit Reader(std::span<const double> in) : in_(in) {}
  void number(double& x) {
    failed_ = failed_ || in_.empty();
    if (failed_) return;
    x = in_.front();
    in_ = in_.subspan(1);
  }
  std::size_t count(std::size_t) {
    double n = 0;
    number(n);
    // each thing has at least one number: no more of them than numbers are left
    if (!(n >= 0 && n <= static_cast<double>(in_.size()))) failed_ = true;
    return failed_ ? 0 : static_cast<std::size_t>(n);
  }
  bool good() const { return !failed_ && in_.empty(); }

 private:
  std::span<const double> in_;
  bool failed_ = false;
};

void visit(auto& ar, double& x) { ar.number(x); }
void visit(auto& ar, Vec3& v) {
  for (int i = 0; i < 3; ++i) ar.number(v[i]);
}
template <class Tag>
void visit(auto& ar, Id<Tag>& id) {
  double index = id.index, generation = id.generation;
  ar.number(index);
  ar.number(generation);
  id = {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(generation)};
}
void visit(auto& ar, DrivenJoint& d) {
  visit(ar, d.joint);
  for (Drive& drive : d.drives)
    for (double* x : {&drive.stiffness, &drive.damping, &drive.q_target, &drive.v_target, &drive.limit})
      visit(ar, *x);
  for (double& effort : d.efforts) visit(ar, effort);
}
void visit(auto& ar, ActiveForce& f) {
  visit(ar, f.action.link);
  for (Vec3* v : {&f.action.point, &f.action.force, &f.action.moment}) visit(ar, *v);
  visit(ar, f.action.duration);
  visit(ar, f.until);
}
template <class T>
void visit(auto& ar, std::vector<T>& all) {
  all.resize(ar.count(all.size()));
  for (T& one : all) visit(ar, one);
}
void visit(auto& ar, SessionState& s) {
  visit(ar, s.controls);
  visit(ar, s.activations);
  visit(ar, s.sliders);
  visit(ar, s.driven);
  visit(ar, s.readings);
  visit(ar, s.next_sample);
  visit(ar, s.next_event);
  visit(ar, s.forces);
}

/// Sliders may have been added since `a` was taken.
bool fits(const SessionState& a, const SessionState& b) {
  return a.controls.size() == b.controls.size() && a.activations.size() == b.activations.size() &&
         a.sliders.size() <= b.sliders.size() && a.readings.size() == b.readings.size() &&
         a.next_sample.size() == b.next_sample.size() && a.next_event.size() == b.next_event.size();
}

}  // namespace

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
  SessionSnapshot out{impl_->world.snapshot(), impl_->world.settings(), {}};
  Writer writer(out.own);
  SessionState copy = impl_->state;
  visit(writer, copy);
  return out;
}

std::vector<Diagnostic> Session::restore(const SessionSnapshot& snapshot) {
  Impl& s = *impl_;
  SessionState own;
  Reader reader(snapshot.own);
  visit(reader, own);
  if (!reader.good() || !fits(own, s.state))
    return {
        {Severity::kError, "snapshot", "it is damaged, or of another session", "take it from this scene"}};
  if (std::vector<Diagnostic> flaws = find_flaws(snapshot.settings); !flaws.empty()) return flaws;
  if (std::vector<Diagnostic> flaws = s.world.restore(snapshot.world); !flaws.empty()) return flaws;
  WorldSettings settings = snapshot.settings;
  settings.threads = s.world.settings().threads;  // no matter of state
  s.world.set_settings(settings);
  s.world.restore(snapshot.world);  // once more: they may have woken what slept
  own.sliders.insert(own.sliders.end(),
                     s.state.sliders.begin() + static_cast<std::ptrdiff_t>(own.sliders.size()),
                     s.state.sliders.end());
  s.state = std::move(own);
  s.drives_changed = true;  // a control may have been set and not yet used; the same again changes nothing
  if (s.behaviours) s.behaviours->after_reset(*this);
  return {};
}

}  // namespace karakuri
