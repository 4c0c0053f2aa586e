// Whose code may run. A scene can name Python files, and those can do all that the user can: they are run
// where the user has said so, for this once or for a folder and all that is in it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "karakuri/io/loaded_scene.h"

namespace karakuri {

/// A file of code that a scene runs. Paths are without symbolic links and "..".
struct SceneCode {
  std::string behaviour;
  std::filesystem::path file, named_by;  // the code, and the scene file that names it
  std::filesystem::path trusted_by;      // the folder that vouches for it; empty: none does
  std::string why_not;                   // where none does
};

/// All code that a scene runs which was read from `file`. It is trusted where the scene, the scene file that
/// names it and the code itself are in trusted folders; links do not lead out of one, or into it.
std::vector<SceneCode> code_of(const LoadedScene& scene, const std::filesystem::path& file,
                               const std::vector<std::filesystem::path>& trusted);

/// One error that names the code which is not trusted, and ends with what to do, as `remedy` says; nothing
/// where all is trusted. "FOLDER" in the remedy stands for the folder of the scene.
std::vector<Diagnostic> refuse_untrusted(const std::vector<SceneCode>& code,
                                         const std::filesystem::path& file, std::string remedy);

/// Where the user's list of trusted folders is: karakuri/trusted-folders in XDG_CONFIG_HOME, else in
/// ~/.config. Empty where there is neither.
std::filesystem::path trusted_folders_file();
/// The list; empty where there is none. An error where it cannot be read, or others may write it.
Result<std::vector<std::filesystem::path>> trusted_folders();
/// Adds a folder to the list, or takes it off; returns its path as it stands there.
Result<std::filesystem::path> trust_folder(const std::filesystem::path& folder);
Result<std::filesystem::path> distrust_folder(const std::filesystem::path& folder);

}  // namespace karakuri
