// The springs and dampers of ContactModel::kPenalty.
#pragma once

#include "world/impl.h"

namespace karakuri::world_detail {

/// Stiffness [N/m] and damping [N s/m] of a contact, across the surface and along it.
struct ContactSpring {
  double stiffness = 0, damping = 0;
  double along_stiffness = 0, along_damping = 0;
};

/// Of a contact between two bodies.
ContactSpring contact_spring(const World::Impl& w, int body_a, int body_b, const Surface& surface, double h);

/// Whether contacts are rows whose springs are taken at the end of the step.
bool has_implicit_springs(const WorldSettings& settings);

}  // namespace karakuri::world_detail
