// What a glTF must not be before assimp sees it.
#pragma once

#include <string>
#include <string_view>

namespace karakuri::io {

/// JSON that is nested too deeply for assimp's stack, nodes that have two parents and would be multiplied,
/// counts that no buffer holds: why it is refused. Empty: nothing of these.
std::string gltf_flaw(std::string_view content, bool binary);

}  // namespace karakuri::io
