// The page's files, in memory.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "karakuri/core/diagnostic.h"

namespace karakuri::server_detail {

struct BundleFile {
  std::string content;
  std::string_view type;  // MIME
};
/// By path as requested: "/index.html", "/assets/index.js".
using Bundle = std::map<std::string, BundleFile, std::less<>>;

/// Regular files below `folder`; links are not followed. Errors: no folder, or no index.html in it.
Result<Bundle> read_bundle(const std::filesystem::path& folder);

}  // namespace karakuri::server_detail
