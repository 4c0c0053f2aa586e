#include "solver/coupling.h"

#include <algorithm>
#include <cstdint>

#include "core/simd.h"

namespace karakuri::solver {

using namespace simd;  // NOLINT: private to the module

void list_users(const Problem& p, Users& users) {
  users.start.assign(p.subsystems.size() + 1, 0);
  for (const Term& term : p.terms) ++users.start[term.subsystem + 1];
  for (std::size_t s = 0; s < p.subsystems.size(); ++s) users.start[s + 1] += users.start[s];
  users.list.resize(p.terms.size());
  users.next.assign(users.start.begin(), users.start.end());
  for (int i = 0; i < p.block_count(); ++i)
    for (int t = p.term_start[i]; t < p.term_start[i + 1]; ++t)
      users.list[users.next[p.terms[t].subsystem]++] = {i, t};
}

namespace {

/// Whether a block of a dense operator is nothing but zeros.
bool is_zero(const Problem& p, const Block& row, const Block& column) {
  const std::size_t n = p.q.size();
  const double* w = p.dense.data() + row.row * n + column.row;
  for (int a = 0; a < row.size; ++a)
    for (int b = 0; b < column.size; ++b)
      if (w[a * n + b] != 0.0) return false;
  return true;
}

/// Of two blocks across the diagonal both are there or none, also where the operator is not symmetric: what
/// is ordered and factored is a graph without directions.
bool coupling_of_dense(const Problem& p, std::size_t max_values, Coupling& c) {
  const std::size_t n = p.q.size();
  if (n * n > max_values) return false;
  c.storage.resize(n * n);
  c.values = c.storage.data();
  int offset = 0;
  for (int i = 0; i < p.block_count(); ++i) {
    for (int j = 0; j < p.block_count(); ++j) {
      const Block& row = p.blocks[i];
      const Block& column = p.blocks[j];
      const double* w = p.dense.data() + row.row * n + column.row;
      if (i != j && is_zero(p, row, column) && is_zero(p, column, row)) continue;
      for (int b = 0; b < column.size; ++b)
        for (int a = 0; a < row.size; ++a) c.storage[offset + b * row.size + a] = w[a * n + b];
      c.entries.push_back({j, offset});
      offset += row.size * column.size;
    }
    c.start.push_back(static_cast<int>(c.entries.size()));
  }
  return true;
}

void add_product(const Problem& p, const Block& row, const Term& left, const Block& column, const Term& right,
                 double* out) {
  const int dof = p.subsystems[left.subsystem].dof;
  for (int b = 0; b < column.size; ++b)
    for (int a = 0; a < row.size; ++a)
      out[b * row.size + a] +=
          dot(p.jacobian.data() + left.offset + a * dof, p.response.data() + right.offset + b * dof, dof);
}

bool coupling_of_terms(const Problem& p, std::size_t max_values, Coupling& c) {
  list_users(p, c.users);
  c.mark.assign(p.blocks.size(), -1);
  c.storage.clear();
  for (int i = 0; i < p.block_count(); ++i) {
    const Block& row = p.blocks[i];
    const std::size_t begin = c.entries.size();
    c.entries.push_back({i, 0});
    c.mark[i] = i;
    for (int t = p.term_start[i]; t < p.term_start[i + 1]; ++t) {
      const int s = p.terms[t].subsystem;
      for (int k = c.users.start[s]; k < c.users.start[s + 1]; ++k) {
        const int j = c.users.list[k].block;
        if (c.mark[j] == i) continue;
        c.mark[j] = i;
        c.entries.push_back({j, 0});
      }
    }
    std::sort(c.entries.begin() + static_cast<std::ptrdiff_t>(begin), c.entries.end(),
              [](const Entry& a, const Entry& b) { return a.column < b.column; });
    for (std::size_t e = begin; e < c.entries.size(); ++e) {
      const int j = c.entries[e].column;
      const std::size_t offset = c.storage.size();
      if (offset > max_values) return false;
      c.entries[e].offset = static_cast<int>(offset);
      c.storage.resize(offset + row.size * p.blocks[j].size, 0.0);
      for (int a = p.term_start[i]; a < p.term_start[i + 1]; ++a)
        for (int b = p.term_start[j]; b < p.term_start[j + 1]; ++b)
          if (p.terms[a].subsystem == p.terms[b].subsystem)
            add_product(p, row, p.terms[a], p.blocks[j], p.terms[b], c.storage.data() + offset);
    }
    c.start.push_back(static_cast<int>(c.entries.size()));
  }
  c.values = c.storage.data();
  return true;
}

int degree(const Coupling& c, int i) { return c.start[i + 1] - c.start[i]; }

/// Appends the component of `root` to the queue, breadth first. @return Where the last level begins.
std::size_t breadth_first(Coupling& c, int root, int stamp) {
  std::size_t head = c.queue.size();
  std::size_t level = head;
  c.queue.push_back(root);
  c.mark[root] = stamp;
  std::size_t level_end = c.queue.size();
  while (head < c.queue.size()) {
    if (head == level_end) {
      level = head;
      level_end = c.queue.size();
    }
    const int i = c.queue[head++];
    const std::size_t begin = c.queue.size();
    for (int e = c.start[i]; e < c.start[i + 1]; ++e) {
      const int j = c.entries[e].column;
      if (c.mark[j] == stamp || c.mark[j] < 0) continue;
      c.mark[j] = stamp;
      c.queue.push_back(j);
    }
    std::sort(c.queue.begin() + static_cast<std::ptrdiff_t>(begin), c.queue.end(), [&c](int a, int b) {
      return degree(c, a) != degree(c, b) ? degree(c, a) < degree(c, b) : a < b;
    });
  }
  return level;
}

}  // namespace

bool build_coupling(const Problem& p, std::size_t max_values, Coupling& c) {
  c.start.assign(1, 0);
  c.entries.clear();
  switch (p.storage) {
    case OperatorKind::kDense: return coupling_of_dense(p, max_values, c);
    case OperatorKind::kMatrixFree: return coupling_of_terms(p, max_values, c);
    case OperatorKind::kBlockSparse: break;
  }
  c.start.assign(p.entry_start.begin(), p.entry_start.end());
  c.entries.assign(p.entries.begin(), p.entries.end());
  c.values = p.entry_values.data();
  return true;
}

void order_blocks(Coupling& c) {
  const int n = static_cast<int>(c.start.size()) - 1;
  c.mark.assign(n, 0);
  c.queue.clear();
  c.order.clear();
  int stamp = 0;
  for (int seed = 0; seed < n; ++seed) {
    if (c.mark[seed] < 0) continue;
    // a node of the last level seen from anywhere, twice, is nearly at the end of the longest path
    int root = seed;
    for (int pass = 0; pass < 2; ++pass) {
      c.queue.clear();
      const std::size_t level = breadth_first(c, root, ++stamp);
      root = *std::min_element(
          c.queue.begin() + static_cast<std::ptrdiff_t>(level), c.queue.end(),
          [&c](int a, int b) { return degree(c, a) != degree(c, b) ? degree(c, a) < degree(c, b) : a < b; });
    }
    c.queue.clear();
    breadth_first(c, root, ++stamp);
    for (const int i : c.queue) c.mark[i] = -1;
    c.order.insert(c.order.end(), c.queue.begin(), c.queue.end());
  }
  std::reverse(c.order.begin(), c.order.end());
  c.place.resize(n);
  for (int k = 0; k < n; ++k) c.place[c.order[k]] = k;
}

}  // namespace karakuri::solver
