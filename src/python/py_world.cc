#include "python/py_world.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "python/errors.h"
#include "python/events.h"
#include "python/recording.h"

namespace karakuri::python {

// ---- arrays

void Mirror::resize(std::size_t size) {
  if (array) array.attr("flags").attr("writeable") = false;
  values = std::make_shared<std::vector<double>>();
  values->reserve(std::max<std::size_t>(size, 1));  // an array needs an address, also of nothing
  values->resize(size);
  array = py::object();
}

namespace {

py::object array_of(Mirror& mirror) {
  if (!mirror.array) mirror.array = view_of(mirror.values, {static_cast<py::ssize_t>(mirror.size())}, true);
  return mirror.array;
}

bool same(std::span<const double> a, const double* b) {
  return a.empty() || std::memcmp(a.data(), b, a.size() * sizeof(double)) == 0;
}

void fit(Mirror& mirror, std::size_t size) {
  if (mirror.size() != size || mirror.values->data() == nullptr) mirror.resize(size);
}

}  // namespace

py::object PyWorld::q() { return array_of(q_); }
py::object PyWorld::v() { return array_of(v_); }

py::object PyWorld::tau() {
  if (!tau_.array) {
    const Access access(*this);
    array_of(tau_);
    pull();
  }
  return tau_.array;
}

py::object PyWorld::u() {
  if (!u_.array) {
    const Access access(*this);
    array_of(u_);
    pull();
  }
  return u_.array;
}

py::object PyWorld::poses() {
  const Access access(*this);
  if (!poses_.array) {
    const std::size_t links = access.model().links.size();
    fit(poses_, 16 * links);
    poses_.array = view_of(poses_.values, {static_cast<py::ssize_t>(links), 4, 4}, false);
  }
  pull_poses(access.world());
  return poses_.array;
}

void PyWorld::pull_poses(const World& world) {
  const std::vector<LinkEntry>& links = world.model().links;
  for (std::size_t i = 0; i < links.size(); ++i) write_pose(world.pose(links[i].id), poses_.data() + 16 * i);
}

void PyWorld::pull() {
  if (!session_) return;
  Session& s = *session_;
  const State& state = s.world().state();
  fit(q_, state.q.size());
  fit(v_, state.v.size());
  fit(tau_, state.v.size());
  fit(u_, s.controls().size());
  std::ranges::copy(state.q, q_.data());
  std::ranges::copy(state.v, v_.data());
  if (tau_.array) {
    s.read_efforts({tau_.data(), tau_.size()});
    tau_pushed_ = *tau_.values;
  }
  if (u_.array) std::ranges::copy(s.controls(), u_.data());
  if (!poses_.array) return;
  if (poses_.size() != 16 * s.world().model().links.size())
    poses_.array = py::object();
  else
    pull_poses(s.world());
}

void PyWorld::push() {
  Session& s = *session_;
  push_coordinates(s, q_, true);
  push_coordinates(s, v_, false);
  if (tau_.array) push_efforts(s);
  if (u_.array) push_controls(s);
}

/// Only what differs: a joint that is set is moved by hand, and wakes.
void PyWorld::push_coordinates(Session& s, Mirror& mirror, bool positions) {
  World& w = s.world();
  const std::vector<double>& now = positions ? w.state().q : w.state().v;
  if (now.size() != mirror.size() || same(now, mirror.data())) return;
  for (const JointEntry& joint : w.model().joints) {
    if (joint.first_q < 0) continue;
    const std::span<const double> at = positions ? w.q(joint.id) : w.v(joint.id);
    double* wanted = mirror.data() + (positions ? joint.first_q : joint.first_v);
    if (same(at, wanted)) continue;
    const std::span<const double> to(wanted, at.size());
    if (!(positions ? w.set_q(joint.id, to) : w.set_v(joint.id, to))) {
      pull();
      raise_value(
          fmt::format("world.{} of joint '{}' was set to numbers that are not finite; the old ones are back",
                      positions ? "q" : "v", joint.name));
    }
    std::ranges::copy(positions ? w.q(joint.id) : w.v(joint.id), wanted);  // unit quaternions
  }
}

void PyWorld::push_efforts(Session& s) {
  if (same(tau_pushed_, tau_.data())) return;
  for (const JointEntry& joint : s.world().model().joints) {
    if (joint.first_v < 0) continue;
    const auto first = static_cast<std::size_t>(joint.first_v);
    const std::span<const double> wanted(tau_.data() + first, static_cast<std::size_t>(v_size(joint.kind)));
    if (same(wanted, tau_pushed_.data() + first)) continue;
    if (!s.set_effort(joint.id, wanted)) {
      *tau_.values = tau_pushed_;
      raise_value(
          fmt::format("world.tau of joint '{}' was set to numbers that are not finite; the old ones are back",
                      joint.name));
    }
    std::ranges::copy(wanted, tau_pushed_.begin() + joint.first_v);
  }
}

void PyWorld::push_controls(Session& s) {
  for (std::size_t i = 0; i < u_.size(); ++i) {
    if (same(s.controls().subspan(i, 1), u_.data() + i)) continue;
    if (s.set_control(static_cast<int>(i), u_.data()[i])) continue;
    std::ranges::copy(s.controls(), u_.data());
    raise_value(
        fmt::format("world.u of actuator '{}' was set to a number that is not finite; the old ones are back",
                    s.scene().actuators[i].name));
  }
}

// ---- who may use the engine

PyWorld::PyWorld(Session session)
    : own_(std::make_unique<Session>(std::move(session))), session_(own_.get()) {
  pull();
}
PyWorld::PyWorld(Session* borrowed) : session_(borrowed) { pull(); }

Session& PyWorld::session() const {
  if (!session_) raise_gone("the run that this world belonged to is over");
  return *session_;
}

py::object PyWorld::self() { return py::cast(this, py::return_value_policy::reference); }

/// Whoever waits for the engine does so without Python's lock.
void PyWorld::acquire() {
  if (user_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
    ++depth_;
    return;
  }
  if (!mutex_.try_lock()) {
    const Unlocked unlocked;
    mutex_.lock();
  }
  user_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  depth_ = 1;
}

void PyWorld::leave() {
  if (--depth_ > 0) return;
  user_.store({}, std::memory_order_relaxed);
  mutex_.unlock();
}

Access::Access(PyWorld& world) : owner_(world) {
  owner_.acquire();
  try {
    session_ = &owner_.session();
    owner_.push();
  } catch (...) {
    owner_.leave();
    throw;
  }
}

// ---- behaviours

namespace {

/// They are called with the other callbacks; the session only tells that it was reset, by whomever.
class ResetNote : public BehaviourHost {
 public:
  explicit ResetNote(bool& note) : note_(note) {}
  bool before_step(Session&, std::vector<Diagnostic>&) override { return true; }
  void after_reset(Session&) override { note_ = true; }

