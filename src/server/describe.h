// What a client must know of a scene before the first frame.
#pragma once

#include <nlohmann/json.hpp>

#include "karakuri/server/server.h"
#include "karakuri/session/session.h"

namespace karakuri::server_detail {

using Json = nlohmann::ordered_json;

struct Description {
  std::string json;
  Bytes geometry;             // vertices (float32) and indices (uint32) of all meshes
  std::vector<LinkId> links;  // whose poses frames hold, in this order; the world is not among them
};

/// First word of binary messages.
enum class BinaryKind : std::uint32_t { kGeometry = 1, kFrame = 2, kFile = 3 };

/// Of a running session, beside its scene.
struct Present {
  Json ui, code;
  std::vector<double> controls;
  std::vector<std::size_t> readings;  // how many numbers a sensor gives
};
Present present_of(const Session& session);

Description describe(const Session& session);
/// The same of its parts, which the session need not be in at the time.
Description describe(const World& world, const LoadedScene& scene, const Present& present);
/// Settings, as keys of session.set() know them.
Json settings_json(const Session& session);
/// The message `ui`: sliders, buttons, texts and plots.
Json ui_json(const Session& session);
/// What inspectors may change: masses and frictions by link, limits by joint.
Json properties_json(const World& world);
/// As JSON text; names come from files and need not be UTF-8.
std::string dump(const Json& json);

}  // namespace karakuri::server_detail
