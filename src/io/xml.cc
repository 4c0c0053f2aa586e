#include "io/xml.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <tinyxml2.h>

namespace karakuri::io {

namespace {

// No robot has more; what has, would take more than a second and a gigabyte to be refused for other reasons.
constexpr std::ptrdiff_t kMostElements = 200'000;  // ends of elements count as well
constexpr int kMostAttributes = 1000;              // tinyxml2 takes time with their square

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

/// One number at the start of `text`, which is cut by it. False where there is none.
bool take_number(std::string_view& text, double& value) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem == std::errc::result_out_of_range) {
    // files written by programs have the likes of 1e-320, which is nothing
    const std::string_view token(text.data(), static_cast<std::size_t>(end - text.data()));
    const bool tiny = token.find("e-") != token.npos || token.find("E-") != token.npos;
    value = tiny ? 0.0 : std::numeric_limits<double>::infinity();
  } else if (problem != std::errc()) {
    return false;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return text.empty() || is_space(text[0]);
}

void skip_space(std::string_view& text) {
  while (!text.empty() && is_space(text[0])) text.remove_prefix(1);
}

/// Stops after one more than `most`, which is wrong however many follow.
bool parse_any_numbers(std::string_view text, std::vector<double>& out,
                       std::size_t most = std::numeric_limits<std::size_t>::max()) {
  for (skip_space(text); !text.empty() && out.size() <= most; skip_space(text)) {
    double value = 0;
    if (!take_number(text, value)) return false;
    out.push_back(value);
  }
  return true;
}

/// Past what no attributes are in: comments and the like. Where there is none of these, `at` itself.
std::size_t skip_special(std::string_view text, std::size_t at) {
  static constexpr std::pair<std::string_view, std::string_view> kSpecial[] = {
      {"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}, {"<!", ">"}};
  for (const auto& [begin, end] : kSpecial) {
    if (!text.substr(at).starts_with(begin)) continue;
    const std::size_t found = text.find(end, at + begin.size());
    return found == text.npos ? text.size() : found + end.size();
  }
  return at;
}

/// Where a tag with too many attributes is, or npos.
std::size_t find_crowded_tag(std::string_view text) {
  for (std::size_t at = text.find('<'); at != text.npos; at = text.find('<', at)) {
    if (const std::size_t past = skip_special(text, at); past != at) {
      at = past;
      continue;
    }
    int attributes = 0;
    char quote = 0;
    for (++at; at < text.size() && (quote || text[at] != '>'); ++at) {
      const char c = text[at];
      if (quote) {
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '=' && ++attributes > kMostAttributes) {
        return at;
      }
    }
  }
  return text.npos;
}

/// Where a declaration that could change what the text says begins (<!ENTITY ...>, or a document type with
/// such in its brackets), or npos. The parser would leave them out, and with them what they stand for.
std::size_t find_declaration(std::string_view text) {
  for (std::size_t at = text.find('<'); at != text.npos; at = text.find('<', at)) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("<!") && !rest.starts_with("<!--") && !rest.starts_with("<![CDATA[")) {
      const std::size_t end = rest.find_first_of("[>");
      if (!rest.starts_with("<!DOCTYPE") || (end != rest.npos && rest[end] == '[')) return at;
    }
    const std::size_t past = skip_special(text, at);
    at = past == at ? at + 1 : past;
  }
  return text.npos;
}

int line_of(std::string_view text, std::size_t at) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

XmlElement converted(const tinyxml2::XMLElement& from, int file) {
  XmlElement to;
  to.name = from.Name();
  to.file = file;
  to.line = from.GetLineNum();
  if (const char* text = from.GetText()) to.text = text;
  for (const auto* a = from.FirstAttribute(); a; a = a->Next()) {
    to.attributes.push_back({a->Name(), a->Value(), file, a->GetLineNum()});
  }
  for (const auto* c = from.FirstChildElement(); c; c = c->NextSiblingElement()) {
    to.children.push_back(converted(*c, file));  // tinyxml2 refuses nesting deeper than a hundred
  }
  return to;
}

std::string explained(tinyxml2::XMLError error) {
  switch (error) {
    case tinyxml2::XML_ELEMENT_DEPTH_EXCEEDED: return "elements are nested too deeply (more than 100)";
    case tinyxml2::XML_ERROR_EMPTY_DOCUMENT: return "there is nothing in it";
    case tinyxml2::XML_ERROR_MISMATCHED_ELEMENT:
      return "an end tag does not match its start tag, or is missing";
    case tinyxml2::XML_ERROR_PARSING_ATTRIBUTE: return "an attribute is not name=\"value\"";
    case tinyxml2::XML_ERROR_PARSING_ELEMENT: return "an element is not well formed";
    case tinyxml2::XML_ERROR_PARSING_COMMENT: return "a comment does not end";
    default: return "it is not well formed XML";
  }
}

}  // namespace

const XmlAttribute* XmlElement::find(std::string_view attribute) const {
  for (const XmlAttribute& a : attributes) {
    if (a.name == attribute) return &a;
  }
  return nullptr;
}

const std::string& XmlElement::get(std::string_view attribute) const {
  static const std::string kEmpty;
  const XmlAttribute* found = find(attribute);
  return found ? found->value : kEmpty;
}

const XmlElement* XmlElement::child(std::string_view child_name) const {
  for (const XmlElement& c : children) {
    if (c.name == child_name) return &c;
  }
  return nullptr;
}

void XmlElement::set(std::string_view attribute, std::string value) {
  for (XmlAttribute& a : attributes) {
    if (a.name == attribute) {
      a.value = std::move(value);
      return;
    }
  }
  attributes.push_back({std::string(attribute), std::move(value), file, line});
}

