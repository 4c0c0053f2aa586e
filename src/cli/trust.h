// Whether a scene's code may run, and karakuri trust.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "karakuri/io/trust.h"

namespace karakuri::cli {

/// Asks on a terminal where the scene has code that nobody vouches for, unless `trusted` says that it may
/// run. Empty where the code may run, or there is none.
std::vector<Diagnostic> permit_code(const LoadedScene& scene, const std::filesystem::path& file,
                                    bool trusted);

/// What a scene runs that was found by this name, and who vouches for it.
std::vector<SceneCode> code_in(const LoadedScene& scene, const std::string& name);
/// "runs Python at each step: FILE (trusted ...)", one line for each file, for people; and the same as JSON.
std::string code_lines(const std::vector<SceneCode>& code);
nlohmann::ordered_json code_json(const std::vector<SceneCode>& code);

}  // namespace karakuri::cli
