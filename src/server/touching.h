// What frames tell of bodies that act on each other.
#pragma once

#include <span>

#include "karakuri/world/world.h"

namespace karakuri::server_detail {

/// How the two surfaces of a contact act on each other.
Surface surface_of(const World& world, const Contact& contact);

/// For each of `links` a number; alike where they hang or press on each other, directly or through others but
/// not through the world.
std::vector<std::int32_t> islands_of(const World& world, std::span<const LinkId> links);

}  // namespace karakuri::server_detail
