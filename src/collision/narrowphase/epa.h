// Penetration depth of convex shapes by the expanding polytope algorithm.
#pragma once

#include <array>

#include "collision/narrowphase/gjk.h"

namespace karakuri::collision_detail {

struct EpaFace {
  int v[3];    // counter-clockwise seen from outside
  int adj[3];  // face across the side v[i] -> v[i+1]
  Vec3 n;      // unit, outward; zero for a face without area
};

struct EpaBuffer {
  static constexpr int kMaxVertices = 256, kMaxFaces = 1024;

  std::array<DifferenceVertex, kMaxVertices> vertices;
  std::array<EpaFace, kMaxFaces> faces;
  std::array<double, kMaxFaces> distance;  // of the face's plane from the origin; infinite when gone or flat
  std::array<int, kMaxFaces> stack, free;
  std::array<int, kMaxVertices> starts;               // new face whose horizon side starts at this vertex
  std::array<std::array<int, 2>, kMaxFaces> horizon;  // face that stays, its side
  int vertex_count = 0, face_count = 0, free_count = 0;
};

/// @pre overlap: a GJK result in state kOverlap for this pair (cores overlap or touch).
/// Returns the depth of the cores as a negative separation.
ConvexDistance epa(const ConvexPair& pair, const GjkResult& overlap, EpaBuffer& buffer);

/// GJK, then EPA when the cores overlap; radii included.
/// @param limit  Gives up early when further apart than this [m]: separation is then a lower bound > limit.
ConvexDistance convex_distance(const ConvexPair& pair, EpaBuffer& buffer, const Vec3& first = Vec3::Zero(),
                               double limit = std::numeric_limits<double>::infinity());

}  // namespace karakuri::collision_detail
