// What the commands share: exit codes, messages, finding scenes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include "karakuri/io/load.h"

namespace karakuri::cli {

inline constexpr int kSuccess = 0;
inline constexpr int kFailed = 1;    // a result that failed
inline constexpr int kBadUsage = 2;  // bad usage or bad input

/// "karakuri: TEXT" on stderr.
void say(std::string_view text);
/// One line each, on stderr.
void say(const std::vector<Diagnostic>& diagnostics);
/// A whole document on stdout.
void print_json(const nlohmann::ordered_json& json);
nlohmann::ordered_json to_json(const std::vector<Diagnostic>& diagnostics);

/// Where the program lies, if that can be told.
std::filesystem::path own_folder();

/// A scene that comes with the program.
struct BundledScene {
  std::string name;  // of the file without .scene.yaml
  std::filesystem::path file;
  std::string description;  // of the file, may be empty
};
/// Where they are; empty where that is not found.
std::filesystem::path bundled_folder();
/// By name; empty where their folder is not found.
std::vector<BundledScene> bundled_scenes();

/// The file of a scene: a path, or the bare name of a bundled one. Unknown ones come with those that are
/// near.
Result<std::filesystem::path> find_scene(const std::string& scene);
/// The same, and reads it.
Result<LoadedScene> load(const std::string& scene, const LoadOptions& options);

/// The argument that names a scene, and the options with which it is loaded.
template <class Names>
void add_scene(CLI::App& sub, Names& into, const char* label) {
  sub.add_option(label, into, "Native scene, URDF, MJCF or SDF; or a bundled scene's name, see karakuri list")
      ->required()
      ->type_name("");
}
void add_load_options(CLI::App& sub, LoadOptions& options);

/// Of an option: a whole number in digits alone, or a finite number, both within bounds.
CLI::Validator whole_number(std::uint64_t low, std::uint64_t high);
CLI::Validator number(double low, double high);

/// "1 link", "2 links".
std::string count(long long n, std::string_view thing);

}  // namespace karakuri::cli
