#include "version.h"

#include <fmt/format.h>

#include "revision.h"

namespace karakuri::cli {

std::string version_text() {
  const std::string revision = KARAKURI_REVISION;
  return fmt::format("karakuri {}{}\ncompiler: {}\nflags: {}\nbuild: {}", KARAKURI_VERSION,
                     revision.empty() ? "" : " (" + revision + ")", KARAKURI_COMPILER, KARAKURI_FLAGS,
                     KARAKURI_BUILD_TYPE);
}

}  // namespace karakuri::cli
