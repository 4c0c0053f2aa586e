// Pairs of triangles of two meshes whose boxes meet.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "karakuri/collision/mesh.h"

namespace karakuri::collision_detail {

/// Fills `found` with (triangle of A, triangle of B), in the order of the trees. X_AB: B in A's frame.
/// @param reach   Boxes this near count as meeting [m].
/// @param most    Pairs.
/// @param spread  Where there are more: those that lie far apart, else the first of them.
/// @return Whether they are all.
bool near_triangles(const Mesh& a, const Mesh& b, const Transform& X_AB, double reach, std::size_t most,
                    std::vector<std::pair<int, int>>& stack, std::vector<std::pair<int, int>>& found,
                    bool spread = false);

}  // namespace karakuri::collision_detail
