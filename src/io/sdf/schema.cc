// libsdformat keeps with every element a copy of all that its schema says could stand in it: 1.4 MB with each
// link and its joint, of which sensors are the most. The schema without what a file does not use reads the
// same and takes a tenth of the time and memory.
#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "io/sdf/reader.h"

namespace karakuri::io {

namespace {

/// Large parts of the schema, which libsdformat asks after before it reads them.
constexpr std::array<std::string_view, 23> kLarge = {
    "sensor",       "particle_emitter", "light",         "projector",  "audio_sink",
    "audio_source", "battery",          "plugin",        "collision",  "visual",
    "material",     "gripper",          "actor",         "population", "road",
    "state",        "surface",          "heightmap",     "polyline",   "image",
    "axis2",        "physics",          "velocity_decay"};
/// Parts of sensors, which it reads where the sensor's type asks for them, written or not.
constexpr std::array<std::string_view, 8> kOfSensors = {
    "force_torque", "gps", "navsat", "imu", "altimeter", "magnetometer", "air_pressure", "air_speed"};

using Words = std::set<std::string, std::less<>>;

template <std::size_t n>
bool is_one_of(const std::array<std::string_view, n>& all, const std::string& word) {
  return std::ranges::find(all, word) != all.end();
}

/// Names of elements, and types.
void collect(const XmlElement& e, Words& words) {
  words.insert(e.name);
  if (e.has("type")) words.insert(e.get("type"));
  for (const XmlElement& child : e.children) collect(child, words);
}

bool is_wanted(const std::string& name, const Words& words) {
  if (is_one_of(kLarge, name)) return words.contains(name);
  if (!is_one_of(kOfSensors, name)) return true;
  if (name == "gps" || name == "navsat") return words.contains("gps") || words.contains("navsat");
  return words.contains(name);
}

void copy_values(const sdf::Element& from, sdf::Element& to) {
  to.SetName(from.GetName());
  to.SetRequired(from.GetRequired());
  to.SetCopyChildren(from.GetCopyChildren());
  to.SetReferenceSDF(from.ReferenceSDF());
  for (std::size_t i = 0; i < from.GetAttributeCount(); ++i) {
    const sdf::ParamPtr p = from.GetAttribute(static_cast<unsigned>(i));
    to.AddAttribute(p->GetKey(), p->GetTypeName(), p->GetDefaultAsString(), p->GetRequired());
  }
  if (const sdf::ParamPtr v = from.GetValue()) {
    to.AddValue(v->GetTypeName(), v->GetDefaultAsString(), v->GetRequired(),
                v->GetMinValueAsString().value_or(""), v->GetMaxValueAsString().value_or(""));
  }
}

sdf::ElementPtr pruned(const sdf::Element& from, const Words& words) {
  const auto out = std::make_shared<sdf::Element>();
  copy_values(from, *out);
  for (std::size_t i = 0; i < from.GetElementDescriptionCount(); ++i) {
    const sdf::ElementPtr part = from.GetElementDescription(static_cast<unsigned>(i));
    if (is_wanted(part->GetName(), words)) out->AddElementDescription(pruned(*part, words));
  }
  return out;
}

/// Of an element with all that could stand in it, by name; the largest where a name stands for several.
int measure(const sdf::Element& e, std::map<std::string, int>& sizes) {
  int sum = 1;
  for (std::size_t i = 0; i < e.GetElementDescriptionCount(); ++i)
    sum += measure(*e.GetElementDescription(static_cast<unsigned>(i)), sizes);
  int& known = sizes[e.GetName()];
  return known = std::max(known, sum);
}

std::int64_t weigh(const XmlElement& e, const std::map<std::string, int>& sizes) {
  const auto known = sizes.find(e.name);
  std::int64_t sum = known == sizes.end() ? 1 : known->second;
  for (const XmlElement& child : e.children) sum += weigh(child, sizes);
  return sum;
}

}  // namespace

SdfSchema schema_for(const XmlElement& tree) {
  static const sdf::ElementPtr whole = [] {  // libsdformat reads it for 0.2 s; that is done once
    const auto document = std::make_shared<sdf::SDF>();
    sdf::init(document);
    return document->Root();
  }();
  Words words;
  collect(tree, words);
  SdfSchema out{pruned(*whole, words)};
  std::map<std::string, int> sizes;
  measure(*out.root, sizes);
  out.weight = weigh(tree, sizes);
  return out;
}

}  // namespace karakuri::io
