// What libFuzzer can be given: something that takes bytes, and must not fail whatever they are.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
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

/// Of this program; each of meshes.cc, files.cc and so on is the one of a program.
std::vector<Target> targets();

/// A finding that is no crash: what was answered is told, and the program ends as by one.
[[noreturn]] inline void found(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

inline std::string_view text_of(Input input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

/// Of the inputs one in `count`, chosen by what they are: for checks that cost more than all else. FNV-1a.
inline bool is_chosen(Input input, std::uint64_t count) {
  std::uint64_t hash = 14695981039346656037u;
  for (const std::uint8_t byte : input) hash = (hash ^ byte) * 1099511628211u;
  return (hash >> 32) % count == 0;
}

}  // namespace karakuri::fuzz
