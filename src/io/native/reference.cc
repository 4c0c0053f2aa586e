// The table of keys and the vocabulary of names as a page for people.
#include <fmt/format.h>

#include "io/native/names.h"
#include "io/native/table.h"
#include "karakuri/io/load.h"

namespace karakuri {

namespace io {

namespace {

std::string linked(std::string_view section) { return fmt::format("[{0}](#{0})", section); }

std::string in_words(std::string_view words) {
  std::string out;
  for (const std::string& word : words_of(words)) out += fmt::format("{}`{}`", out.empty() ? "" : ", ", word);
  return out;
}

std::string type_of(const Key& key) {
  switch (key.type) {
    case KeyType::kNumber: return "number";
    case KeyType::kInteger: return "whole number";
    case KeyType::kFlag: return "`true` or `false`";
    case KeyType::kText: return "text";
    case KeyType::kWord: return in_words(key.words);
    case KeyType::kNumbers: return key.size ? fmt::format("{} numbers", key.size) : "numbers";
    case KeyType::kNumberOrNumbers: return "number or numbers";
    case KeyType::kTexts: return key.size ? fmt::format("{} names", key.size) : "names";
    case KeyType::kTextOrTexts: return "name or names";
    case KeyType::kPoints: return "list of 3 numbers each";
    case KeyType::kColor: return "colour";
    case KeyType::kSection: return linked(key.of);
    case KeyType::kWordOrSection: return fmt::format("{} or {}", linked(key.of), in_words(key.words));
    case KeyType::kFlagOrSection: return fmt::format("{} or `true`", linked(key.of));
    case KeyType::kList: return fmt::format("list of {}", linked(key.of));
    case KeyType::kListOrSection: return fmt::format("{}, or list of them", linked(key.of));
    case KeyType::kNamed: return "name: number or numbers, ...";
    case KeyType::kValues: return "name: value, ...";
  }
  return "";
}

std::string range_of(const Key& key) {
  std::string out;
  if (key.least > -std::numeric_limits<double>::infinity()) {
    out += fmt::format("{} {:.10g}", key.open ? "above" : "from", key.least);
  }
  if (key.most < std::numeric_limits<double>::infinity()) {
    out += fmt::format("{}to {:.10g}", out.empty() ? "" : " ", key.most);
  }
  if (key.infinite) out += out.empty() ? "also .inf" : ", also .inf";
  return out;
}

std::string section_text(const Section& s) {
  std::string out = fmt::format("### {}\n\n{}\n\n", s.name, s.doc);
  std::string also;
  for (const std::string& part : words_of(s.also))
    also += fmt::format("{}{}", also.empty() ? "" : ", ", linked(part));
  if (!also.empty()) out += fmt::format("Also the keys of {}.\n\n", also);
  if (s.keys.empty()) return out;
  out += "| key | value | unit | default | range | |\n|---|---|---|---|---|---|\n";
  for (const Key& key : s.keys) {
    const std::string fallback = key.required ? "must be given" : std::string(key.fallback);
    out += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", key.name, type_of(key), key.unit, fallback,
                       range_of(key), key.doc);
  }
  return out + "\n";
}

std::string vocabulary(std::span<const Word> words) {
  std::string out = "| form | PROPERTY | unit | |\n|---|---|---|---|\n";
  for (const Word& w : words) {
    out += fmt::format("| `{}` | {} | {} | {} |\n", w.form, in_words(w.properties), w.unit, w.doc);
  }
  return out + "\n";
}

}  // namespace

}  // namespace io

std::string scene_reference_markdown() {
  std::string out;
  for (const io::Section& section : io::scene_table()) out += io::section_text(section);
  out += "### Signals\n\nWhat can be read, plotted and shown.\n\n" + io::vocabulary(io::signal_words());
  out += "### Keys\n\nWhat events, buttons and sliders can set.\n\n" + io::vocabulary(io::key_words());
  return out;
}

}  // namespace karakuri
