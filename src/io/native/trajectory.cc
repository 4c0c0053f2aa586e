// Motions from CSV files.
#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "io/files.h"
#include "io/report.h"
#include "karakuri/io/script.h"

namespace karakuri {

namespace {

constexpr std::size_t kMostText = 64u << 20;

std::string_view trimmed(std::string_view text) {
  const auto space = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

/// Cuts the first cell from a line.
std::string_view take_cell(std::string_view& line, bool& more) {
  const auto comma = line.find(',');
  const std::string_view cell = line.substr(0, comma);
  more = comma != line.npos;
  line.remove_prefix(more ? comma + 1 : line.size());
  return trimmed(cell);
}

class CsvReader {
 public:
  CsvReader(const std::filesystem::path& file, std::string_view text) : file_(file), text_(text) {}

  Result<Trajectory> run() {
    Trajectory out;
    out.file = file_;
    out.name = file_.stem().string();
    std::string_view line;
    while (next(line)) {
      if (trimmed(line).empty() || trimmed(line).starts_with('#')) continue;
      const std::string flaw = out.columns.empty() ? read_names(line, out) : read_row(line, out);
      if (!flaw.empty()) return error(flaw);
    }
    if (out.times.empty()) return error("there are no rows in it");
    return out;
  }

 private:
  bool next(std::string_view& line) {
    if (text_.empty()) return false;
    const auto end = text_.find('\n');
    line = text_.substr(0, end);
    text_.remove_prefix(end == text_.npos ? text_.size() : end + 1);
    ++number_;
    return true;
  }

  Diagnostic error(std::string what) const {
    return {Severity::kError, fmt::format("{}:{}", file_.string(), std::max(1, number_)), std::move(what),
            "write 'time,JOINT,JOINT' and then rows of numbers, later ones below"};
  }

  static std::string read_names(std::string_view line, Trajectory& out) {
    bool more = true;
    if (take_cell(line, more) != "time") return "the first column is not called time";
    while (more) {
      const std::string name(take_cell(line, more));
      if (name.empty()) return "a column has no name";
      if (std::find(out.columns.begin(), out.columns.end(), name) != out.columns.end()) {
        return fmt::format("two columns are called {}", io::in_quotes(name));
      }
      out.columns.push_back(name);
      if (out.columns.size() > 10000) return "it has more than 10000 columns";
    }
    return out.columns.empty() ? "it has no column beside time" : "";
  }

  static std::string read_row(std::string_view line, Trajectory& out) {
    std::size_t count = 0;
    for (bool more = true; more; ++count) {
      const std::string_view cell = take_cell(line, more);
      double x = 0;
      const auto [end, problem] = std::from_chars(cell.data(), cell.data() + cell.size(), x);
      if (problem != std::errc() || end != cell.data() + cell.size() || !std::isfinite(x)) {
        return fmt::format("{} is no finite number", io::in_quotes(cell));
      }
      if (count > 0) {
        out.values.push_back(x);
      } else if (!out.times.empty() && !(x > out.times.back())) {
        return fmt::format("time {:g} does not come after {:g}", x, out.times.back());
      } else {
        out.times.push_back(x);
      }
      if (count > out.columns.size()) break;
    }
    if (count == out.columns.size() + 1) return "";
    return fmt::format("a row has {} cells, not {}", count, out.columns.size() + 1);
  }

  const std::filesystem::path& file_;
  std::string_view text_;
  int number_ = 0;
};

}  // namespace

Result<Trajectory> read_trajectory(const std::filesystem::path& file) {
  const Result<std::string> text = io::read_file(file, kMostText);
  if (!text.ok()) return text.errors();
  return CsvReader(file, *text).run();
}

TrajectoryPoint sample(const Trajectory& t, std::size_t column, double time) {
  const std::size_t width = t.columns.size();
  const auto value = [&](std::size_t row) { return t.values[row * width + column]; };
  const double first = t.times.front(), last = t.times.back();
  if (t.repeat && last > first && time > last) time = first + std::fmod(time - first, last - first);
  if (time <= first) return {value(0), 0};
  if (time >= last) return {value(t.times.size() - 1), 0};
  const auto after =
      static_cast<std::size_t>(std::upper_bound(t.times.begin(), t.times.end(), time) - t.times.begin());
  const double t0 = t.times[after - 1], t1 = t.times[after], a = value(after - 1), b = value(after);
  const double rate = (b - a) / (t1 - t0);
  return {a + (time - t0) * rate, rate};
}

}  // namespace karakuri
