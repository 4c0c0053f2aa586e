#include "constraint/held_loops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "dynamics/response_sides.h"
#include "dynamics/tree_rates.h"
#include "karakuri/constraint/joint_rows.h"
#include "karakuri/dynamics/aba.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/loop_rows.h"
#include "karakuri/dynamics/relation_rows.h"
#include "karakuri/model/configuration.h"

namespace karakuri {

using Member = HeldLoops::Member;
using Side = HeldLoops::Side;

namespace {

constexpr int kMostNewton = 8;
// A repeat that leaves more than this has an old factor.
constexpr double kStale = 0.03;

Eigen::Map<Eigen::VectorXd> as_vector(std::vector<double>& v) {
  return {v.data(), static_cast<Eigen::Index>(v.size())};
}

/// Whether a tree's state is finite: what is not must not reach others through their common matrix.
bool is_finite(const Model& model, const State& at, int body, HeldLoops& s) {
  const int t = s.tree_of[body];
  if (t < 0) return true;
  if (s.scratch.counted[t] == 0) {
    const Tree& tree = model.trees[t];
    const Body &first = model.bodies[tree.first], &last = model.bodies[tree.last - 1];
    double sum = 0;
    for (int i = first.first_q; i < last.first_q + q_size(last.kind); ++i) sum += std::abs(at.q[i]);
    for (int i = first.first_v; i < last.first_v + last.dofs; ++i) sum += std::abs(at.v[i]);
    s.scratch.counted[t] = std::isfinite(sum) ? 1 : 2;
  }
  return s.scratch.counted[t] == 1;
}

/// Adds a loop or coupling that is held: with a body that answers, of one set of trees or all.
void add_member(const Model& model, const State& at, bool is_loop, int index, unsigned which, int root,
                HeldLoops& s) {
  bool answers = false, finite = true, of_root = root < 0;
  int tree = static_cast<int>(model.trees.size());
  for_each_body(model, is_loop, index, [&](int body) {
    answers = answers || s.moves(body);
    of_root = of_root || (s.moves(body) && s.root[s.tree_of[body]] == root);
    finite = finite && is_finite(model, at, body, s);
    if (s.tree_of[body] >= 0) tree = std::min(tree, s.tree_of[body]);
  });
  if (answers && of_root && finite && which != 0)
    s.members.push_back(
        {tree, is_loop, index, std::popcount(which), static_cast<std::uint8_t>(which), 0, 0, 0});
}

}  // namespace

int tree_of(const Model& model, const HeldLoops& s, const Member& m) {
  int tree = -1;
  for_each_body(model, m, [&](int body) {
    if (tree < 0 && s.moves(body)) tree = s.tree_of[body];
  });
  return tree;
}

int root_of(const Model& model, const HeldLoops& s, const Member& m) { return s.root[tree_of(model, s, m)]; }

void list_held(const Model& model, const State& at, const Workspace& ws, const State& closed, int root,
               HeldLoops& s) {
  s.members.clear();
  s.scratch.counted.assign(model.trees.size(), 0);
  for (std::size_t i = 0; i < model.loops.size(); ++i)
    if (closed.loop_closed[i] && model.loops[i].held())
      add_member(model, at, true, static_cast<int>(i),
                 moving_rows(model, model.loops[i], loop_rows(model.loops[i], ws), ws), root, s);
  const std::size_t loops = s.members.size();
  std::size_t parts = 0;
  for (std::size_t i = 0; i < model.relations.size(); ++i) {
    if (model.relations[i].held) add_member(model, at, false, static_cast<int>(i), 1, root, s);
    parts += relation_parts(model.relations[i]);
  }
  if (loops > 0 && loops < s.members.size())  // keeps what shares a tree together, and so the envelope narrow
    std::sort(s.members.begin(), s.members.end(), [](const Member& a, const Member& b) {
      return std::tuple(a.tree, !a.is_loop, a.index) < std::tuple(b.tree, !b.is_loop, b.index);
    });
  int row = 0;
  for (Member& m : s.members) m.first_row = std::exchange(row, row + m.count);
  s.row_parts.reserve(parts);
  s.seen_parts.reserve(parts);
  s.rows.resize(row);
  s.seen.resize(row);
  s.unit.resize(row);
  s.error.resize(row);
  s.right.resize(row);
  s.x.resize(row);
  s.change.resize(model.nv);
}

namespace {

/// What does not answer is not moved.
void release_what_does_not_move(const HeldLoops& s, std::span<ImpulseRow> rows) {
  for (ImpulseRow& row : rows) {
    if (!s.moves(row.body)) row.body = 0;
    if (!s.moves(row.other)) row.other = 0;
  }
}

}  // namespace

double look(const Model& model, const State& at, const Workspace& ws, HeldLoops& s) {
  double most = 0;
  s.row_parts.clear();
  s.seen_parts.clear();
  for (const Member& m : s.members) {
    if (m.is_loop) {
      const LoopRows rows = loop_rows(model.loops[m.index], ws);
      for_each_row(m, [&](int k, int row) {
        const double unit = s.unit[row] = loop_row_unit(rows.row[k], s.length);
        s.rows[row] = rows.row[k];
        s.rows[row].force *= unit;
        s.rows[row].moment *= unit;
        s.seen[row] = s.rows[row];
        s.error[row] = unit * rows.error[k];
      });
    } else {
      const Relation& r = model.relations[m.index];
      const double unit = s.unit[m.first_row] = relation_unit(model, r, s.length);
      s.rows[m.first_row] = relation_row(model, r, at.q_view(), ws, unit, s.row_parts);
      s.seen[m.first_row] = relation_row(model, r, at.q_view(), ws, unit, s.seen_parts);
      s.error[m.first_row] = unit * relation_position(r, at.q_view());
    }
    for (int k = 0; k < m.count; ++k) most = std::max(most, std::abs(s.error[m.first_row + k]));
  }
  release_what_does_not_move(s, s.rows);
  release_what_does_not_move(s, s.row_parts);
  return most;
}

namespace {

/// Copies y of all sides out of the buffers, one after the other. Rows of one member have the same sides, in
/// the same order.
void copy_vectors(const ResponseBuffers& b, HeldLoops& s) {
  index_sides(b, s.rows.size(), s.scratch.side_start, s.scratch.side_of);
  s.scratch.vectors.clear();
  s.scratch.sides.clear();
  for (Member& m : s.members) {
    m.first_side = static_cast<std::int32_t>(s.scratch.sides.size());
    m.side_count = s.scratch.side_start[m.first_row + 1] - s.scratch.side_start[m.first_row];
    for (int e = 0; e < m.side_count; ++e) {
      const int first = s.scratch.side_of[s.scratch.side_start[m.first_row] + e];
      const ResponseBuffers::Group& g = b.groups[b.sides[first].group];
      const std::size_t start = s.scratch.vectors.size();
      s.scratch.sides.push_back({g.body, g.length, static_cast<std::int64_t>(start)});
      s.scratch.vectors.resize(start + 2 * static_cast<std::size_t>(m.count) * g.length);
      double* y = s.scratch.vectors.data() + start;
      double* z = y + static_cast<std::ptrdiff_t>(m.count) * g.length;
      for (int k = 0; k < m.count; ++k) {
        const int in_group = s.scratch.side_of[s.scratch.side_start[m.first_row + k] + e] - g.first_side;
        const Packed4* from = b.y.data() + g.y + static_cast<std::int64_t>(in_group / 4) * g.length;
        for (int d = 0; d < g.length; ++d) {
          y[k * g.length + d] = from[d].lane[in_group % 4];
          z[k * g.length + d] = y[k * g.length + d] * b.weights[g.weight + d];
        }
      }
    }
  }
}

/// How many dofs the paths of two bodies share.
int common_length(const Model& model, int a, int b) {
  const auto last = [&](int body) { return model.bodies[body].first_v + model.bodies[body].dofs - 1; };
  int x = last(a), y = last(b);
  while (x != y) {
    if (x < 0 || y < 0) return 0;
    const int dx = model.dofs[x].depth, dy = model.dofs[y].depth;
    if (dx >= dy) x = model.dofs[x].parent;
    if (dy >= dx) y = model.dofs[y].parent;
  }
  return x < 0 ? 0 : model.dofs[x].depth + 1;
}

/// Adds the products of the rows of two members through one side of each.
void add_products(HeldLoops& s, const Member& i, const Side& a, const Member& j, const Side& b, int n) {
  const double* y = s.scratch.vectors.data() + a.y;
  const double* z = s.scratch.vectors.data() + b.y + static_cast<std::ptrdiff_t>(j.count) * b.length;
  for (int k = 0; k < i.count; ++k) {
    for (int l = 0; l < j.count; ++l) {
      const int row = i.first_row + k, column = j.first_row + l;
      if (column > row) break;
      double sum = 0;
      for (int d = 0; d < n; ++d) sum += y[k * a.length + d] * z[l * b.length + d];
      s.matrix.at(row, column) += sum;
      if (row == column && &a == &b) s.x[row] += sum;
    }
  }
}

/// A dense, and of its diagonal what both sides gave before they cancelled: how most mechanisms are done.
void fill_dense(const Model& model, Workspace& ws, HeldLoops& s) {
  const int n = s.size();
  s.scratch.dense.resize(static_cast<std::size_t>(n) * n);
  const Eigen::Map<Eigen::MatrixXd, 0, Eigen::OuterStride<>> A(s.scratch.dense.data(), n, n,
                                                               Eigen::OuterStride<>(n));
  response(model, s.rows, ws, *s.scratch.response, A);
  for (int i = 0; i < n; ++i)
    for (int j = s.scratch.first[i]; j <= i; ++j) s.matrix.at(i, j) = A(j, i);
  add_one_sided(*s.scratch.response, as_vector(s.x));
}

void fill_envelope(const Model& model, HeldLoops& s) {
  s.scratch.first_of_tree.assign(model.trees.size(), -1);
  s.scratch.first.resize(s.rows.size());
  for (const Member& m : s.members) {
    int first = m.first_row;
    for (const ImpulseRow* row = &s.rows[m.first_row]; row; row = row->more) {
      for (const int body : {row->body, row->other}) {
        if (body == 0) continue;
        int& of_tree = s.scratch.first_of_tree[s.tree_of[body]];
        if (of_tree < 0) of_tree = m.first_row;
        first = std::min(first, of_tree);
      }
    }
    std::fill_n(s.scratch.first.begin() + m.first_row, m.count, first);
  }
  s.matrix.reset(s.scratch.first);
}

std::span<const Side> sides_of(const HeldLoops& s, const Member& m) {
  return std::span(s.scratch.sides).subspan(m.first_side, m.side_count);
}

/// A block by block, where loops share a tree.
void fill_sparse(const Model& model, Workspace& ws, HeldLoops& s) {
  ResponseBuffers& buffers = *s.scratch.response;
  response_vectors(model, s.rows, ws, buffers);
  copy_vectors(buffers, s);
  for (std::size_t i = 0; i < s.members.size(); ++i) {
    const Member& m = s.members[i];
    for (std::size_t j = i + 1; j-- > 0;) {
      const Member& o = s.members[j];
      if (o.first_row < s.scratch.first[m.first_row]) break;
      for (const Side& a : sides_of(s, m)) {
        for (const Side& b : sides_of(s, o)) {
          if (s.tree_of[a.body] != s.tree_of[b.body]) continue;
          if (const int n = common_length(model, a.body, b.body); n > 0) add_products(s, m, a, o, b, n);
        }
      }
    }
  }
}

}  // namespace

void factor(const Model& model, Workspace& ws, HeldLoops& s) {
  constexpr int kDenseRows = 400;
  fill_envelope(model, s);
  std::fill(s.x.begin(), s.x.end(), 0.0);  // here: the diagonal before both sides cancel
  const bool is_full = s.matrix.value_count() > 0.25 * s.size() * s.size();  // of 0.5, diagonal and below
  if (s.size() <= kDenseRows && is_full)
    fill_dense(model, ws, s);
  else
    fill_sparse(model, ws, s);
  // Rows that both sides feel but that part nothing, and rows that nothing feels, are zero but for rounding:
  // scaled up, that would be noise.
  const double most = s.x.empty() ? 0 : *std::max_element(s.x.begin(), s.x.end());
  for (int i = 0; i < s.size(); ++i)
    if (s.matrix.at(i, i) < 1e-12 * s.x[i] || s.x[i] < 1e-24 * most) s.matrix.at(i, i) = 0;
  s.matrix.factor();
  s.is_factored = true;
}

void take_back(const Model& model, Workspace& ws, HeldLoops& s, VecOut x, int rounds) {
  s.matrix.solve(s.right, s.x, rounds);
  for (double& impulse : s.x) impulse = -impulse;
  apply_impulses(model, s.rows, as_vector(s.x), ws, x);
}

namespace {

double kinetic_energy_of(const Model& model, const Workspace& ws, int body) {
  const Body& b = model.bodies[body];
  const Mat3 R = ws.pose[body].R;
  const Vec3 v = ws.velocity[body].v, turn = ws.velocity[body].w, local = R.transpose() * turn;
  const double* I = b.inertia;
  Mat3 inertia;
  inertia << I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2];
  return 0.5 * b.mass * v.squaredNorm() + v.dot(turn.cross(R * Vec3(b.mass_com))) +
         0.5 * local.dot(inertia * local);
}

}  // namespace

