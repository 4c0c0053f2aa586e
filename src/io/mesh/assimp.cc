// glTF through assimp. glTF is in metres and y up; we turn it to z up.
#include <assimp/DefaultIOSystem.h>
#include <assimp/MemoryIOWrapper.h>
#include <assimp/material.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>

#include <assimp/Importer.hpp>
#include <exception>
#include <filesystem>

#include <fmt/format.h>

#include "io/files.h"
#include "io/mesh/gltf_flaw.h"
#include "io/mesh/read.h"

namespace karakuri::io {

namespace {

namespace fs = std::filesystem;

/// Opens nothing but the buffers that a glTF keeps beside itself: a mesh must not make us read other files.
class OnlyBuffers : public Assimp::IOSystem {
 public:
  explicit OnlyBuffers(fs::path folder) : folder_(std::move(folder)) {}
  bool Exists(const char* file) const override { return !path(file).empty(); }
  char getOsSeparator() const override { return '/'; }
  Assimp::IOStream* Open(const char* file, const char* /*mode*/) override {
    const fs::path found = path(file);
    if (found.empty()) return nullptr;
    const Result<std::string> content = read_file(found, 256u << 20);
    if (!content.ok()) return nullptr;
    auto* copy = new std::uint8_t[content->size()];
    std::copy(content->begin(), content->end(), copy);
    return new Assimp::MemoryIOStream(copy, content->size(), true);
  }
  void Close(Assimp::IOStream* stream) override { delete stream; }

 private:
  fs::path path(const char* file) const {
    const fs::path name = fs::path(file).filename();
    if (folder_.empty() || ending(name) != ".bin") return {};
    std::error_code ignored;
    return fs::is_regular_file(folder_ / name, ignored) ? folder_ / name : fs::path();
  }
  fs::path folder_;
};

MeshPart part_of(const aiScene& scene, const aiMesh& mesh) {
  MeshPart part;
  if (mesh.mMaterialIndex >= scene.mNumMaterials) return part;
  aiColor4D color;
  const aiMaterial& material = *scene.mMaterials[mesh.mMaterialIndex];
  if (material.Get(AI_MATKEY_COLOR_DIFFUSE, color) != AI_SUCCESS) return part;
  part.color = {color.r, color.g, color.b, color.a};
  part.color_given = true;
  float opacity = 1;
  if (material.Get(AI_MATKEY_OPACITY, opacity) == AI_SUCCESS) part.color[3] *= opacity;
  return part;
}

/// False where it would grow beyond reason: nodes may name one mesh any number of times.
bool add_mesh(const aiScene& scene, const aiMesh& mesh, const aiMatrix4x4& X, MeshData& out) {
  if (out.vertices.size() + mesh.mNumVertices > kMostVertices) return false;
  const int first = static_cast<int>(out.vertices.size());
  for (unsigned i = 0; i < mesh.mNumVertices; ++i) {
    const aiVector3D v = X * mesh.mVertices[i];
    out.vertices.emplace_back(v.x, -v.z, v.y);  // y up to z up
  }
  MeshPart part = part_of(scene, mesh);
  part.first = static_cast<int>(out.faces.size());
  for (unsigned i = 0; i < mesh.mNumFaces; ++i) {
    const aiFace& face = mesh.mFaces[i];
    if (face.mNumIndices != 3) continue;  // points and lines
    bool inside = true;
    for (unsigned k = 0; k < 3; ++k) inside &= face.mIndices[k] < mesh.mNumVertices;
    if (!inside || out.faces.size() > kMostVertices) return false;
    const auto at = [&](int k) { return first + static_cast<int>(face.mIndices[k]); };
    out.faces.push_back({at(0), at(1), at(2)});
  }
  part.count = static_cast<int>(out.faces.size()) - part.first;
  if (part.count > 0) out.parts.push_back(part);
  return true;
}

bool add_nodes(const aiScene& scene, MeshData& out) {
  std::vector<std::pair<const aiNode*, aiMatrix4x4>> stack{{scene.mRootNode, aiMatrix4x4()}};
  while (!stack.empty()) {
    const auto [node, X_parent] = stack.back();
    stack.pop_back();
    const aiMatrix4x4 X = X_parent * node->mTransformation;
    for (unsigned i = 0; i < node->mNumMeshes; ++i) {
      if (!add_mesh(scene, *scene.mMeshes[node->mMeshes[i]], X, out)) return false;
    }
    for (unsigned i = node->mNumChildren; i-- > 0;) stack.emplace_back(node->mChildren[i], X);
  }
  return true;
}

}  // namespace

Result<MeshData> read_by_assimp(std::string_view content, const std::string& file,
                                const std::string& ending) {
  const auto refused = [&](std::string what) {
    return Diagnostic{Severity::kError, file + ":1", std::move(what), "export the mesh again, or as STL"};
  };
  if (std::string flaw = gltf_flaw(content, ending == ".glb"); !flaw.empty()) return refused(std::move(flaw));
  try {
    Assimp::Importer importer;
    importer.SetIOHandler(new OnlyBuffers(fs::path(file).parent_path()));  // taken over
    importer.SetPropertyInteger(AI_CONFIG_PP_SBP_REMOVE, aiPrimitiveType_POINT | aiPrimitiveType_LINE);
    const aiScene* scene = importer.ReadFileFromMemory(
        content.data(), content.size(), aiProcess_Triangulate | aiProcess_SortByPType, ending.c_str() + 1);
    if (!scene || !scene->mRootNode) {
      const std::string reason = importer.GetErrorString();
      return refused(reason.empty() ? "there is no scene in it" : reason);
    }
    MeshData mesh;
    if (!add_nodes(*scene, mesh)) return refused("it is too large, or its faces name missing vertices");
    return mesh;
  } catch (const std::exception& problem) {
    return refused(problem.what());
  }
}

}  // namespace karakuri::io
