// What this program was built from and how.
#pragma once

#include <string>

namespace karakuri::cli {

/// Version, revision, compiler, flags and build type, one per line.
std::string version_text();

}  // namespace karakuri::cli
