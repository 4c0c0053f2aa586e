#include "python/gil.h"

#include <chrono>
#include <thread>

namespace karakuri::python {

namespace {

std::atomic<bool> exiting{false};
std::atomic<int> returning{0};    // threads that wait for the lock
std::atomic<int> in_callback{0};  // threads that run Python code from inside a step

[[noreturn]] void sleep_for_ever() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace

Unlocked::Unlocked() { leave(); }
Unlocked::~Unlocked() { take(); }

void Unlocked::leave() { thread_ = PyEval_SaveThread(); }

void Unlocked::take() {
  ++returning;
  if (exiting) {
    --returning;
    sleep_for_ever();
  }
  PyEval_RestoreThread(thread_);
  --returning;
}

Unlocked::Locked::Locked(Unlocked& outer) : outer_(outer) {
  ++in_callback;
  if (exiting) {
    --in_callback;
    sleep_for_ever();
  }
  outer_.take();
}
Unlocked::Locked::~Locked() {
  outer_.leave();
  --in_callback;
}

/// Threads that are past their look at `exiting` are let through; callbacks have a second to end.
void begin_exit() {
  exiting = true;
  PyThreadState* thread = PyEval_SaveThread();
  for (int i = 0; i < 1000 && (returning > 0 || in_callback > 0); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  PyEval_RestoreThread(thread);
}

}  // namespace karakuri::python
