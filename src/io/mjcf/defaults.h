// The classes of <default>, resolved.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "io/xml.h"

namespace karakuri::io {

class MjcfDefaults {
 public:
  /// One <default> at the top of the file; there may be several.
  void read(const XmlFile& xml, const XmlElement& top);

  /// A copy of `e` with what its class says and it does not. The class is its own, else `childclass`, else
  /// the main one. `tag` is the name under which defaults are kept.
  XmlElement resolved(const XmlFile& xml, const XmlElement& e, const std::string& tag,
                      const std::string& childclass) const;
  /// Actuators of all kinds share one record of defaults, which is made by going through what is said of them
  /// in order.
  const std::vector<XmlElement>& actuators(const XmlFile& xml, const XmlElement& e) const;
  bool contains(const std::string& name) const { return classes_.contains(name); }
  void report_unknown(const XmlFile& xml, const XmlElement& e, const std::string& name) const;

 private:
  struct Class {
    std::map<std::string, XmlElement> elements;  // by tag
    std::vector<XmlElement> actuators;
  };
  void read_class(const XmlFile& xml, const XmlElement& e, Class inherited);
  const Class& class_of(const XmlFile& xml, const XmlElement& e, const std::string& childclass) const;

  std::map<std::string, Class> classes_{{"main", {}}};
};

/// Adds the attributes of `from` that `to` lacks. Of the ways to write an orientation only one counts.
void inherit(const XmlElement& from, XmlElement& to);

}  // namespace karakuri::io
