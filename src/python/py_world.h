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
#include "karakuri/server/live_session.h"
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

/// The page that shows a world, served between steps.
struct Page {
  Page(Session& session, Server started, bool paced, std::vector<Diagnostic> doubts)
      : server(std::move(started)), live(session, server, {.doubts = std::move(doubts)}), real_time(paced) {}
  Server server;
  LiveSession live;
  bool real_time;
};

struct ButtonCallback {
  std::string name;
  py::object function;
  long long seen = 0;  // presses that it was called for
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

  // ---- the page (page.cc); docs/python.md tells what a script sees of it
  /// @return Its address.
  std::string show(const ServerOptions& options, bool real_time);
  /// The address; empty: there is none.
  std::string page_url();
  /// What clients want, and frames, where nobody steps just now. False: there is no page any more.
  bool serve();
  /// False: somebody has used the engine all the time, and the page is still there.
  bool close_page(double seconds);
  /// Functions of buttons that were pressed.
  void call_buttons();

  void run_behaviours(py::object runner);

  std::vector<StepCallback> before_step;
  std::vector<EventCallback> on_event;
  std::vector<std::shared_ptr<Recording>> recordings;
  std::vector<Feedforward> feedforwards;  // the last few that were used
  std::vector<Event> events;              // of the last call of step()
  std::vector<Diagnostic> doubts;         // of the scene, when it was loaded
  std::unordered_map<JointId, std::string>
      attached_names;  // of those attached from Python, also when they are gone

 private:
  friend class Access;
  void acquire();
  void leave();
  void run(Session& s, int count, Unlocked& unlocked);
  void wait_for_page(Unlocked& unlocked);
  void lend(Unlocked& unlocked);
  void end_page();
  struct Numbers;
  Numbers numbers() const;
  void take_changes(const Numbers& before);
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
  std::thread::id stepper_;  // who is in step()
  Mirror q_, v_, tau_, u_, poses_;
  std::vector<double> tau_pushed_;

  bool was_reset_ = false;  // and behaviours do not know yet
  std::unique_ptr<Page> page_;
  std::atomic<bool> shown_{false}, closing_{false};
  std::mutex url_mutex_;
  std::string url_;  // for those who cannot wait for the engine

 public:
  std::vector<ButtonCallback> buttons;
  py::object behaviours;  // karakuri._behaviours.Runner, or nothing
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
