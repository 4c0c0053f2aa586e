#include "karakuri/core/parallel.h"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>

namespace karakuri {

struct Parallel::Pool {
  explicit Pool(int threads) : arena(threads) {}
  tbb::task_arena arena;
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

void Parallel::run(int count, Call call, const void* context) {
  pool_->arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<int>(0, count, 1),
        [&](const tbb::blocked_range<int>& range) {
          const int slot = tbb::this_task_arena::current_thread_index();
          for (int i = range.begin(); i < range.end(); ++i) call(context, i, slot);
        },
        tbb::simple_partitioner{});
  });
}

}  // namespace karakuri
