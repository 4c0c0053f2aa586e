#pragma once

#include "karakuri/world/scales.h"
#include "world/impl.h"

namespace karakuri::world_detail {

/// Length and mass, of the bodies as they are.
Scales measure_bodies(const World::Impl& w);
/// (3). @param gravity  [m/s^2]  @param dt  of a step [s]
double typical_speed(double length, double gravity, double dt);

}  // namespace karakuri::world_detail
