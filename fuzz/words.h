// Changes that leave a text well formed: words and numbers in place of others. Most changes of bytes are
// found by the parser of the format, and nothing behind it is reached.
#pragma once

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "karakuri/core/random.h"

// libFuzzer's own
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace karakuri::fuzz {

struct Word {
  std::size_t at, length;
};

inline std::vector<Word> words_of(std::string_view text) {
  const auto of_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' || c == '+';
  };
  std::vector<Word> words;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t begin = at;
    while (at < text.size() && of_word(text[at])) ++at;
    if (at > begin) words.push_back({begin, at - begin});
  }
  return words;
}

/// One word becomes another of the text, or one that nobody means.
inline void change_word(std::string& text, Random& random) {
  static constexpr const char* kOdd[] = {"0",           "-0",  "1",     "-1",    "2",     "1e308", "1e-308",
                                         "99999999999", "inf", ".inf",  "nan",   ".nan",  "true",  "false",
                                         "null",        "0.5", "world", "-1e-9", "3",     "1000",  "",
                                         "a",           "b",   "1 2 3", "free",  "fixed", "~"};
  const std::vector<Word> words = words_of(text);
  if (words.empty()) return;
  const auto any = [&] {
    return words[static_cast<std::size_t>(random.below(static_cast<int>(words.size())))];
  };
  const Word gone = any(), other = any();
  const std::string put = random.below(2)
                              ? text.substr(other.at, other.length)
                              : std::string(kOdd[random.below(static_cast<int>(std::size(kOdd)))]);
  text.replace(gone.at, gone.length, put);
}

/// A part of the text from one of its brackets to the next, doubled or moved.
inline void move_part(std::string& text, Random& random) {
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at < text.size(); ++at)
    if (std::strchr("<>{}[],\n", text[at])) ends.push_back(at);
  if (ends.size() < 3) return;
  const auto any = [&](std::size_t most) {
    return static_cast<std::size_t>(random.below(static_cast<int>(most)));
  };
  const std::size_t first = any(ends.size() - 1), last = std::min(ends.size() - 1, first + 1 + any(12));
  const std::string part = text.substr(ends[first], ends[last] - ends[first]);
  if (random.below(2)) text.erase(ends[first], part.size());
  text.insert(std::min(text.size(), ends[any(ends.size())]), part);
}

/// For LLVMFuzzerCustomMutator().
inline std::size_t mutate_text(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  Random random(seed);
  const bool is_text = std::memchr(data, 0, size) == nullptr;
  if (!is_text || random.below(3) == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string text(reinterpret_cast<const char*>(data), size);
  for (int i = random.below(3); i >= 0; --i)
    random.below(4) ? change_word(text, random) : move_part(text, random);
  if (text.size() > max_size) text.resize(max_size);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

}  // namespace karakuri::fuzz
