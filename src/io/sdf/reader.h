// The parts of the SDF reader.
#pragma once

#include <filesystem>
#include <map>
#include <sdf/sdf.hh>
#include <string>

#include "io/report.h"
#include "io/xml.h"
#include "karakuri/io/load.h"

namespace karakuri::io {

inline constexpr std::size_t kLargestSdf = 8u << 20;
inline constexpr int kMostIncludes = 200;

/// Where things stand in the text, by kind and name; the first where a name occurs twice.
class Lines {
 public:
  Lines(const XmlFile& xml, const XmlElement& root) : xml_(xml) { add(root); }

  std::string where(const std::string& tag, const std::string& name) const {
    const auto found = lines_.find({tag, name});
    return xml_.where(0, found == lines_.end() ? 1 : found->second);
  }
  /// 0: there is none.
  int line(const std::string& tag, const std::string& name) const {
    const auto found = lines_.find({tag, name});
    return found == lines_.end() ? 0 : found->second;
  }
  /// Of the first element with this tag; empty: there is none.
  std::string first(const std::string& tag) const {
    const auto found = first_.find(tag);
    return found == first_.end() ? "" : xml_.where(0, found->second);
  }

 private:
  void add(const XmlElement& e) {
    lines_.try_emplace({e.name, e.get("name")}, e.line);
    first_.try_emplace(e.name, e.line);
    for (const XmlElement& c : e.children) add(c);
  }
  const XmlFile& xml_;
  std::map<std::pair<std::string, std::string>, int> lines_;
  std::map<std::string, int> first_;
};

/// What may stand in a file, without what does not stand in this one.
struct SdfSchema {
  sdf::ElementPtr root;
  std::int64_t weight = 0;  // elements that libsdformat will keep for it, of about 1.3 kB each
};
SdfSchema schema_for(const XmlElement& tree);

/// What libsdformat has read, as a scene. @param path  Of the file, for the meshes beside it.
Result<LoadedScene> read_sdf(const sdf::Root& root, const Lines& lines, Report& report,
                             const std::filesystem::path& path, const LoadOptions& options);

/// The folder of a model, or a file beside ours, for <include>; empty: there is none that may be opened.
std::string find_included(const std::string& uri, const std::filesystem::path& path,
                          const LoadOptions& options);

/// How many files an element includes, over all levels; above kMostIncludes where it is a ring, too deep or
/// too many.
int count_includes(const XmlElement& e, const std::filesystem::path& path, const LoadOptions& options);

}  // namespace karakuri::io
