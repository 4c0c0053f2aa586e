// yaml-cpp's own tree would keep an alias as a second way to the same node, which a reader then walks once
// for each way: ten lines make a billion. Here events build the tree, aliases are copied, and all is counted.
#include "io/native/yaml.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <istream>
#include <limits>
#include <map>
#include <optional>
#include <streambuf>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

namespace karakuri::io {

namespace {

constexpr std::size_t kMostText = 4u << 20;  // bytes, which take less than a second
constexpr int kMostNodes = 500'000;          // copies of aliases count
constexpr int kMostDepth = 60;

struct Refused {
  int line, column;
  std::string what, remedy;
};

using Kind = YamlNode::Kind;

class TreeBuilder : public YAML::EventHandler {
 public:
  YamlNode root;
  bool any = false;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(made(Kind::kNull, mark), anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node = made(Kind::kScalar, mark);
    node.text = value;
    // "?" is plain, "!" is quoted; only plain words mean null
    if (tag == "?" && (value.empty() || value == "~" || value == "null")) node.kind = Kind::kNull;
    add(std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      throw Refused{mark.line + 1, mark.column + 1, "an alias stands inside what it names",
                    "write it out instead"};
    }
    count(mark, found->second.size);
    if (static_cast<int>(open_.size()) + found->second.depth > kMostDepth) too_deep(mark);
    YamlNode copy = found->second.node;
    add(std::move(copy), 0);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(made(Kind::kList, mark), anchor, mark);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(made(Kind::kMap, mark), anchor, mark);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    std::optional<YamlNode> key;  // of a map: seen, its value not yet
    int first = 0;                // nodes counted before it
    int deepest = 0;
  };
  struct Anchored {
    YamlNode node;
    int size = 1, depth = 1;
  };

  YamlNode made(Kind kind, const YAML::Mark& mark) {
    count(mark, 1);
    return {
        .kind = kind, .text = {}, .items = {}, .keys = {}, .line = mark.line + 1, .column = mark.column + 1};
  }
  void count(const YAML::Mark& mark, int more) {
    nodes_ += more;
    if (nodes_ > kMostNodes) {
      throw Refused{mark.line + 1, mark.column + 1,
                    fmt::format("there are more than {} values up to here", kMostNodes),
                    "use fewer aliases, or put numbers into files of their own"};
    }
  }
  [[noreturn]] static void too_deep(const YAML::Mark& mark) {
    throw Refused{mark.line + 1, mark.column + 1,
                  fmt::format("lists and maps are nested too deeply (more than {})", kMostDepth),
                  "no scene needs so many"};
  }

  void open(YamlNode node, YAML::anchor_t anchor, const YAML::Mark& mark) {
    if (static_cast<int>(open_.size()) >= kMostDepth) too_deep(mark);
    open_.push_back({std::move(node), anchor, std::nullopt, nodes_ - 1, 0});
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done.node), done.anchor, nodes_ - done.first, done.deepest + 1);
  }

  void add(YamlNode node, YAML::anchor_t anchor, int size = 1, int depth = 1) {
    if (anchor) {
      count_copy(node, size);
      anchors_[anchor] = {node, size, depth};
    }
    if (open_.empty()) {
      root = std::move(node);
      any = true;
      return;
    }
    Open& parent = open_.back();
    parent.deepest = std::max(parent.deepest, depth);
    if (parent.node.kind == Kind::kList) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.key) {
      if (node.kind != Kind::kScalar) {
        throw Refused{node.line, node.column, "a key is not a word", "write name: value"};
      }
      parent.key = std::move(node);
    } else {
      add_value(parent.node, std::move(*parent.key), std::move(node));
      parent.key.reset();
    }
  }
  /// What is kept for aliases takes memory as well.
  void count_copy(const YamlNode& node, int size) {
    YAML::Mark mark;
    mark.line = node.line - 1, mark.column = node.column - 1;
    count(mark, size);
  }

  static void add_value(YamlNode& map, YamlNode key, YamlNode value) {
    map.keys.push_back(std::move(key));
    map.items.push_back(std::move(value));
  }

  std::vector<Open> open_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  int nodes_ = 0;
};

