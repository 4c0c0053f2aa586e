// Propagation as in response_rows.cc, with impulses and motions seen at the origin of the tree's root. There
// an impulse F keeps its six numbers on its way from body to body, and every dof does the same to all rows:
//   y_v = S_v^T F,   F <- F - U_v y_v / d_v,   for the dofs v of the path, towards the root               (1)
//   A = Y^T D^-1 Y                                                                                        (2)
// What impulses l do to the velocities v of the dofs is found on the way back, from the root:
//   v_k = d_k^-1 (y_k^T l - U_k^T a),   a <- a + S_k v_k,  a: motion of the body so far, 0 at the root (3)
// Rows are lanes of vectors, whatever bodies they act on: each lane knows the dofs of its path as bits of a
// word. So (1) is a loop over lanes without a chain of sums that wait for each other, its results stand side
// by side as (2) wants them, and a tile of (2) takes only the dofs that both of its sides move.
#include "dynamics/response_by_dofs.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "dynamics/articulated.h"
#include "dynamics/response_rows.h"

namespace karakuri::kernel {

namespace {

using Lanes = ResponseBuffers::DofLanes;
using Bits = std::uint64_t;
constexpr int kWidth = 8;  // lanes that are worked on together
using V8 = double __attribute__((vector_size(8 * kWidth)));
using Bits8 = Bits __attribute__((vector_size(8 * kWidth)));

constexpr int kMostDofs = 64, kMostGroups = 64;  // bits of a word
constexpr int kImpulses = 6 * kWidth;            // numbers of the impulses of one such group

template <class V>
V load8(const auto* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
void store8(double* p, V8 v) { std::memcpy(p, &v, sizeof v); }

int padded(int n) { return (n + kWidth - 1) / kWidth * kWidth; }

/// Bits of the tree that begins with dof `first`. @return Where they start; -1: there are too many.
int bits_of_tree(const Model& model, int first, Lanes& l) {
  for (const Lanes::Tree& tree : l.trees)
    if (tree.first_dof == first) return tree.first_bit;
  const int root = model.dofs[first].body;
  const Tree& tree_of_root = model.trees[model.bodies[root].tree];
  const int dofs = last_dof(model.bodies[tree_of_root.last - 1]) + 1 - first;
  const int bit = l.trees.empty() ? 0 : l.trees.back().first_bit + l.trees.back().dofs;
  if (bit + dofs > kMostDofs) return -1;
  l.trees.push_back({root, first, dofs, bit});
  return bit;
}

/// The dofs that move a body; 0: there are too many.
Bits path_of(const Model& model, int body, ResponseBuffers& b) {
  Bits& known = b.lanes.path_of_body[body];
  if (known != 0) return known;
  const Dof& last = model.dofs[last_dof(model.bodies[body])];
  const std::int32_t* path = model.paths.data() + last.path;
  const int bit = bits_of_tree(model, path[0], b.lanes);
  if (bit < 0) return 0;
  for (int d = 0; d <= last.depth; ++d) known |= Bits{1} << (bit + path[d] - path[0]);
  b.lanes.bodies.push_back(body);
  return known;
}

/// Room for lanes up to `count`, at rest.
void grow(int count, Lanes& l) {
  l.path.resize(padded(count), 0);
  l.impulse.resize(6 * l.path.size(), 0.0);
}

/// What all sides on one body share.
struct Place {
  int body = 0;
  Bits path = 0;
  V3 origin = zero3();  // of the root
};

/// @return Whether there are few enough dofs.
bool go_to(const Model& model, const Workspace& ws, int body, ResponseBuffers& b, Place& place) {
  if (body == place.body) return true;
  const Bits path = path_of(model, body, b);
  if (path == 0) return false;
  const int root = model.trees[model.bodies[body].tree].first;
  place = {body, path, load(ws.pose[root].p)};
  return true;
}

void set_lane(const ImpulseRow& row, int lane, double sign, const Place& place, Lanes& l) {
  const V3 f = v3(row.force) * sign;
  const V3 n = plus_scaled(cross(v3(row.point) - place.origin, f), v3(row.moment), sign);
  double* to = l.impulse.data() + lane / kWidth * kImpulses + lane % kWidth;
  for (int k = 0; k < 3; ++k) {
    to[kWidth * k] = n[k];
    to[kWidth * (3 + k)] = f[k];
  }
  l.path[lane] = place.path;
}

/// The lane of another side of a row.
int add_lane(int rows, int row, Lanes& l) {
  const int lane = padded(rows) + static_cast<int>(l.row_of_extra.size());
  l.row_of_extra.push_back(row);
  grow(lane + 1, l);
  return lane;
}

/// A lane for each side of each row. The first side of a row has the row's own lane, others have lanes after
/// all rows. @return Whether all dofs have a bit.
bool fill_lanes(const Model& model, std::span<const ImpulseRow> rows, const Workspace& ws,
                ResponseBuffers& b) {
  Lanes& l = b.lanes;
  l.path.clear();
  l.impulse.clear();
  l.row_of_extra.clear();
  const int count = static_cast<int>(rows.size());
  grow(count, l);
  Place place;
  for (int i = 0; i < count; ++i) {
    for (const ImpulseRow* row = &rows[i]; row; row = row->more) {
      if (row->body == row->other) continue;  // does nothing
      for (const auto& [body, sign] : {std::pair{row->body, 1.0}, std::pair{row->other, -1.0}}) {
        if (body == 0) continue;
        if (!go_to(model, ws, body, b, place)) return false;
        set_lane(*row, l.path[i] == 0 ? i : add_lane(count, i, l), sign, place, l);
      }
    }
  }
  return true;
}

Lanes::Dof dof_of(V3 S_n, V3 S_f, V3 U_n, V3 U_f, double inverse_d) {
  Lanes::Dof out;
  for (int k = 0; k < 3; ++k) {
    out.S[k] = S_n[k], out.S[3 + k] = S_f[k];
    out.U[k] = U_n[k], out.U[3 + k] = U_f[k];
  }
  out.weight = inverse_d;
  return out;
}

/// A body that is its own tree: M is diagonal in principal axes at the centre of mass.
Lanes::Dof dof_of_free_body(const Model& model, const Workspace& ws, int i, int k) {
  const FreeBody& free = model.free_bodies[model.bodies[i].extra];
  if (k < 3) {
    V3 axis = zero3();
    axis.m[k] = 1;
    return dof_of(zero3(), axis, zero3(), zero3(), 1 / model.bodies[i].mass);
  }
  const M3 R = load(ws.pose[i].R);
  const V3 axis = R * load(free.axes.column[k - 3]);
  return dof_of(axis, cross(R * load(free.com), axis), zero3(), zero3(), load(free.inverse_moments)[k - 3]);
}

Lanes::Dof dof_at(const Model& model, const Workspace& ws, int v, int root) {
  const int i = model.dofs[v].body;
  const Body& body = model.bodies[i];
  if (body.alone) return dof_of_free_body(model, ws, i, v - body.first_v);
  const Workspace::Pivot& pivot = ws.pivot[v];
  const V3 axis = load(ws.axis[v]), arm = load(ws.pose[i].p) - load(ws.pose[root].p);
  const V3 U_f = load(pivot.Uf), U_n = load(pivot.Un) + cross(arm, U_f);
  switch (model.dofs[v].kind) {
    case DofKind::kTranslation: return dof_of(zero3(), axis, U_n, U_f, pivot.inverse_d);
    case DofKind::kScrew:
      return dof_of(axis, plus_scaled(cross(arm, axis), axis, body.pitch), U_n, U_f, pivot.inverse_d);
    case DofKind::kRotation: break;
  }
  return dof_of(axis, cross(arm, axis), U_n, U_f, pivot.inverse_d);
}

/// (1) of one dof, for the groups of lanes that it moves. Two loops: the twelve numbers of a dof do not fit
/// in registers together.
void take_dof(const Lanes::Dof& dof, Bits bit, Bits groups, double* column, double* scaled, Lanes& l) {
  for (Bits todo = groups; todo != 0; todo &= todo - 1) {
    const int g = std::countr_zero(todo);
    const double* F = l.impulse.data() + g * kImpulses;
    const auto times = [&](int c) { return load8<V8>(F + c * kWidth) * dof.S[c]; };
    const V8 sum = (times(0) + times(1) + times(2)) + (times(3) + times(4) + times(5));
    const V8 y = (load8<Bits8>(l.path.data() + g * kWidth) & bit) != 0 ? sum : V8{};
    store8(column + g * kWidth, y);
    store8(scaled + g * kWidth, y * dof.weight);
  }
  for (Bits todo = groups; todo != 0; todo &= todo - 1) {
    const int g = std::countr_zero(todo);
    double* F = l.impulse.data() + g * kImpulses;
    const V8 s = load8<V8>(scaled + g * kWidth);
    for (int c = 0; c < 6; ++c) store8(F + c * kWidth, load8<V8>(F + c * kWidth) - s * dof.U[c]);
  }
}

/// Adds the lanes that are not a row's own to it.
void add_extra(int rows, int stride, Lanes& l) {
  for (std::size_t e = 0; e < l.row_of_extra.size(); ++e) {
    const int lane = padded(rows) + static_cast<int>(e), row = l.row_of_extra[e];
    for (Bits todo = l.path[lane]; todo != 0; todo &= todo - 1) {
      const std::size_t at = static_cast<std::size_t>(std::countr_zero(todo)) * stride;
      l.columns[at + row] += l.columns[at + lane];
      l.scaled[at + row] += l.scaled[at + lane];
    }
  }
}

/// Which groups of lanes each dof moves.
void list_groups(int groups, Lanes& l) {
  std::fill_n(l.groups_of_dof, kMostDofs, 0);
  for (int g = 0; g < groups; ++g)
    for (Bits todo = l.moved[g]; todo != 0; todo &= todo - 1)
      l.groups_of_dof[std::countr_zero(todo)] |= Bits{1} << g;
}

/// columns: Y by dof; scaled: the same times D^-1; both only where `moved` has the dof's bit.
void propagate(const Model& model, int rows, const Workspace& ws, Lanes& l) {
  const int stride = static_cast<int>(l.path.size()), groups = stride / kWidth;
  l.moved.assign(groups, 0);
  for (int lane = 0; lane < stride; ++lane) l.moved[lane / kWidth] |= l.path[lane];
  for (std::size_t e = 0; e < l.row_of_extra.size(); ++e)
    l.moved[l.row_of_extra[e] / kWidth] |= l.path[padded(rows) + e];
  list_groups(groups, l);
  const std::size_t dofs = l.trees.back().first_bit + l.trees.back().dofs;
  l.columns.resize(dofs * stride);
  l.scaled.resize(dofs * stride);
  l.dofs.resize(kMostDofs);
  for (auto tree = l.trees.rbegin(); tree != l.trees.rend(); ++tree) {
    for (int k = tree->dofs - 1; k >= 0; --k) {
      const int bit = tree->first_bit + k;
      if (l.groups_of_dof[bit] == 0) continue;
      const std::size_t at = static_cast<std::size_t>(bit) * stride;
      l.dofs[bit] = dof_at(model, ws, tree->first_dof + k, tree->root);
      take_dof(l.dofs[bit], Bits{1} << bit, l.groups_of_dof[bit], l.columns.data() + at, l.scaled.data() + at,
               l);
    }
  }
  add_extra(rows, stride, l);
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

/// Stores four rows of four entries at (i, j) as far as A goes.
void store_tile(int i, int j, const V4 (&tile)[4], MatOut& A) {
  const int rows = static_cast<int>(A.rows());
  double* out = A.data() + i * A.outerStride() + j;
  for (int r = 0; r < std::min(4, rows - i); ++r, out += A.outerStride()) {
    if (j + 4 <= rows)
      store4(out, tile[r]);
    else
      for (int c = 0; j + c < rows; ++c) out[c] = tile[r][c];
  }
}

/// Puts a tile, and its mirror image.
void put(int i, int j, V4 (&tile)[4], MatOut& A) {
  store_tile(i, j, tile, A);
  transpose(tile);
  if (i != j) return store_tile(j, i, tile, A);
  const int rows = static_cast<int>(A.rows());
  for (int r = 1; r < 4 && i + r < rows;
       ++r)  // y_r (D^-1 y_c) and y_c (D^-1 y_r) may differ in their last bit
    for (int c = 0; c < r; ++c) A(i + r, i + c) = A(i + c, i + r);
}

/// Rows i to i + 3 and columns j to j + 7 of A up to the diagonal.
void multiply_tile(int lanes, int i, int j, const Lanes& l, MatOut& A) {
  V4 left[4] = {}, right[4] = {};
  for (Bits todo = l.moved[i / kWidth] & l.moved[j / kWidth]; todo != 0; todo &= todo - 1) {
    const std::size_t at = static_cast<std::size_t>(std::countr_zero(todo)) * lanes;
    const double *columns = l.scaled.data() + at + j, *rows = l.columns.data() + at + i;
    const V4 first = load4(columns), second = load4(columns + 4);
    for (int r = 0; r < 4; ++r) {
      left[r] += first * rows[r];
      right[r] += second * rows[r];
    }
  }
  put(i, j, left, A);
  if (j + 4 <= i) put(i, j + 4, right, A);
}

/// (2)
void multiply(const Lanes& l, MatOut& A) {
  const int lanes = static_cast<int>(l.path.size());
  for (int i = 0; i < A.rows(); i += 4)
    for (int j = 0; j <= i; j += 8) multiply_tile(lanes, i, j, l, A);
}

}  // namespace

bool response_by_dofs(const Model& model, std::span<const ImpulseRow> rows, const Workspace& ws,
                      ResponseBuffers& b, MatOut& A) {
  Lanes& l = b.lanes;
  l.trees.clear();
  l.bodies.clear();
  const bool few = fill_lanes(model, rows, ws, b);
  for (const std::int32_t body : l.bodies) l.path_of_body[body] = 0;
  if (!few || l.path.size() > kWidth * kMostGroups) return false;
  if (l.trees.empty()) {
    A.setZero();
    return true;
  }
  const int count = static_cast<int>(rows.size());
  propagate(model, count, ws, l);
  multiply(l, A);
  return true;
}

void add_one_sided_by_dofs(const Lanes& l, VecOut& sums) {
  const int rows = static_cast<int>(sums.size()), extra = static_cast<int>(l.row_of_extra.size());
  for (int e = 0, row = 0; row < rows; ++row) {  // extra lanes are in the order of their rows
    const int first = padded(rows) + e;
    Bits moved = l.path[row];
    for (; e < extra && l.row_of_extra[e] == row; ++e) moved |= l.path[padded(rows) + e];
    for (Bits todo = moved; todo != 0; todo &= todo - 1) {
      const int bit = std::countr_zero(todo);
      const double* column = l.columns.data() + bit * l.path.size();
      const double weight = l.dofs[bit].weight;
      double own = column[row];
      for (int lane = first; lane < padded(rows) + e; ++lane) {
        if (!(l.path[lane] >> bit & 1)) continue;
        own -= column[lane];  // which add_extra() has added
        sums[row] += weight * column[lane] * column[lane];
      }
      sums[row] += weight * own * own;
    }
  }
}

namespace {

/// y^T D^-1 of a dof, times the impulses.
double push_of(const Lanes& l, int bit) {
  const double* scaled = l.scaled.data() + static_cast<std::size_t>(bit) * l.path.size();
  V8 sum{};
  for (Bits todo = l.groups_of_dof[bit]; todo != 0; todo &= todo - 1) {
    const int at = std::countr_zero(todo) * kWidth;
    sum += load8<V8>(scaled + at) * load8<V8>(l.acting.data() + at);
  }
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

double dot6(const double* a, const double* b) {
  return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5]);
}

/// (3) of all dofs of a tree.
void answer_tree(const Model& model, const Workspace& ws, const Lanes::Tree& tree, Lanes& l, double* v) {
  static constexpr double kRest[6] = {};
  for (int k = 0; k < tree.dofs; ++k) {
    const int bit = tree.first_bit + k, dof = tree.first_dof + k;
    if (l.groups_of_dof[bit] == 0) l.dofs[bit] = dof_at(model, ws, dof, tree.root);
    const int up = model.dofs[dof].parent - tree.first_dof;
    const double* before = up < 0 ? kRest : l.motion.data() + 6 * up;
    const Lanes::Dof& d = l.dofs[bit];
    const double x = push_of(l, bit) - d.weight * dot6(d.U, before);
    double* motion = l.motion.data() + 6 * k;
    for (int c = 0; c < 6; ++c) motion[c] = before[c] + d.S[c] * x;
    v[dof] += x;
  }
}

/// The same of a body that is its own tree: its dofs here are not those of its joint.
void answer_free_body(const Workspace& ws, const Lanes::Tree& tree, Lanes& l, double* v) {
  V3 turn = zero3(), move = zero3();
  for (int k = 0; k < 6; ++k) {
    const int bit = tree.first_bit + k;
    if (l.groups_of_dof[bit] == 0) continue;
    const double x = push_of(l, bit);
    const double* S = l.dofs[bit].S;
    turn = plus_scaled(turn, v3(S[0], S[1], S[2]), x);
    move = plus_scaled(move, v3(S[3], S[4], S[5]), x);
  }
  for (int k = 0; k < 3; ++k) {
    const V3 axis = load(ws.axis[tree.first_dof + k]);
    v[tree.first_dof + k] += dot(axis, move);
    v[tree.first_dof + 3 + k] += dot(axis, turn);
  }
}

}  // namespace

}  // namespace karakuri::kernel

void karakuri::answer_impulses(const Model& model, const Workspace& ws, VecIn impulses, ResponseBuffers& b,
                               VecOut v) {
  using namespace kernel;
  ResponseBuffers::DofLanes& l = b.lanes;
  l.acting.assign(l.path.size(), 0.0);
  std::copy_n(impulses.data(), impulses.size(), l.acting.begin());
  l.motion.resize(6 * kMostDofs);
  for (const ResponseBuffers::DofLanes::Tree& tree : l.trees) {
    if (model.bodies[tree.root].alone)
      answer_free_body(ws, tree, l, v.data());
    else
      answer_tree(model, ws, tree, l, v.data());
  }
}
