#include "karakuri/core/near_names.h"

#include <algorithm>
#include <cctype>

#include "core/compose.h"

namespace karakuri {

namespace {

constexpr std::size_t kLongest = 64;  // names are compared as far as this: the cost is its square

std::string folded(std::string_view name) {
  std::string low(name.substr(0, kLongest));
  for (char& c : low) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return low;
}

/// Damerau and Levenshtein's distance, each letter swapped at most once. The last three rows of the table.
int edits(const std::string& a, const std::string& b) {
  std::vector<int> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

/// Smaller is nearer; above the last value it is no match.
constexpr int kNoMatch = 1000;
int unlikeness(const std::string& wanted, const std::string& name) {
  const int distance = edits(wanted, name);
  const int allowed = 1 + static_cast<int>(std::min(wanted.size(), name.size()) / 4);
  if (distance <= allowed) return distance;
  const bool is_part = wanted.size() >= 3 && name.find(wanted) != name.npos;
  const bool has_part = name.size() >= 3 && wanted.find(name) != wanted.npos;
  return is_part || has_part ? 100 + distance : kNoMatch;
}

std::string quoted_list(std::span<const std::string> names, std::size_t most, std::string_view last) {
  std::string text;
  const std::size_t count = std::min(most, names.size());
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_last = i + 1 == count && count == names.size();
    text += compose("{}'{}'", i == 0 ? "" : is_last ? last : ", ", names[i]);
  }
  return text;
}

}  // namespace

std::vector<std::string> near_names(std::string_view wanted, std::span<const std::string> names,
                                    std::size_t most) {
  struct Match {
    int unlikeness;
    const std::string* name;
  };
  std::vector<Match> matches;
  const std::string low = folded(wanted);
  for (const std::string& name : names) {
    const int u = unlikeness(low, folded(name));
    if (u < kNoMatch) matches.push_back({u, &name});
  }
  std::sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) {
    return a.unlikeness != b.unlikeness ? a.unlikeness < b.unlikeness : *a.name < *b.name;
  });
  std::vector<std::string> out;
  for (const Match& match : matches) {
    if (out.size() == most) break;
    if (std::find(out.begin(), out.end(), *match.name) == out.end()) out.push_back(*match.name);
  }
  return out;
}

std::string suggestion(std::string_view wanted, std::span<const std::string> names) {
  if (names.empty()) return "there are none";
  const std::vector<std::string> near = near_names(wanted, names);
  if (!near.empty()) return compose("did you mean {}?", quoted_list(near, near.size(), " or "));
  constexpr std::size_t kShown = 12;
  if (names.size() <= kShown) return "there are " + quoted_list(names, kShown, " and ");
  return compose("there are {}, ... ({} in all)", quoted_list(names, kShown, ", "), names.size());
}

}  // namespace karakuri
