#include "karakuri/core/diagnostic.h"

namespace karakuri {

namespace {

const char* word(Severity severity) {
  switch (severity) {
    case Severity::kNote: return "note";
    case Severity::kWarning: return "warning";
    case Severity::kError: return "error";
  }
  return "error";
}

}  // namespace

std::string to_string(const Diagnostic& d) {
  std::string line = d.where.empty() ? std::string() : d.where + ": ";
  line += word(d.severity);
  line += ": " + d.what;
  if (!d.remedy.empty()) line += " (" + d.remedy + ")";
  return line;
}

std::string to_string(const std::vector<Diagnostic>& diagnostics) {
  std::string lines;
  for (const Diagnostic& d : diagnostics) lines += to_string(d) + "\n";
  return lines;
}

}  // namespace karakuri
