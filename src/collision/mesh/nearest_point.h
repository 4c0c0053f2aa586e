// The search for the nearest point of a mesh, with its cost.
#pragma once

#include "karakuri/collision/mesh.h"

namespace karakuri::collision_detail {

/// nearest_point(), ended where `work`, to which what it costs is added, exceeds `max_work` (multiplications,
/// about). A search goes to what seems nearest first: the best until then is near the best. From the middle
/// of a ball all is equally near, and all is looked at.
MeshPoint nearest_point_within(const Mesh& mesh, const Vec3& p, double limit, double max_work, double& work);

}  // namespace karakuri::collision_detail
