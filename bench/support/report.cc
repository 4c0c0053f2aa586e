#include "support/report.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

namespace karakuri::bench {

namespace {

/// Three digits, and the point where it is easy to read.
std::string microseconds(const Timing* timing) {
  if (!timing) return "-";
  const int decimals = timing->best < 10 ? 2 : timing->best < 100 ? 1 : 0;
  return fmt::format("{:.{}f}", timing->best, decimals);
}

std::size_t widest(const Report& report, std::string Comparison::* column, std::size_t at_least) {
  for (const Comparison& c : report.comparisons) at_least = std::max(at_least, (c.*column).size());
  return at_least;
}

void print_row(const Report& report, const Comparison& c, const std::string& subject,
               std::size_t subject_width, std::size_t task_width) {
  fmt::print("{:<{}}  {:<{}}  {:>10}", subject, subject_width, c.task, task_width,
             microseconds(report.find(c.subject, c.task, kOurs)));
  for (const std::string& peer : report.peers) {
    const auto ratio = report.ratio(c.subject, c.task, peer);
    fmt::print("  {:>10}  {:>5}", microseconds(report.find(c.subject, c.task, peer)),
               ratio ? fmt::format("{:.2f}", *ratio) : "-");
  }
  fmt::print("\n");
}

}  // namespace

const Timing* Report::find(const std::string& subject, const std::string& task,
                           const std::string& engine) const {
  for (const Comparison& c : comparisons) {
    if (c.subject != subject || c.task != task) continue;
    for (const Timing& t : c.timings) {
      if (t.engine == engine) return &t;
    }
  }
  return nullptr;
}

std::optional<double> Report::ratio(const std::string& subject, const std::string& task,
                                    const std::string& peer) const {
  const Timing* ours = find(subject, task, kOurs);
  const Timing* theirs = find(subject, task, peer);
  if (!ours || !theirs) return std::nullopt;
  return ours->best / theirs->best;
}

void Report::aim_for_ratio(const std::string& subject, const std::string& task, const std::string& peer,
                           double at_most) {
  if (const auto value = ratio(subject, task, peer)) {
    aims.push_back({fmt::format("{}, {}: {} / {}", subject, task, kOurs, peer), *value, at_most});
  }
}

void print(const Report& report) {
  const std::size_t subject_width = widest(report, &Comparison::subject, 5);
  const std::size_t task_width = widest(report, &Comparison::task, 4);
  fmt::print("{}\n\n{:<{}}  {:<{}}  {:>10}", report.title, "", subject_width, "[us]", task_width, kOurs);
  for (const std::string& peer : report.peers) fmt::print("  {:>10}  {:>5}", peer, "ratio");
  fmt::print("\n");
  std::string last;
  for (const Comparison& c : report.comparisons) {
    if (!last.empty() && c.subject != last) fmt::print("\n");
    print_row(report, c, c.subject == last ? "" : c.subject, subject_width, task_width);
    last = c.subject;
  }
  print_aims_and_notes(report);
}

void print_aims_and_notes(const Report& report) {
  if (!report.aims.empty()) fmt::print("\n");
  for (const Aim& aim : report.aims) {
    fmt::print("{:<7} {:5.2f} (aim: at most {:.2f})  {}\n", aim.met() ? "met" : "MISSED", aim.value,
               aim.at_most, aim.what);
  }
  if (!report.notes.empty()) fmt::print("\n");
  for (const std::string& note : report.notes) fmt::print("{}\n", note);
}

bool write_json(const Report& report, const std::string& path) {
  if (path.empty()) return true;
  nlohmann::json json{{"title", report.title}, {"notes", report.notes}};
  for (const Comparison& c : report.comparisons) {
    nlohmann::json row{{"subject", c.subject}, {"task", c.task}};
    for (const Timing& t : c.timings) {
      row["engines"][t.engine] = {{"best_us", t.best}, {"median_us", t.median}};
      if (const auto ratio = report.ratio(c.subject, c.task, t.engine); ratio && t.engine != kOurs) {
        row["ratio"][t.engine] = *ratio;
      }
    }
    json["comparisons"].push_back(row);
  }
  for (const Aim& aim : report.aims) {
    json["aims"].push_back(
        {{"what", aim.what}, {"value", aim.value}, {"at_most", aim.at_most}, {"met", aim.met()}});
  }
  std::ofstream file(path);
  file << json.dump(2) << '\n';
  file.close();
  if (!file) fmt::print(stderr, "cannot write '{}': choose a file in a folder that exists\n", path);
  return file.good();
}

}  // namespace karakuri::bench
