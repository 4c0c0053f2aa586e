// Times several ways of doing the same work against each other, on a machine that others use too.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace karakuri::bench {

struct Contender {
  std::string engine;
  std::function<void(int)> call;  // given 0, 1, 2, ... so that each call can work on other input
};

struct Timing {
  std::string engine;
  double best = 0;    // [us] per call, in the fastest round: what the code costs when nobody disturbs it
  double median = 0;  // [us] over the rounds: how much we were disturbed
};

struct TimingPlan {
  int rounds = 15;
  double seconds = 2e-3;  // that one contender runs per round, at least; at least one call
};

/// In each round all contenders run one after the other, each round begins with another one: a disturbance
/// meets all of them alike.
std::vector<Timing> race(const std::vector<Contender>& contenders, const TimingPlan& plan);

/// Keeps this thread on the core where it is; without effect where the system does not allow it.
void pin_to_core();

/// Says what is being done, where standard error is a terminal; an empty text wipes it.
void show_progress(const std::string& text);

/// Keeps the compiler from leaving out the computation of `value`.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

}  // namespace karakuri::bench
