// Writing native scenes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "karakuri/io/loaded_scene.h"

namespace karakuri {

/// What save_native() writes: the text, and the files that it names, by their paths relative to it.
struct SavedScene {
  std::string text;
  struct Asset {
    std::filesystem::path file;
    std::string content;
  };
  std::vector<Asset> assets;
};

/// Any scene, however it was loaded. Read back, it makes a world with the same hash() and scene_hash(): every
/// number is written so that it is read as the same bits. `assets`: the folder of meshes, terrain and
/// trajectories, beside the text.
SavedScene to_native(const LoadedScene& scene, const std::filesystem::path& assets = "scene.assets");
/// To PATH, with what it names in the folder NAME.assets beside it. Empty, or why it could not be written.
std::vector<Diagnostic> save_native(const LoadedScene& scene, const std::filesystem::path& path);

/// The present state of a world made from this scene becomes its initial one.
void keep_state(LoadedScene& scene, const World& world);

}  // namespace karakuri
