// What all readers share: names, materials, meshes, and checking the whole at the end.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/report.h"
#include "karakuri/io/load.h"

namespace karakuri::io {

class SceneBuilder {
 public:
  SceneBuilder(const LoadOptions& options, Report& report);

  Mechanism& mechanism() { return out.scene.mechanism; }

  /// `name` with the prefix; made unique by a number where it is taken. Anonymous things are named after
  /// something else by the caller.
  LinkId add_link(const std::string& name, const Inertia& inertia, std::string where);
  /// None, with the error reported, where it is refused.
  JointId add_joint(Joint joint, std::string where);
  JointId add_loop(Joint joint, std::string where);

  /// After something was merged into `out`: its names are taken.
  void adopt_names();

  /// One material for each surface.
  MaterialId material(const Surface& surface, std::string_view name);

  /// Each file and scale is read once. Null, with the error reported, where it cannot be read.
  std::shared_ptr<const MeshData> mesh(const std::filesystem::path& file, const Vec3& scale,
                                       const std::string& where);
  /// As options.mesh_collision asks; where no hull can be made the mesh is told and left out.
  std::optional<Shape> mesh_shape(const std::shared_ptr<const MeshData>& mesh, const std::string& where) {
    return mesh_shape(mesh, where, options.mesh_collision);
  }
  std::optional<Shape> mesh_shape(const std::shared_ptr<const MeshData>& mesh, const std::string& where,
                                  MeshCollision collision);

  /// Joints that move nothing with mass are held, with a warning: no law of motion says where they go.
  void hold_massless_joints();
  /// Moments of inertia that no body has, but that can be moved with, are raised to the nearest that some
  /// body has, with a warning.
  Inertia possible(const Inertia& inertia, const std::string& where);

  /// Checks everything that the scene must satisfy; errors name the place in the file.
  Result<LoadedScene> finish();

  const LoadOptions& options;
  Report& report;
  LoadedScene out;

 private:
  using Names = std::unordered_map<std::string, int>;  // and the number that the next of this name gets
  std::string unique(const std::string& name, Names& taken) const;
  void place(Diagnostic& diagnostic) const;

  Names link_names_, joint_names_;
  std::unordered_map<std::string, std::string> where_;  // of "link 'NAME'" and "joint 'NAME'"
  std::map<std::array<double, 7>, MaterialId> materials_;
  std::map<std::pair<std::string, std::array<double, 3>>, std::shared_ptr<const MeshData>> meshes_;
  std::map<std::pair<const MeshData*, MeshCollision>, std::optional<Shape>> mesh_shapes_;
  ShapeCache cache_;
};

}  // namespace karakuri::io
