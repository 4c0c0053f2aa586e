// Reading robots and worlds from native scenes (docs/scenes.md), URDF, MJCF and SDF.
//
// What a file asks for and we do not do is listed in LoadedScene::notes, once per feature, with file and
// line: a warning where it changes what happens, a note where it only changes what is seen.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "karakuri/io/loaded_scene.h"

namespace karakuri {

/// How the root of a URDF stands in the world.
enum class Base {
  kAuto,  // free, but fixed where the root is called "world" or has no mass
  kFixed,
  kFree,
};

struct LoadOptions {
  bool strict = false;  // warnings become errors
  std::vector<std::string>
      package_paths;   // folders in which package://NAME/ is looked for, before all others
  std::string prefix;  // before every name
  Transform pose;      // of the file's world in ours
  Base base = Base::kAuto;
  MeshCollision mesh_collision = MeshCollision::kHull;
  bool rigid = false;                  // contacts, limits and equalities of MJCF, whatever solref says
  bool overlapping_touch = false;      // URDF, SDF: also links of one robot that overlap in the zero pose
  bool visuals = true;                 // read what is only there to be seen
  bool cache = true;                   // keep hulls between runs
  std::filesystem::path cache_folder;  // empty: the user's
};

enum class SceneFormat { kUrdf, kMjcf, kSdf, kNative };

/// Which format a text is in, from its root element, or from the ending .yaml or .yml of its name; nothing in
/// it is checked.
Result<SceneFormat> scene_format(std::string_view text, const std::filesystem::path& path);

/// Reads a file in whichever format it is.
Result<LoadedScene> load_scene(const std::filesystem::path& path, const LoadOptions& options = {});

/// The same from memory. `path` names the errors, and what the text refers to is looked for beside it.
Result<LoadedScene> load_urdf(std::string_view text, const std::filesystem::path& path,
                              const LoadOptions& options = {});
Result<LoadedScene> load_mjcf(std::string_view text, const std::filesystem::path& path,
                              const LoadOptions& options = {});
Result<LoadedScene> load_sdf(std::string_view text, const std::filesystem::path& path,
                             const LoadOptions& options = {});
Result<LoadedScene> load_native(std::string_view text, const std::filesystem::path& path,
                                const LoadOptions& options = {});

/// What may stand in a native scene, as a JSON schema and as a page for people. Both and the reader itself
/// are made from one table.
std::string scene_schema_json();
std::string scene_reference_markdown();

}  // namespace karakuri
