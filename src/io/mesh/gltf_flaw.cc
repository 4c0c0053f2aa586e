#include "io/mesh/gltf_flaw.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "io/mesh/read.h"

namespace karakuri::io {

namespace {

using Json = nlohmann::json;

constexpr int kDeepestNode = 64;
constexpr std::uint64_t kMostBytes = 256u << 20;

/// The text of a .glb's first chunk: a header of three numbers, then length, kind and content.
std::string_view json_of(std::string_view content, bool binary) {
  if (!binary) return content;
  constexpr std::size_t kHeader = 20;
  if (content.size() < kHeader) return {};
  std::uint32_t length = 0;
  std::memcpy(&length, content.data() + 12, sizeof length);
  return length <= content.size() - kHeader ? content.substr(kHeader, length) : std::string_view();
}

bool is_deep(std::string_view json) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kDeepestNode) return true;
  }
  return false;
}

/// The list called `name`; empty where there is none.
const Json& list(const Json& json, const char* name) {
  static const Json kNone = Json::array();
  const auto found = json.find(name);
  return found != json.end() && found->is_array() ? *found : kNone;
}

bool at_most(const Json& json, const char* name, std::uint64_t most) {
  if (!json.is_object()) return true;
  const auto found = json.find(name);
  return found == json.end() || !found->is_number() ||
         (found->get<double>() >= 0 && found->get<double>() <= static_cast<double>(most));
}

/// Whether some node is a child twice: a ring, or a tree that doubles with every level.
bool has_shared_nodes(const Json& json) {
  std::vector<bool> has_parent(list(json, "nodes").size());
  for (const Json& node : list(json, "nodes")) {
    if (!node.is_object()) continue;
    for (const Json& child : list(node, "children")) {
      if (!child.is_number_unsigned() || child.get<std::uint64_t>() >= has_parent.size()) return true;
      const auto at = static_cast<std::size_t>(child.get<std::uint64_t>());
      if (has_parent[at]) return true;
      has_parent[at] = true;
    }
  }
  return false;
}

/// Of which one reader takes the first, another the last: what is checked would not be what is read.
bool has_double_keys(std::string_view text) {
  std::vector<std::set<std::string>> keys;
  bool found = false;
  const auto look = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end && !keys.empty()) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.empty())
      found = found || !keys.back().insert(value.get<std::string>()).second;
    return true;
  };
  (void)Json::parse(text, look, false);
  return found;
}

double number(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_number() ? found->get<double>() : 0;
}

/// Bytes of one component; 0: there is no such kind.
double component_size(const Json& json) {
  const double kind = number(json, "componentType");
  if (kind == 5120 || kind == 5121) return 1;
  if (kind == 5122 || kind == 5123) return 2;
  return kind == 5125 || kind == 5126 ? 4 : 0;
}

double components(const Json& accessor) {
  static const std::map<std::string, double> kKinds = {{"SCALAR", 1}, {"VEC2", 2}, {"VEC3", 3}, {"VEC4", 4},
                                                       {"MAT2", 4},   {"MAT3", 9}, {"MAT4", 16}};
  const auto type = accessor.find("type");
  if (type == accessor.end() || !type->is_string()) return 0;
  const auto found = kKinds.find(type->get<std::string>());
  return found == kKinds.end() ? 0 : found->second;
}

/// Whether `count` elements of `size` bytes, from the byteOffset of `user` on, lie in the bufferView that it
/// names.
bool is_within_view(const Json& json, const Json& user, double count, double size) {
  const Json& views = list(json, "bufferViews");
  const auto index = user.find("bufferView");
  if (index == user.end() || count == 0) return true;
  if (!index->is_number_unsigned() || index->get<std::uint64_t>() >= views.size()) return false;
  const Json& view = views[index->get<std::size_t>()];
  if (!view.is_object()) return false;
  const double stride = std::max(size, number(view, "byteStride"));
  const double first = number(user, "byteOffset");
  return first >= 0 && first + (count - 1) * stride + size <= number(view, "byteLength");
}

/// Assimp looks whether as many bytes are there as an accessor has elements of one component each.
bool reads_beyond(const Json& json, const Json& accessor) {
  if (!accessor.is_object()) return true;
  const double count = number(accessor, "count"), size = component_size(accessor) * components(accessor);
  if (size == 0 || !is_within_view(json, accessor, count, size)) return true;
  const auto sparse = accessor.find("sparse");
  if (sparse == accessor.end()) return false;
  if (!sparse->is_object()) return true;
  const auto indices = sparse->find("indices"), values = sparse->find("values");
  if (indices == sparse->end() || values == sparse->end() || !indices->is_object() || !values->is_object())
    return true;
  const double some = number(*sparse, "count"), each = component_size(*indices);
  return !(some <= count) || each == 0 || !is_within_view(json, *indices, some, each) ||
         !is_within_view(json, *values, some, size);
}

}  // namespace

std::string gltf_flaw(std::string_view content, bool binary) {
  const std::string_view text = json_of(content, binary);
  if (is_deep(text)) return fmt::format("its JSON is nested deeper than {}", kDeepestNode);
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return "it is no glTF: its JSON is damaged or cut off";
  if (has_double_keys(text)) return "a key stands twice in an object of its JSON";
  if (has_shared_nodes(json)) return "a node is the child of two nodes, or of none that is there";
  for (const Json& accessor : list(json, "accessors")) {
    if (!at_most(accessor, "count", 3 * kMostVertices)) return "an accessor claims too many elements";
  }
  for (const char* name : {"buffers", "bufferViews"}) {
    for (const Json& buffer : list(json, name)) {
      for (const char* size : {"byteLength", "byteOffset", "byteStride"}) {
        if (!at_most(buffer, size, kMostBytes)) return "a buffer claims too many bytes";
      }
    }
  }
  for (const Json& accessor : list(json, "accessors"))
    if (reads_beyond(json, accessor)) return "an accessor has no known type, or reads beyond its buffer view";
  return "";
}

}  // namespace karakuri::io
