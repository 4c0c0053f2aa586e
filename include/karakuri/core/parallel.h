// The one seam to threads.
#pragma once

#include <memory>

namespace karakuri {

/// A pool of up to `threads` workers, the caller among them, and no more than the machine has. With one
/// thread nothing is ever started. Work is handed out in no particular order: to get the same bits for any
/// number of threads, each index writes only what belongs to it.
class Parallel {
 public:
  explicit Parallel(int threads = 1);
  ~Parallel();
  Parallel(Parallel&&) noexcept;
  Parallel& operator=(Parallel&&) noexcept;

  int threads() const { return threads_; }

  /// Calls body(index, slot) for every index in [0, count). No two calls run at once with the same slot,
  /// which lies in [0, threads()): one scratch memory for each slot is enough.
  template <class Body>
  void for_each(int count, const Body& body) {
    if (threads_ == 1 || count < 2) {
      for (int i = 0; i < count; ++i) body(i, 0);
      return;
    }
    run(
        count,
        [](const void* context, int index, int slot) { (*static_cast<const Body*>(context))(index, slot); },
        &body);
  }

 private:
  using Call = void (*)(const void* context, int index, int slot);
  void run(int count, Call call, const void* context);

  struct Pool;
  std::unique_ptr<Pool> pool_;
  int threads_ = 1;
};

}  // namespace karakuri
