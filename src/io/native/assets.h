// Files that a saved scene names: meshes as OBJ, terrain as text, trajectories as CSV, all numbers exact.
#pragma once

#include <map>
#include <set>

#include "karakuri/io/save.h"

namespace karakuri::io {

class Assets {
 public:
  explicit Assets(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Each gives the path that the scene names. What was written once is not written again.
  std::string add(const MeshData& mesh);
  std::string add(const ConvexHull& hull, const std::string& name);
  std::string add(const Mesh& mesh, const std::string& name);
  std::string add(const Heightfield& field, const std::string& name);
  std::string add(const Trajectory& trajectory);
  std::string add_copy(const std::filesystem::path& file);

  std::vector<SavedScene::Asset> take() { return std::move(files_); }

 private:
  /// A path that is not taken yet.
  std::filesystem::path fresh(const std::string& stem, const std::string& ending);
  std::string keep(const void* what, const std::string& stem, const std::string& ending, std::string content);

  std::filesystem::path folder_;
  std::vector<SavedScene::Asset> files_;
  std::map<const void*, std::string> known_;
  std::set<std::string> taken_;
};

}  // namespace karakuri::io
