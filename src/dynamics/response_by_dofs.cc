// Propagation as in response_rows.cc, with impulses and motions seen at the origin of the tree's root. There
// an impulse F keeps its six numbers on its way from body to body, and every dof does the same to all rows:
//   y_v = S_v^T F,   F <- F - U_v y_v / d_v,   for the dofs v of the path, towards the root               (1)
//   A = Y^T D^-1 Y                                                                                        (2)
// What impulses l do to the velocities v of the dofs is found on the way back, from the root:
//   v_k = d_k^-1 (y_k^T l - U_k^T a),   a <- a + S_k v_k,  a: motion of the body so far, 0 at the root (3)
// Rows are lanes of vectors, whatever bodies they act on: each lane knows the dofs of its path as bits of a
// word. Eight of them go through (1) together; its results stand side by side as (2) wants them, and a tile
// of (2) takes only the dofs that both of its sides move.
#include "dynamics/response_by_dofs.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <optional>
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

/// Room for `count` numbers, of which the old are not cleared.
void reserve(std::size_t count, std::vector<double>& v) {
  if (v.size() < count) v.resize(count);
}

/// The dofs that move a body, as bits from the tree's first on.
Bits path_of(const Model& model, const Body& body) {
  const Dof& last = model.dofs[last_dof(body)];
  const std::int32_t* path = model.paths.data() + last.path;
  Bits bits = 0;
  for (int d = 0; d <= last.depth; ++d) bits |= Bits{1} << (path[d] - path[0]);
  return bits;
}

/// Bits of a tree. @return Where they start; -1: there are too many.
int bits_of_tree(const Lanes::Tree& wanted, Lanes& l) {
  for (const Lanes::Tree& tree : l.trees)
    if (tree.first_dof == wanted.first_dof) return tree.first_bit;
  const int bit = l.trees.empty() ? 0 : l.trees.back().first_bit + l.trees.back().dofs;
  if (bit + wanted.dofs > kMostDofs) return -1;
  l.trees.push_back(wanted);
  l.trees.back().first_bit = bit;
  return bit;
}

/// Room for lanes up to `count`, on which nothing acts.
void grow(int count, Lanes& l) {
  l.path.resize(padded(count), 0);
  l.sides.resize(l.path.size(), {});
}

/// What all sides on one body share.
struct Here {
  int body = 0, root = 0;
  Bits path = 0;
};

