// Of a mesh that has too many triangles near something: some, spread evenly over what is near.
//
// The tree is cut where it is as wide as there may be triangles; in each piece the way goes down to the side
// that seems deeper, so that each stands for the deepest of its piece.
#pragma once

#include <vector>

#include "karakuri/collision/mesh.h"

namespace karakuri::collision_detail {

/// The lowest nodes of a level of the tree that are kept, no more than `most` of them, and leaves above it.
template <class Keeps>
void cut_across(const MeshTree& tree, std::size_t most, const Keeps& keeps, std::vector<int>& next,
                std::vector<int>& out) {
  out.clear();
  if (tree.nodes.empty() || !keeps(tree.nodes[0])) return;
  out.push_back(0);
  for (bool deeper = true; deeper;) {
    deeper = false;
    next.clear();
    for (const int i : out) {
      const MeshTree::Node& node = tree.nodes[i];
      if (node.leaf()) {
        next.push_back(i);
        continue;
      }
      for (const int child : {i + 1, node.right})
        if (keeps(tree.nodes[child])) next.push_back(child), deeper = true;
    }
    if (next.size() > most) return;
    out.swap(next);
  }
}

/// Fills `out` with triangles.
/// @param keeps   (node): whether anything in it may matter
/// @param height  (node): the least is the deepest
template <class Keeps, class Height>
void few_triangles(const MeshTree& tree, std::size_t most, const Keeps& keeps, const Height& height,
                   std::vector<int>& scratch, std::vector<int>& out) {
  cut_across(tree, most, keeps, scratch, out);
  std::size_t count = 0;
  for (int i : out) {
    while (i >= 0 && !tree.nodes[i].leaf()) {
      const int children[] = {i + 1, tree.nodes[i].right};
      double least = 0;
      i = -1;
      for (const int child : children) {
        const MeshTree::Node& node = tree.nodes[child];
        if (!keeps(node)) continue;
        const double at = height(node);
        if (i < 0 || at < least) i = child, least = at;
      }
    }
    if (i >= 0) out[count++] = tree.nodes[i].triangle();
  }
  out.resize(count);
}

/// How far the middle of a node is from a point, squared.
inline double distance2_from(const MeshTree::Node& node, const Vec3& p) {
  return (0.5 * (node.lo + node.hi) - p).squaredNorm();
}

}  // namespace karakuri::collision_detail
