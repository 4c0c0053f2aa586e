#include "karakuri/solver/problem.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

#include "core/simd.h"
#include "solver/walk.h"

namespace karakuri::solver {

using namespace simd;  // NOLINT: private to the module

void Problem::clear(OperatorKind kind) {
  storage = kind;
  blocks.clear();
  for (auto* rows :
       {&q, &compliance, &lower, &upper, &friction, &entry_values, &jacobian, &response, &inverse_mass})
    rows->clear();
  if (kind != OperatorKind::kDense) dense.clear();
  entry_start.assign(1, 0);
  term_start.assign(1, 0);
  entries.clear();
  subsystems.clear();
  links.clear();
  terms.clear();
  unit_mass = false;
}

int Problem::add_block(RowKind kind, int size) {
  blocks.push_back({kind, rows(), size});
  for (int k = 0; k < size; ++k) {  // a few times as fast as resize() with a value
    q.push_back(0.0);
    compliance.push_back(0.0);
    lower.push_back(-kInfinity);
    upper.push_back(kInfinity);
    friction.push_back(0.0);
  }
  term_start.push_back(static_cast<int>(terms.size()));
  return block_count() - 1;
}

int Problem::add_equality(int size) { return add_block(RowKind::kEquality, size); }

int Problem::add_linear(double c, double bias) {
  const int block = add_block(RowKind::kLinear, 1);
  compliance.back() = c;
  q.back() = bias;
  return block;
}

int Problem::add_complementarity() {
  const int block = add_block(RowKind::kComplementarity, 1);
  lower.back() = 0.0;
  return block;
}

int Problem::add_box(double low, double high) {
  const int block = add_block(RowKind::kBox, 1);
  lower.back() = low;
  upper.back() = high;
  return block;
}

int Problem::add_cone(double mu) {
  const int block = add_block(RowKind::kCone, 3);
  friction[rows() - 2] = friction[rows() - 1] = mu;
  return block;
}

int Problem::add_planar_cone(double mu) {
  const int block = add_block(RowKind::kCone, 2);
  friction.back() = mu;
  return block;
}

int Problem::add_cone(std::span<const double> mu) {
  const int block = add_block(RowKind::kCone, 1 + static_cast<int>(mu.size()));
  std::copy(mu.begin(), mu.end(), friction.end() - static_cast<std::ptrdiff_t>(mu.size()));
  return block;
}

int Problem::add_subsystem(int dof) {
  subsystems.push_back({velocities(), dof});
  return static_cast<int>(subsystems.size()) - 1;
}

Link& Problem::add_link(int parent) {
  const int index = static_cast<int>(links.size());
  Link& link = links.emplace_back();
  link.subsystem = add_subsystem(6);
  link.parent = parent;
  link.root = parent < 0 ? index : links[parent].root;
  link.depth = parent < 0 ? 0 : links[parent].depth + 1;
  subsystems.back().link = index;
  return link;
}

Term Problem::add_term(int subsystem) {
  const Term term{subsystem, static_cast<int>(jacobian.size())};
  const std::size_t n = jacobian.size() + blocks.back().size * subsystems[subsystem].dof;
  jacobian.resize(n, 0.0);
  response.resize(n, 0.0);
  terms.push_back(term);
  term_start.back() = static_cast<int>(terms.size());
  return term;
}

void Problem::add_unit_mass(int dof) {
  storage = OperatorKind::kMatrixFree;
  unit_mass = true;
  add_subsystem(dof);
  terms.clear();
  for (int i = 0; i < block_count(); ++i) {
    terms.push_back({0, blocks[i].row * dof});
    term_start[i + 1] = i + 1;
  }
  jacobian.assign(static_cast<std::size_t>(rows()) * dof, 0.0);
}

void Problem::begin_entries(int block) {
  entry_start.resize(block + 2);
  entry_start[block + 1] = static_cast<int>(entries.size());
}

std::span<double> Problem::add_entry(int column_block) {
  const int row_block = static_cast<int>(entry_start.size()) - 2;
  const std::size_t offset = entry_values.size();
  const std::size_t size = blocks[row_block].size * blocks[column_block].size;
  entries.push_back({column_block, static_cast<int>(offset)});
  entry_start.back() = static_cast<int>(entries.size());
  entry_values.resize(offset + size, 0.0);
  return {entry_values.data() + offset, size};
}

void set_rigid_response(Problem& p, const Term& term, int size, double inverse_mass,
                        std::span<const double, 9> inverse_inertia) {
  const std::span<const double> jacobian = p.jacobian_of(term, size);
  const std::span<double> response = p.response_of(term, size);
  for (int r = 0; r < size; ++r) {
    const double* j = jacobian.data() + 6 * r;
    double* y = response.data() + 6 * r;
    for (int k = 0; k < 3; ++k) {
      y[k] = inverse_mass * j[k];
      const double* row = inverse_inertia.data() + 3 * k;
      y[3 + k] = row[0] * j[3] + row[1] * j[4] + row[2] * j[5];
    }
  }
}

namespace {

void apply_dense(const Problem& p, const double* lambda, double* out) {
  rows_times(p.dense.data(), p.rows(), p.rows(), lambda, out);
}

void apply_block_sparse(const Problem& p, const double* lambda, double* out) {
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& row = p.blocks[i];
    double* y = out + row.row;
    std::fill_n(y, row.size, 0.0);
    for (int e = p.entry_start[i]; e < p.entry_start[i + 1]; ++e) {
      const Block& column = p.blocks[p.entries[e].column];
      const double* w = p.entry_values.data() + p.entries[e].offset;
      for (int c = 0; c < column.size; ++c) {
        const double x = lambda[column.row + c];
        for (int r = 0; r < row.size; ++r) y[r] += *w++ * x;
      }
    }
  }
}

void apply_jacobian(const Problem& p, const double* velocity, double* out) {
  if (p.unit_mass) return rows_times(p.jacobian.data(), p.rows(), p.velocities(), velocity, out);
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    double* y = out + block.row;
    std::fill_n(y, block.size, 0.0);
    for (int t = p.term_start[i]; t < p.term_start[i + 1]; ++t) {
      const Subsystem& s = p.subsystems[p.terms[t].subsystem];
      const double* j = p.jacobian.data() + p.terms[t].offset;
      for (int r = 0; r < block.size; ++r, j += s.dof) y[r] += dot(j, velocity + s.velocity, s.dof);
    }
  }
}

}  // namespace

