// The table of keys as a JSON schema (json-schema.org, draft 2020-12): editors complete and check scenes with
// it.
#include <nlohmann/json.hpp>

#include "io/native/table.h"
#include "karakuri/io/load.h"

namespace karakuri {

namespace io {

namespace {

using Json = nlohmann::ordered_json;

Json reference_to(std::string_view section) { return {{"$ref", "#/$defs/" + std::string(section)}}; }

/// YAML's .inf is a number to readers of YAML, but JSON has no such number: bounds are only given where
/// finite.
Json number(const Key& key, const char* type = "number") {
  Json out{{"type", type}};
  if (key.least > -std::numeric_limits<double>::infinity())
    out[key.open ? "exclusiveMinimum" : "minimum"] = key.least;
  if (key.most < std::numeric_limits<double>::infinity()) out["maximum"] = key.most;
  return out;
}

Json list_of(Json item, int size = 0) {
  Json out{{"type", "array"}, {"items", std::move(item)}};
  if (size > 0) out["minItems"] = size, out["maxItems"] = size;
  return out;
}

Json either(Json a, Json b) { return {{"anyOf", Json::array({std::move(a), std::move(b)})}}; }

Json text() {
  return {{"type", Json::array({"string", "number", "boolean"})}};
}  // a name may look like a number

Json color() {
  const Json part = number(Key{}.from(0).to(1));
  Json list = list_of(part);
  list["minItems"] = 3, list["maxItems"] = 4;
  return either(std::move(list), {{"type", "string"}, {"pattern", "^#([0-9a-fA-F]{2}){3,4}$"}});
}

Json map_of(Json value) { return {{"type", "object"}, {"additionalProperties", std::move(value)}}; }

Json schema_type(const Key& key) {
  const Json words{{"enum", words_of(key.words)}}, numbers = list_of(number(key), key.size);
  switch (key.type) {
    case KeyType::kNumber: return number(key);
    case KeyType::kInteger: return number(key, "integer");
    case KeyType::kFlag: return {{"type", "boolean"}};
    case KeyType::kText: return text();
    case KeyType::kWord: return words;
    case KeyType::kNumbers: return numbers;
    case KeyType::kNumberOrNumbers: return either(number(key), numbers);
    case KeyType::kTexts: return list_of(text(), key.size);
    case KeyType::kTextOrTexts: return either(text(), list_of(text(), key.size));
    case KeyType::kPoints: return list_of(list_of(number(key), 3));
    case KeyType::kColor: return color();
    case KeyType::kSection: return reference_to(key.of);
    case KeyType::kWordOrSection: return either(words, reference_to(key.of));
    case KeyType::kFlagOrSection: return either({{"type", "boolean"}}, reference_to(key.of));
    case KeyType::kList: return list_of(reference_to(key.of));
    case KeyType::kListOrSection: return either(list_of(reference_to(key.of)), reference_to(key.of));
    case KeyType::kNamed: return map_of(either(number(key), list_of(number(key))));
    case KeyType::kValues: return map_of(either(text(), list_of(number(key))));
  }
  return {};
}

std::string description(const Key& key) {
  std::string out(key.doc);
  if (!key.unit.empty()) out += " [" + std::string(key.unit) + "]";
  if (!key.fallback.empty()) out += " Default: " + std::string(key.fallback) + ".";
  return out;
}

Json object(const Section& section) {
  Json properties = Json::object(), required = Json::array();
  for (const Key* key : keys_of(section)) {
    // a key without a value counts as left out
    Json type = either(schema_type(*key), {{"type", "null"}});
    type["description"] = description(*key);
    properties[std::string(key->name)] = std::move(type);
    if (key->required) required.push_back(std::string(key->name));
  }
  Json out{{"type", "object"}, {"description", section.doc}, {"properties", std::move(properties)}};
  if (!required.empty()) out["required"] = std::move(required);
  out["additionalProperties"] = false;
  return out;
}

}  // namespace

}  // namespace io

std::string scene_schema_json() {
  io::Json out{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "karakuri scene"}};
  out.update(io::object(io::section("scene")));
  io::Json& parts = out["$defs"] = io::Json::object();
  for (const io::Section& section : io::scene_table()) {
    if (section.name != "scene") parts[std::string(section.name)] = io::object(section);
  }
  return out.dump(1) + "\n";
}

}  // namespace karakuri
