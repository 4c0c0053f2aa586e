// How many bodies and shapes a scene makes: with all that it repeats and includes, before any of them is
// made.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "io/native/context.h"

namespace karakuri::io {

namespace {

constexpr std::int64_t kMany = 1'000'000'000'000'000;  // counts end here, before they overflow
constexpr std::size_t kMostRepeats = 20;               // one within the other
constexpr std::size_t kLargestFile = 33u << 20;

std::int64_t times(std::int64_t a, std::int64_t b) { return b != 0 && a > kMany / b ? kMany : a * b; }
std::int64_t plus(std::int64_t a, std::int64_t b) { return std::min(kMany, a + b); }

struct Count {
  std::int64_t bodies = 0, shapes = 0;
};

/// Reads what it counts without a word: what is wrong with it is told by the readers.
class Counter {
 public:
  explicit Counter(const LoadOptions& options) : options_(options) {}

  /// Of a file that was checked. Empty, with the error reported, where there are too many.
  std::optional<Count> count(const YamlFile& file, const YamlNode& root, const std::filesystem::path& path) {
    const Resolver resolver(path, options_.package_paths);
    Count all;
    for (const YamlNode* body : items(root, "bodies")) {
      const auto shapes =
          static_cast<std::int64_t>(items(*body, "shapes").size() + items(*body, "visuals").size());
      if (!add(file, *body, {1, shapes}, body->find("name")->text, all)) return std::nullopt;
    }
    for (const YamlNode* robot : items(root, "robots")) {
      const std::string& name = robot->find("file")->text;
      const std::optional<Count> one = count_file(resolver.find(name), file.report);
      if (!one || !add(file, *robot, *one, name, all)) return std::nullopt;
    }
    return all;
  }

 private:
  bool add(const YamlFile& file, const YamlNode& node, const Count& one, const std::string& name,
           Count& all) {
    if (items(node, "repeat").size() > kMostRepeats) {
      file.error(node, fmt::format("it has more than {} repetitions, one within the other", kMostRepeats),
                 "use fewer");
      return false;
    }
    const std::int64_t copies = count_copies(node);
    const Count before = all;
    all = {plus(all.bodies, times(copies, one.bodies)), plus(all.shapes, times(copies, one.shapes))};
    const bool bodies = all.bodies > kMostBodies;
    if (!bodies && all.shapes <= kMostShapes) return true;
    const char* kind = bodies ? "bodies" : "shapes and visuals";
    const std::int64_t each = bodies ? one.bodies : one.shapes,
                       other = bodies ? before.bodies : before.shapes;
    file.error(
        node,
        fmt::format("{}{} {} of {} ({} times {}){} would be made; a scene has at most {}",
                    copies > kMostBodies ? "at least " : "", times(copies, each), kind, in_quotes(name),
                    copies, each, other > 0 ? fmt::format(", beside {} others,", other) : "",
                    bodies ? kMostBodies : kMostShapes),
        "repeat less");
    return false;
  }

  /// Nothing in what is no native scene, or none that can be read; those are counted once they are read.
  std::optional<Count> count_file(const std::filesystem::path& path, Report& report) {
    const std::string end = ending(path);
    if (path.empty() || (end != ".yaml" && end != ".yml")) return Count{};
    const auto [known, is_new] =
        counts_.try_emplace(path.lexically_normal().string());  // nothing while it is open: a ring
    if (!is_new || counts_.size() > kMostFiles) return known->second;
    const Result<std::string> text = read_file(path, kLargestFile);
    Report unheard;
    YamlFile file{path.string(), unheard};
    YamlNode root;
    if (!text.ok() || !file.parse(*text, root) || !check_section(file, root, section("scene")))
      return Count{};
    const YamlFile heard{path.string(), report};
    const std::optional<Count> found = count(heard, root, path);
    if (found) counts_[path.lexically_normal().string()] = *found;
    return found;
  }

  const LoadOptions& options_;
  std::map<std::string, Count> counts_;
};

}  // namespace

std::int64_t count_copies(const YamlNode& node) {
  std::vector<std::int64_t> with_index{1};  // how many copies have index i in the repetition before
  std::int64_t most = 1, now = 1;
  for (const YamlNode* repeat : items(node, "repeat")) {
    int count = 0, shrink = 0;
    get(*repeat, "count", count), get(*repeat, "shrink", shrink);
    std::vector<std::int64_t> next(static_cast<std::size_t>(count) + 1, 0);  // first their differences
    for (std::size_t i = 0; i < with_index.size(); ++i) {
      const std::int64_t here = std::max<std::int64_t>(0, count - shrink * static_cast<std::int64_t>(i));
      next[0] = plus(next[0], with_index[i]);
      next[static_cast<std::size_t>(here)] -= with_index[i];
    }
    std::partial_sum(next.begin(), next.end(), next.begin());
    next.pop_back();
    now = std::accumulate(next.begin(), next.end(), std::int64_t{0}, plus);
    most = std::max(most, now);
    if (most > kMostBodies) return most;
    with_index = std::move(next);
  }
  return now;
}

bool count_scene(NativeContext& c, const YamlNode& root) {
  return Counter(c.build.options).count(c.file, root, c.path).has_value();
}

}  // namespace karakuri::io
