#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace karakuri::cli {

/// While this lives, the first Ctrl-C (or SIGTERM) only asks the program to end; a second one ends it at
/// once. Where the program does not see it soon, because one step takes long, it is ended without that step.
class Interrupts {
 public:
  /// @param give_up Called then, on another thread, before the program ends.
  explicit Interrupts(std::function<void()> give_up);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  /// The program has seen it, or ends for other reasons: it takes the time that it needs.
  void seen();

 private:
  void watch();

  std::function<void()> give_up_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool seen_ = false;
  std::thread watch_;
};

bool was_interrupted();

}  // namespace karakuri::cli
