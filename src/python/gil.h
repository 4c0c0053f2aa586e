// Python's lock, left while the engine works and taken back for callbacks.
//
// A thread that asks for the lock while the interpreter shuts down is ended from inside that call, through
// all frames of C++ above it, which aborts the program. So threads of ours no longer ask for it from the
// moment on at which the interpreter begins to exit: they sleep until the process ends.
#pragma once

#include <atomic>

#include <pybind11/pybind11.h>

namespace karakuri::python {

class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

  /// Has the lock back for a while.
  class Locked {
   public:
    explicit Locked(Unlocked& outer);
    ~Locked();
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

   private:
    Unlocked& outer_;
  };

 private:
  void take();
  void leave();
  PyThreadState* thread_ = nullptr;
};

/// To be called by Python's atexit: from here on no thread comes back to Python.
void begin_exit();

}  // namespace karakuri::python
