// Everything that may stand in a native scene, as one table. The reader checks files with it; the JSON schema
// and the reference in docs/scenes.md are written from it.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace karakuri::io {

enum class KeyType {
  kNumber,
  kInteger,
  kFlag,             // true or false
  kText,             // any text; also names
  kWord,             // one of `words`
  kNumbers,          // `size` numbers, or any number of them where size is 0
  kNumberOrNumbers,  // one number, or a list of them
  kTexts,            // a list of texts; `size` of them where it is not 0
  kTextOrTexts,      //
  kPoints,           // a list of three numbers each
  kColor,            // [r, g, b], [r, g, b, opacity] or "#rrggbb"
  kSection,          // a map, see the section `of`
  kWordOrSection,    // a map, or only one of `words`
  kFlagOrSection,    // a map, or true for one with nothing in it
  kList,             // a list of maps
  kListOrSection,    // the same, or the only one without a list
  kNamed,            // a map from names to numbers or lists of them
  kValues,           // a map from names to numbers, lists of numbers or words
};

struct Key {
  std::string_view name;
  KeyType type = KeyType::kText;
  std::string_view fallback;  // what it is where it is left out, as a user would write it, or in words
  std::string_view doc;
  std::string_view of;     // name of the section of a map
  std::string_view words;  // separated by spaces
  std::string_view unit;
  int size = 0;
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool open = false;      // `least` itself is excluded
  bool required = false;  //
  bool infinite = false;  // .inf is fine

  constexpr Key in(std::string_view u) const {
    return with([&](Key& k) { k.unit = u; });
  }
  constexpr Key above(double x) const {
    return with([&](Key& k) { k.least = x, k.open = true; });
  }
  constexpr Key from(double x) const {
    return with([&](Key& k) { k.least = x; });
  }
  constexpr Key to(double x) const {
    return with([&](Key& k) { k.most = x; });
  }
  constexpr Key many(int n) const {
    return with([&](Key& k) { k.size = n; });
  }
  constexpr Key needed() const {
    return with([&](Key& k) { k.required = true; });
  }
  constexpr Key or_infinite() const {
    return with([&](Key& k) { k.infinite = true; });
  }
  constexpr Key a(std::string_view section) const {
    return with([&](Key& k) { k.of = section; });
  }
  constexpr Key one_of(std::string_view w) const {
    return with([&](Key& k) { k.words = w; });
  }

 private:
  template <class Change>
  constexpr Key with(const Change& change) const {
    Key k = *this;
    change(k);
    return k;
  }
};

struct Section {
  std::string_view name;
  std::string_view doc;
  std::span<const Key> keys;
  std::string_view also;  // sections whose keys may stand here too, separated by spaces
};

std::span<const Section> scene_table();
/// @pre there is one of this name
const Section& section(std::string_view name);
/// With those of `also`.
std::vector<const Key*> keys_of(const Section& section);
std::vector<std::string> words_of(std::string_view words);

}  // namespace karakuri::io