void measure(const Model& model, const Workspace& ws, HeldLoops& s) {
  const std::size_t trees = model.trees.size();
  s.kinetic.assign(trees, 0.0);
  s.mass.assign(trees, 0.0);
  s.scratch.counted.assign(trees, 0);
  for (const Member& m : s.members) {
    for_each_body(model, m, [&](int body) {
      if (!s.moves(body) || s.scratch.counted[s.tree_of[body]]) return;
      const int tree = s.tree_of[body], root = s.root[tree];
      s.scratch.counted[tree] = 1;
      for (int i = model.trees[tree].first; i < model.trees[tree].last; ++i) {
        s.kinetic[root] += kinetic_energy_of(model, ws, i);
        s.mass[root] += model.bodies[i].mass;
      }
    });
  }
}

void ask(const Model& model, HeldLoops& s, int rounds) {
  s.asked.assign(model.trees.size(), 0.0);
  s.error.swap(s.right);
  s.right = s.error;
  s.matrix.solve(s.right, s.x, rounds);
  for (const Member& m : s.members) {
    double& sum = s.asked[root_of(model, s, m)];
    for (int k = m.first_row; k < m.first_row + m.count; ++k) sum += s.x[k] * s.error[k];
  }
}

namespace {

/// Takes the part of the changes of each tree that turns none of its joints too far. @return Whether that was
/// all.
bool shorten_turns(const Model& model, HeldLoops& s) {
  bool all = true;
  for (const Tree& tree : model.trees) {
    const double most = largest_turn(model, tree, s.change);
    if (!(most > kMostTurn)) continue;
    all = false;
    scale_rates(model, tree, kMostTurn / most, s.change);
  }
  return all;
}

/// q <- q (+) the part of (1) that (4) allows. @return Whether that was all.
bool correct(const Model& model, State& at, double h, double speed, Workspace& ws, HeldLoops& s) {
  update_velocities(model, at, ws);
  measure(model, ws, s);
  s.right = s.error;
  ask(model, s, 1);
  bool all = true;
  for (const Member& m : s.members) {
    const int root = root_of(model, s, m);
    const double most = h * h * (2 * s.kinetic[root] + s.mass[root] * speed * speed);
    const double share = s.asked[root] > most ? std::sqrt(most / s.asked[root]) : 1;
    all = all && share == 1;
    for (int k = m.first_row; k < m.first_row + m.count; ++k) s.x[k] *= -share;
  }
  std::fill(s.change.begin(), s.change.end(), 0.0);
  apply_impulses(model, s.rows, as_vector(s.x), ws, as_vector(s.change));
  all = shorten_turns(model, s) && all;
  integrate(model, at.q_view(), as_vector(s.change), 1);  // (1)
  return all;
}

}  // namespace

