#include "io/report.h"

#include <fmt/format.h>

namespace karakuri::io {

void Report::error(std::string where, std::string what, std::string remedy) {
  if (!full()) errors_.push_back({Severity::kError, std::move(where), std::move(what), std::move(remedy)});
}

void Report::add(std::vector<Diagnostic> errors) {
  for (Diagnostic& e : errors) {
    if (!full()) errors_.push_back(std::move(e));
  }
}

void Report::unsupported(std::string_view feature, std::string where, std::string what, std::string remedy) {
  if (!first_time(feature)) return;
  if (strict_) return error(std::move(where), std::move(what), std::move(remedy));
  notes_.push_back({Severity::kWarning, std::move(where), std::move(what), std::move(remedy)});
}

void Report::remark(std::string_view feature, std::string where, std::string what, std::string remedy) {
  if (!first_time(feature)) return;
  notes_.push_back({Severity::kNote, std::move(where), std::move(what), std::move(remedy)});
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 40;
  std::string text;
  const std::size_t n = std::min(names.size(), kMost);
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += in_quotes(names[i]);
  }
  if (n < names.size()) text += fmt::format(" and {} more", names.size() - n);
  return names.empty() ? "none" : text;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string out = "'";
  for (const char c : text.substr(0, kMost)) out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  if (text.size() > kMost) out += "...";
  return out + "'";
}

}  // namespace karakuri::io
