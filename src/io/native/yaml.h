// YAML as a tree of values that know their line and column, within limits that no scene reaches.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/report.h"

namespace karakuri::io {

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  std::string text;             // of a scalar
  std::vector<YamlNode> items;  // of a list, or the values of a map
  std::vector<YamlNode> keys;   // of a map, scalars, one for each item
  int line = 0, column = 0;     // from 1

  bool is_map() const { return kind == Kind::kMap; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  /// The value under this key, or nullptr; a null value counts as absent.
  const YamlNode* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
};

/// A file that is being read: its name for messages, and what was found.
struct YamlFile {
  std::string name;
  Report& report;

  std::string where(const YamlNode& node) const;
  void error(const YamlNode& node, std::string what, std::string remedy = "") const {
    report.error(where(node), std::move(what), std::move(remedy));
  }
  /// False, with the error reported, where it is no YAML of one document, or larger, deeper or more entangled
  /// than any scene. Anchors and merge keys are put in their places.
  bool parse(std::string_view text, YamlNode& root);
};

/// The whole of `text` as a number; also .inf, -.inf and .nan.
bool parse_number(std::string_view text, double& value);

}  // namespace karakuri::io
