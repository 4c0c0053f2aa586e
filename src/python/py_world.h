// What Python calls a World: a session, the arrays that Python sees of it, and Python's callbacks.
//
// The arrays q, v, tau, u and poses are not the engine's own memory: that moves when the structure changes,
// and other threads may read an array at any time. They are copies of a few kilobytes, one for the life of
// the structure, brought up to date when step() returns and before each callback, and taken back (where they
// were changed) before the engine is used: pull() and push(). Both happen with Python's lock held, so no
// thread ever sees half a step.
//
// The engine itself is used by one thread at a time: Access waits for it, without Python's lock, so that
// the thread that has the engine can call back.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <pybind11/pybind11.h>

#include "karakuri/control/feedforward.h"
#include "karakuri/session/session.h"
#include "python/arrays.h"
#include "python/gil.h"

namespace karakuri::python {

class Recording;

/// Numbers that Python sees. `array` is made when it is first asked for.
struct Mirror {
  std::shared_ptr<std::vector<double>> values = std::make_shared<std::vector<double>>();
  py::object array;

  double* data() { return values->data(); }
  std::size_t size() const { return values->size(); }
  /// Other numbers from now on; arrays of the old ones stay as they are, for reading.
  void resize(std::size_t size);
};

struct StepCallback {
  py::object function;
};
struct EventCallback {
  py::object function;
  std::optional<EventKind> kind;  // none: all
};

class PyWorld {
 public:
  explicit PyWorld(Session session);
  /// Of a session that belongs to somebody else, and that steps by itself: until release().
  explicit PyWorld(Session* borrowed);
  PyWorld(const PyWorld&) = delete;
  PyWorld& operator=(const PyWorld&) = delete;

  void step(int count);

  // ---- with Python's lock and the engine held (Access)
  /// ReferenceError where the session is gone.
  Session& session() const;
  void push();
  void pull();
  void release() { session_ = nullptr; }

  /// The cached arrays.
  py::object q();
  py::object v();
  py::object tau();
  py::object u();
  py::object poses();

  py::object self();  // as Python's object

  std::vector<StepCallback> before_step;
  std::vector<EventCallback> on_event;
  std::vector<std::shared_ptr<Recording>> recordings;
  std::vector<Feedforward> feedforwards;  // the last few that were used
  std::vector<Event> events;              // of the last call of step()
  std::unordered_map<JointId, std::string>
      attached_names;  // of those attached from Python, also when they are gone

 private:
  friend class Access;
  void acquire();
  void leave();
  void run(Session& s, int count, Unlocked& unlocked);
  void call_before_step(Unlocked& unlocked);
  void call_on_event(const std::vector<Event>& happened, Unlocked& unlocked);
  void push_coordinates(Session& s, Mirror& mirror, bool positions);
  void push_efforts(Session& s);
  void push_controls(Session& s);
  void pull_poses(const World& world);

  std::unique_ptr<Session> own_;
  Session* session_ = nullptr;
  std::mutex mutex_;
  std::atomic<std::thread::id> user_{};  // who holds it
  int depth_ = 0;
  bool stepping_ = false;
  Mirror q_, v_, tau_, u_, poses_;
  std::vector<double> tau_pushed_;
};

/// Exclusive use of the engine, with what Python has written taken over. Call changed() after acting on it.
class Access {
 public:
  explicit Access(PyWorld& world);
  ~Access() { owner_.leave(); }
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

  Session& session() const { return *session_; }
  World& world() const { return session_->world(); }
  const Model& model() const { return world().model(); }
  const Mechanism& mechanism() const { return world().scene().mechanism; }
  PyWorld& owner() const { return owner_; }
  void changed() { owner_.pull(); }

 private:
  PyWorld& owner_;
  Session* session_ = nullptr;
};

}  // namespace karakuri::python
