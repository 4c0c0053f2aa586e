// Distances that have closed forms: spheres and capsules; spheres against all but hulls.
#pragma once

#include "collision/narrowphase/convex.h"

namespace karakuri::collision_detail {

/// Nearest points of the segments a0 + s ea (0 <= s <= 1) and b0 + t eb.
void nearest_on_segments(const Vec3& a0, const Vec3& ea, const Vec3& b0, const Vec3& eb, double* s,
                         double* t);

/// Point-point, point-segment, segment-segment, segment-box, and points against boxes, cylinders, cones and
/// ellipsoids, with their radii. False for other pairs.
bool closed_form_distance(const ConvexPair& pair, ConvexDistance& out);

}  // namespace karakuri::collision_detail
