// What goes wrong because of a user's input is told as diagnostics: what, where, and how to mend it.
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace karakuri {

enum class Severity { kNote, kWarning, kError };

/// One finding. `where` is "file:line" or the name of the thing, `what` says what was found and what was
/// expected, `remedy` what to do about it (may be empty).
struct Diagnostic {
  Severity severity = Severity::kError;
  std::string where;
  std::string what;
  std::string remedy;
};

/// "where: error: what (remedy)", one line.
std::string to_string(const Diagnostic& diagnostic);
/// One line each.
std::string to_string(const std::vector<Diagnostic>& diagnostics);

/// Either a value or the diagnostics that explain why there is none. Never throws; the caller looks before
/// taking the value.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::move(value)) {}  // NOLINT: implicit, so that `return value;` reads well
  Result(std::vector<Diagnostic> errors) : content_(std::move(errors)) {}            // NOLINT
  Result(Diagnostic error) : content_(std::vector<Diagnostic>{std::move(error)}) {}  // NOLINT

  bool ok() const { return content_.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// @pre ok()
  T& value() & { return assert(ok()), std::get<0>(content_); }
  const T& value() const& { return assert(ok()), std::get<0>(content_); }
  T&& value() && { return assert(ok()), std::get<0>(std::move(content_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// @pre !ok()
  const std::vector<Diagnostic>& errors() const { return assert(!ok()), std::get<1>(content_); }

 private:
  std::variant<T, std::vector<Diagnostic>> content_;
};

}  // namespace karakuri
