// Which files an SDF may include, and how many.
#include <algorithm>

#include "io/files.h"
#include "io/sdf/reader.h"

namespace karakuri::io {

namespace {

namespace fs = std::filesystem;

/// A file that libsdformat may open: it reads whatever it is given to its end, and takes what is no SDF for a
/// URDF, which it prints about.
bool is_readable_xml(const fs::path& file) {
  std::error_code problem;
  if (!fs::is_regular_file(file, problem) || fs::file_size(file, problem) > kLargestSdf ||
      ending(fs::canonical(file, problem)) != ending(file))
    return false;
  if (ending(file) != ".sdf") return true;
  const Result<std::string> text = read_file(file, kLargestSdf);
  if (!text.ok()) return false;
  const Result<SceneFormat> format = scene_format(*text, file);
  return format.ok() && *format == SceneFormat::kSdf;
}

/// Whether the folder is that of a model all of whose XML may be opened.
bool is_model_folder(const fs::path& folder) {
  std::error_code problem;
  bool model = false;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, problem)) {
    const bool config = entry.path().filename() == "model.config", sdf = ending(entry.path()) == ".sdf";
    if ((config || sdf) && !is_readable_xml(entry.path())) return false;
    model = model || config || entry.path().filename() == "model.sdf";
  }
  return model;
}

}  // namespace

std::string find_included(const std::string& uri, const fs::path& path, const LoadOptions& options) {
  std::string_view name = uri;
  for (const std::string_view scheme : {"model://", "package://", "file://"}) {
    if (name.starts_with(scheme)) name.remove_prefix(scheme.size());
  }
  std::vector<fs::path> roots(options.package_paths.begin(), options.package_paths.end());
  fs::path up = fs::absolute(path).parent_path();
  for (int i = 0; i < 5 && up != up.parent_path(); ++i, up = up.parent_path()) roots.push_back(up);
  for (const fs::path& root : roots) {
    const fs::path found = root / fs::path(name).relative_path();
    if (is_model_folder(found) || (ending(found) == ".sdf" && is_readable_xml(found))) return found.string();
  }
  return "";
}

namespace {

/// How many files an element includes, over all levels: libsdformat would follow rings of includes, and trees
/// that double with every level, to no end.
class IncludeCounter {
 public:
  IncludeCounter(const fs::path& path, const LoadOptions& options) : path_(path), options_(options) {}

  /// Above kMostIncludes where it is a ring, too deep or too many.
  int count(const XmlElement& e) {
    int sum = 0;
    for (const XmlElement& child : e.children) {
      const XmlElement* uri = child.name == "include" ? child.child("uri") : nullptr;
      sum += uri ? 1 + of(find_included(uri->text, path_, options_)) : count(child);
      if (sum > kMostIncludes) return kMostIncludes + 1;
    }
    return sum;
  }

 private:
  int of(const std::string& found) {
    if (found.empty()) return 0;  // libsdformat says so
    const auto [known, is_new] =
        counts_.try_emplace(found, kMostIncludes + 1);  // so much while it is open: a ring
    if (!is_new || ++depth_ > kDeepestInclude) return known->second;
    int sum = 0;
    std::error_code problem;
    if (!fs::is_directory(found, problem)) sum = of_file(found);
    for (const fs::directory_entry& entry : fs::directory_iterator(found, problem)) {
      if (ending(entry.path()) == ".sdf") sum = std::min(sum + of_file(entry.path()), kMostIncludes + 1);
    }
    --depth_;
    return counts_[found] = sum;
  }

  int of_file(const fs::path& file) {
    Report unheard;
    XmlFile xml(unheard, kLargestSdf);
    XmlElement root;
    const Result<std::string> text = read_file(file, kLargestSdf);
    return text.ok() && xml.parse(*text, file.string(), root) ? count(root) : 0;
  }

  static constexpr int kDeepestInclude = 16;
  const fs::path& path_;
  const LoadOptions& options_;
  std::map<std::string, int> counts_;
  int depth_ = 0;
};

}  // namespace

int count_includes(const XmlElement& e, const std::filesystem::path& path, const LoadOptions& options) {
  return IncludeCounter(path, options).count(e);
}

}  // namespace karakuri::io
