#include "karakuri/io/load.h"

namespace karakuri {

Result<LoadedScene> load_sdf(std::string_view, const std::filesystem::path& path, const LoadOptions&) {
  return Diagnostic{Severity::kError, path.string() + ":1", "SDF is not read yet", ""};
}

}  // namespace karakuri
