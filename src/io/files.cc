#include "io/files.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>

#include "io/report.h"

namespace karakuri::io {

namespace fs = std::filesystem;

namespace {

constexpr int kLevelsUp = 12;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

void add_from_environment(const char* variable, const char* below, std::vector<fs::path>& roots) {
  const char* value = std::getenv(variable);
  std::string_view rest = value ? value : "";
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(':'));
    if (!one.empty()) roots.push_back(fs::path(one) / below);
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
  }
}

/// Whether the package.xml of a folder has this name, however the folder is called.
bool is_package(const fs::path& folder, const std::string& name) {
  if (!is_file(folder / "package.xml")) return false;
  const Result<std::string> text = read_file(folder / "package.xml", 1u << 20);
  return text.ok() && text->find("<name>" + name + "</name>") != std::string::npos;
}

}  // namespace

Result<std::string> read_file(const fs::path& path, std::size_t largest) {
  const auto refused = [&](std::string what, std::string remedy) {
    return Diagnostic{Severity::kError, path.string() + ":1", std::move(what), std::move(remedy)};
  };
  if (!is_file(path)) return refused("there is no such file", "check its name");
  std::error_code problem;
  if (ending(fs::canonical(path, problem)) != ending(path))
    return refused("it is a link to a file of another kind", "give the file itself");
  const auto size = fs::file_size(path, problem);
  if (problem) return refused("it cannot be read: " + problem.message(), "check its permissions");
  if (size > largest) {
    return refused(fmt::format("it has {} MB; at most {} are read", size >> 20, largest >> 20),
                   "make it smaller");
  }
  std::ifstream in(path, std::ios::binary);
  std::string text(size, '\0');
  in.read(text.data(), static_cast<std::streamsize>(size));
  if (!in) return refused("it cannot be read", "check its permissions");
  return text;
}

std::string ending(const fs::path& path) {
  std::string text = path.extension().string();
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c; });
  return text;
}

Resolver::Resolver(fs::path file, std::vector<std::string> package_paths) : folder_(file.parent_path()) {
  for (std::string& path : package_paths) roots_.emplace_back(std::move(path));
  add_from_environment("ROS_PACKAGE_PATH", "", roots_);
  add_from_environment("AMENT_PREFIX_PATH", "share", roots_);
  add_from_environment("GZ_SIM_RESOURCE_PATH", "", roots_);
  add_from_environment("GAZEBO_MODEL_PATH", "", roots_);
  std::error_code ignored;
  fs::path up = fs::absolute(folder_.empty() ? fs::path(".") : folder_, ignored).lexically_normal();
  for (int i = 0; i < kLevelsUp && !up.empty(); ++i) {
    roots_.push_back(up);
    if (up == up.parent_path()) break;
    up = up.parent_path();
  }
}

fs::path Resolver::in_package(const std::string& name, const fs::path& rest) const {
  for (const fs::path& root : roots_) {
    if (!name.empty() && is_file(root / name / rest)) return root / name / rest;
    const bool itself = name.empty() || root.filename() == name || is_package(root, name);
    if (itself && is_file(root / rest)) return root / rest;
  }
  // A package that was copied into a folder of another name.
  for (const fs::path& root : roots_) {
    if (is_file(root / rest)) return root / rest;
  }
  return {};
}

fs::path Resolver::find(std::string_view uri) const {
  for (const std::string_view scheme : {"package://", "model://"}) {
    if (!uri.starts_with(scheme)) continue;
    uri.remove_prefix(scheme.size());
    const auto slash = uri.find('/');
    if (slash == uri.npos) return {};
    return in_package(std::string(uri.substr(0, slash)), fs::path(uri.substr(slash + 1)).relative_path());
  }
  if (uri.starts_with("file://")) uri.remove_prefix(7);
  const fs::path path = folder_ / fs::path(uri);  // an absolute path stays as it is
  return is_file(path) ? path : fs::path();
}

std::string Resolver::remedy(std::string_view uri) {
  if (uri.starts_with("package://") || uri.starts_with("model://")) {
    return "name the folder that holds the package in package_paths or ROS_PACKAGE_PATH";
  }
  return "check the name; it is looked for beside the file that refers to it";
}

}  // namespace karakuri::io
