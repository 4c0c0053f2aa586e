// XML as a tree of values that know their file and line, with the files that they include put in their place.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "io/report.h"
#include "karakuri/spatial/transform.h"

namespace karakuri::io {

struct XmlAttribute {
  std::string name, value;
  int file = 0, line = 0;
};

struct XmlElement {
  std::string name, text;
  std::vector<XmlAttribute> attributes;
  std::vector<XmlElement> children;
  int file = 0, line = 0;

  const XmlAttribute* find(std::string_view attribute) const;
  bool has(std::string_view attribute) const { return find(attribute) != nullptr; }
  /// Empty where there is no such attribute.
  const std::string& get(std::string_view attribute) const;
  /// The first child of this name, or nullptr.
  const XmlElement* child(std::string_view child_name) const;
  void set(std::string_view attribute, std::string value);
};

/// An XML text and what was found in it.
class XmlFile {
 public:
  /// `largest`: bytes of a text that is read at all.
  explicit XmlFile(Report& report, std::size_t largest = 32u << 20) : report(report), largest_(largest) {}
  XmlFile(const XmlFile&) = delete;
  XmlFile& operator=(const XmlFile&) = delete;

  /// False, with the error reported, where it is no XML, or larger or deeper than any robot.
  bool parse(std::string_view text, const std::string& name, XmlElement& root);

  std::string where(const XmlElement& e) const { return where(e.file, e.line); }
  std::string where(const XmlAttribute& a) const { return where(a.file, a.line); }
  std::string where(int file, int line) const;
  const std::string& file_name(int file) const { return files_[static_cast<std::size_t>(file)]; }

  // ---- values of attributes; what is wrong with them is reported, and the fallback returned
  double number(const XmlElement& e, std::string_view attribute, double fallback) const;
  int integer(const XmlElement& e, std::string_view attribute, int fallback) const;
  bool flag(const XmlElement& e, std::string_view attribute, bool fallback) const;
  Vec3 vec3(const XmlElement& e, std::string_view attribute, const Vec3& fallback) const;
  /// Between `least` and `most` numbers; none where the attribute is absent or wrong.
  std::vector<double> numbers(const XmlElement& e, std::string_view attribute, std::size_t least,
                              std::size_t most) const;
  /// Index of one of these words; else reported, listing them.
  std::size_t choice(const XmlElement& e, std::string_view attribute, const std::vector<std::string>& words,
                     std::size_t fallback) const;
  /// Like number(), where infinity and "none given" are fine.
  double limit(const XmlElement& e, std::string_view attribute, double fallback) const;
  /// False, with the error reported, where the attribute is missing.
  bool require(const XmlElement& e, std::string_view attribute) const;

  void error(const XmlElement& e, std::string what, std::string remedy = "") const {
    report.error(where(e), std::move(what), std::move(remedy));
  }

  Report& report;

 private:
  std::size_t largest_;
  std::vector<std::string> files_;
};

/// Numbers separated by white space; false where something else is found, also when it is not finite.
bool parse_numbers(std::string_view text, std::vector<double>& out);

}  // namespace karakuri::io
