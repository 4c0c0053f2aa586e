// The vectors y of four rows on one body at a time, by either way of response.cc.
#pragma once

#include "dynamics/body_pass.h"
#include "karakuri/dynamics/response.h"

namespace karakuri::kernel {

/// Four 3-vectors, one per lane.
struct Lanes3 {
  V4 x, y, z;
};

/// Four impulses at the origin of one body.
struct Impulses {
  Lanes3 n, f;
};

/// Writes y, four numbers for each dof of the path of body i, from impulses given at its origin.
void rows_by_propagation(const Model& model, const Workspace& ws, int i, Impulses F, Packed4* y);
void rows_by_factor(const Model& model, const MassMatrix& factored, const Workspace& ws, int i, Impulses F,
                    Packed4* y);

/// Writes D^-1 along the path of body i, for the vectors of the same way.
void weights_of_propagation(const Model& model, const Workspace& ws, int i, double* weights);
void weights_of_factor(const Model& model, const MassMatrix& factored, int i, double* weights);

/// Blocks of four sides.
inline int block_count(const ResponseBuffers::Group& group) { return (group.count + 3) / 4; }

inline int last_dof(const Body& body) { return body.first_v + body.dofs - 1; }

}  // namespace karakuri::kernel
