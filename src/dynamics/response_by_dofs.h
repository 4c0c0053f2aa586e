// A = J M^-1 J^T where the rows move few dofs, as on a robot: all rows at once, dof by dof.
#pragma once

#include "karakuri/dynamics/response.h"

namespace karakuri::kernel {

/// Says where bodies are among the dofs of their trees.
void place_bodies(const Model& model, ResponseBuffers::DofLanes& lanes);

/// Fills A, symmetric to the last bit. @return Whether the trees that are moved are small enough; else A is
/// as it was.  @pre aba() or articulated_factor() for these poses.
bool response_by_dofs(const Model& model, std::span<const ImpulseRow> rows, const Workspace& ws,
                      ResponseBuffers& buffers, MatOut& A);

/// See add_one_sided().
void add_one_sided_by_dofs(const ResponseBuffers::DofLanes& lanes, VecOut& sums);

}  // namespace karakuri::kernel
