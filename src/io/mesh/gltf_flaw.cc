#include "io/mesh/gltf_flaw.h"

#include <cstdint>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "io/mesh/read.h"

namespace karakuri::io {

namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 64;
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
    if (depth > kDeepest) return true;
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

}  // namespace

std::string gltf_flaw(std::string_view content, bool binary) {
  const std::string_view text = json_of(content, binary);
  if (is_deep(text)) return fmt::format("its JSON is nested deeper than {}", kDeepest);
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return "it is no glTF: its JSON is damaged or cut off";
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
  return "";
}

}  // namespace karakuri::io