void velocity_change(const Problem& p, std::span<const double> lambda, std::span<double> velocity) {
  assert(static_cast<int>(velocity.size()) >= p.velocities());
  if (p.unit_mass)
    return transposed_times(p.jacobian.data(), p.rows(), p.velocities(), lambda.data(), velocity.data());
  std::fill(velocity.begin(), velocity.end(), 0.0);
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& block = p.blocks[i];
    for (int t = p.term_start[i]; t < p.term_start[i + 1]; ++t) {
      const Subsystem& s = p.subsystems[p.terms[t].subsystem];
      const double* y = (s.link < 0 ? p.response : p.jacobian).data() + p.terms[t].offset;
      double* v = velocity.data() + s.velocity;
      for (int r = 0; r < block.size; ++r, y += s.dof) {
        const double x = lambda[block.row + r];
        for (int k = 0; k < s.dof; ++k) v[k] += y[k] * x;
      }
    }
  }
  walk_whole_trees(p, velocity.data());
}

void apply_operator(const Problem& p, std::span<const double> lambda, std::span<double> velocity,
                    std::span<double> out) {
  switch (p.storage) {
    case OperatorKind::kDense: return apply_dense(p, lambda.data(), out.data());
    case OperatorKind::kBlockSparse: return apply_block_sparse(p, lambda.data(), out.data());
    case OperatorKind::kMatrixFree:
      velocity_change(p, lambda, velocity);
      return apply_jacobian(p, velocity.data(), out.data());
  }
}

void row_velocities(const Problem& p, std::span<const double> lambda, std::span<double> velocity,
                    std::span<double> u) {
  apply_operator(p, lambda, velocity, u);
  for (int i = 0; i < p.rows(); ++i) u[i] += p.compliance[i] * lambda[i] + p.q[i];
}

void diagonal_block(const Problem& p, int index, double* out) {
  const Block& block = p.blocks[index];
  const int n = block.size;
  std::fill_n(out, n * n, 0.0);
  if (p.storage == OperatorKind::kDense) {
    for (int c = 0; c < n; ++c)
      for (int r = 0; r < n; ++r)
        out[c * n + r] = p.dense[static_cast<std::size_t>(block.row + r) * p.rows() + block.row + c];
  } else if (p.storage == OperatorKind::kBlockSparse) {
    for (int e = p.entry_start[index]; e < p.entry_start[index + 1]; ++e)
      if (p.entries[e].column == index) std::copy_n(p.entry_values.data() + p.entries[e].offset, n * n, out);
  } else {
    for (int a = p.term_start[index]; a < p.term_start[index + 1]; ++a) {
      for (int b = p.term_start[index]; b < p.term_start[index + 1]; ++b) {
        if (p.terms[a].subsystem != p.terms[b].subsystem) {
          add_linked_product(p, p.terms[a], p.terms[b], n, out);
          continue;
        }
        const int dof = p.subsystems[p.terms[a].subsystem].dof;
        for (int c = 0; c < n; ++c)
          for (int r = 0; r < n; ++r)
            out[c * n + r] += dot(p.jacobian.data() + p.terms[a].offset + r * dof,
                                  p.response.data() + p.terms[b].offset + c * dof, dof);
      }
    }
  }
}

