// SDF (sdformat.org) through libsdformat, which resolves includes, frames and nested names. Lines come from a
// second look at the text, since libsdformat forgets most of them.
#include <mutex>
#include <regex>
#include <set>

#include <fmt/format.h>

#include "io/sdf/reader.h"

namespace karakuri {

namespace io {

namespace {

namespace fs = std::filesystem;

constexpr int kMostNestedModels = 16;
constexpr std::int64_t kHeaviestSdf = 700'000;  // elements: 0.9 GB, five thousand bare links with joints

/// The line of what a message of libsdformat names, for those that come without one.
int named_line(const std::string& message, const Lines& lines) {
  static const std::regex kNamed(
      R"((joint|link|model|frame|collision|visual|sensor|world)s? (?:with name|named) ?\[?([^\]\s]+))");
  for (std::sregex_iterator m(message.begin(), message.end(), kNamed), end; m != end; ++m)
    if (const int line = lines.line((*m)[1], (*m)[2])) return line;
  return 1;
}

Diagnostic converted(const sdf::Error& e, const fs::path& path, const Lines& lines) {
  const std::string file = e.FilePath() && !e.FilePath()->starts_with('<') ? *e.FilePath() : path.string();
  const int line = e.LineNumber().value_or(0);
  return {Severity::kError, fmt::format("{}:{}", file, line > 0 ? line : named_line(e.Message(), lines)),
          e.Message(), "see sdformat.org for what may stand where"};
}

/// By elements, since the reader of whole documents takes what it cannot read for a URDF, and prints.
sdf::Errors read(const std::string& text, const sdf::Element& schema, const sdf::ParserConfig& config,
                 sdf::Root& root) {
  const auto document = std::make_shared<sdf::SDF>();
  document->Root(schema.Clone());
  sdf::Errors errors;
  if (!sdf::readString(text, config, document->Root(), errors) && errors.empty()) {
    errors.emplace_back(sdf::ErrorCode::STRING_READ, "libsdformat cannot read it");
  }
  if (!errors.empty()) return errors;
  return root.Load(document, config);
}

/// Names that stand twice and models that are nested too deeply, which libsdformat takes its time to refuse.
void check_names(const XmlFile& xml, const XmlElement& e, int models) {
  if (e.name == "model" && ++models > kMostNestedModels) {
    return xml.error(e, fmt::format("models are nested deeper than {}", kMostNestedModels), "flatten them");
  }
  std::set<std::pair<std::string_view, std::string_view>> seen;
  const bool scope = e.name == "model" || e.name == "world";
  for (const XmlElement& child : e.children) {
    if (xml.report.full()) return;
    const std::string& name = child.get("name");
    if (scope && !name.empty() && !seen.emplace(child.name, name).second)
      xml.error(child, fmt::format("a second <{}> is called {}", child.name, in_quotes(name)),
                "give it another name");
    check_names(xml, child, models);
  }
}

/// Loads quietly; warnings of libsdformat become notes.
bool load_root(std::string_view text, const sdf::Element& schema, const Lines& lines, const fs::path& path,
               const LoadOptions& options, Report& report, sdf::Root& root) {
  sdf::Console::Instance()->SetQuiet(true);
  sdf::ParserConfig config;
  const auto find = [&](const std::string& uri) { return find_included(uri, path, options); };
  config.SetFindCallback(find);
  // what stands in an included file is looked for by the global one
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const struct Restore {
    ~Restore() { sdf::ParserConfig::GlobalConfig().SetFindCallback({}); }
  } restore;
  sdf::ParserConfig::GlobalConfig().SetFindCallback(find);
  config.SetWarningsPolicy(sdf::EnforcementPolicy::LOG);
  config.SetDeprecatedElementsPolicy(sdf::EnforcementPolicy::LOG);
  config.SetUnrecognizedElementsPolicy(sdf::EnforcementPolicy::ERR);
  sdf::Root first;
  std::vector<Diagnostic> errors;
  bool unknown = false;
  for (const sdf::Error& e : read(std::string(text), schema, config, first)) {
    const Diagnostic d = converted(e, path, lines);
    if (d.what.find("not defined in SDF") == std::string::npos) {
      errors.push_back(d);
      continue;
    }
    unknown = true;
    report.unsupported(d.what, d.where, d.what, d.remedy);
  }
  if (unknown) {  // once more, without minding what is unknown
    config.SetUnrecognizedElementsPolicy(sdf::EnforcementPolicy::LOG);
    errors.clear();
    for (const sdf::Error& e : read(std::string(text), schema, config, root)) {
      errors.push_back(converted(e, path, lines));
    }
  } else {
    root = std::move(first);
  }
  report.add(std::move(errors));
  return report.ok();
}

}  // namespace

}  // namespace io

Result<LoadedScene> load_sdf(std::string_view text, const std::filesystem::path& path,
                             const LoadOptions& options) {
  io::Report report(options.strict);
  io::XmlFile xml(report, io::kLargestSdf);
  io::XmlElement tree;
  if (!xml.parse(text, path.string(), tree)) return report.take_errors();
  // libsdformat would take anything else for a URDF, and print
  const bool is_sdf = tree.name == "sdf" || tree.name == "gazebo";
  if (!is_sdf || (!tree.child("model") && !tree.child("world"))) {
    xml.error(tree, is_sdf ? "there is neither a world nor a model in it" : "the root is not <sdf>",
              "give an SDF file with a <world> or <model>");
    return report.take_errors();
  }
  io::check_names(xml, tree, 0);
  if (io::count_includes(tree, path, options) > io::kMostIncludes) {
    xml.error(tree, "its includes form a ring, or are too many or too deep",
              fmt::format("include at most {} files in all", io::kMostIncludes));
  }
  if (!report.ok()) return report.take_errors();
  try {
    const io::SdfSchema schema = io::schema_for(tree);
    if (schema.weight > io::kHeaviestSdf) {
      xml.error(tree, "it has too many links, joints and shapes for libsdformat",
                "make several models of it, in files of their own");
      return report.take_errors();
    }
    const io::Lines lines(xml, tree);
    sdf::Root root;
    if (!io::load_root(text, *schema.root, lines, path, options, report, root)) return report.take_errors();
    return io::read_sdf(root, lines, report, path, options);
  } catch (const std::exception& problem) {  // libsdformat asserts by throwing
    report.error(path.string() + ":1", fmt::format("libsdformat gave up: {}", problem.what()),
                 "mend the file");
    return report.take_errors();
  }
}

}  // namespace karakuri