 private:
  bool& note_;
};

}  // namespace

void PyWorld::run_behaviours(py::object runner) {
  const Access access(*this);
  behaviours = std::move(runner);
  access.session().set_behaviours(std::make_unique<ResetNote>(was_reset_));
}

// ---- stepping

void PyWorld::step(int count) {
  if (count < 0) raise_value(fmt::format("step({}): the number of steps must be 0 or more", count));
  const Access access(*this);
  if (!own_)
    raise_runtime(
        "this world is stepped by the program that runs it: do what is to be done in each step, and return");
  if (stepper_ == std::this_thread::get_id())
    raise_runtime(
        "step() was called from a callback of the same world: callbacks read and act, the step follows them");
  if (stepper_ != std::thread::id())
    raise_runtime(
        "another thread is in step(), and the page holds it: press play, or step in one thread only");
  events.clear();
  stepper_ = std::this_thread::get_id();
  std::exception_ptr problem;
  {
    Unlocked unlocked;
    try {
      run(*session_, count, unlocked);
    } catch (...) {
      problem = std::current_exception();
    }
  }
  stepper_ = {};
  pull();
  if (problem) std::rethrow_exception(problem);
}

void PyWorld::run(Session& s, int count, Unlocked& unlocked) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPatience = std::chrono::milliseconds(50);  // until Ctrl-C is looked for
  constexpr std::size_t kMostEvents = 1'000'000;
  Clock::time_point looked;
  for (int i = 0; i < count; ++i) {
    if (page_) wait_for_page(unlocked);
    if (behaviours || !before_step.empty()) call_before_step(unlocked);
    s.step();
    if (page_) page_->live.stepped();
    const std::span<const Event> now = s.world().events();
    if (!now.empty() && events.size() < kMostEvents) events.insert(events.end(), now.begin(), now.end());
    for (const auto& recording : recordings) recording->add(s);
    if (!now.empty() && !on_event.empty()) call_on_event({now.begin(), now.end()}, unlocked);
    if (count == 1) return;
    if (i % 16 != 0 || Clock::now() - looked < kPatience) continue;
    looked = Clock::now();
    const Unlocked::Locked locked(unlocked);
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
}

void PyWorld::call_before_step(Unlocked& unlocked) {
  const Unlocked::Locked locked(unlocked);
  pull();
  const py::object world = self();
  if (behaviours) behaviours.attr("step_or_raise")(std::exchange(was_reset_, false));
  for (std::size_t i = 0; i < before_step.size(); ++i) {  // one may add another
    const py::object function = before_step[i].function;
    function(world);
  }
  push();
}

void PyWorld::call_on_event(const std::vector<Event>& happened, Unlocked& unlocked) {
  const Unlocked::Locked locked(unlocked);
  pull();
  const py::object world = self();
  for (const Event& event : happened) {
    const EventNow told = event_now(Access(*this), event);
    for (std::size_t i = 0; i < on_event.size(); ++i) {
      const EventCallback callback = on_event[i];
      if (!callback.kind || *callback.kind == event.kind) callback.function(world, told);
    }
  }
  push();
}

}  // namespace karakuri::python
