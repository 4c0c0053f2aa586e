// The stages of loop_stage.h.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "karakuri/constraint/joint_rows.h"
#include "karakuri/dynamics/aba.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/loop_rows.h"
#include "karakuri/dynamics/relation_rows.h"
#include "karakuri/model/configuration.h"
#include "world/assemble.h"
#include "world/dofs.h"
#include "world/impl.h"
#include "world/loop_work.h"

namespace karakuri {

using world_detail::add_given;
using world_detail::find_contradictions;
using world_detail::for_each_body;
using world_detail::for_each_row;
using world_detail::Island;
using world_detail::kMostTurn;
using world_detail::kWideOpen;
using world_detail::LoopStage;
using world_detail::root_of;
using Member = LoopStage::Member;

namespace {

// Position errors are brought below this, of a body's size: well within 1e-9, well above rounding a hundred
// bodies away.
constexpr double kClosed = 1e-11;
constexpr int kMostNewton = 8;
// Rounds of the proximal point method where nobody looks at what they leave.
constexpr int kMostRounds = 3;
// A repeat that leaves more than this has an old factor.
constexpr double kStale = 0.03;
// Rows that are left with more than this of what there is contradict each other.
constexpr double kContradicting = 1e-8;
// Share of the kinetic energy that the chord may borrow for a step.
constexpr double kBorrowed = 0.01;

Eigen::Map<Eigen::VectorXd> as_vector(std::vector<double>& v) {
  return {v.data(), static_cast<Eigen::Index>(v.size())};
}

/// Whether a tree's state is finite: what is not must not reach others through their common matrix.
bool is_finite(const World::Impl& w, const State& at, int body, LoopStage& s) {
  const int t = w.tree_of[body];
  if (t < 0) return true;
  if (s.counted[t] == 0) {
    const Tree& tree = w.model.trees[t];
    const Body &first = w.model.bodies[tree.first], &last = w.model.bodies[tree.last - 1];
    double sum = 0;
    for (int i = first.first_q; i < last.first_q + q_size(last.kind); ++i) sum += std::abs(at.q[i]);
    for (int i = first.first_v; i < last.first_v + last.dofs; ++i) sum += std::abs(at.v[i]);
    s.counted[t] = std::isfinite(sum) ? 1 : 2;
  }
  return s.counted[t] == 1;
}

/// Adds a loop or coupling that is held: with a body that answers, of one set of trees or all.
void add_member(const World::Impl& w, const State& at, bool is_loop, int index, unsigned which, int root,
                LoopStage& s) {
  bool answers = false, finite = true, of_root = root < 0;
  int tree = static_cast<int>(w.model.trees.size());
  for_each_body(w, is_loop, index, [&](int body) {
    answers = answers || w.responds(body);
    of_root = of_root || w.is_of_island(body, root);
    finite = finite && is_finite(w, at, body, s);
    if (w.tree_of[body] >= 0) tree = std::min(tree, w.tree_of[body]);
  });
  if (answers && of_root && finite && which != 0)
    s.members.push_back(
        {tree, is_loop, index, std::popcount(which), static_cast<std::uint8_t>(which), 0, 0, 0});
}

unsigned moving_rows_of(const World::Impl& w, int loop) {
  return moving_rows(w.model, w.model.loops[loop], loop_rows(w.model.loops[loop], w.ws), w.ws);
}

/// Which loops and couplings are held.  @pre w.ws has the poses of `at`
void list_members(const World::Impl& w, const State& at, LoopStage& s, int root = -1) {
  s.members.clear();
  s.counted.assign(w.model.trees.size(), 0);
  for (std::size_t i = 0; i < w.model.loops.size(); ++i)
    if (w.state.loop_closed[i] && w.model.loops[i].held())
      add_member(w, at, true, static_cast<int>(i), moving_rows_of(w, static_cast<int>(i)), root, s);
  const std::size_t loops = s.members.size();
  std::size_t parts = 0;
  for (std::size_t i = 0; i < w.model.relations.size(); ++i) {
    if (w.model.relations[i].held) add_member(w, at, false, static_cast<int>(i), 1, root, s);
    parts += relation_parts(w.model.relations[i]);
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
  s.change.resize(w.model.nv);
}

/// Rows and errors at the poses of w.ws, which are those of `at`. @return The largest error.
double look(const World::Impl& w, const State& at, LoopStage& s) {
  double most = 0;
  s.row_parts.clear();
  s.seen_parts.clear();
  for (const Member& m : s.members) {
    if (m.is_loop) {
      const LoopRows rows = loop_rows(w.model.loops[m.index], w.ws);
      for_each_row(m, [&](int k, int row) {
        const double unit = s.unit[row] = loop_row_unit(rows.row[k], w.rows.length);
        s.rows[row] = rows.row[k];
        s.rows[row].force *= unit;
        s.rows[row].moment *= unit;
        s.seen[row] = s.rows[row];
        s.error[row] = unit * rows.error[k];
      });
    } else {
      const Relation& r = w.model.relations[m.index];
      const double unit = s.unit[m.first_row] = relation_unit(w.model, r, w.rows.length);
      s.rows[m.first_row] = relation_row(w.model, r, at.q_view(), w.ws, unit, s.row_parts);
      s.seen[m.first_row] = relation_row(w.model, r, at.q_view(), w.ws, unit, s.seen_parts);
      s.error[m.first_row] = unit * relation_position(r, at.q_view());
    }
    for (int k = 0; k < m.count; ++k) most = std::max(most, std::abs(s.error[m.first_row + k]));
  }
  w.release_unresponsive(s.rows);
  w.release_unresponsive(s.row_parts);
  return most;
}

/// Copies y of all sides out of the buffers, one after the other. Rows of one member have the same sides, in
/// the same order.
void copy_vectors(const ResponseBuffers& b, LoopStage& s) {
  world_detail::index_sides(b, s.rows.size(), s.side_start, s.side_of);
  s.vectors.clear();
  s.sides.clear();
  for (Member& m : s.members) {
    m.first_side = static_cast<std::int32_t>(s.sides.size());
    m.side_count = s.side_start[m.first_row + 1] - s.side_start[m.first_row];
    for (int e = 0; e < m.side_count; ++e) {
      const int first = s.side_of[s.side_start[m.first_row] + e];
      const ResponseBuffers::Group& g = b.groups[b.sides[first].group];
      const std::size_t start = s.vectors.size();
      s.sides.push_back({g.body, g.length, static_cast<std::int64_t>(start)});
      s.vectors.resize(start + 2 * static_cast<std::size_t>(m.count) * g.length);
      double* y = s.vectors.data() + start;
      double* z = y + static_cast<std::ptrdiff_t>(m.count) * g.length;
      for (int k = 0; k < m.count; ++k) {
        const int in_group = s.side_of[s.side_start[m.first_row + k] + e] - g.first_side;
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
void add_products(LoopStage& s, const Member& i, const LoopStage::Side& a, const Member& j,
                  const LoopStage::Side& b, int n) {
  const double* y = s.vectors.data() + a.y;
  const double* z = s.vectors.data() + b.y + static_cast<std::ptrdiff_t>(j.count) * b.length;
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
void fill_dense(World::Impl& w, LoopStage& s) {
  world_detail::Slot& slot = w.slots[0];
  const int n = s.size();
  slot.island.problem.dense.resize(static_cast<std::size_t>(n) * n);
  const Eigen::Map<Eigen::MatrixXd, 0, Eigen::OuterStride<>> A(slot.island.problem.dense.data(), n, n,
                                                               Eigen::OuterStride<>(n));
  response(w.model, s.rows, w.ws, slot.response, A);
  for (int i = 0; i < n; ++i)
    for (int j = s.first[i]; j <= i; ++j) s.matrix.at(i, j) = A(j, i);
  add_one_sided(slot.response, as_vector(s.x));
}

void fill_envelope(const World::Impl& w, LoopStage& s) {
  s.first_of_tree.assign(w.model.trees.size(), -1);
  s.first.resize(s.rows.size());
  for (const Member& m : s.members) {
    int first = m.first_row;
    for (const ImpulseRow* row = &s.rows[m.first_row]; row; row = row->more) {
      for (const int body : {row->body, row->other}) {
        if (body == 0) continue;
        int& of_tree = s.first_of_tree[w.tree_of[body]];
        if (of_tree < 0) of_tree = m.first_row;
        first = std::min(first, of_tree);
      }
    }
    std::fill_n(s.first.begin() + m.first_row, m.count, first);
  }
  s.matrix.reset(s.first);
}

std::span<const LoopStage::Side> sides_of(const LoopStage& s, const Member& m) {
  return std::span(s.sides).subspan(m.first_side, m.side_count);
}

/// A block by block, where loops share a tree.
void fill_sparse(World::Impl& w, LoopStage& s) {
  ResponseBuffers& buffers = w.slots[0].response;
  response_vectors(w.model, s.rows, w.ws, buffers);
  copy_vectors(buffers, s);
  for (std::size_t i = 0; i < s.members.size(); ++i) {
    const Member& m = s.members[i];
    for (std::size_t j = i + 1; j-- > 0;) {
      const Member& o = s.members[j];
      if (o.first_row < s.first[m.first_row]) break;
      for (const LoopStage::Side& a : sides_of(s, m)) {
        for (const LoopStage::Side& b : sides_of(s, o)) {
          if (w.tree_of[a.body] != w.tree_of[b.body]) continue;
          if (const int n = common_length(w.model, a.body, b.body); n > 0) add_products(s, m, a, o, b, n);
        }
      }
    }
  }
}

/// A of the rows, factored.  @pre w.ws has the articulated factor of these poses
void factor(World::Impl& w, LoopStage& s) {
  constexpr int kDenseRows = 400;
  fill_envelope(w, s);
  std::fill(s.x.begin(), s.x.end(), 0.0);  // here: the diagonal before both sides cancel
  const bool is_full = s.matrix.value_count() > 0.25 * s.size() * s.size();  // of 0.5, diagonal and below
  if (s.size() <= kDenseRows && is_full)
    fill_dense(w, s);
  else
    fill_sparse(w, s);
  // Rows that both sides feel but that part nothing, and rows that nothing feels, are zero but for rounding:
  // scaled up, that would be noise.
  const double most = s.x.empty() ? 0 : *std::max_element(s.x.begin(), s.x.end());
  for (int i = 0; i < s.size(); ++i)
    if (s.matrix.at(i, i) < 1e-12 * s.x[i] || s.x[i] < 1e-24 * most) s.matrix.at(i, i) = 0;
  s.matrix.factor();
  s.is_factored = true;
}

/// x <- x - M^-1 J^T A^+ right; what one round leaves of it is for the caller to look at.
void take_back(World::Impl& w, LoopStage& s, VecOut x, int rounds) {
  s.matrix.solve(s.right, s.x, rounds);
  for (double& impulse : s.x) impulse = -impulse;
  apply_impulses(w.model, s.rows, as_vector(s.x), w.ws, x);
}

double kinetic_energy_of(const World::Impl& w, int body) {
  const Body& b = w.model.bodies[body];
  const Mat3 R = w.ws.pose[body].R;
  const Vec3 v = w.ws.velocity[body].v, turn = w.ws.velocity[body].w, local = R.transpose() * turn;
  const double* I = b.inertia;
  Mat3 inertia;
  inertia << I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2];
  return 0.5 * b.mass * v.squaredNorm() + v.dot(turn.cross(R * Vec3(b.mass_com))) +
         0.5 * local.dot(inertia * local);
}

/// K and m of (4).  @pre w.ws has velocities
void measure(const World::Impl& w, LoopStage& s) {
  const std::size_t trees = w.model.trees.size();
  s.kinetic.assign(trees, 0.0);
  s.mass.assign(trees, 0.0);
  s.counted.assign(trees, 0);
  for (const Member& m : s.members) {
    for_each_body(w, m, [&](int body) {
      if (!w.responds(body) || s.counted[w.tree_of[body]]) return;
      const int tree = w.tree_of[body], root = w.root_of(tree);
      s.counted[tree] = 1;
      for (int i = w.model.trees[tree].first; i < w.model.trees[tree].last; ++i) {
        s.kinetic[root] += kinetic_energy_of(w, i);
        s.mass[root] += w.model.bodies[i].mass;
      }
    });
  }
}

/// |M^-1 J^T x|^2 by root, where x solves for `right`, which is overwritten.
void ask(const World::Impl& w, LoopStage& s, int rounds) {
  s.asked.assign(w.model.trees.size(), 0.0);
  s.error.swap(s.right);
  s.right = s.error;
  s.matrix.solve(s.right, s.x, rounds);
  for (const Member& m : s.members) {
    double& sum = s.asked[root_of(w, m)];
    for (int k = m.first_row; k < m.first_row + m.count; ++k) sum += s.x[k] * s.error[k];
  }
}

/// Takes the part of the changes of each tree that turns none of its joints too far. @return Whether that was
/// all.
bool shorten_turns(const World::Impl& w, LoopStage& s) {
  bool all = true;
  for (const Tree& tree : w.model.trees) {
    const double most = world_detail::largest_turn(w.model, tree, s.change);
    if (!(most > kMostTurn)) continue;
    all = false;
    world_detail::scale_rates(w.model, tree, kMostTurn / most, s.change);
  }
  return all;
}

/// q <- q (+) the part of (1) that (4) allows. @return Whether that was all.
bool correct(World::Impl& w, State& at, double h, LoopStage& s) {
  update_velocities(w.model, at, w.ws);
  measure(w, s);
  s.right = s.error;
  ask(w, s, 1);
  bool all = true;
  for (const Member& m : s.members) {
    const int root = root_of(w, m);
    const double speed = w.settings.stabilization.max_speed;
    const double most = h * h * (2 * s.kinetic[root] + s.mass[root] * speed * speed);
    const double share = s.asked[root] > most ? std::sqrt(most / s.asked[root]) : 1;
    all = all && share == 1;
    for (int k = m.first_row; k < m.first_row + m.count; ++k) s.x[k] *= -share;
  }
  std::fill(s.change.begin(), s.change.end(), 0.0);
  apply_impulses(w.model, s.rows, as_vector(s.x), w.ws, as_vector(s.change));
  all = shorten_turns(w, s) && all;
  integrate(w.model, at.q_view(), as_vector(s.change), 1);  // (1)
  return all;
}

/// What part of the chord the next step may take, by (4).  @pre factored at the present poses, with
/// velocities
void limit_chords(World::Impl& w, double h, LoopStage& s) {
  measure(w, s);
  update_bias_accelerations(w.model, w.ws);
  for (const Member& m : s.members) {
    if (m.is_loop) {
      const Loop& loop = w.model.loops[m.index];
      const std::array<double, 6> bias = loop_bias(loop, loop_rows(loop, w.ws), w.ws);
      for_each_row(m, [&](int k, int row) { s.right[row] = 0.5 * h * s.unit[row] * bias[k]; });
    } else {
      s.right[m.first_row] = 0.5 * h * s.unit[m.first_row] *
                             relation_bias(w.model.relations[m.index], w.state.q_view(), w.state.v_view());
    }
  }
  ask(w, s, kMostRounds);
  for (const Member& m : s.members) {
    const int root = root_of(w, m);
    const double most = 2 * kBorrowed * s.kinetic[root];
    (m.is_loop ? w.loop_chord : w.relation_chord)[m.index] =
        s.asked[root] > most ? std::sqrt(most / s.asked[root]) : 1;
  }
}

/// Of a loop or coupling in LoopStage::first_row.
std::size_t slot_of(const World::Impl& w, const RowBlock& block) {
  return block.index + (block.source == RowSource::kLoop ? 0 : w.model.loops.size());
}

/// Where the rows of islands are that have nothing but rigid loops and couplings. @return How many rows.
int find_alone(const World::Impl& w, LoopStage& s) {
  int rows = 0;
  s.first_row.assign(w.model.loops.size() + w.model.relations.size(), -1);
  for (const Island& island : w.islands) {
    const auto all = std::span(w.island_blocks).subspan(island.first_block, island.block_count);
    const bool alone = !island.solved && std::all_of(all.begin(), all.end(), [&](int b) {
      return is_held(w.rows.blocks[b].source) && w.rows.compliance[w.rows.blocks[b].row] == 0;
    });
    for (std::size_t k = 0; k < all.size() && alone; ++k) {
      const RowBlock& block = w.rows.blocks[all[k]];
      s.first_row[slot_of(w, block)] = block.row;
      rows += block.size;
    }
  }
  return rows;
}

/// Row of the world for each row here. @return How many have one.
int map_rows(const World::Impl& w, LoopStage& s) {
  int found = 0;
  s.world_row.assign(s.size(), -1);
  for (const Member& m : s.members) {
    const std::int32_t first = s.first_row[m.index + (m.is_loop ? 0 : w.model.loops.size())];
    for (int k = 0; k < m.count && first >= 0; ++k, ++found) s.world_row[m.first_row + k] = first + k;
  }
  return found;
}

/// J v + bias of the rows that are alone, at w.free_velocity. @return Its size.
double velocities_alone(const World::Impl& w, LoopStage& s) {
  row_velocities(s.seen, w.ws, w.free_velocity, as_vector(s.right));
  for (int i = 0; i < s.size(); ++i)
    s.right[i] = s.world_row[i] >= 0 ? s.right[i] + w.rows.bias[s.world_row[i]] : 0;
  return as_vector(s.right).norm();
}

/// Marks the islands as solved, or leaves them to the solver where something is left.
void finish_alone(World::Impl& w, const LoopStage& s, const solver::Report& report) {
  for (int i = 0; i < s.size(); ++i)
    if (const int row = s.world_row[i]; row >= 0) w.row_velocity[row] = s.right[i] - w.rows.bias[row];
  bool all = true;
  for (Island& island : w.islands) {
    const RowBlock& block = w.rows.blocks[w.island_blocks[island.first_block]];
    if (!island.solved && is_held(block.source) && s.first_row[slot_of(w, block)] >= 0) {
      island.solved = report.residual <= w.settings.acceptable / w.settings.tolerance * report.target;
      island.report = report;
      if (report.residual > report.target)
        island.report.status = solver::Status::kAccepted, island.report.ending = solver::Ending::kStall;
    }
    all = all && island.solved;
  }
  if (all) return;
  w.state_free.v = w.v_free;
  body_velocities(w.model, w.ws, w.state_free.v_view(), w.free_velocity);
}

}  // namespace

void World::Impl::close_loops(State& at, double h) {
  LoopStage& s = loop_stage;
  if (!holds_anything() || settings.stabilization.kind != Stabilization::kPosition) return;
  update_poses(model, at, ws);
  list_members(*this, at, s);
  if (s.members.empty()) return;
  for (int round = 0; round < kMostNewton; ++round) {
    if (round > 0) update_poses(model, at, ws);
    const double most = look(*this, at, s);
    if (!(most > kClosed * scales.length) || !std::isfinite(most)) return;
    if (round == 0 || most > kWideOpen * scales.length) {
      articulated_factor(model, ws);
      factor(*this, s);
    }
    if (!correct(*this, at, h, s)) return;  // the rest in steps to come
  }
}

void World::Impl::project_on_loops(State& at, int root) {
  LoopStage& s = loop_stage;
  const bool wanted = root >= 0 || settings.stabilization.kind == Stabilization::kPosition;
  if (!holds_anything() || !wanted) return;
  update_poses(model, at, ws);
  if (root >= 0 || !s.is_factored) list_members(*this, at, s, root);
  if (s.members.empty()) return;
  look(*this, at, s);
  articulated_factor(model, ws);
  if (root >= 0 || !s.is_factored) factor(*this, s);
  // each repeat with the factor of a pose nearby leaves little of what was there, down to rounding
  constexpr int kMostRepeats = 12;
  s.fastest = 0;
  for (int i = 0; i < model.nv; ++i)
    s.fastest = std::max(s.fastest, std::abs(at.v[i]) * dof_unit(model, i, rows.length));
  const double rounding = 1e-14 * s.fastest;
  double before = std::numeric_limits<double>::infinity();
  s.sum.assign(s.rows.size(), 0.0);
  for (int round = 0; round < kMostRepeats; ++round) {
    update_velocities(model, at, ws);
    row_velocities(s.seen, ws, as_vector(s.right));
    const double left = as_vector(s.right).cwiseAbs().maxCoeff();
    if (!(left > rounding)) break;
    if (left > kStale * before) factor(*this, s);  // not so near after all
    before = left;
    take_back(*this, s, at.v_view(), root >= 0 ? kMostRounds : 1);  // (2)
    as_vector(s.sum) += as_vector(s.x);
  }
  s.is_factored = false;
}

void World::Impl::settle_loops(double h) {
  if (!holds_anything() || settings.stabilization.kind != Stabilization::kPosition) return;
  close_loops(state, h);
  project_on_loops(state);
  if (loop_stage.members.empty()) return;
  update_velocities(model, state, ws);
  LoopStage& s = loop_stage;
  row_velocities(s.seen, ws, as_vector(s.right));
  find_contradictions(*this, s, kContradicting * s.fastest);
  add_given(*this, s, 1);
  limit_chords(*this, h, s);
}

// Nothing but linear equations.
void World::Impl::solve_loops_alone() {
  LoopStage& s = loop_stage;
  if (settings.solver != solver::Method::kDefault || !holds_anything()) return;
  const int count = find_alone(*this, s);
  if (count == 0) return;
  list_members(*this, state, s);
  if (map_rows(*this, s) != count) return;
  look(*this, state, s);
  factor(*this, s);
  s.is_factored = false;
  for (const std::int32_t row : s.world_row)
    if (row >= 0) rows.lambda[row] = 0;
  const double target = settings.tolerance * std::sqrt(static_cast<double>(count));
  state_free.v = v_free;
  double residual = velocities_alone(*this, s);
  for (int round = 0; round < kMostNewton && residual > target; ++round) {
    const double before = residual;
    take_back(*this, s, state_free.v_view(), 1);
    for (int i = 0; i < s.size(); ++i)
      if (s.world_row[i] >= 0) rows.lambda[s.world_row[i]] += s.x[i];
    body_velocities(model, ws, state_free.v_view(), free_velocity);
    residual = velocities_alone(*this, s);
    if (!(residual < 0.5 * before)) break;  // a contradiction
  }
  finish_alone(*this, s,
               {.backend = solver::Backend::kElimination,
                .method = solver::Method::kNewton,
                .residual = residual,
                .target = target,
                .promised = target,
                .newton_iterations = 1});
}

void World::Impl::hold_loops(std::vector<double>& a, double lasts) {
  LoopStage& s = loop_stage;
  if (!holds_anything() || settings.stabilization.kind != Stabilization::kPosition) return;
  list_members(*this, stage, s);
  if (s.members.empty()) return;
  for (int i = 0; has_unresponsive && i < model.nv; ++i)
    if (!responds(model.dofs[i].body)) a[i] = 0;
  look(*this, stage, s);
  factor(*this, s);
  double asked = 0;
  s.sum.assign(s.rows.size(), 0.0);
  for (int round = 0; round < 2; ++round) {
    update_accelerations(model, as_vector(a), ws);
    for (const Member& m : s.members) {
      if (m.is_loop) {
        const Loop& loop = model.loops[m.index];
        const std::array<double, 6> rate = loop_bias(loop, loop_rows(loop, ws), ws);
        for_each_row(m, [&](int k, int row) { s.right[row] = s.unit[row] * rate[k]; });
      } else {
        const Relation& r = model.relations[m.index];
        s.right[m.first_row] = s.unit[m.first_row] * (relation_rate(r, stage.q_view(), as_vector(a)) +
                                                      relation_bias(r, stage.q_view(), stage.v_view()));
      }
    }
    if (round == 0)
      asked = as_vector(s.right).cwiseAbs().maxCoeff();
    else
      find_contradictions(*this, s, kContradicting * asked);
    take_back(*this, s, as_vector(a), kMostRounds);  // (3)
    as_vector(s.sum) += as_vector(s.x);
  }
  add_given(*this, s, lasts);
  s.is_factored = false;
}

}  // namespace karakuri
