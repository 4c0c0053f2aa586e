#include "io/native/check.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "karakuri/core/near_names.h"

namespace karakuri::io {

namespace {

std::string kind_of(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull: return "nothing";
    case YamlNode::Kind::kScalar: return in_quotes(node.text);
    case YamlNode::Kind::kList: return fmt::format("a list of {}", node.items.size());
    case YamlNode::Kind::kMap: return "a map";
  }
  return "";
}

class Checker {
 public:
  explicit Checker(const YamlFile& file) : file_(file) {}

  void check(const YamlNode& node, const Section& section) {
    if (file_.report.full()) return;
    const std::string thing = thing_of(node, section);
    if (!node.is_map()) {
      return file_.error(node, fmt::format("{} is {}", thing, kind_of(node)), "write a map, key: value");
    }
    const std::vector<const Key*> keys = keys_of(section);
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
      const auto found =
          std::find_if(keys.begin(), keys.end(), [&](const Key* k) { return k->name == node.keys[i].text; });
      if (found == keys.end()) {
        unknown(node.keys[i], keys, thing);
      } else if (node.items[i].kind != YamlNode::Kind::kNull) {
        check_value(node.items[i], **found, thing);
      }
    }
    for (const Key* key : keys) {
      if (!key->required || node.has(key->name)) continue;
      file_.error(node, fmt::format("{} has no '{}'", thing, key->name), describe(*key));
    }
  }

 private:
  static std::string thing_of(const YamlNode& node, const Section& section) {
    const YamlNode* name = node.is_map() ? node.find("name") : nullptr;
    if (!name || !name->is_scalar()) return std::string(section.name);
    return fmt::format("{} {}", section.name, in_quotes(name->text));
  }

  void unknown(const YamlNode& at, const std::vector<const Key*>& keys, const std::string& thing) {
    if (file_.report.full()) return;  // the search for near names takes its time
    std::vector<std::string> names;
    for (const Key* key : keys) names.emplace_back(key->name);
    file_.error(at, fmt::format("unknown key {} in {}", in_quotes(at.text), thing),
                suggestion(at.text, names, "keys here"));
  }

  static std::string describe(const Key& key) {
    std::string text(key.doc);
    if (!key.unit.empty()) text += fmt::format(" [{}]", key.unit);
    return text;
  }

  void wrong(const YamlNode& node, const Key& key, const std::string& thing, const std::string& expected) {
    file_.error(node, fmt::format("{} of {} is {}", key.name, thing, kind_of(node)),
                fmt::format("give {}: {}", expected, describe(key)));
  }

  void check_value(const YamlNode& node, const Key& key, const std::string& thing) {
    using enum KeyType;
    switch (key.type) {
      case kNumber:
      case kInteger: check_number(node, key, thing); break;
      case kFlag:
        if (!is_flag(node)) wrong(node, key, thing, "true or false");
        break;
      case kText:
        if (!node.is_scalar()) wrong(node, key, thing, "a text");
        break;
      case kWord: check_word(node, key, thing); break;
      case kNumbers: check_numbers(node, key, thing); break;
      case kNumberOrNumbers:
        node.is_list() ? check_numbers(node, key, thing) : check_number(node, key, thing);
        break;
      case kTextOrTexts:
        if (node.is_scalar()) break;
        [[fallthrough]];
      case kTexts: check_texts(node, key, thing); break;
      case kPoints:
        for_items(node, key, thing, [&](const YamlNode& i) { check_numbers(i, key, thing, 3); });
        break;
      case kColor: check_color(node, key, thing); break;
      default: check_map(node, key, thing); break;
    }
  }

  void check_map(const YamlNode& node, const Key& key, const std::string& thing) {
    using enum KeyType;
    switch (key.type) {
      case kWordOrSection:
        if (node.is_scalar()) return check_word(node, key, thing);
        break;
      case kFlagOrSection:
        if (node.is_scalar()) {
          if (!is_flag(node)) wrong(node, key, thing, "true, false or a map");
          return;
        }
        break;
      case kListOrSection:
        if (node.is_map()) break;
        [[fallthrough]];
      case kList: return for_items(node, key, thing, [&](const YamlNode& i) { check(i, section(key.of)); });
      case kNamed:
      case kValues: return check_values(node, key, thing);
      default: break;
    }
    check(node, section(key.of));
  }

  static bool is_flag(const YamlNode& node) {
    return node.is_scalar() && (node.text == "true" || node.text == "false");
  }

