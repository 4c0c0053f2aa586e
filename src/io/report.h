// Collects what is found wrong or strange while a file is read.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "karakuri/core/diagnostic.h"

namespace karakuri::io {

class Report {
 public:
  explicit Report(bool strict = false) : strict_(strict) {}

  void error(std::string where, std::string what, std::string remedy = "");
  void add(std::vector<Diagnostic> errors);
  /// Something that changes what happens and that we do not do. Told once per feature.
  void unsupported(std::string_view feature, std::string where, std::string what, std::string remedy = "");
  /// Something that changes only what is seen, or that we do in another way. Told once per feature.
  void remark(std::string_view feature, std::string where, std::string what, std::string remedy = "");

  bool ok() const { return errors_.empty(); }
  /// True when more errors would help nobody.
  bool full() const { return errors_.size() >= kMost; }
  std::vector<Diagnostic> take_errors() { return std::move(errors_); }
  std::vector<Diagnostic> take_notes() { return std::move(notes_); }

 private:
  static constexpr std::size_t kMost = 100;
  bool first_time(std::string_view feature) { return told_.emplace(feature).second; }

  bool strict_;
  std::vector<Diagnostic> errors_, notes_;
  std::set<std::string, std::less<>> told_;
};

/// "'a', 'b' and 'c'", for messages that list what is valid; long lists are cut.
std::string listed(const std::vector<std::string>& names);
/// Found text as it may stand in a message: short, on one line, without control characters.
std::string in_quotes(std::string_view text);

}  // namespace karakuri::io
