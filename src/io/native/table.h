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

  // with one more thing said of it
  constexpr Key& in(std::string_view u) { return unit = u, *this; }
  constexpr Key& from(double x) { return least = x, *this; }
  constexpr Key& above(double x) { return least = x, open = true, *this; }
  constexpr Key& to(double x) { return most = x, *this; }
  constexpr Key& many(int n) { return size = n, *this; }
  constexpr Key& needed() { return required = true, *this; }
  constexpr Key& or_infinite() { return infinite = true, *this; }
  constexpr Key& a(std::string_view section) { return of = section, *this; }
  constexpr Key& one_of(std::string_view w) { return words = w, *this; }
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