/// `<<: map` and `<<: [maps]`: what they have and the map has not.
void merge_keys(YamlNode& node, const YamlFile& file) {
  for (YamlNode& item : node.items) merge_keys(item, file);
  if (!node.is_map()) return;
  for (std::size_t i = 0; i < node.keys.size();) {
    if (node.keys[i].text != "<<") {
      ++i;
      continue;
    }
    const YamlNode from = std::move(node.items[i]);
    node.keys.erase(node.keys.begin() + static_cast<std::ptrdiff_t>(i));
    node.items.erase(node.items.begin() + static_cast<std::ptrdiff_t>(i));
    const std::vector<YamlNode> sources = from.is_list() ? from.items : std::vector<YamlNode>{from};
    for (const YamlNode& source : sources) {
      if (!source.is_map()) {
        file.error(source, "<< merges something that is not a map", "write <<: *anchor of a map");
        continue;
      }
      for (std::size_t k = 0; k < source.keys.size(); ++k) {
        const bool known = std::any_of(node.keys.begin(), node.keys.end(),
                                       [&](const YamlNode& key) { return key.text == source.keys[k].text; });
        if (known) continue;
        node.keys.push_back(source.keys[k]);
        node.items.push_back(source.items[k]);
      }
    }
  }
}

void refuse_doubles(const YamlNode& node, const YamlFile& file) {
  std::map<std::string_view, int> lines;
  for (const YamlNode& key : node.keys) {
    const auto [first, fresh] = lines.try_emplace(key.text, key.line);
    if (fresh) continue;
    file.error(key,
               fmt::format("key {} stands here twice (first in line {})", in_quotes(key.text), first->second),
               "leave one of them out");
  }
  for (const YamlNode& item : node.items) refuse_doubles(item, file);
}

class MemoryBuffer : public std::streambuf {
 public:
  explicit MemoryBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // streams read through pointers that could write
    setg(begin, begin, begin + text.size());
  }
};

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].text == key) return items[i].kind == Kind::kNull ? nullptr : &items[i];
  }
  return nullptr;
}

std::string YamlFile::where(const YamlNode& node) const {
  return fmt::format("{}:{}:{}", name, node.line, node.column);
}

bool YamlFile::parse(std::string_view text, YamlNode& root) {
  const auto refused = [&](int line, int column, std::string what, std::string remedy) {
    report.error(fmt::format("{}:{}:{}", name, line, column), std::move(what), std::move(remedy));
    return false;
  };
  if (text.size() > kMostText) {
    return refused(1, 1, fmt::format("it has {} MB; at most {} are read", text.size() >> 20, kMostText >> 20),
                   "keep meshes, terrain and trajectories in files of their own");
  }
  if (const auto zero = text.find('\0'); zero != text.npos) {
    const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(zero), '\n');
    return refused(static_cast<int>(line) + 1, 1, "it has a zero byte, which no text has",
                   "give a text file in UTF-8");
  }
  TreeBuilder builder;
  try {
    MemoryBuffer buffer(text);
    std::istream in(&buffer);
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
      if (builder.any && parser) {
        TreeBuilder second;
        if (parser.HandleNextDocument(second) && second.any && second.root.kind != Kind::kNull) {
          return refused(second.root.line, second.root.column, "a second document begins",
                         "one file is one scene");
        }
        break;
      }
    }
  } catch (const Refused& r) {
    return refused(r.line, r.column, r.what, r.remedy);
  } catch (const YAML::Exception& e) {
    return refused(std::max(0, e.mark.line) + 1, std::max(0, e.mark.column) + 1,
                   "it is no YAML here: " + e.msg.substr(0, 120), "mend the YAML; check the indentation");
  }
  if (!builder.any || builder.root.kind == Kind::kNull) {
    return refused(1, 1, "there is nothing in it", "write a scene, such as 'bodies: ...'");
  }
  root = std::move(builder.root);
  merge_keys(root, *this);
  refuse_doubles(root, *this);
  return report.ok();
}

bool parse_number(std::string_view text, double& value) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text.starts_with('+')) text.remove_prefix(1);
  const bool minus = text.starts_with('-');
  const std::string_view size = text.substr(minus ? 1 : 0);
  if (size == ".inf" || size == "inf" || size == ".Inf") {
    value = minus ? -kInfinity : kInfinity;
    return true;
  }
  if (text == ".nan" || text == ".NaN") {
    value = std::numeric_limits<double>::quiet_NaN();
    return true;
  }
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || text.empty()) return false;
  if (problem == std::errc::result_out_of_range) {
    const bool tiny = text.find("e-") != text.npos || text.find("E-") != text.npos;
    value = tiny ? 0.0 : (minus ? -kInfinity : kInfinity);
    return true;
  }
  return problem == std::errc();
}

}  // namespace karakuri::io
