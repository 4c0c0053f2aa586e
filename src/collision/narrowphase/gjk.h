// Distance between convex shapes by Gilbert, Johnson and Keerthi's algorithm.
#pragma once

#include <limits>

#include "collision/narrowphase/convex.h"

namespace karakuri::collision_detail {

struct Simplex {
  DifferenceVertex v[4];
  double weight[4] = {1, 0, 0, 0};  // barycentric coordinates of the point nearest to the origin
  int count = 0;
};

enum class GjkState { kApart, kOverlap, kBeyondLimit };

struct GjkResult {
  GjkState state = GjkState::kApart;
  Vec3 nearest = Vec3::Zero();  // point of A - B nearest to the origin [m]
  double distance = 0;          // of the cores; a lower bound of it when beyond the limit
  Simplex simplex;
  double scale = 0;  // largest vertex of A - B met, the scale of rounding [m]
  int iterations = 0;

  Vec3 on_a() const {
    Vec3 p = Vec3::Zero();
    for (int i = 0; i < simplex.count; ++i) p += simplex.weight[i] * simplex.v[i].a;
    return p;
  }
  Vec3 on_b() const {
    Vec3 p = Vec3::Zero();
    for (int i = 0; i < simplex.count; ++i) p += simplex.weight[i] * simplex.v[i].b;
    return p;
  }
};

/// @param first  A first guess of a - b (any direction; zero: from the centres).
/// @param limit  Stops with kBeyondLimit as soon as the cores are known to be further apart [m].
GjkResult gjk(const ConvexPair& pair, const Vec3& first = Vec3::Zero(),
              double limit = std::numeric_limits<double>::infinity());

}  // namespace karakuri::collision_detail
