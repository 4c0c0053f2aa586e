// <include file="..."/> stands for the children of that file's root. Files are looked for beside the main
// file, as MuJoCo does, then beside the file that includes them. MuJoCo allows each file once; so do we,
// which rules out cycles too.
#include <fmt/format.h>

#include "io/files.h"
#include "io/mjcf/context.h"

namespace karakuri::io {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLargestInclude = 32u << 20;
constexpr std::size_t kMostIncludes = 1000;
constexpr std::size_t kMostDepth = 200;  // of elements, over all files

class Includes {
 public:
  Includes(XmlFile& xml, fs::path main) : xml_(xml), folder_(main.parent_path()) {
    seen_.insert(identity(main));
  }

  bool expand(XmlElement& e, const fs::path& folder, std::size_t depth) {
    if (depth > kMostDepth) {
      xml_.error(e, "elements are nested too deeply", "check what includes what");
      return false;
    }
    std::vector<XmlElement> expanded;
    for (XmlElement& child : e.children) {
      if (child.name != "include") {
        if (!expand(child, folder, depth + 1)) return false;
        expanded.push_back(std::move(child));
        continue;
      }
      XmlElement root;
      fs::path file;
      if (!open(child, folder, root, file)) return false;
      if (!expand(root, file.parent_path(), depth + 1)) return false;
      for (XmlElement& inner : root.children) expanded.push_back(std::move(inner));
    }
    e.children = std::move(expanded);
    return true;
  }

 private:
  static std::string identity(const fs::path& path) {
    std::error_code problem;
    const fs::path real = fs::weakly_canonical(path, problem);
    return problem ? path.lexically_normal().string() : real.string();
  }

  bool open(const XmlElement& e, const fs::path& folder, XmlElement& root, fs::path& file) {
    if (!xml_.require(e, "file")) return false;
    const std::string& name = e.get("file");
    if (ending(name) != ".xml" && ending(name) != ".mjcf") {
      xml_.error(e, fmt::format("included file {} is no XML by its name", in_quotes(name)),
                 "valid endings are xml and mjcf");
      return false;
    }
    file = folder_ / name;
    std::error_code ignored;
    if (!fs::is_regular_file(file, ignored)) file = folder / name;
    if (!seen_.insert(identity(file)).second || seen_.size() > kMostIncludes) {
      xml_.error(e, fmt::format("{} is included a second time, or includes itself", in_quotes(name)),
                 "include each file once");
      return false;
    }
    const Result<std::string> text = read_file(file, kLargestInclude);
    if (!text.ok()) {
      xml_.error(e, fmt::format("included file {}: {}", in_quotes(name), text.errors()[0].what),
                 "files are looked for beside the main file");
      return false;
    }
    return xml_.parse(*text, file.string(), root);
  }

  XmlFile& xml_;
  fs::path folder_;
  std::set<std::string> seen_;
};

}  // namespace

bool expand_includes(XmlFile& xml, const fs::path& path, XmlElement& root) {
  return Includes(xml, path).expand(root, path.parent_path(), 0);
}

}  // namespace karakuri::io
