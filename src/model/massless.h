// Bodies without mass of their own: allowed where what hangs on them resists their joints.
#pragma once

#include <vector>

#include "karakuri/model/model.h"

namespace karakuri {

/// The massless bodies of `model` that nothing resists, so that the mass matrix is singular in every
/// configuration. Reads bodies, dofs, armature and `between`.
std::vector<int> find_unresisted_massless(const Model& model);

}  // namespace karakuri
