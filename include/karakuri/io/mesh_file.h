// Triangle meshes from files: STL, OBJ, COLLADA and glTF, in metres with z up.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "karakuri/collision/mesh.h"
#include "karakuri/collision/shape.h"
#include "karakuri/core/diagnostic.h"

namespace karakuri {

using Color = std::array<float, 4>;  // red, green, blue, opacity; 0 to 1

/// Faces [first, first + count) have one colour.
struct MeshPart {
  int first = 0, count = 0;
  Color color{0.7F, 0.7F, 0.7F, 1.0F};
  bool color_given = false;
};

/// Triangles as a file gives them. Vertices may be repeated; faces may be open.
struct MeshData {
  std::string source;  // the file
  std::vector<Vec3> vertices;
  std::vector<Triangle> faces;
  std::vector<MeshPart> parts;
};

struct MeshFileOptions {
  Vec3 scale = Vec3::Ones();  // negative numbers mirror; faces are turned round so that outside stays outside
  bool colors = true;         // read also the file of materials that an OBJ names
};

/// Endings of names that are read: stl, obj, dae, gltf, glb.
bool is_mesh_file(const std::filesystem::path& path);

/// Units and the up axis are respected where the format tells them (COLLADA, glTF). Errors name the file and,
/// for text formats, the line.
Result<MeshData> read_mesh_file(const std::filesystem::path& path, const MeshFileOptions& options = {});
/// The same from memory; `path` tells the format and names the errors. No other file is opened.
Result<MeshData> read_mesh(std::span<const char> content, const std::filesystem::path& path,
                           const MeshFileOptions& options = {});

/// How a mesh meets others.
enum class MeshCollision {
  kHull,        // its convex hull
  kDecomposed,  // convex parts that follow its concavities
  kSolid,       // its triangles
};

/// Hulls and decompositions of meshes, kept between runs under a name that is made of the vertices and faces.
/// A file that is damaged, or of another version, is made anew. Writing is atomic and may fail silently: a
/// cache that cannot be kept costs time only.
class ShapeCache {
 public:
  /// No folder: nothing is kept between runs.
  ShapeCache() = default;
  explicit ShapeCache(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// $XDG_CACHE_HOME/karakuri or ~/.cache/karakuri; one without a folder where neither is known.
  static ShapeCache of_user();

  Result<Shape> shape(const MeshData& mesh, MeshCollision collision);
  int hits() const { return hits_; }

 private:
  std::filesystem::path folder_;
  int hits_ = 0;
};

}  // namespace karakuri
