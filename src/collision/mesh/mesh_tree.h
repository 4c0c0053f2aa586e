// Building the tree of boxes over a mesh's triangles.
#pragma once

#include "karakuri/collision/mesh.h"

namespace karakuri::collision_detail {

/// Top-down; split at the mean of the triangles' centres along the axis on which they spread most.
MeshTree build_tree(const std::vector<Vec3>& vertices, const std::vector<Triangle>& faces);

}  // namespace karakuri::collision_detail
