#include "io/schema.h"

#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

namespace karakuri::io {

namespace {

enum class Use { kRead, kSeen, kNotDone, kSoft };

class Row {
 public:
  Row() = default;
  explicit Row(const SchemaRow& row) { add(row.attributes, attributes_), add(row.children, children_); }

  const Use* attribute(const std::string& name) const { return find(attributes_, name); }
  const Use* child(const std::string& name) const { return find(children_, name); }
  std::vector<std::string> attribute_names() const { return names(attributes_); }
  std::vector<std::string> child_names() const { return names(children_); }

 private:
  using Table = std::map<std::string, Use, std::less<>>;

  static void add(std::string_view words, Table& table) {
    while (!words.empty()) {
      std::string_view word = words.substr(0, words.find(' '));
      words.remove_prefix(std::min(words.size(), word.size() + 1));
      Use use = Use::kRead;
      if (word.starts_with('!')) use = Use::kNotDone, word.remove_prefix(1);
      if (word.starts_with('%')) use = Use::kSoft, word.remove_prefix(1);
      if (word.starts_with('~')) use = Use::kSeen, word.remove_prefix(1);
      if (!word.empty()) table.emplace(word, use);
    }
  }
  static const Use* find(const Table& table, const std::string& name) {
    auto found = table.find(name);
    if (found == table.end()) found = table.find("*");
    return found == table.end() ? nullptr : &found->second;
  }
  static std::vector<std::string> names(const Table& table) {
    std::vector<std::string> all;
    for (const auto& [name, use] : table) all.push_back(name);
    return all;
  }

  Table attributes_, children_;
};

class Checker {
 public:
  Checker(XmlFile& xml, std::span<const SchemaRow> table, Unknown unknown) : xml_(xml), unknown_(unknown) {
    for (const SchemaRow& row : table) rows_.emplace(row.element, Row(row));
  }

  void check(const XmlElement& e, const std::string& parent) {
    if (xml_.report.full()) return;
    const Row* row = find(e.name, parent);
    if (!row) return;  // allowed by a "*", with anything in it
    for (const XmlAttribute& a : e.attributes) {
      tell(row->attribute(a.name), fmt::format("{}.{}", e.name, a.name), xml_.where(a),
           fmt::format("attribute {} of <{}>", in_quotes(a.name), e.name), row->attribute_names());
    }
    for (const XmlElement& c : e.children) {
      if (xml_.report.full()) return;
      const Use* use = row->child(c.name);
      tell(use, fmt::format("{}/{}", e.name, c.name), xml_.where(c),
           fmt::format("element <{}> in <{}>", c.name.substr(0, 60), e.name), row->child_names());
      if (use && *use == Use::kRead) check(c, e.name);
    }
  }

  void tell_seen() {
    for (const Seen& s : seen_) {
      const std::vector<std::string> names(s.attributes.begin(), s.attributes.end());
      const std::string what = names.empty() ? fmt::format("<{}>", s.element)
                                             : fmt::format("of <{}>, {}", s.element, listed(names));
      xml_.report.remark("seen " + s.element, s.where, what + ": no effect on the motion, passed over");
    }
  }

 private:
  const Row* find(const std::string& name, const std::string& parent) const {
    const auto own = rows_.find(parent + "/" + name);
    if (own != rows_.end()) return &own->second;
    const auto any = rows_.find(name);
    return any == rows_.end() ? nullptr : &any->second;
  }

  void tell(const Use* use, const std::string& feature, std::string where, const std::string& what,
            const std::vector<std::string>& valid) {
    Report& report = xml_.report;
    if (!use) {
      const std::string remedy = "valid are " + listed(valid);
      if (unknown_ == Unknown::kError) return report.error(std::move(where), what + " is unknown", remedy);
      report.unsupported(feature, std::move(where), what + " is unknown and passed over", remedy);
    } else if (*use == Use::kNotDone) {
      report.unsupported(feature, std::move(where), what + " is not supported and has no effect");
    } else if (*use == Use::kSoft) {
      report.unsupported(feature, std::move(where), what + " asks for a soft constraint: ours are rigid");
    } else if (*use == Use::kSeen) {
      seen(feature, std::move(where));
    }
  }

  /// Gathered by element, since a file has dozens of these.
  void seen(const std::string& feature, std::string where) {
    const auto split = feature.find_first_of("./");
    const bool attribute = feature[split] == '.';
    const std::string element = attribute ? feature.substr(0, split) : feature.substr(split + 1);
    for (Seen& known : seen_) {
      if (known.element == element) {
        if (attribute) known.attributes.insert(feature.substr(split + 1));
        return;
      }
    }
    seen_.push_back({element, std::move(where), {}});
    if (attribute) seen_.back().attributes.insert(feature.substr(split + 1));
  }

  struct Seen {
    std::string element, where;
    std::set<std::string> attributes;
  };
  std::vector<Seen> seen_;

  XmlFile& xml_;
  Unknown unknown_;
  std::unordered_map<std::string, Row> rows_;
};

}  // namespace

void check_schema(XmlFile& xml, const XmlElement& root, std::span<const SchemaRow> table, Unknown unknown) {
  Checker checker(xml, table, unknown);
  checker.check(root, "");
  checker.tell_seen();
}

}  // namespace karakuri::io
