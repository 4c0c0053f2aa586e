// Convex polyhedra as flat arrays: vertices by coordinate, faces as loops of half-edges.
#pragma once

#include <span>
#include <vector>

#include "karakuri/collision/aabb.h"
#include "karakuri/core/diagnostic.h"
#include "karakuri/spatial/inertia.h"

namespace karakuri {

struct HullFace {
  Vec3 normal = Vec3::Zero();  // unit, outward
  double offset = 0;           // normal . x = offset on the face [m]
  int first = 0;               // first half-edge
  int count = 0;               // half-edges, counter-clockwise seen from outside
};

/// Half-edge h starts at vertex `origin[h]`, belongs to `face_of[h]` and runs against `twin[h]`; the next one
/// in its face is h+1, or the face's first after its last. An edge is named by the smaller of h and its twin.
struct ConvexHull {
  // Vertices; each array is padded to a multiple of four with copies of vertex 0 so that the search for a
  // support point can take four at a time without a remainder.
  std::vector<double> x, y, z;
  int vertex_count = 0;
  std::vector<HullFace> faces;
  std::vector<int> origin, twin, face_of;  // per half-edge
  std::vector<int> neighbor_first,
      neighbors;                      // vertices joined to vertex v: neighbors[first[v] .. first[v+1])
  std::vector<int> vertex_half_edge;  // some half-edge that starts at the vertex
  Aabb bounds;
  Inertia solid;  // of density 1 kg/m^3; its mass is the volume [m^3]

  Vec3 vertex(int i) const { return {x[i], y[i], z[i]}; }
  int next(int h) const {
    const HullFace& f = faces[face_of[h]];
    return h + 1 < f.first + f.count ? h + 1 : f.first;
  }
  int edge_count() const { return static_cast<int>(origin.size()) / 2; }
};

/// The smallest convex polyhedron around the points; coplanar triangles are joined into polygons. Refused
/// when the points are not finite, or (nearly) all in one plane.
Result<ConvexHull> make_convex_hull(std::span<const Vec3> points);

}  // namespace karakuri
