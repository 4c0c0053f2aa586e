// Behaviours are Python's business: a shared object of the Python package, loaded only for scenes that have
// some.
#include "behaviours.h"

#include <dlfcn.h>

#include <fmt/format.h>

#include "common.h"

namespace karakuri::cli {

namespace fs = std::filesystem;

namespace {

/// The folder of the Python package: beside the program in a build, around it in an installed package.
fs::path package_folder() {
  for (const fs::path& folder : {own_folder() / "python" / "karakuri", own_folder().parent_path()}) {
    std::error_code error;
    if (fs::exists(folder / "_host.so", error)) return folder;
  }
  return {};
}

Diagnostic refused(std::string what, std::string remedy) {
  return {Severity::kError, "behaviours", std::move(what), std::move(remedy)};
}

}  // namespace

std::vector<Diagnostic> start_behaviours(Session& session) {
  if (session.scene().script.behaviours.empty()) return {};
  const std::string without = "run the scene without them with --no-behaviours";
  const fs::path package = package_folder();
  if (package.empty())
    return {
        refused("the scene has Python files that run at each step, but the Python package is not installed",
                "build with KARAKURI_PYTHON=ON, or " + without)};
  // global: modules such as NumPy's take Python's own functions from there
  void* library = dlopen((package / "_host.so").c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) return {refused(dlerror(), without)};
  using Make = BehaviourHost* (*)(const std::string& package, std::string& problem);
  const auto make = reinterpret_cast<Make>(dlsym(library, "karakuri_python_behaviours"));
  std::string problem = "it is of another version";
  std::unique_ptr<BehaviourHost> host(make ? make(package.parent_path().string(), problem) : nullptr);
  if (!host) return {refused(fmt::format("Python cannot start: {}", problem), without)};
  session.set_behaviours(std::move(host));
  return {};
}

}  // namespace karakuri::cli
