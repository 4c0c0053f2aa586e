// Where an edge of one solid meets an edge of another: which points push which way.
#pragma once

#include "karakuri/spatial/types.h"

namespace karakuri {

/// An edge of a solid with what is around it. The first face runs a -> b, the second b -> a.
struct SolidEdge {
  Vec3 a, b;                // ends [m]
  Vec3 n0, n1;              // outward normals of its faces
  Vec3 normal_a, normal_b;  // outward normals at its ends
};

/// A pair of points that push each other apart along `normal`, which points out of the first solid.
struct EdgeContact {
  Vec3 on_first, on_second;
  Vec3 normal;
  bool by_edges = false;  // both edges push, along their common perpendicular; otherwise a face does
  double separation() const { return normal.dot(on_second - on_first); }
};

/// True when the direction n lies between the normals of the edge's two faces.
bool within_edge_cone(const SolidEdge& e, const Vec3& n, double slack = 1e-3);

/// The rules of Kuroda (2002), section 5.4.2, against snagging: none, one or two contacts.
/// @param sigma  How near an end of the other edge counts as at the end [m].
int edge_edge_contacts(const SolidEdge& first, const SolidEdge& second, double sigma, EdgeContact out[2]);

}  // namespace karakuri
