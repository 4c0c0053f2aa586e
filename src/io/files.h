// Which files may be read, and where what a file refers to is found.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "karakuri/core/diagnostic.h"

namespace karakuri::io {

/// The whole of a regular file of at most `largest` bytes; devices and pipes are refused.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t largest);

/// Lower-case ending of the name, with its dot.
std::string ending(const std::filesystem::path& path);

/// Turns package://NAME/REST, model://NAME/REST, file:///PATH and relative paths into paths of files that
/// exist. Names of packages are looked for in `package_paths`, in the folders of ROS_PACKAGE_PATH,
/// AMENT_PREFIX_PATH, GZ_SIM_RESOURCE_PATH, GAZEBO_MODEL_PATH, and from the file's own folder upwards.
class Resolver {
 public:
  Resolver(std::filesystem::path file, std::vector<std::string> package_paths);
  /// Empty where there is no such file.
  std::filesystem::path find(std::string_view uri) const;
  /// For messages: what to do about a file that is not found.
  static std::string remedy(std::string_view uri);

 private:
  std::filesystem::path in_package(const std::string& name, const std::filesystem::path& rest) const;

  std::filesystem::path folder_;
  std::vector<std::filesystem::path> roots_;  // folders that hold packages, or are one
};

}  // namespace karakuri::io
