// Joints seen from their other side, and coordinates from poses: what re-rooting a tree needs.
#pragma once

#include <span>

#include "karakuri/core/diagnostic.h"
#include "karakuri/model/joint.h"

namespace karakuri {

/// The same joint with parent and child exchanged. Coordinates stay what they are but for those of planar,
/// spherical and free joints, and the two of a universal joint change places (reverse_coordinates()).
/// Refused where a spring, limit or the like speaks of coordinates that are not there any more.
Result<Joint> reversed(const Joint& joint);
/// q and v of `joint` become those of reversed(joint) in the same place and motion.
void reverse_coordinates(const Joint& joint, std::span<double> q, std::span<double> v);

/// q and v at which frame M is nearest to X_FM and moves with the angular velocity w and the velocity v of
/// its origin, both in F.  @pre a kind that carries links
void fit_coordinates(const Joint& joint, const Transform& X_FM, const Vec3& w_FM, const Vec3& v_FM,
                     std::span<double> q, std::span<double> v);

}  // namespace karakuri
