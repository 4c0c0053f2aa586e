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
using Bits4 = Bits __attribute__((vector_size(32)));

constexpr int kMostDofs = 64, kMostGroups = 64;  // bits of a word
constexpr int kImpulses = 6 * kWidth;            // numbers of the impulses of one such group

V8 load8(const double* p) {
  V8 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
Bits4 load4_bits(const Bits* p) {
  Bits4 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

int padded(int n) { return (n + kWidth - 1) / kWidth * kWidth; }

/// Room for `count` numbers, of which the old are not cleared.
void reserve(std::size_t count, std::vector<double>& v) {
  if (v.size() < count) v.resize(count);
}

/// How many dofs of a tree, from the first on, are translations.
int leading_translations(const Model& model, int first, int dofs) {
  int k = 0;
  while (k < dofs && model.dofs[first + k].kind == DofKind::kTranslation) ++k;
  return k;
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
  Here here;
  for (int i = 0; i < count; ++i) {
    for (const ImpulseRow* row = &rows[i]; row; row = row->more) {
      if (row->body == row->other) continue;  // does nothing
      for (const auto& [body, sign] : {std::pair{row->body, 1.0}, std::pair{row->other, -1.0}}) {
        if (body == 0) continue;
        if (!go_to(body, l, here)) return false;
        const int lane = l.path[i] == 0 ? i : add_lane(count, i, l);
        l.path[lane] = here.path;
        l.sides[lane] = {row, here.root, sign};
      }
    }
  }
  return true;
}

void transpose(V4 (&t)[4]) { simd::transpose(t[0], t[1], t[2], t[3]); }

/// The impulses of four lanes, seen at the origins of their roots.
void fill_impulses(const Workspace& ws, const Lanes::Side* sides, double* to) {
  V4 arm[4] = {}, n[4] = {}, f[4] = {};
  for (int k = 0; k < 4; ++k) {
    const auto& [row, root, sign] = sides[k];
    if (!row) continue;
    arm[k] = (v3(row->point) - load(ws.pose[root].p)).m;
    n[k] = (v3(row->moment) * sign).m;
    f[k] = (v3(row->force) * sign).m;
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

/// (1) of one dof for the groups of lanes that it moves. It reads numbers [first, last) of the impulses and
/// changes [changed, 6).
template <int first, int last, int changed>
void take_dof(const Lanes::Dof& dof, Bits bit, Bits groups, double* column, double* scaled, Lanes& l) {
  for (Bits todo = groups; todo != 0; todo &= todo - 1) {
    const int g = std::countr_zero(todo);
    for (int half = 0; half < kWidth; half += 4) {
      double* F = l.impulse.data() + g * kImpulses + half;
      V4 f[6];
      for (int c = std::min(first, changed); c < 6; ++c) f[c] = load4(F + c * kWidth);
      V4 sum =
          f[first] * dof.S()[first] + f[first + 1] * dof.S()[first + 1] + f[first + 2] * dof.S()[first + 2];
      if constexpr (last - first == 6) sum += f[3] * dof.S()[3] + f[4] * dof.S()[4] + f[5] * dof.S()[5];
      const int lane = g * kWidth + half;
      const V4 y = (load4_bits(l.path.data() + lane) & bit) != 0 ? sum : V4{};
      const V4 s = y * dof.weight();
      store4(column + lane, y);
      store4(scaled + lane, s);
      for (int c = changed; c < 6; ++c) store4(F + c * kWidth, f[c] - s * dof.U()[c]);
    }
  }
}

/// (1) of dof k of a tree. At the root itself a rotation reads moments alone, a translation reads forces
/// alone everywhere, and nothing is passed on to where nothing reads it: half of what a free root would cost.
void take_dof(const Model& model, const Lanes::Tree& tree, int k, double* column, double* scaled, Lanes& l) {
  const int bit = tree.first_bit + k;
  const Lanes::Dof& dof = l.dofs[bit];
  const Bits groups = l.groups_of_dof[bit], mask = Bits{1} << bit;
  const Dof& joint = model.dofs[tree.first_dof + k];
  const bool translates = joint.kind == DofKind::kTranslation;
  const bool turns_root = joint.body == tree.root && joint.kind == DofKind::kRotation && !tree.alone;
  const auto take = [&]<int changed> {
    if (translates) return take_dof<3, 6, changed>(dof, mask, groups, column, scaled, l);
    if (turns_root) return take_dof<0, 3, changed>(dof, mask, groups, column, scaled, l);
    take_dof<0, 6, changed>(dof, mask, groups, column, scaled, l);
  };
  if (k == 0 || tree.alone) return take.operator()<6>();
  if (k <= tree.translations) return take.operator()<3>();
  take.operator()<0>();
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
  reserve(dofs * stride, l.columns);
  reserve(dofs * stride, l.scaled);
  l.dofs.resize(kMostDofs);
  for (auto tree = l.trees.rbegin(); tree != l.trees.rend(); ++tree) {
    for (int k = tree->dofs - 1; k >= 0; --k) {
      const int bit = tree->first_bit + k;
      if (l.groups_of_dof[bit] == 0) continue;
      const std::size_t at = static_cast<std::size_t>(bit) * stride;
      find_dof(model, ws, *tree, k, l.dofs[bit]);
      take_dof(model, *tree, k, l.columns.data() + at, l.scaled.data() + at, l);
    }
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

void place_bodies(const Model& model, Lanes& l) {
  l.place_of_body.assign(model.bodies.size(), {});
  for (const Tree& tree : model.trees) {
    const Body& root = model.bodies[tree.first];
    const int first = root.first_v, dofs = last_dof(model.bodies[tree.last - 1]) + 1 - first;
    if (dofs > kMostDofs) continue;
    for (int i = tree.first; i < tree.last; ++i) {
      const Lanes::Tree own = {tree.first, first,     dofs, leading_translations(model, first, dofs),
                               0,          root.alone};
      l.place_of_body[i] = {path_of(model, model.bodies[i]), own};
    }
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
  for (Bits todo = l.groups_of_dof[bit]; todo != 0; todo &= todo - 1) {
    const int at = std::countr_zero(todo) * kWidth;
    sum += load8(scaled + at) * load8(l.acting.data() + at);
  }
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

/// (3) of all dofs of a tree.
void answer_tree(const Model& model, const Workspace& ws, const Lanes::Tree& tree, Lanes& l, double* v) {
  static constexpr double kRest[8] = {};
  for (int k = 0; k < tree.dofs; ++k) {
    const int bit = tree.first_bit + k, dof = tree.first_dof + k;
    Lanes::Dof& d = l.dofs[bit];
    if (l.groups_of_dof[bit] == 0) find_dof(model, ws, tree, k, d);
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
    if (l.groups_of_dof[bit] == 0) continue;
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
