#include "common.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "karakuri/core/near_names.h"

namespace karakuri::cli {

namespace fs = std::filesystem;

void say(std::string_view text) { fmt::print(stderr, "karakuri: {}\n", text); }

void say(const std::vector<Diagnostic>& diagnostics) {
  for (const Diagnostic& d : diagnostics) fmt::print(stderr, "{}\n", to_string(d));
}

void print_json(const nlohmann::ordered_json& json) {
  // names come from files and need not be UTF-8
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

nlohmann::ordered_json to_json(const std::vector<Diagnostic>& diagnostics) {
  static constexpr const char* kSeverities[] = {"note", "warning", "error"};
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Diagnostic& d : diagnostics) {
    all.push_back({{"severity", kSeverities[static_cast<int>(d.severity)]},
                   {"where", d.where},
                   {"what", d.what},
                   {"remedy", d.remedy}});
  }
  return all;
}

void add_load_options(CLI::App& sub, LoadOptions& options) {
  sub.add_flag("--strict", options.strict, "Treat everything in a file that is not supported as an error");
  sub.add_flag("--rigid", options.rigid,
               "MJCF: make contacts, limits and equalities rigid, whatever solref says");
  sub.add_flag(
      "--overlapping-touch", options.overlapping_touch,
      "URDF, SDF: let links collide that overlap where all joints are at zero (default: they never do)");
  sub.add_option("--package-path", options.package_paths,
                 "Look for package://NAME in this folder; may be repeated")
      ->type_name("FOLDER")
      ->allow_extra_args(false);
}

namespace {

/// Empty where all of `text` is a T within bounds.
template <class T>
std::string refuse(const std::string& text, const char* kind, T low, T high) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool read = problem == std::errc() && end == text.data() + text.size();
  if (read && value >= low && value <= high) return "";
  return fmt::format("'{}' is not a {} from {} to {}", text, kind, low, high);
}

}  // namespace

CLI::Validator whole_number(std::uint64_t low, std::uint64_t high) {
  return CLI::Validator([=](const std::string& text) { return refuse(text, "whole number", low, high); }, "");
}

CLI::Validator number(double low, double high) {
  return CLI::Validator([=](const std::string& text) { return refuse(text, "number", low, high); }, "");
}

std::string count(long long n, std::string_view thing) {
  return fmt::format("{} {}{}", n, thing, n == 1 ? "" : "s");
}

fs::path own_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : self.parent_path();
}

// ---- bundled scenes

namespace {

constexpr std::string_view kEnding = ".scene.yaml";

}  // namespace

fs::path bundled_folder() {
  std::vector<fs::path> candidates;
  if (const char* given = std::getenv("KARAKURI_SCENES")) candidates.emplace_back(given);
  candidates.push_back(own_folder() / KARAKURI_INSTALLED_SCENES);
  candidates.emplace_back(KARAKURI_SOURCE_SCENES);
  std::error_code error;
  for (const fs::path& folder : candidates) {
    if (fs::is_directory(folder, error)) return folder;
  }
  return {};
}

namespace {

/// What stands after "description:" at the start of a line; a scene need not be read whole to be listed.
std::string description_of(const fs::path& file) {
  static constexpr std::string_view kKey = "description:";
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    if (!line.starts_with(kKey)) continue;
    std::string text = line.substr(kKey.size());
    text.erase(0, text.find_first_not_of(" \"'"));
    while (!text.empty() && std::string_view(" \"'\r").find(text.back()) != std::string_view::npos)
      text.pop_back();
    return text;
  }
  return {};
}

std::vector<std::string> names_of(const std::vector<BundledScene>& scenes) {
  std::vector<std::string> names;
  for (const BundledScene& scene : scenes) names.push_back(scene.name);
  return names;
}

/// What is in the folder in which a path was expected.
std::vector<std::string> files_beside(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    names.push_back((path.has_parent_path() ? it->path() : it->path().filename()).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Diagnostic no_such_scene(const std::string& scene, const std::vector<BundledScene>& bundled) {
  std::string remedy;
  if (scene.find('/') == scene.npos) {
    const std::vector<std::string> near = near_names(scene, names_of(bundled));
    if (!near.empty()) remedy = suggestion(scene, near) + " ";
    return {Severity::kError, scene, "there is no such file, and no bundled scene has this name",
            remedy + "'karakuri list' lists the bundled scenes"};
  }
  const std::vector<std::string> near = near_names(scene, files_beside(scene));
  return {Severity::kError, scene, "there is no such file", near.empty() ? "" : suggestion(scene, near)};
}

}  // namespace

std::vector<BundledScene> bundled_scenes() {
  std::vector<BundledScene> scenes;
  std::error_code error;
  for (fs::directory_iterator it(bundled_folder(), error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.ends_with(kEnding)) continue;
    scenes.push_back({name.substr(0, name.size() - kEnding.size()), it->path(), description_of(it->path())});
  }
  std::sort(scenes.begin(), scenes.end(),
            [](const BundledScene& a, const BundledScene& b) { return a.name < b.name; });
  return scenes;
}

Result<fs::path> find_scene(const std::string& scene) {
  std::error_code error;
  if (scene.empty()) return Diagnostic{Severity::kError, "scene", "its name is empty", "give a file"};
  const fs::file_status status = fs::status(scene, error);
  const std::vector<BundledScene> bundled = bundled_scenes();
  if (!fs::exists(status) || fs::is_directory(status)) {
    for (const BundledScene& known : bundled) {
      if (known.name == scene || known.file.filename() == scene) return known.file;
    }
  }
  if (!fs::exists(status)) return no_such_scene(scene, bundled);
  if (fs::is_directory(status))
    return Diagnostic{Severity::kError, scene, "it is a folder", "give a file in it"};
  return fs::path(scene);
}

Result<LoadedScene> load(const std::string& scene, const LoadOptions& options) {
  const Result<fs::path> file = find_scene(scene);
  if (!file.ok()) return file.errors();
  return load_scene(*file, options);
}

}  // namespace karakuri::cli
