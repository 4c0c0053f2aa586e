// Depth of curved shapes by following the support function downhill.
#pragma once

#include "collision/narrowphase/convex.h"

namespace karakuri::collision_detail {

inline bool smooth(const ConvexView& c) { return !c.polyhedral() && c.core > CoreKind::kSegment; }

/// Improves out.normal (and the points, to the support points there) so that *depth, the reach of A - B along
/// it, gets less. Stays as it is when it cannot.
/// @param angle  Of the first steps [rad].
void descend(const ConvexPair& pair, double angle, ConvexDistance& out, double* depth);

/// The same, starting from the ways out through flat faces and through the sides of cylinders and cones.
void search_features(const ConvexPair& pair, ConvexDistance& out, double* depth);

}  // namespace karakuri::collision_detail