/// @return Whether there are few enough dofs.
bool go_to(int body, Lanes& l, Here& here) {
  if (body == here.body) return true;
  const Lanes::Place& place = l.place_of_body[body];
  const int bit = place.path == 0 ? -1 : bits_of_tree(place.tree, l);
  if (bit < 0) return false;
  here = {body, place.tree.root, place.path << bit};
  return true;
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
bool assign_lanes(std::span<const ImpulseRow> rows, Lanes& l) {
  l.path.clear();
  l.sides.clear();
  l.row_of_extra.clear();
  const int count = static_cast<int>(rows.size());
  grow(count, l);
  Here here[2];  // by side: rows of a contact follow each other
  for (int i = 0; i < count; ++i) {
    for (const ImpulseRow* row = &rows[i]; row; row = row->more) {
      if (row->body == row->other) continue;  // does nothing
      for (int side = 0; side < 2; ++side) {
        const int body = side == 0 ? row->body : row->other;
        if (body == 0) continue;
        if (!go_to(body, l, here[side])) return false;
        const int lane = l.path[i] == 0 ? i : add_lane(count, i, l);
        l.path[lane] = here[side].path;
        l.sides[lane] = {row, here[side].root, side == 0 ? 1.0 : -1.0};
      }
    }
  }
  return true;
}

void transpose(V4 (&t)[4]) { simd::transpose(t[0], t[1], t[2], t[3]); }

/// The impulses of four lanes, seen at the origins of their roots. A fourth number behind each vector is read
/// and not used.
void fill_impulses(const Workspace& ws, const Lanes::Side* sides, double* to) {
  static_assert(offsetof(ImpulseRow, more) == offsetof(ImpulseRow, moment) + sizeof(Vec3));
  V4 arm[4] = {}, n[4] = {}, f[4] = {};
  for (int k = 0; k < 4; ++k) {
    const auto& [row, root, sign] = sides[k];
    if (!row) continue;
    arm[k] = load4(row->point.data()) - load(ws.pose[root].p).m;
    n[k] = load4(row->moment.data()) * sign;
    f[k] = load4(row->force.data()) * sign;
  }
  transpose(arm), transpose(n), transpose(f);
  for (int c = 0; c < 3; ++c) {
    const int y = (c + 1) % 3, z = (c + 2) % 3;
    store4(to + c * kWidth, n[c] + arm[y] * f[z] - arm[z] * f[y]);
    store4(to + (3 + c) * kWidth, f[c]);
  }
}

/// @return Whether all dofs have a bit.
bool fill_lanes(std::span<const ImpulseRow> rows, const Workspace& ws, Lanes& l) {
  if (!assign_lanes(rows, l)) return false;
  const int lanes = static_cast<int>(l.path.size());
  reserve(6 * l.path.size(), l.impulse);
  for (int i = 0; i < lanes; i += 4)
    fill_impulses(ws, l.sides.data() + i, l.impulse.data() + i / kWidth * kImpulses + i % kWidth);
  return true;
}

void set_dof(V3 S_n, V3 S_f, V3 U_n, V3 U_f, double inverse_d, Lanes::Dof& out) {
  const V3 parts[] = {S_n, S_f, U_n, U_f};
  for (int k = 0; k < 4; ++k) store4(out.numbers + 3 * k, parts[k].m);  // the next overwrites the fourth lane
  out.numbers[12] = inverse_d;
}

/// A body that is its own tree: M is diagonal in principal axes at the centre of mass.
void find_dof_of_free_body(const Model& model, const Workspace& ws, int i, int k, Lanes::Dof& out) {
  const FreeBody& free = model.free_bodies[model.bodies[i].extra];
  if (k < 3) {
    V3 axis = zero3();
    axis.m[k] = 1;
    return set_dof(zero3(), axis, zero3(), zero3(), 1 / model.bodies[i].mass, out);
  }
  const M3 R = load(ws.pose[i].R);
  const V3 axis = R * load(free.axes.column[k - 3]);
  set_dof(axis, cross(R * load(free.com), axis), zero3(), zero3(), load(free.inverse_moments)[k - 3], out);
}

/// Dof k of a tree. Written where it stays: a copy would wait for the stores.
void find_dof(const Model& model, const Workspace& ws, const Lanes::Tree& tree, int k, Lanes::Dof& out) {
  if (tree.alone) return find_dof_of_free_body(model, ws, tree.root, k, out);
  const int v = tree.first_dof + k, i = model.dofs[v].body;
  const Workspace::Pivot& pivot = ws.pivot[v];
  const V3 axis = load(ws.axis[v]), arm = load(ws.pose[i].p) - load(ws.pose[tree.root].p);
  const V3 U_f = load(pivot.Uf), U_n = load(pivot.Un) + cross(arm, U_f);
  V3 S_n = axis, S_f = cross(arm, axis);
  switch (model.dofs[v].kind) {
    case DofKind::kTranslation: S_n = zero3(), S_f = axis; break;
    case DofKind::kScrew: S_f = plus_scaled(S_f, axis, model.bodies[i].pitch); break;
    case DofKind::kRotation: break;
  }
  set_dof(S_n, S_f, U_n, U_f, pivot.inverse_d, out);
}

/// A group of lanes on its way to the root.
struct Travelling {
  V8 F[6];
  const Bits* path;

  Travelling(const Lanes& l, int group) : path(l.path.data() + group * kWidth) {
    for (int c = 0; c < 6; ++c) F[c] = load8<V8>(l.impulse.data() + group * kImpulses + c * kWidth);
  }
  /// What a dof takes of an impulse that it moves.
  V8 where_moved(Bits bit, V8 y) const { return (load8<Bits8>(path) & bit) != 0 ? y : V8{}; }

  /// (1) of one dof.
  void pass(const Lanes::Dof& dof, Bits bit, double* column, double* scaled) {
    const double *S = dof.S(), *U = dof.U();
    const V8 y = where_moved(
        bit, (F[0] * S[0] + F[1] * S[1] + F[2] * S[2]) + (F[3] * S[3] + F[4] * S[4] + F[5] * S[5]));
    const V8 s = y * dof.weight();
    store8(column, y);
    store8(scaled, s);
    for (int c = 0; c < 6; ++c) F[c] -= s * U[c];
  }
};

/// (1) of the six dofs of a free root at once: y = T F with
///   t_k = S_k - sum over the dofs j after it of t_j (U_j . S_k) / d_j
struct RootProduct {
  double T[6][6];

  explicit RootProduct(const Lanes::Dof* dofs) {
    for (int k = 5; k >= 0; --k) {
      std::copy_n(dofs[k].S(), 6, T[k]);
      for (int j = 5; j > k; --j) {
        double felt = 0;
        for (int c = 0; c < 6; ++c) felt += dofs[j].U()[c] * dofs[k].S()[c];
        for (int c = 0; c < 6; ++c) T[k][c] -= felt * dofs[j].weight() * T[j][c];
      }
    }
  }

  void pass(const Travelling& lanes, const Lanes::Dof* dofs, Bits first, int stride, double* column,
            double* scaled) const {
    for (int k = 0; k < 6; ++k, column += stride, scaled += stride) {
      V8 y = lanes.F[0] * T[k][0];
      for (int c = 1; c < 6; ++c) y += lanes.F[c] * T[k][c];
      y = lanes.where_moved(first, y);
      store8(column, y);
      store8(scaled, y * dofs[k].weight());
    }
  }
};

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

/// The dofs of a tree as bits, its first `count` of them.
Bits bits_of(const Lanes::Tree& tree, int count) { return (~Bits{0} >> (64 - count)) << tree.first_bit; }

/// (1) of one tree for all groups of lanes. columns: Y by dof; scaled: the same times D^-1; both only where
/// `moved` has the dof's bit.
void propagate_tree(const Lanes::Tree& tree, int stride, Lanes& l) {
  const Bits root = tree.free_root ? bits_of(tree, 6) : 0, rest = bits_of(tree, tree.dofs) & ~root;
  const Lanes::Dof* first = l.dofs.data() + tree.first_bit;
  const auto at = [&](int group, int bit) { return static_cast<std::size_t>(bit) * stride + group * kWidth; };
  std::optional<RootProduct> product;
  if (tree.free_root) product.emplace(first);
  for (int g = 0; g < stride / kWidth; ++g) {
    if ((l.moved[g] & (root | rest)) == 0) continue;
    Travelling lanes(l, g);
    for (Bits todo = l.moved[g] & rest; todo != 0;) {
      const int bit = std::bit_width(todo) - 1;
      todo ^= Bits{1} << bit;
      lanes.pass(l.dofs[bit], Bits{1} << bit, l.columns.data() + at(g, bit), l.scaled.data() + at(g, bit));
    }
    if (!tree.free_root) continue;
    const std::size_t to = at(g, tree.first_bit);
    product->pass(lanes, first, Bits{1} << tree.first_bit, stride, l.columns.data() + to,
                  l.scaled.data() + to);
  }
}

void propagate(const Model& model, int rows, const Workspace& ws, Lanes& l) {
  const int stride = static_cast<int>(l.path.size()), groups = stride / kWidth;
  l.moved.assign(groups, 0);
  for (int lane = 0; lane < stride; ++lane) l.moved[lane / kWidth] |= l.path[lane];
  for (std::size_t e = 0; e < l.row_of_extra.size(); ++e)
    l.moved[l.row_of_extra[e] / kWidth] |= l.path[padded(rows) + e];
  const std::size_t dofs = l.trees.back().first_bit + l.trees.back().dofs;
  reserve(dofs * stride, l.columns);
  reserve(dofs * stride, l.scaled);
  l.dofs.resize(kMostDofs);
  l.known = 0;
  for (const Bits moved : l.moved) l.known |= moved;
  for (const Lanes::Tree& tree : l.trees) {
    for (int k = 0; k < tree.dofs; ++k)
      if (l.known >> (tree.first_bit + k) & 1) find_dof(model, ws, tree, k, l.dofs[tree.first_bit + k]);
    propagate_tree(tree, stride, l);
  }
  add_extra(rows, stride, l);
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

/// Rows i to i + 3 and columns j to j + 3, or + 7 where it is wide, of A.
template <bool wide>
void multiply_tile(int lanes, int i, int j, const Lanes& l, MatOut& A) {
  V4 left[4] = {}, right[4] = {};
  for (Bits todo = l.moved[i / kWidth] & l.moved[j / kWidth]; todo != 0; todo &= todo - 1) {
    const std::size_t at = static_cast<std::size_t>(std::countr_zero(todo)) * lanes;
    const double *columns = l.scaled.data() + at + j, *rows = l.columns.data() + at + i;
    const V4 first = load4(columns), second = load4(columns + 4);
    for (int r = 0; r < 4; ++r) {
      left[r] += first * rows[r];
      if constexpr (wide) right[r] += second * rows[r];
    }
  }
  put(i, j, left, A);
  if constexpr (wide) put(i, j + 4, right, A);
}

/// (2), up to the diagonal.
void multiply(const Lanes& l, MatOut& A) {
  const int lanes = static_cast<int>(l.path.size());
  for (int i = 0; i < A.rows(); i += 4) {
    for (int j = 0; j + 4 <= i; j += 8) multiply_tile<true>(lanes, i, j, l, A);
    if (i % 8 == 0) multiply_tile<false>(lanes, i, i, l, A);
  }
}

}  // namespace

void place_bodies(const Model& model, Lanes& l) {
  l.place_of_body.assign(model.bodies.size(), {});
  l.by_depth.resize(model.dofs.size());
  std::iota(l.by_depth.begin(), l.by_depth.end(), 0);
  for (const Tree& tree : model.trees) {
    const Body& root = model.bodies[tree.first];
    const int first = root.first_v, dofs = last_dof(model.bodies[tree.last - 1]) + 1 - first;
    if (dofs > kMostDofs) continue;
    for (int i = tree.first; i < tree.last; ++i) {
      const Lanes::Tree own = {tree.first, first, dofs, 0, root.alone, root.dofs == 6 && !root.alone};
      l.place_of_body[i] = {path_of(model, model.bodies[i]), own};
    }
    std::ranges::sort(l.by_depth.begin() + first, l.by_depth.begin() + first + dofs, {},
                      [&](int dof) { return std::pair(model.dofs[dof].depth, dof); });
  }
}

bool response_by_dofs(const Model& model, std::span<const ImpulseRow> rows, const Workspace& ws,
                      ResponseBuffers& b, MatOut& A) {
  Lanes& l = b.lanes;
  l.trees.clear();
  if (!fill_lanes(rows, ws, l) || l.path.size() > kWidth * kMostGroups) return false;
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
      const double weight = l.dofs[bit].weight();
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
  for (std::size_t g = 0; g < l.moved.size(); ++g, scaled += kWidth) {  // no branches: all groups
    const Bits8 moved = Bits8{} - (l.moved[g] >> bit & 1);
    const Bits8 y = load8<Bits8>(scaled) & moved;
    sum += reinterpret_cast<V8>(y) * load8<V8>(l.acting.data() + g * kWidth);
  }
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

/// (3) of all dofs of a tree, by their depth: what follows each other does not wait for each other.
void answer_tree(const Model& model, const Workspace& ws, const Lanes::Tree& tree, Lanes& l, double* v) {
  static constexpr double kRest[8] = {};
  for (int n = 0; n < tree.dofs; ++n) {
    const int dof = l.by_depth[tree.first_dof + n], k = dof - tree.first_dof, bit = tree.first_bit + k;
    Lanes::Dof& d = l.dofs[bit];
    if (!(l.known >> bit & 1)) find_dof(model, ws, tree, k, d);
    const int up = model.dofs[dof].parent - tree.first_dof;
    const double* before = up < 0 ? kRest : l.motion.data() + 8 * (tree.first_bit + up);
    const V4 turn = load4(before), move = load4(before + 4);
    const V4 felt = load4(d.U()) * turn + load4(d.U() + 3) * move;
    const double x = push_of(l, bit) - d.weight() * ((felt[0] + felt[1]) + felt[2]);
    store4(l.motion.data() + 8 * bit, turn + load4(d.S()) * x);
    store4(l.motion.data() + 8 * bit + 4, move + load4(d.S() + 3) * x);
    v[dof] += x;
  }
}

/// The same of a body that is its own tree: its dofs here are not those of its joint.
void answer_free_body(const Workspace& ws, const Lanes::Tree& tree, Lanes& l, double* v) {
  V3 turn = zero3(), move = zero3();
  for (int k = 0; k < 6; ++k) {
    const int bit = tree.first_bit + k;
    if (!(l.known >> bit & 1)) continue;
    const double x = push_of(l, bit);
    const double* S = l.dofs[bit].S();
    turn = plus_scaled(turn, v3(S[0], S[1], S[2]), x);
    move = plus_scaled(move, v3(S[3], S[4], S[5]), x);
  }
  double* motion = l.motion.data() + 8 * (tree.first_bit + 5);
  store4(motion, turn.m);
  store4(motion + 4, move.m);
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
  l.motion.resize(8 * kMostDofs);
  for (const ResponseBuffers::DofLanes::Tree& tree : l.trees) {
    if (tree.alone)
      answer_free_body(ws, tree, l, v.data());
    else
      answer_tree(model, ws, tree, l, v.data());
  }
}

double karakuri::answered_velocity(const Workspace& ws, const ImpulseRow& first, const ResponseBuffers& b) {
  using namespace kernel;
  const ResponseBuffers::DofLanes& l = b.lanes;
  double sum = 0;
  for (const ImpulseRow* row = &first; row; row = row->more) {
    for (const auto& [body, sign] : {std::pair{row->body, 1.0}, std::pair{row->other, -1.0}}) {
      const ResponseBuffers::DofLanes::Place& place = l.place_of_body[body];
      for (const ResponseBuffers::DofLanes::Tree& tree : l.trees) {
        if (body == 0 || tree.first_dof != place.tree.first_dof) continue;
        const double* motion = l.motion.data() + 8 * (tree.first_bit + std::bit_width(place.path) - 1);
        const V3 turn = v3(motion[0], motion[1], motion[2]), move = v3(motion[4], motion[5], motion[6]);
        const V3 arm = v3(row->point) - load(ws.pose[tree.root].p);
        sum += sign * (dot(v3(row->force), move + cross(turn, arm)) + dot(v3(row->moment), turn));
      }
    }
  }
  return sum;
}
