// How far colliders come in a step.
#pragma once

#include <cmath>

#include "core/lanes.h"
#include "world/impl.h"

namespace karakuri::world_detail {

/// How far points of a shape are from its body's origin, at most; 0 for shapes without end, which do not turn
/// [m].
inline double arm_of(const BodyShape& c) { return std::isinf(c.radius) ? 0 : c.arm + c.radius; }

/// Of the fastest point of a shape, at most, at this velocity of its body [m/s].
inline double speed_of(const BodyShape& c, const Vec3& linear, const Vec3& angular) {
  using Two = double __attribute__((vector_size(16)));
  const Two norms = lanes::root(Two{linear.squaredNorm(), angular.squaredNorm()});  // in the time of one
  return norms[0] + norms[1] * arm_of(c);
}

}  // namespace karakuri::world_detail