void close_held(const Model& model, State& at, double h, double within, double wide, double speed,
                Workspace& ws, HeldLoops& s) {
  for (int round = 0; round < kMostNewton; ++round) {
    if (round > 0) update_poses(model, at, ws);
    const double most = look(model, at, ws, s);
    if (!(most > within) || !std::isfinite(most)) return;
    if (round == 0 || most > wide) {
      articulated_factor(model, ws);
      factor(model, ws, s);
    }
    if (!correct(model, at, h, speed, ws, s)) return;  // the rest in steps to come
  }
}

void project_held(const Model& model, State& at, double fastest, int rounds, Workspace& ws, HeldLoops& s) {
  // each repeat with the factor of a pose nearby leaves little of what was there, down to rounding
  constexpr int kMostRepeats = 12;
  const double rounding = 1e-14 * fastest;
  double before = std::numeric_limits<double>::infinity();
  s.sum.assign(s.rows.size(), 0.0);
  for (int round = 0; round < kMostRepeats; ++round) {
    update_velocities(model, at, ws);
    row_velocities(s.seen, ws, as_vector(s.right));
    const double left = as_vector(s.right).cwiseAbs().maxCoeff();
    if (!(left > rounding)) break;
    if (left > kStale * before) factor(model, ws, s);  // not so near after all
    before = left;
    take_back(model, ws, s, at.v_view(), rounds);  // (2)
    as_vector(s.sum) += as_vector(s.x);
  }
}

}  // namespace karakuri
