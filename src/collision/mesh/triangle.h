// The point of a triangle nearest to a given one.
#pragma once

#include "karakuri/spatial/types.h"

namespace karakuri::collision_detail {

/// Where on a triangle a point lies: -1 inside, 0..2 the side from corner i to i+1, 3..5 corner i - 3.
struct TrianglePoint {
  Vec3 point;
  int region;
};
TrianglePoint nearest_on_triangle(const Vec3& p, const Vec3& a, const Vec3& b, const Vec3& c);

}  // namespace karakuri::collision_detail
