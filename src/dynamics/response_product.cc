// Two ways, of which the first is taken where the rows move few dofs, as on a robot:
//
// By dofs. All numbers of one dof stand side by side, row after row, so that tiles of 4 x 4 entries of A are
// sums of outer products, and nothing has to be put in its place afterwards. Each four rows know which dofs
// they move as bits of a word; a tile takes only those that both of its sides move.
//
// By groups. Paths of two bodies agree from the root to their last common dof, so the product of two sides
// runs over a common prefix, and over nothing where the trees differ.
#include "dynamics/response_product.h"

#include <algorithm>
#include <bit>

#include "dynamics/articulated.h"
#include "dynamics/response_rows.h"

namespace karakuri::kernel {

namespace {

using Group = ResponseBuffers::Group;
using Side = ResponseBuffers::Side;

constexpr int kMostDofs = 64;  // bits of a word

int padded(int n) { return (n + 3) / 4 * 4; }

const std::int32_t* path_of(const Model& model, const Group& group) {
  return model.paths.data() + model.dofs[last_dof(model.bodies[group.body])].path;
}

/// Numbers the dofs that any row moves. @return Whether they are few enough.
bool number_dofs(const Model& model, ResponseBuffers& b) {
  int count = 0;
  b.dof_weight.clear();
  for (const Group& group : b.groups) {
    const std::int32_t* path = path_of(model, group);
    for (int d = 0; d < group.length; ++d) {
      if (b.dof_at[path[d]] >= 0) continue;
      b.dof_at[path[d]] = count++;
      b.dof_weight.push_back(b.weights[group.weight + d]);
    }
    if (count > kMostDofs) return false;
  }
  return true;
}

void forget_dofs(const Model& model, ResponseBuffers& b) {
  for (const Group& group : b.groups) {
    const std::int32_t* path = path_of(model, group);
    for (int d = 0; d < group.length; ++d) b.dof_at[path[d]] = -1;
  }
}

/// columns: by dof, the numbers of all rows; scaled: the same times D^-1; moved: the dofs of each four rows.
void write_columns(const Model& model, int stride, ResponseBuffers& b) {
  const int dofs = static_cast<int>(b.dof_weight.size());
  b.columns.assign(static_cast<std::size_t>(dofs) * stride, 0.0);
  b.moved.assign(stride / 4 + 1, 0);
  for (const Group& group : b.groups) {
    double* column[kMostDofs];
    std::uint64_t bits = 0;
    const std::int32_t* path = path_of(model, group);
    for (int d = 0; d < group.length; ++d) {
      const int dof = b.dof_at[path[d]];
      column[d] = b.columns.data() + static_cast<std::size_t>(dof) * stride;
      bits |= std::uint64_t{1} << dof;
    }
    for (int s = 0; s < group.count; ++s) {
      const int row = b.sides[group.first_side + s].row;
      const Packed4* y = b.y.data() + group.y + static_cast<std::int64_t>(s / 4) * group.length;
      for (int d = 0; d < group.length; ++d) column[d][row] += y[d].lane[s % 4];
      b.moved[row / 4] |= bits;
    }
  }
  b.scaled.resize(b.columns.size() + 4);  // the last tile may look beyond
  for (int k = 0; k < dofs; ++k) {
    const std::size_t at = static_cast<std::size_t>(k) * stride;
    for (int i = 0; i < stride; i += 4)
      simd::store4(b.scaled.data() + at + i, simd::load4(b.columns.data() + at + i) * b.dof_weight[k]);
  }
}

void transpose(V4 (&t)[4]) {
  const V4 a = __builtin_shufflevector(t[0], t[1], 0, 4, 2, 6),
           b = __builtin_shufflevector(t[0], t[1], 1, 5, 3, 7);
  const V4 c = __builtin_shufflevector(t[2], t[3], 0, 4, 2, 6),
           d = __builtin_shufflevector(t[2], t[3], 1, 5, 3, 7);
  t[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  t[1] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  t[2] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  t[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

/// Puts four rows of four entries at (i, j), and their mirror image.
void put(int stride, int i, int j, V4 (&tile)[4], ResponseBuffers& b) {
  const auto store = [&](int row, int column) {
    double* out = b.product.data() + static_cast<std::size_t>(row) * stride + column;
    for (int r = 0; r < 4; ++r) simd::store4(out + static_cast<std::size_t>(r) * stride, tile[r]);
    return out;
  };
  double* out = store(i, j);
  transpose(tile);
  if (i != j) {
    store(j, i);
    return;
  }
  for (int r = 1; r < 4; ++r)  // y_r (D^-1 y_c) and y_c (D^-1 y_r) may differ in their last bit
    for (int c = 0; c < r; ++c) out[c * stride + r] = out[r * stride + c];
}

/// Rows i to i + 3 and columns j to j + 7 of A up to the diagonal.
void multiply_tile(int stride, int i, int j, ResponseBuffers& b) {
  V4 left[4] = {}, right[4] = {};
  const std::uint64_t moved = b.moved[i / 4] & (b.moved[j / 4] | b.moved[j / 4 + 1]);
  for (std::uint64_t todo = moved; todo != 0; todo &= todo - 1) {
    const std::size_t at = static_cast<std::size_t>(std::countr_zero(todo)) * stride;
    const double *columns = b.scaled.data() + at + j, *rows = b.columns.data() + at + i;
    const V4 first = simd::load4(columns), second = simd::load4(columns + 4);
    for (int r = 0; r < 4; ++r) {
      left[r] += first * rows[r];
      right[r] += second * rows[r];
    }
  }
  put(stride, i, j, left, b);
  if (j + 4 <= i) put(stride, i, j + 4, right, b);
}

void multiply_by_dofs(const Model& model, int rows, ResponseBuffers& b, MatOut& A) {
  const int stride = padded(rows);
  write_columns(model, stride, b);
  b.product.resize(static_cast<std::size_t>(stride) * stride);
  for (int i = 0; i < stride; i += 4)
    for (int j = 0; j <= i; j += 8) multiply_tile(stride, i, j, b);
  for (int i = 0; i < rows; ++i)
    std::copy_n(b.product.data() + static_cast<std::size_t>(i) * stride, rows,
                A.data() + i * A.outerStride());
}

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

void multiply_groups(const Model& model, const ResponseBuffers& b, MatOut& A) {
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

}  // namespace

void multiply_vectors(const Model& model, int rows, ResponseBuffers& b, MatOut A) {
  const bool few = number_dofs(model, b);
  few ? multiply_by_dofs(model, rows, b, A) : multiply_groups(model, b, A);
  forget_dofs(model, b);
}

}  // namespace karakuri::kernel
