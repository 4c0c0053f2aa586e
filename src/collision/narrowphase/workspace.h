// Scratch memory of the narrow phase.
#pragma once

#include <vector>

#include "collision/narrowphase/allowance.h"
#include "collision/narrowphase/epa.h"
#include "collision/narrowphase/patch.h"
#include "karakuri/collision/narrowphase.h"

namespace karakuri {

struct CollisionWorkspace::Impl {
  collision_detail::Allowance allowance;  // of the pair that is looked at
  collision_detail::EpaBuffer epa;
  std::vector<collision_detail::Patch> clusters;  // of contacts between a mesh and another shape, by normal
  int cluster_count = 0;
  std::vector<int> stack, few;                    // nodes of one tree; triangles that stand for more
  std::vector<std::pair<int, int>> pair_stack;    // nodes of two trees
  std::vector<int> vertices;                      // of a mesh, near the other
  std::vector<char> seen_a, seen_b;               // marks of vertices
  std::vector<char> pushes_a, pushes_b;           // marks of edges that push by themselves
  std::vector<std::pair<int, double>> crossings;  // of an edge, through the other's surface
  std::vector<std::pair<int, int>> found;         // triangles of two meshes near each other
  std::vector<Manifold> manifolds;                // of closest_points, where shapes overlap
};

}  // namespace karakuri
