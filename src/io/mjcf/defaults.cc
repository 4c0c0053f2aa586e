#include "io/mjcf/defaults.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace karakuri::io {

namespace {

constexpr std::array kOrientations = {"quat", "axisangle", "xyaxes", "zaxis", "euler"};
constexpr std::array kActuators = {"general", "motor",    "position", "velocity", "intvelocity",
                                   "damper",  "cylinder", "muscle",   "adhesion"};

bool is_orientation(const std::string& name) {
  return std::find(kOrientations.begin(), kOrientations.end(), name) != kOrientations.end();
}

}  // namespace

void inherit(const XmlElement& from, XmlElement& to) {
  const bool oriented = std::any_of(to.attributes.begin(), to.attributes.end(),
                                    [](const XmlAttribute& a) { return is_orientation(a.name); });
  for (const XmlAttribute& a : from.attributes) {
    if (a.name == "class" || to.has(a.name) || (oriented && is_orientation(a.name))) continue;
    to.attributes.push_back(a);
  }
}

void MjcfDefaults::read(const XmlFile& xml, const XmlElement& top) {
  const std::string name = top.has("class") ? top.get("class") : "main";
  if (name != "main" && !classes_["main"].elements.empty()) {
    xml.error(top, "the outermost <default> is the class 'main'", "put this one into it");
    return;
  }
  read_class(xml, top, classes_["main"]);
  if (name != "main") classes_["main"] = classes_[name];
}

void MjcfDefaults::read_class(const XmlFile& xml, const XmlElement& e, Class inherited) {
  for (const XmlElement& c : e.children) {
    if (c.name == "default") continue;
    if (std::find(kActuators.begin(), kActuators.end(), c.name) != kActuators.end()) {
      inherited.actuators.push_back(c);
      continue;
    }
    XmlElement own = c;
    const auto known = inherited.elements.find(c.name);
    if (known != inherited.elements.end()) inherit(known->second, own);
    inherited.elements[c.name] = std::move(own);
  }
  for (const XmlElement& c : e.children) {
    if (c.name != "default") continue;
    if (!c.has("class")) {
      xml.error(c, "a <default> within another has no class", "add class=\"...\"");
      continue;
    }
    if (classes_.contains(c.get("class"))) {
      xml.error(c, fmt::format("a second default class is called {}", in_quotes(c.get("class"))),
                "give it another name");
      continue;
    }
    read_class(xml, c, inherited);
  }
  classes_[e.has("class") ? e.get("class") : "main"] = std::move(inherited);
}

void MjcfDefaults::report_unknown(const XmlFile& xml, const XmlElement& e, const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& [known, record] : classes_) names.push_back(known);
  xml.error(e, fmt::format("there is no default class {}", in_quotes(name)),
            "the classes are " + listed(names));
}

const MjcfDefaults::Class& MjcfDefaults::class_of(const XmlFile& xml, const XmlElement& e,
                                                  const std::string& childclass) const {
  const std::string& name = e.has("class") ? e.get("class") : childclass;
  const auto found = classes_.find(name.empty() ? "main" : name);
  if (found != classes_.end()) return found->second;
  report_unknown(xml, e, name);
  return classes_.at("main");
}

XmlElement MjcfDefaults::resolved(const XmlFile& xml, const XmlElement& e, const std::string& tag,
                                  const std::string& childclass) const {
  XmlElement copy{.name = e.name, .text = e.text, .attributes = e.attributes};
  copy.file = e.file, copy.line = e.line;
  const Class& record = class_of(xml, e, childclass);
  const auto known = record.elements.find(tag);
  if (known != record.elements.end()) inherit(known->second, copy);
  return copy;
}

const std::vector<XmlElement>& MjcfDefaults::actuators(const XmlFile& xml, const XmlElement& e) const {
  return class_of(xml, e, "").actuators;
}

}  // namespace karakuri::io
