// One reader per format. All report what is wrong with the line (text) or byte (binary) where it is.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "karakuri/io/mesh_file.h"

namespace karakuri::io {

/// Vertices and faces that no machine's part has; a damaged file may claim any number.
inline constexpr std::size_t kMostVertices = 8'000'000;

/// Finds the text of the material file that an OBJ names; empty where there is none.
using MaterialText = std::string (*)(const std::string& name, const void* context);

Result<MeshData> read_stl(std::string_view content, const std::string& file);
Result<MeshData> read_obj(std::string_view content, const std::string& file, MaterialText materials,
                          const void* context);
Result<MeshData> read_collada(std::string_view content, const std::string& file);
/// glTF.
Result<MeshData> read_by_assimp(std::string_view content, const std::string& file, const std::string& ending);

}  // namespace karakuri::io
