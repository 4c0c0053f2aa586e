// Paths of two bodies agree from the root to their last common dof, so the product of two sides
// runs over a common prefix, and over nothing where the trees differ.
#include "dynamics/response_product.h"

#include <algorithm>

#include "dynamics/articulated.h"
#include "dynamics/response_rows.h"

namespace karakuri::kernel {

namespace {

using Group = ResponseBuffers::Group;
using Side = ResponseBuffers::Side;

/// How many dofs the paths that end in a and b share.
int common_length(const Model& model, int a, int b) {
  while (a != b) {
    if (a < 0 || b < 0) return 0;
    const int da = model.dofs[a].depth, db = model.dofs[b].depth;
    if (da >= db) a = model.dofs[a].parent;
    if (db >= da) b = model.dofs[b].parent;
  }
  return a < 0 ? 0 : model.dofs[a].depth + 1;
}

/// Adds the products of four sides of g with four of h: block numbers as given, over the first n dofs. Each
/// product is computed once and stands for (i, j) and (j, i), so that A is symmetric to the last bit.
void multiply_blocks(const ResponseBuffers& b, const Group& g, int block_g, const Group& h, int block_h,
                     int n, MatOut& A) {
  const Packed4* yg = b.y.data() + g.y + static_cast<std::int64_t>(block_g) * g.length;
  const Packed4* yh = b.y.data() + h.y + static_cast<std::int64_t>(block_h) * h.length;
  const double* weights = b.weights.data() + g.weight;
  V4 sum[4] = {};
  for (int d = 0; d < n; ++d) {
    const V4 right = load(yh[d]) * weights[d];
    for (int k = 0; k < 4; ++k) sum[k] += right * yg[d].lane[k];
  }
  const Side* sides_g = b.sides.data() + g.first_side + 4 * block_g;
  const Side* sides_h = b.sides.data() + h.first_side + 4 * block_h;
  const int rows = std::min(4, g.count - 4 * block_g), columns = std::min(4, h.count - 4 * block_h);
  const bool same = sides_g == sides_h;
  for (int k = 0; k < rows; ++k) {
    for (int l = 0; l < (same ? k + 1 : columns); ++l) {
      const int i = sides_g[k].row, j = sides_h[l].row;
      A(i, j) += sum[k][l];
      if (!same || l < k) A(j, i) += sum[k][l];
    }
  }
}

}  // namespace

void multiply_vectors(const Model& model, const ResponseBuffers& b, MatOut& A) {
  A.setZero();
  for (const Group& g : b.groups) {
    for (const Group& h : std::span(b.groups.data(), &g + 1)) {
      const bool same = &g == &h;
      const int n =
          same ? g.length
               : common_length(model, last_dof(model.bodies[g.body]), last_dof(model.bodies[h.body]));
      for (int s = 0; n > 0 && s < block_count(g); ++s) {
        for (int t = 0; t < (same ? s + 1 : block_count(h)); ++t) multiply_blocks(b, g, s, h, t, n, A);
      }
    }
  }
}

}  // namespace karakuri::kernel
