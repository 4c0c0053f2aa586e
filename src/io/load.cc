#include "karakuri/io/load.h"

#include <array>
#include <new>

#include <fmt/format.h>

#include "io/files.h"
#include "io/report.h"

namespace karakuri {

namespace {

constexpr std::size_t kLargestText = 33u << 20;  // just above what the readers take, so that they can say so

/// The name of the first element, past declarations and comments.
std::string_view root_name(std::string_view text) {
  for (std::size_t at = text.find('<'); at != text.npos; at = text.find('<', at + 1)) {
    const std::string_view rest = text.substr(at + 1);
    if (rest.starts_with("!--")) {
      at = text.find("-->", at);
      if (at == text.npos) break;
      continue;
    }
    if (rest.starts_with('?') || rest.starts_with('!')) continue;
    return rest.substr(0, rest.find_first_of(" \t\r\n/>"));
  }
  return {};
}

}  // namespace

Result<SceneFormat> scene_format(std::string_view text, const std::filesystem::path& path) {
  struct Root {
    std::string_view name;
    SceneFormat format;
  };
  static constexpr std::array kRoots = {Root{"robot", SceneFormat::kUrdf}, Root{"mujoco", SceneFormat::kMjcf},
                                        Root{"mujocoinclude", SceneFormat::kMjcf},
                                        Root{"sdf", SceneFormat::kSdf}, Root{"gazebo", SceneFormat::kSdf}};
  const std::string ending = io::ending(path);
  if (ending == ".yaml" || ending == ".yml") return SceneFormat::kNative;
  const std::string_view name = root_name(text);
  for (const Root& root : kRoots) {
    if (name == root.name) return root.format;
  }
  return Diagnostic{Severity::kError, path.string() + ":1",
                    name.empty() ? "it is no XML" : fmt::format("its root is <{}>", name.substr(0, 60)),
                    "give a file whose root is <robot> (URDF), <mujoco> (MJCF) or <sdf>"};
}

Result<LoadedScene> load_scene(const std::filesystem::path& path, const LoadOptions& options) try {
  static constexpr std::array kEndings = {".urdf",  ".xml",   ".mjcf", ".sdf",
                                          ".world", ".model", ".yaml", ".yml"};
  const std::string ending = io::ending(path);
  if (std::find(kEndings.begin(), kEndings.end(), ending) == kEndings.end()) {
    return Diagnostic{Severity::kError, path.string() + ":1",
                      ending.empty()
                          ? "files whose names have no ending are not read"
                          : fmt::format("files that end in {} are not read", io::in_quotes(ending)),
                      "valid endings are yaml, urdf, xml, mjcf, sdf, world and model"};
  }
  const Result<std::string> text = io::read_file(path, kLargestText);
  if (!text.ok()) return text.errors();
  const Result<SceneFormat> format = scene_format(*text, path);
  if (!format.ok()) return format.errors();
  switch (*format) {
    case SceneFormat::kUrdf: return load_urdf(*text, path, options);
    case SceneFormat::kMjcf: return load_mjcf(*text, path, options);
    case SceneFormat::kSdf: return load_sdf(*text, path, options);
    case SceneFormat::kNative: return load_native(*text, path, options);
  }
  return text.errors();
} catch (const std::bad_alloc&) {
  return Diagnostic{Severity::kError, path.string() + ":1", "it needs more memory than there is",
                    "make it smaller, or its meshes and terrain coarser"};
}

}  // namespace karakuri
