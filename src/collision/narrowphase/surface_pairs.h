// Convex shapes against meshes and heightfields; meshes against planes and each other.
#pragma once

#include "collision/narrowphase/workspace.h"

namespace karakuri::collision_detail {

// All append manifolds with normals from the convex shape (or plane, or A) to the surface (or B); in all, the
// first pose is that of the first shape in the world.
void collide_convex_mesh(const ConvexView& convex, const Transform& X_WC, const Mesh& mesh,
                         const Transform& X_WM, double margin, CollisionWorkspace::Impl& ws,
                         std::vector<Manifold>& out);
void collide_convex_heightfield(const ConvexView& convex, const Transform& X_WC, const Heightfield& field,
                                const Transform& X_WF, double margin, CollisionWorkspace::Impl& ws,
                                std::vector<Manifold>& out);
void collide_plane_mesh(const Transform& X_WP, const Mesh& mesh, const Transform& X_WM, double margin,
                        CollisionWorkspace::Impl& ws, std::vector<Manifold>& out);
void collide_mesh_mesh(const Mesh& a, const Transform& X_WA, const Mesh& b, const Transform& X_WB,
                       double margin, CollisionWorkspace::Impl& ws, std::vector<Manifold>& out);
void collide_heightfield_mesh(const Heightfield& field, const Transform& X_WF, const Mesh& mesh,
                              const Transform& X_WM, double margin, CollisionWorkspace::Impl& ws,
                              std::vector<Manifold>& out);

/// Box around a convex shape at pose X, its radius included.
Aabb convex_box(const ConvexView& c, const Transform& X);

/// Visits the triangles of a mesh whose boxes meet `box` (mesh frame), in the order of the tree.
template <class Visit>
void visit_triangles(const MeshTree& tree, const Aabb& box, std::vector<int>& stack, Visit&& visit) {
  if (tree.nodes.empty()) return;
  stack.clear();
  stack.push_back(0);
  while (!stack.empty()) {
    const int i = stack.back();
    stack.pop_back();
    const MeshTree::Node& node = tree.nodes[i];
    if (!box.overlaps({node.lo, node.hi})) continue;
    if (node.leaf()) {
      visit(node.triangle());
    } else {
      stack.push_back(node.right);
      stack.push_back(i + 1);
    }
  }
}

/// Cells of the heightfield under `box` (field frame); false when there are none.
bool cells_under(const Heightfield& f, const Aabb& box, int* i0, int* i1, int* j0, int* j1);

}  // namespace karakuri::collision_detail