bool XmlFile::parse(std::string_view text, const std::string& name, XmlElement& root) {
  const int file = static_cast<int>(files_.size());
  files_.push_back(name);
  if (text.size() > largest_) {
    report.error(where(file, 1),
                 fmt::format("it has {} MB; at most {} are read", text.size() >> 20, largest_ >> 20),
                 "keep meshes and terrain in files of their own");
    return false;
  }
  if (std::count(text.begin(), text.end(), '<') > kMostElements) {
    report.error(where(file, 1), fmt::format("it has more than {} elements", kMostElements / 2),
                 "split it into several files");
    return false;
  }
  if (const auto zero = text.find('\0'); zero != std::string_view::npos) {
    report.error(where(file, line_of(text, zero)), "it has a zero byte, which no text has",
                 "give a text file in UTF-8");
    return false;
  }
  if (const std::size_t at = find_crowded_tag(text); at != text.npos) {
    report.error(where(file, line_of(text, at)),
                 fmt::format("an element has more than {} attributes", kMostAttributes),
                 "no format has so many");
    return false;
  }
  if (const std::size_t at = find_declaration(text); at != text.npos) {
    report.error(where(file, line_of(text, at)),
                 "it declares entities, or other things of a document type, which are not read",
                 "write out what they stand for, and leave the declarations away");
    return false;
  }
  tinyxml2::XMLDocument document;
  document.Parse(text.data(), text.size());
  if (document.Error()) {
    report.error(where(file, std::max(1, document.ErrorLineNum())), explained(document.ErrorID()),
                 "mend the XML; it may be cut off");
    return false;
  }
  if (!document.RootElement()) {
    report.error(where(file, 1), "there is no element in it", "give a whole XML file");
    return false;
  }
  root = converted(*document.RootElement(), file);
  return true;
}

std::string XmlFile::where(int file, int line) const { return fmt::format("{}:{}", file_name(file), line); }

double XmlFile::number(const XmlElement& e, std::string_view attribute, double fallback) const {
  const std::vector<double> one = numbers(e, attribute, 1, 1);
  return one.empty() ? fallback : one[0];
}

int XmlFile::integer(const XmlElement& e, std::string_view attribute, int fallback) const {
  const XmlAttribute* a = e.find(attribute);
  if (!a) return fallback;
  const double value = number(e, attribute, fallback);
  if (value != std::floor(value) || std::abs(value) > 2147483647.0) {
    report.error(where(*a), fmt::format("{} is {}, not a whole number", attribute, in_quotes(a->value)));
    return fallback;
  }
  return static_cast<int>(value);
}

bool XmlFile::flag(const XmlElement& e, std::string_view attribute, bool fallback) const {
  const XmlAttribute* a = e.find(attribute);
  if (!a) return fallback;
  if (a->value == "true" || a->value == "1") return true;
  if (a->value != "false" && a->value != "0") {
    report.error(where(*a), fmt::format("{} is {}", attribute, in_quotes(a->value)),
                 "give 'true' or 'false'");
  }
  return false;
}

Vec3 XmlFile::vec3(const XmlElement& e, std::string_view attribute, const Vec3& fallback) const {
  const std::vector<double> three = numbers(e, attribute, 3, 3);
  return three.empty() ? fallback : Vec3(three[0], three[1], three[2]);
}

std::vector<double> XmlFile::numbers(const XmlElement& e, std::string_view attribute, std::size_t least,
                                     std::size_t most) const {
  const XmlAttribute* a = e.find(attribute);
  if (!a) return {};
  std::vector<double> values;
  if (!parse_any_numbers(a->value, values, most)) {
    report.error(
        where(*a),
        fmt::format("{} of <{}> is {}, which is not a number", attribute, e.name, in_quotes(a->value)),
        "give numbers separated by spaces");
    return {};
  }
  for (const double value : values) {
    if (std::isfinite(value)) continue;
    report.error(where(*a), fmt::format("{} of <{}> is not finite", attribute, e.name),
                 "give finite numbers");
    return {};
  }
  if (values.size() < least || values.size() > most) {
    const std::string wanted =
        least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
    report.error(where(*a), fmt::format("{} of <{}> has {} numbers, not {}", attribute, e.name,
                                        values.size() > most ? fmt::format("more than {}", most)
                                                             : fmt::format("{}", values.size()),
                                        wanted));
    return {};
  }
  return values;
}

std::size_t XmlFile::choice(const XmlElement& e, std::string_view attribute,
                            const std::vector<std::string>& words, std::size_t fallback) const {
  const XmlAttribute* a = e.find(attribute);
  if (!a) return fallback;
  const auto found = std::find(words.begin(), words.end(), a->value);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  report.error(where(*a), fmt::format("{} of <{}> is {}", attribute, e.name, in_quotes(a->value)),
               "valid are " + listed(words));
  return fallback;
}

double XmlFile::limit(const XmlElement& e, std::string_view attribute, double fallback) const {
  const XmlAttribute* a = e.find(attribute);
  if (!a) return fallback;
  std::vector<double> one;
  if (parse_any_numbers(a->value, one) && one.size() == 1 && std::isinf(one[0])) return one[0];
  return number(e, attribute, fallback);
}

bool XmlFile::require(const XmlElement& e, std::string_view attribute) const {
  if (e.has(attribute)) return true;
  error(e, fmt::format("<{}> has no {}", e.name, attribute), fmt::format("add {}=\"...\"", attribute));
  return false;
}

bool parse_numbers(std::string_view text, std::vector<double>& out) {
  return parse_any_numbers(text, out) &&
         std::all_of(out.begin(), out.end(), [](double v) { return std::isfinite(v); });
}

}  // namespace karakuri::io
