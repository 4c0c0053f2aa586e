#include "karakuri/core/parallel.h"

#ifdef KARAKURI_HAVE_TBB
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

#include <algorithm>
#include <atomic>
#include <vector>

namespace karakuri {

namespace {

// The thread sanitizer does not see inside oneTBB that what was written before a task begins is seen in it,
// and what a task has written after it has ended; so it is told.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KARAKURI_TELLS_OF_TASKS __attribute__((no_sanitize("thread")))  // what comes before it is told
#endif
#endif
#ifdef KARAKURI_TELLS_OF_TASKS
extern "C" void __tsan_acquire(void* place);
extern "C" void __tsan_release(void* place);
char task_begins, task_ends;
void let_tasks_begin() { __tsan_release(&task_begins); }
void in_task() { __tsan_acquire(&task_begins); }
void task_is_done() { __tsan_release(&task_ends); }
void tasks_have_ended() { __tsan_acquire(&task_ends); }
#else
#define KARAKURI_TELLS_OF_TASKS
void let_tasks_begin() {}
void in_task() {}
void task_is_done() {}
void tasks_have_ended() {}
#endif

/// A stretch of the indices, on a cache line of its own. Workers take one index after the other.
struct alignas(64) Share {
  std::atomic<int> next{0};
  int end = 0;
};

}  // namespace

#ifdef KARAKURI_HAVE_TBB
namespace {
int threads_of_machine() { return tbb::info::default_concurrency(); }
}  // namespace

struct Parallel::Pool {
  explicit Pool(int threads) : arena(threads), shares(threads) {}
  void work(auto&& share_of_slot, int threads) {
    arena.execute([&] { tbb::parallel_for(0, threads, share_of_slot, tbb::static_partitioner{}); });
  }
  tbb::task_arena arena;
  std::vector<Share> shares;
};
#else  // built without oneTBB: all in the calling thread, with the same results
namespace {
int threads_of_machine() { return 1; }
}  // namespace

struct Parallel::Pool {
  explicit Pool(int threads) : shares(threads) {}
  void work(auto&& share_of_slot, int threads) {
    for (int slot = 0; slot < threads; ++slot) share_of_slot(slot);
  }
  std::vector<Share> shares;
};
#endif

// More threads than the machine has would only wait for each other, and results do not depend on their
// number.
Parallel::Parallel(int threads) : threads_(std::clamp(threads, 1, std::max(1, threads_of_machine()))) {
  if (threads_ > 1) pool_ = std::make_unique<Pool>(threads_);
}
Parallel::~Parallel() = default;
Parallel::Parallel(Parallel&&) noexcept = default;
Parallel& Parallel::operator=(Parallel&&) noexcept = default;

// Each worker has the same share every time, which is in its cache, and helps with the others' when it is
// through with it.
void Parallel::run(int count, Call call, const void* context) {
  std::vector<Share>& shares = pool_->shares;
  for (int s = 0; s < threads_; ++s) {
    shares[s].next = static_cast<int>(static_cast<long>(count) * s / threads_);
    shares[s].end = static_cast<int>(static_cast<long>(count) * (s + 1) / threads_);
  }
  const auto work = [&](int slot) KARAKURI_TELLS_OF_TASKS {
    in_task();
    for (int k = 0; k < threads_; ++k) {
      Share& share = shares[(slot + k) % threads_];
      for (int i = share.next++; i < share.end; i = share.next++) call(context, i, slot);
    }
    task_is_done();
  };
  let_tasks_begin();
  pool_->work(work, threads_);
  tasks_have_ended();
}

}  // namespace karakuri
