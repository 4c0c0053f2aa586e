// Splitting a concave solid into convex parts.
#pragma once

#include <vector>

#include "karakuri/collision/convex_hull.h"
#include "karakuri/collision/mesh.h"

namespace karakuri {

struct DecompositionOptions {
  int max_parts = 32;
  // Stop when the parts' volume exceeds the solid's by less than this fraction.
  double excess = 0.02;
  int cuts_per_axis = 12;  // planes tried per axis, beside those through vertices
};

struct Decomposition {
  std::vector<ConvexHull> parts;
  double excess = 0;  // (sum of the parts' volumes - solid's volume) / solid's volume
};

/// @pre mesh.use == MeshUse::kSolid
Result<Decomposition> decompose(const Mesh& mesh, const DecompositionOptions& options = {});

}  // namespace karakuri
