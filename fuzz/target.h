// What libFuzzer can be given: something that takes bytes, and must not fail whatever they are.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace karakuri::fuzz {

using Input = std::span<const std::uint8_t>;

struct Target {
  const char* name;
  /// Once, before anything else. `folder` is empty, and there for what the target writes.
  void (*prepare)(const std::filesystem::path& folder);
  /// Inputs that are taken.
  std::vector<std::string> (*seeds)();
  void (*run)(Input input);
};

/// Formats of files, in readers.cc.
std::vector<Target> readers();
extern const Target kSnapshots, kMessages, kProblems, kCalls;

/// A finding that is no crash: what was answered is told, and the program ends as by one.
[[noreturn]] inline void found(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

}  // namespace karakuri::fuzz
