#include "support/timing.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace karakuri::bench {

namespace {

double seconds_of(const Contender& contender, int first, int calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) contender.call(first + i);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// How many calls fill a round. The first call is not counted: it meets cold caches.
int calls_per_round(const Contender& contender, double seconds) {
  contender.call(0);
  int calls = 1;
  for (double taken = seconds_of(contender, 0, calls); taken < seconds;
       taken = seconds_of(contender, 0, calls)) {
    // aims 20 % high so that it rarely needs another go; never more than 10 times the last guess
    calls = static_cast<int>(calls * std::clamp(1.2 * seconds / std::max(taken, 1e-9), 1.1, 10.0)) + 1;
  }
  return calls;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::vector<Timing> race(const std::vector<Contender>& contenders, const TimingPlan& plan) {
  const std::size_t n = contenders.size();
  std::vector<int> calls(n);
  for (std::size_t k = 0; k < n; ++k) calls[k] = calls_per_round(contenders[k], plan.seconds);

  std::vector<std::vector<double>> samples(n);
  for (int round = 0; round < plan.rounds; ++round) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t k = (static_cast<std::size_t>(round) + i) % n;
      samples[k].push_back(1e6 * seconds_of(contenders[k], round * calls[k], calls[k]) / calls[k]);
    }
  }
  std::vector<Timing> timings;
  for (std::size_t k = 0; k < n; ++k) {
    timings.push_back(
        {contenders[k].engine, *std::min_element(samples[k].begin(), samples[k].end()), median(samples[k])});
  }
  return timings;
}

void pin_to_core() {
#ifdef __linux__
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(static_cast<unsigned>(sched_getcpu()), &cores);
  (void)sched_setaffinity(0, sizeof cores, &cores);
#endif
}

void show_progress(const std::string& text) {
  if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r\033[K%s", text.c_str());
}

}  // namespace karakuri::bench
