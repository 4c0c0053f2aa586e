#include "karakuri/core/parallel.h"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <vector>

namespace karakuri {

namespace {

/// A stretch of the indices, on a cache line of its own. Workers take one index after the other.
struct alignas(64) Share {
  std::atomic<int> next{0};
  int end = 0;
};

}  // namespace

struct Parallel::Pool {
  explicit Pool(int threads) : arena(threads), shares(threads) {}
  tbb::task_arena arena;
  std::vector<Share> shares;
};

// More threads than the machine has would only wait for each other, and results do not depend on their
// number.
Parallel::Parallel(int threads)
    : threads_(std::clamp(threads, 1, std::max(1, tbb::info::default_concurrency()))) {
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
  const auto work = [&](int slot) {
    for (int k = 0; k < threads_; ++k) {
      Share& share = shares[(slot + k) % threads_];
      for (int i = share.next++; i < share.end; i = share.next++) call(context, i, slot);
    }
  };
  pool_->arena.execute([&] { tbb::parallel_for(0, threads_, work, tbb::static_partitioner{}); });
}

}  // namespace karakuri
