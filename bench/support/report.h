// What a benchmark found: times side by side with those of the peers, and whether the aims are met.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/timing.h"

namespace karakuri::bench {

/// The same work done by us (the first) and by peers.
struct Comparison {
  std::string subject;  // what is worked on
  std::string task;     // what is done to it
  std::vector<Timing> timings;
};

/// A number that should not exceed a bound.
struct Aim {
  std::string what;
  double value = 0;
  double at_most = 0;

  bool met() const { return value <= at_most; }
};

struct Report {
  std::string title;
  std::vector<std::string> peers;  // columns, in this order
  std::vector<Comparison> comparisons;
  std::vector<Aim> aims;
  std::vector<std::string> notes;

  const Timing* find(const std::string& subject, const std::string& task, const std::string& engine) const;
  /// Our time divided by the peer's; nothing where one of them was not timed.
  std::optional<double> ratio(const std::string& subject, const std::string& task,
                              const std::string& peer) const;
  /// Adds the aim that this ratio be no more than `at_most`, where it was measured.
  void aim_for_ratio(const std::string& subject, const std::string& task, const std::string& peer,
                     double at_most);
};

/// Our engine's name among the timings.
inline const std::string kOurs = "karakuri";

/// As a table on standard output.
void print(const Report& report);
/// The end of it, for benchmarks with tables of their own.
void print_aims_and_notes(const Report& report);
/// To `path`, if there is one; false where it cannot be written, which it says.
bool write_json(const Report& report, const std::string& path);

}  // namespace karakuri::bench
