#include "constraint/state_island.h"

#include <algorithm>
#include <utility>

#include "dynamics/response_sides.h"
#include "solver/choose.h"

namespace karakuri {

using solver::OperatorKind;
using solver::Problem;
using solver::RowKind;

namespace {

/// Appends a block of `size` rows under a law.
int add_block(Problem& p, RowKind kind, int size, const double* friction) {
  switch (kind) {
    case RowKind::kEquality: return p.add_equality(size);
    case RowKind::kLinear: return p.add_linear(0, 0);
    case RowKind::kComplementarity: return p.add_complementarity();
    case RowKind::kBox: return p.add_box(0, 0);
    case RowKind::kCone: return p.add_cone(std::span(friction + 1, static_cast<std::size_t>(size - 1)));
  }
  return -1;
}

/// Where blocks follow each other, as in a world of one island, rows stay where they are.
void gather_rows(const RowsOnTrees& w, BlockList blocks, Statement& st) {
  const ImpulseRow* all = w.rows.impulses.data();
  std::size_t rows = 0;
  for (const int b : blocks) rows += w.rows.blocks[b].size;
  const RowBlock &first = w.rows.blocks[blocks.front()], &last = w.rows.blocks[blocks.back()];
  if (static_cast<std::size_t>(last.row + last.size - first.row) == rows) {
    st.impulses = {all + first.row, rows};
    return;
  }
  if (st.gathered.size() < rows) st.gathered.resize(rows);
  ImpulseRow* to = st.gathered.data();
  for (const int b : blocks) to = std::copy_n(all + w.rows.blocks[b].row, w.rows.blocks[b].size, to);
  st.impulses = {st.gathered.data(), rows};
}

/// Numbers of a block's laws, from `row` on.
void write_laws(const Rows& from, const RowBlock& block, int row, Problem& p) {
  for (int k = 0; k < block.size; ++k) p.compliance[row + k] = from.compliance[block.row + k];
  if (block.kind == RowKind::kBox) p.lower[row] = from.lower[block.row], p.upper[row] = from.upper[block.row];
  if (block.kind == RowKind::kCone)
    for (int k = 1; k < block.size; ++k) p.friction[row + k] = from.friction[block.row + k];
}

void add_laws(const RowsOnTrees& w, const RowBlock& block, Problem& p) {
  add_block(p, block.kind, block.size, w.rows.friction.data() + block.row);
  write_laws(w.rows, block, p.rows() - block.size, p);
}

void state_dense(const RowsOnTrees& w, BlockList blocks, Statement& st) {
  Problem& p = *st.problem;
  state_laws(w.rows, blocks, p);
  const int n = p.rows();
  p.dense.resize(static_cast<std::size_t>(n) * n);
  st.can_answer = response(
      w.model, st.impulses, w.ws, *st.response,
      Eigen::Map<Eigen::MatrixXd, 0, Eigen::OuterStride<>>(p.dense.data(), n, n, Eigen::OuterStride<>(n)));
}

/// Adds what one side of a row does to its tree.
void add_side(const RowsOnTrees& w, const ResponseBuffers& b, int side, int first_v, double* inverse_mass,
              double* jacobian, double* response) {
  const ResponseBuffers::Side& s = b.sides[side];
  const ResponseBuffers::Group& g = b.groups[s.group];
  const Body& body = w.model.bodies[g.body];
  const Dof& last = w.model.dofs[body.first_v + body.dofs - 1];
  const int in_group = side - g.first_side;
  const Packed4* y = b.y.data() + g.y + static_cast<std::int64_t>(in_group / 4) * g.length;
  const double* weight = b.weights.data() + g.weight;
  const std::int32_t* path = w.model.paths.data() + last.path;
  for (int d = 0; d < g.length; ++d) {
    const int at = path[d] - first_v;
    jacobian[at] += y[d].lane[in_group % 4];
    response[at] += weight[d] * y[d].lane[in_group % 4];
    inverse_mass[at] = weight[d];
  }
}

/// Whether rows carry no responses over the whole tree, but hand them from body to body: those would be as
/// long as the tree for each of them.
bool is_walked(const RowsOnTrees& w, const Statement& st, int tree) {
  if (!st.may_walk || tree < 0) return false;
  const Tree& t = w.model.trees[tree];
  const Body &root = w.model.bodies[t.first], &last = w.model.bodies[t.last - 1];
  return solver::is_walked(last.first_v + last.dofs - root.first_v);
}

/// Whether trees of the island may be walked along: loops and couplings need Newton's method, and so rows
/// written out; and so do rows on more than two bodies.
bool may_walk(const RowsOnTrees& w, BlockList blocks) {
  for (const int b : blocks) {
    const RowBlock& block = w.rows.blocks[b];
    if (is_held(block.source) || w.rows.impulses[block.row].more) return false;
  }
  return true;
}

using Rows6 = Eigen::Matrix<double, 6, 6, Eigen::RowMajor>;

/// The tree's bodies as links. @return The subsystem of the first; the others follow.
int add_links(const RowsOnTrees& w, int tree, Statement& st) {
  const Tree& t = w.model.trees[tree];
  const int first = static_cast<int>(st.problem->links.size());
  st.link_responses.clear();
  for (int i = t.first; i < t.last; ++i) {
    const int up = w.model.bodies[i].parent - t.first;  // in the tree; the world is before it
    const LinkResponse* parent = up >= 0 && i > t.first ? &st.link_responses[up] : nullptr;
    const LinkResponse& response = st.link_responses.emplace_back(link_response(w.model, w.ws, i, parent));
    solver::Link& link = st.problem->add_link(parent ? first + up : -1);
    Eigen::Map<Rows6>(link.up) = response.up;
    Eigen::Map<Rows6>(link.own) = response.own;
    Eigen::Map<Rows6>(link.whole) = response.whole;
  }
  return st.problem->links[first].subsystem;
}

int subsystem_of(const RowsOnTrees& w, int tree, Statement& st) {
  std::int32_t& subsystem = st.tree_subsystem[tree];
  if (subsystem < 0 && is_walked(w, st, tree)) {
    subsystem = add_links(w, tree, st);
    st.touched_trees.push_back(tree);
  } else if (subsystem < 0) {
    const Body &root = w.model.bodies[w.model.trees[tree].first],
               &last = w.model.bodies[w.model.trees[tree].last - 1];
    subsystem = st.problem->add_subsystem(last.first_v + last.dofs - root.first_v);
    st.touched_trees.push_back(tree);
  }
  return subsystem;
}

/// Term of a block on one body of a walked tree.
void add_walked_term(const RowsOnTrees& w, int body, double sign, int first_row, int size, Statement& st) {
  Problem& p = *st.problem;
  const int tree = w.tree_of[body];
  const int subsystem = st.tree_subsystem[tree] + body - w.model.trees[tree].first;
  const solver::Term term = p.add_term(subsystem);
  const double* whole = p.links[p.subsystems[subsystem].link].whole;
  for (int k = 0; k < size; ++k) {
    using Vec6 = Eigen::Matrix<double, 6, 1>;
    const Vec6 J = wrench_at(st.impulses[first_row + k], w.ws, body, sign);
    Eigen::Map<Vec6>(p.jacobian_of(term, size).data() + 6 * k) = J;
    Eigen::Map<Vec6>(p.response_of(term, size).data() + 6 * k) = Eigen::Map<const Rows6>(whole) * J;
  }
}

/// Terms of one block: one for each tree that any of its rows acts on, or for each body of a walked tree.
void add_terms(const RowsOnTrees& w, int first_row, int size, Statement& st) {
  Problem& p = *st.problem;
  const ResponseBuffers& b = *st.response;
  st.term_trees.clear();
  for (const ImpulseRow* row = &st.impulses[first_row]; row; row = row->more) {
    for (const auto& [body, sign] : {std::pair{row->body, 1.0}, std::pair{row->other, -1.0}}) {
      const int tree = w.tree_of[body];
      if (row->body != row->other && is_walked(w, st, tree)) {
        add_walked_term(w, body, sign, first_row, size, st);
        continue;
      }
      const bool known = std::find(st.term_trees.begin(), st.term_trees.end(), tree) != st.term_trees.end();
      if (tree >= 0 && !known) st.term_trees.push_back(tree);
    }
  }
  for (const int tree : st.term_trees) {
    const int subsystem = st.tree_subsystem[tree];
    const int first_v = w.model.bodies[w.model.trees[tree].first].first_v;
    const solver::Term term = p.add_term(subsystem);
    const int dof = p.subsystems[subsystem].dof;
    const std::span<double> jacobian = p.jacobian_of(term, size), response = p.response_of(term, size);
    for (int k = 0; k < size; ++k) {
      for (int e = st.side_start[first_row + k]; e < st.side_start[first_row + k + 1]; ++e) {
        const int side = st.side_of[e];
        if (w.tree_of[b.groups[b.sides[side].group].body] != tree) continue;
        add_side(w, b, side, first_v, p.inverse_mass.data() + p.subsystems[subsystem].velocity,
                 jacobian.data() + k * dof, response.data() + k * dof);
      }
    }
  }
}

/// @pre st.may_walk
void state_by_vectors(const RowsOnTrees& w, BlockList blocks, Statement& st) {
  Problem& p = *st.problem;
  p.clear(OperatorKind::kMatrixFree);
  st.written_out.assign(st.impulses.begin(), st.impulses.end());
  for (ImpulseRow& row : st.written_out) {
    for (std::int32_t* body : {&row.body, &row.other})
      if (is_walked(w, st, w.tree_of[*body])) *body = 0;
  }
  response_vectors(w.model, st.written_out, w.ws, *st.response);
  index_sides(*st.response, st.impulses.size(), st.side_start, st.side_of);
  st.touched_trees.clear();
  for (const ImpulseRow& first : st.impulses) {
    for (const ImpulseRow* row = &first; row; row = row->more)
      for (const int body : {row->body, row->other})
        if (w.tree_of[body] >= 0) subsystem_of(w, w.tree_of[body], st);
  }
  p.inverse_mass.assign(p.velocities(), 1.0);
  int row = 0;
  for (const int b : blocks) {
    const RowBlock& block = w.rows.blocks[b];
    add_laws(w, block, p);
    add_terms(w, row, block.size, st);
    row += block.size;
  }
  for (const std::int32_t tree : st.touched_trees) st.tree_subsystem[tree] = -1;
}

}  // namespace

void state_island(const RowsOnTrees& w, BlockList blocks, Statement& st) {
  st.can_answer = false;
  gather_rows(w, blocks, st);
  if (state_carried(w, blocks, st)) return;
  if (solver::is_stated_dense(st.impulses.size())) return state_dense(w, blocks, st);
  st.may_walk = may_walk(w, blocks);
  state_by_vectors(w, blocks, st);
}

void state_island_written_out(const RowsOnTrees& w, BlockList blocks, Statement& st) {
  gather_rows(w, blocks, st);
  st.may_walk = false;
  state_by_vectors(w, blocks, st);
}

/// The same as add_laws() of all, in one go: problems of robots are so small that this is seen.
void state_laws(const Rows& from, BlockList blocks, Problem& p) {
  p.clear(OperatorKind::kDense);
  std::size_t rows = 0;
  for (const int b : blocks) rows += from.blocks[b].size;
  p.q.assign(rows, 0.0);
  p.compliance.resize(rows);
  p.lower.assign(rows, -solver::kInfinity);
  p.upper.assign(rows, solver::kInfinity);
  p.friction.assign(rows, 0.0);
  p.term_start.assign(blocks.size() + 1, 0);
  int row = 0;
  for (const int b : blocks) {
    const RowBlock& block = from.blocks[b];
    p.blocks.push_back({block.kind, row, block.size});
    for (int k = 0; k < block.size; ++k) p.compliance[row + k] = from.compliance[block.row + k];
    if (block.kind == RowKind::kComplementarity) p.lower[row] = 0;
    if (block.kind == RowKind::kBox)
      p.lower[row] = from.lower[block.row], p.upper[row] = from.upper[block.row];
    if (block.kind == RowKind::kCone)
      for (int k = 1; k < block.size; ++k) p.friction[row + k] = from.friction[block.row + k];
    row += block.size;
  }
}

namespace {

double one_sided_velocity(const RowsOnTrees& w, const ImpulseRow& row, int body, double sign) {
  const Workspace::Velocity& v = w.free_velocity[body];
  const Vec3 at = Vec3(v.v) + Vec3(v.w).cross(row.point - Vec3(w.ws.pose[body].p));
  return sign * (row.force.dot(at) + row.moment.dot(Vec3(v.w)));
}

}  // namespace

void OneSidedRows::find(std::span<const unsigned char> first_is_higher, std::vector<double>& q) const {
  const solver::Problem& p = *st_.problem;
  int row = 0;
  for (int b = 0; b < p.block_count(); ++b) {
    const RowBlock& block = w_.rows.blocks[blocks_[b]];
    // terms come in the order body, other (add_terms)
    const bool two = p.term_start[b + 1] - p.term_start[b] == 2;
    const bool body_is_higher = two ? first_is_higher[b] != 0 : w_.tree_of[st_.impulses[row].body] >= 0;
    for (int k = 0; k < block.size; ++k, ++row) {
      const ImpulseRow& r = st_.impulses[row];
      q[row] = w_.rows.bias[block.row + k] + (body_is_higher ? one_sided_velocity(w_, r, r.body, 1)
                                                             : one_sided_velocity(w_, r, r.other, -1));
    }
  }
}

}  // namespace karakuri
