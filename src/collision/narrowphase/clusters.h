// Contacts of many triangles, gathered by normal into patches.
#pragma once

#include "collision/narrowphase/workspace.h"

namespace karakuri::collision_detail {

void clear_clusters(CollisionWorkspace::Impl& ws);
/// A point already known by the same name is kept once, with the smaller separation.
void add_to_clusters(const Vec3& normal, const PatchPoint& point, CollisionWorkspace::Impl& ws);
void add_to_clusters(const Patch& patch, CollisionWorkspace::Impl& ws);
/// Appends the clusters as manifolds; `flip`: the normal of the clusters points from B to A.
void emit_clusters(CollisionWorkspace::Impl& ws, double scale, const Transform& X, bool flip,
                   std::vector<Manifold>& out);

}  // namespace karakuri::collision_detail
