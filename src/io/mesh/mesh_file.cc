#include "karakuri/io/mesh_file.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "io/files.h"
#include "io/mesh/read.h"

namespace karakuri {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLargestMesh = 256u << 20;
constexpr std::size_t kLargestMaterials = 4u << 20;
constexpr std::array kEndings = {".stl", ".obj", ".dae", ".gltf", ".glb"};

/// Only files of materials, only beside the mesh.
std::string materials_beside(const std::string& name, const void* context) {
  const fs::path file = static_cast<const fs::path*>(context)->parent_path() / fs::path(name).filename();
  if (io::ending(file) != ".mtl") return "";
  const Result<std::string> text = io::read_file(file, kLargestMaterials);
  return text.ok() ? *text : "";
}

void scale(MeshData& mesh, const Vec3& by) {
  if (by == Vec3(Vec3::Ones())) return;
  for (Vec3& v : mesh.vertices) v = v.cwiseProduct(by);
  if (by.prod() > 0) return;
  for (Triangle& face : mesh.faces) std::swap(face[1], face[2]);
}

std::vector<Diagnostic> flaws(const MeshData& mesh, const std::string& file) {
  const auto refused = [&](std::string what) {
    return std::vector<Diagnostic>{
        {Severity::kError, file + ":1", std::move(what), "export the mesh again, or name another file"}};
  };
  if (mesh.faces.empty()) return refused("there are no triangles in it");
  for (std::size_t i = 0; i < mesh.vertices.size(); ++i) {
    // the square of what is larger does not fit in a double's exponent where volumes are made of it
    if (!mesh.vertices[i].allFinite() || mesh.vertices[i].cwiseAbs().maxCoeff() > 1e30) {
      return refused(fmt::format("vertex {} is not finite or far too large", i));
    }
  }
  return {};
}

Result<MeshData> read(std::string_view content, const fs::path& path, const MeshFileOptions& options,
                      bool other_files) {
  const std::string file = path.string(), ending = io::ending(path);
  if (!options.scale.allFinite() || options.scale.cwiseAbs().minCoeff() == 0) {
    return Diagnostic{Severity::kError, file + ":1", "its scale is zero or not finite", "give another scale"};
  }
  Result<MeshData> mesh =
      ending == ".stl" ? io::read_stl(content, file)
      : ending == ".obj"
          ? io::read_obj(content, file, other_files && options.colors ? materials_beside : nullptr, &path)
      : ending == ".dae" ? io::read_collada(content, file)
                         : io::read_by_assimp(content, file, ending);
  if (!mesh.ok()) return mesh;
  mesh->source = file;
  scale(*mesh, options.scale);
  if (std::vector<Diagnostic> found = flaws(*mesh, file); !found.empty()) return found;
  return mesh;
}

Diagnostic not_a_mesh(const fs::path& path) {
  return {Severity::kError, path.string() + ":1", "this is no file of a mesh by its name",
          "valid endings are stl, obj, dae, gltf and glb"};
}

}  // namespace

bool is_mesh_file(const fs::path& path) {
  return std::find(kEndings.begin(), kEndings.end(), io::ending(path)) != kEndings.end();
}

Result<MeshData> read_mesh_file(const fs::path& path, const MeshFileOptions& options) {
  if (!is_mesh_file(path)) return not_a_mesh(path);
  const Result<std::string> content = io::read_file(path, kLargestMesh);
  if (!content.ok()) return content.errors();
  return read(*content, path, options, true);
}

Result<MeshData> read_mesh(std::span<const char> content, const fs::path& path,
                           const MeshFileOptions& options) {
  if (!is_mesh_file(path)) return not_a_mesh(path);
  return read({content.data(), content.size()}, path, options, false);
}

}  // namespace karakuri
