// The face of a convex shape that looks into a direction, as a polygon, a segment or a point, with names.
#pragma once

#include "collision/narrowphase/convex.h"
#include "karakuri/collision/contact.h"

namespace karakuri::collision_detail {

struct FacePolygon {
  static constexpr int kMax = 32;

  int count = 0;               // 1: point, 2: segment, more: polygon, counter-clockwise about `normal`
  bool round = false;          // stands for a disc: its corners are on the rim
  bool rectangle = false;      // of the sides side[0] (from corner 0 to 1) and side[1]
  double side[2] = {0, 0};     // [m]
  Vec3 normal = Vec3::Zero();  // of the face; zero for segments and points
  std::uint32_t face = 0;      // name of the face (or of the edge, for a segment)
  Vec3 v[kMax];
  std::uint32_t vertex[kMax];  // names of the corners
  std::uint32_t edge[kMax];    // name of the side from corner i to i+1
};

/// @param X  Pose of the shape in the frame of `d` and of the result.
/// @param d  Unit direction.
/// Round shapes give their core's face: the radius is the caller's business.
void support_face(const ConvexView& c, const Transform& X, const Vec3& d, FacePolygon& out);

/// Name of a box's edge between two of its corners (corner i: bit 0 set on +x, bit 1 on +y, bit 2 on +z).
inline std::uint32_t box_edge(int i, int j) {
  return feature::kEdge | static_cast<std::uint32_t>(i < j ? i * 8 + j : j * 8 + i);
}

}  // namespace karakuri::collision_detail