  void check_word(const YamlNode& node, const Key& key, const std::string& thing) {
    const std::vector<std::string> words = words_of(key.words);
    if (node.is_scalar() && std::find(words.begin(), words.end(), node.text) != words.end()) return;
    file_.error(node, fmt::format("{} of {} is {}", key.name, thing, kind_of(node)),
                suggestion(node.text, words, "valid"));
  }

  void check_number(const YamlNode& node, const Key& key, const std::string& thing) {
    double x = 0;
    const bool whole = key.type == KeyType::kInteger;
    if (!node.is_scalar() || !parse_number(node.text, x)) {
      return wrong(node, key, thing, whole ? "a whole number" : "a number");
    }
    if (std::isnan(x) || (std::isinf(x) && !key.infinite)) {
      return wrong(node, key, thing, "a finite number");
    }
    if (whole && x != std::floor(x)) return wrong(node, key, thing, "a whole number");
    using Whole = std::numeric_limits<int>;  // what whole numbers are read into
    const double least = whole ? std::max<double>(key.least, Whole::min()) : key.least;
    const double most = whole ? std::min<double>(key.most, Whole::max()) : key.most;
    const bool low = x < least || (key.open && x == least);
    if (low)
      return wrong(node, key, thing, fmt::format("a number {} {:.10g}", key.open ? "above" : "from", least));
    if (x > most) wrong(node, key, thing, fmt::format("a number up to {:.10g}", most));
  }

  void check_numbers(const YamlNode& node, const Key& key, const std::string& thing, int size = 0) {
    if (size == 0) size = key.size;
    const bool fits = node.is_list() && (size == 0 || static_cast<int>(node.items.size()) == size);
    if (!fits) {
      return wrong(node, key, thing, size ? fmt::format("{} numbers, [...]", size) : "numbers, [...]");
    }
    for (const YamlNode& item : node.items) {
      if (file_.report.full()) return;
      check_number(item, key, thing);
    }
  }

  void check_texts(const YamlNode& node, const Key& key, const std::string& thing) {
    const bool fits = node.is_list() && (key.size == 0 || static_cast<int>(node.items.size()) == key.size);
    const bool texts = std::all_of(node.items.begin(), node.items.end(),
                                   [](const YamlNode& item) { return item.is_scalar(); });
    if (fits && texts) return;
    wrong(node, key, thing, key.size ? fmt::format("a list of {} names", key.size) : "a list of names");
  }

  void check_color(const YamlNode& node, const Key& key, const std::string& thing) {
    float color[4];
    if (node.is_scalar() && parse_hex_color(node.text, color)) return;
    if (!node.is_list() || (node.items.size() != 3 && node.items.size() != 4)) {
      return wrong(node, key, thing, "[red, green, blue], 0 to 1, or \"#rrggbb\"");
    }
    Key part = key;
    part.type = KeyType::kNumber;
    check_numbers(node, part.from(0).to(1), thing);
  }

  void check_values(const YamlNode& node, const Key& key, const std::string& thing) {
    if (!node.is_map()) return wrong(node, key, thing, "a map, name: value");
    for (const YamlNode& item : node.items) {
      const bool numbers = key.type == KeyType::kNamed || item.is_list();
      if (item.is_list()) {
        check_numbers(item, key, thing);
      } else if (numbers) {
        check_number(item, key, thing);
      } else if (!item.is_scalar()) {
        wrong(item, key, thing, "a number, a list of numbers or a word");
      }
    }
  }

  template <class Check>
  void for_items(const YamlNode& node, const Key& key, const std::string& thing, const Check& check) {
    if (!node.is_list()) return wrong(node, key, thing, "a list, each item after a dash");
    for (const YamlNode& item : node.items) check(item);
  }

  const YamlFile& file_;
};

}  // namespace

bool check_section(const YamlFile& file, const YamlNode& node, const Section& section) {
  Checker(file).check(node, section);
  return file.report.ok();
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::vector<std::string> near = near_names(word, candidates, 1);
  return near.empty() ? "" : near[0];
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates,
                       std::string_view list) {
  const std::string near = nearest(word, candidates);
  return fmt::format("{}{}: {}", near.empty() ? "" : fmt::format("did you mean '{}'? ", near), list,
                     listed(candidates));
}

bool parse_hex_color(std::string_view text, float (&color)[4]) {
  if (text.size() != 7 && text.size() != 9) return false;
  if (text[0] != '#') return false;
  color[3] = 1;
  for (std::size_t i = 1, k = 0; i < text.size(); i += 2, ++k) {
    unsigned value = 0;
    const char* end = text.data() + i + 2;
    if (std::from_chars(text.data() + i, end, value, 16).ptr != end) return false;
    color[k] = static_cast<float>(value) / 255.0F;
  }
  return true;
}

}  // namespace karakuri::io
