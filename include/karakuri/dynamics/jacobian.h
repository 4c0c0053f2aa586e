// Jacobians of points and frames fixed to links, in world axes.
#pragma once

#include "karakuri/dynamics/workspace.h"

namespace karakuri {

/// The 6 x nv matrix J with (angular; linear) velocity of the point p_L of `link` = J v. Columns of dofs that
/// do not move the link are zero. Its derivative times v is point_acceleration() after
/// update_bias_accelerations().
/// @pre update_poses(); J has 6 rows and nv columns.
void frame_jacobian(const Model& model, const Workspace& ws, LinkId link, const Vec3& p_L, MatOut J);

/// The last three rows of that, 3 x nv: velocity of a point.
void point_jacobian(const Model& model, const Workspace& ws, LinkId link, const Vec3& p_L, MatOut J);

}  // namespace karakuri
