// A = Y D^-1 Y^T from the vectors y of response.h.
#pragma once

#include "karakuri/dynamics/response.h"

namespace karakuri::kernel {

/// Fills A, symmetric to the last bit.  @pre buffers has the vectors of all rows
void multiply_vectors(const Model& model, const ResponseBuffers& buffers, MatOut& A);

}  // namespace karakuri::kernel
