// How far colliders come in a step, and which pairs may meet.
#pragma once

#include "world/impl.h"

namespace karakuri::world_detail {

/// Of the fastest point of a shape, at most, at this velocity of its body [m/s].
double speed_of(const BodyShape& shape, const Vec3& linear, const Vec3& angular);

/// World::Impl::pairs anew, after boxes were moved.
void refresh_pairs(World::Impl& w);

}  // namespace karakuri::world_detail
