#include "server/bundle.h"

#include <array>
#include <fstream>
#include <sstream>
#include <utility>

namespace karakuri::server_detail {

namespace fs = std::filesystem;

namespace {

std::string_view type_of(const fs::path& file) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kTypes = {
      {{".html", "text/html; charset=utf-8"},
       {".js", "text/javascript; charset=utf-8"},
       {".css", "text/css; charset=utf-8"},
       {".svg", "image/svg+xml"},
       {".png", "image/png"},
       {".woff2", "font/woff2"},
       {".json", "application/json"}}};
  const std::string ending = file.extension().string();
  for (const auto& [known, type] : kTypes) {
    if (known == ending) return type;
  }
  return "application/octet-stream";
}

}  // namespace

Result<Bundle> read_bundle(const fs::path& folder) {
  Bundle out;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!it->is_regular_file(error) || it->is_symlink(error)) continue;
    std::ifstream in(it->path(), std::ios::binary);
    std::ostringstream content;
    content << in.rdbuf();
    out["/" + it->path().lexically_relative(folder).generic_string()] = {std::move(content).str(),
                                                                         type_of(it->path())};
  }
  if (!out.contains("/index.html"))
    return Diagnostic{Severity::kError, folder.string(), "the page is not built: there is no index.html",
                      "install npm and run ./karakuri again, which builds it"};
  return out;
}

}  // namespace karakuri::server_detail
