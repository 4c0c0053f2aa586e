// The nearest point of a mesh, as contacts need it: searched for within an allowance, and named.
#pragma once

#include <cmath>

#include "collision/mesh/nearest_point.h"
#include "collision/narrowphase/workspace.h"

namespace karakuri::collision_detail {

/// Has no face where what may be spent was not enough to find one.
inline MeshPoint nearest(const Mesh& m, const Vec3& p, CollisionWorkspace::Impl& ws) {
  constexpr double kShare = 1.0 / 64;  // of what the pair of shapes may cost
  constexpr double kLeast = 4000;      // to come to a leaf, and somewhat further
  double work = 0;
  const double most = std::max(kShare * ws.allowance.most, kLeast);
  const MeshPoint at = nearest_point_within(m, p, std::numeric_limits<double>::infinity(), most, work);
  ws.allowance.used += work;
  ws.allowance.cut = ws.allowance.cut || work > most;
  return at;
}

inline std::uint32_t feature_of(const Mesh& m, const MeshPoint& at) {
  if (at.vertex >= 0) return feature::kVertex | static_cast<std::uint32_t>(at.vertex);
  // a seam is part of its face
  if (at.edge >= 0 && std::abs(m.edges[at.edge].bend) > 1e-3) {
    return feature::kEdge | static_cast<std::uint32_t>(at.edge);
  }
  return feature::kFace | static_cast<std::uint32_t>(at.face);
}

}  // namespace karakuri::collision_detail
