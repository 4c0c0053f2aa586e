// The Flexible Collision Library as a second opinion.
#pragma once

#include "karakuri/collision/shape.h"

namespace karakuri::testing {

struct FclAnswer {
  bool known = false;  // false where FCL throws or gives no contact
  double separation = 0;
  Vec3 normal = Vec3::UnitZ();
};
FclAnswer fcl_distance(const Shape& a, const Transform& X_WA, const Shape& b, const Transform& X_WB);

}  // namespace karakuri::testing
