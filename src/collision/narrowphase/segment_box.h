// A segment against a box: capsules.
#pragma once

#include "collision/narrowphase/convex.h"

namespace karakuri::collision_detail {

/// The segment p + t d, -1 <= t <= 1, against the box of half extents h about the origin. The normal points
/// out of the box, on_b is on the box and on_a on the segment.
void segment_box(const Vec3& p, const Vec3& d, const Vec3& h, ConvexDistance& out);

}  // namespace karakuri::collision_detail