void block_diagonal(const Problem& p, int index, double* out) {
  const int n = p.blocks[index].size;
  if (p.storage == OperatorKind::kDense) {
    const std::size_t next = p.q.size() + 1;
    const double* from = p.dense.data() + p.blocks[index].row * next;
    for (int r = 0; r < n; ++r) out[r] = from[r * next];
    return;
  }
  if (p.storage != OperatorKind::kMatrixFree || !p.links.empty()) {
    double all[kMaxBlockSize * kMaxBlockSize];
    diagonal_block(p, index, all);
    for (int r = 0; r < n; ++r) out[r] = all[r * (n + 1)];
    return;
  }
  std::fill_n(out, n, 0.0);
  for (int a = p.term_start[index]; a < p.term_start[index + 1]; ++a) {
    for (int b = p.term_start[index]; b < p.term_start[index + 1]; ++b) {
      if (p.terms[a].subsystem != p.terms[b].subsystem) continue;
      const int dof = p.subsystems[p.terms[a].subsystem].dof;
      for (int r = 0; r < n; ++r)
        out[r] += dot(p.jacobian.data() + p.terms[a].offset + r * dof,
                      p.response.data() + p.terms[b].offset + r * dof, dof);
    }
  }
}

namespace {

Diagnostic error(std::string what, std::string remedy) {
  return {Severity::kError, "solver problem", std::move(what), std::move(remedy)};
}

std::string at(int i) { return " at row " + std::to_string(i); }

void validate_row(const Problem& p, const Block& block, int i, std::vector<Diagnostic>& found) {
  if (!std::isfinite(p.q[i])) found.push_back(error("q is not finite" + at(i), "check the state"));
  if (!(p.compliance[i] >= 0.0 && std::isfinite(p.compliance[i])))
    found.push_back(error("compliance is negative or not finite" + at(i), "0 for a rigid row"));
  if (block.kind == RowKind::kLinear && p.compliance[i] == 0.0)
    found.push_back(error("linear row without compliance" + at(i), "use an equality row"));
  if (block.kind == RowKind::kBox &&
      !(p.lower[i] <= p.upper[i] && p.lower[i] < kInfinity && p.upper[i] > -kInfinity))
    found.push_back(error("empty bounds" + at(i), "lower ≤ upper, and one of them finite or both infinite"));
  if (block.kind == RowKind::kCone && i > block.row &&
      !(p.friction[i] >= 0.0 && std::isfinite(p.friction[i])))
    found.push_back(error("friction is negative or not finite" + at(i), "μ ≥ 0; a large one for no slip"));
}

bool block_size_fits(const Block& block) {
  switch (block.kind) {
    case RowKind::kEquality: return block.size >= 1 && block.size <= kMaxBlockSize;
    case RowKind::kCone: return block.size >= 2 && block.size <= kMaxBlockSize;
    default: return block.size == 1;
  }
}

bool blocks_are_consecutive(const Problem& p) {
  int row = 0;
  for (const Block& block : p.blocks) {
    if (block.row != row || !block_size_fits(block)) return false;
    row += block.size;
  }
  return row == p.rows();
}

bool operator_fits(const Problem& p) {
  const std::size_t n = p.q.size();
  if (p.storage == OperatorKind::kDense) return p.dense.size() == n * n;
  const std::vector<int>& start = p.storage == OperatorKind::kBlockSparse ? p.entry_start : p.term_start;
  const std::size_t count = p.storage == OperatorKind::kBlockSparse ? p.entries.size() : p.terms.size();
  if (start.size() != p.blocks.size() + 1 || start.front() != 0 || start.back() != static_cast<int>(count))
    return false;
  if (!p.inverse_mass.empty() && static_cast<int>(p.inverse_mass.size()) != p.velocities()) return false;
  for (int i = 0; i < p.block_count(); ++i) {
    if (start[i] > start[i + 1]) return false;
    for (int k = start[i]; k < start[i + 1]; ++k) {
      if (p.storage == OperatorKind::kBlockSparse) {
        const Entry& e = p.entries[k];
        if (e.column < 0 || e.column >= p.block_count() || e.offset < 0) return false;
        const std::size_t size = p.blocks[i].size * p.blocks[e.column].size;
        if (e.offset + size > p.entry_values.size()) return false;
      } else {
        const Term& t = p.terms[k];
        if (t.subsystem < 0 || t.subsystem >= static_cast<int>(p.subsystems.size()) || t.offset < 0)
          return false;
        const std::size_t size = p.blocks[i].size * p.subsystems[t.subsystem].dof;
        if (t.offset + size > p.jacobian.size() || t.offset + size > p.response.size()) return false;
      }
    }
  }
  return true;
}

}  // namespace

std::vector<Diagnostic> validate(const Problem& p) {
  const std::size_t n = p.q.size();
  std::vector<Diagnostic> found;
  if (p.compliance.size() != n || p.lower.size() != n || p.upper.size() != n || p.friction.size() != n)
    return {error("arrays of rows differ in length", "use the add_ functions")};
  if (!blocks_are_consecutive(p))
    return {error("blocks do not cover the rows in order, or have a size their kind cannot have",
                  "equality 1 to 6, cone 2 to 6, all others 1 row")};
  if (!operator_fits(p))
    return {error("the operator does not fit the blocks",
                  "dense: rows²; block-sparse and matrix-free: see problem.h")};
  for (const Block& block : p.blocks)
    for (int r = 0; r < block.size; ++r) validate_row(p, block, block.row + r, found);
  return found;
}

}  // namespace karakuri::solver
