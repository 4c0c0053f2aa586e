// What a reader may answer: what it has read, or errors that name a place.
#pragma once

#include <algorithm>

#include "fuzz/target.h"
#include "karakuri/core/diagnostic.h"

namespace karakuri::fuzz {

/// An error that names no file and line, or none at all where a file is refused, is a fault as much as a
/// crash. Whether it was read.
template <class T>
bool answered(const Result<T>& result) {
  if (result.ok()) return true;
  const auto placed = [](const Diagnostic& d) {
    const auto colon = d.where.rfind(':');
    return !d.what.empty() && colon != d.where.npos && colon + 1 < d.where.size() &&
           d.where.find_first_not_of("0123456789", colon + 1) == d.where.npos;
  };
  if (result.errors().empty() || !std::all_of(result.errors().begin(), result.errors().end(), placed))
    found("an answer without a place:\n" + to_string(result.errors()));
  return false;
}

/// A seed that is refused would let most of a reader go untried.
template <class T>
void expect_read(const Result<T>& result, const std::string& seed) {
  if (!result.ok()) found("a seed is refused:\n" + to_string(result.errors()) + "\n" + seed);
}

}  // namespace karakuri::fuzz
