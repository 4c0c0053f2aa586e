// Which velocities belong together, which contacts, and what the latter do to the former.
#include "solver/sparse_patches.h"

#include <algorithm>

namespace karakuri::solver {

namespace {

constexpr int kMostRows = kMostPatchRows - kMaxBlockSize;  // of a patch that others may join

int padded(int n) { return (n + 3) / 4 * 4; }

/// Velocities that the same terms act on are one node, if they follow each other.
void find_nodes(const Problem& p, SparseMemory& s) {
  constexpr int kWhole = 6;  // dofs that are not looked into
  s.signature.assign(p.velocities(), 0);
  for (std::size_t t = 0; t < p.terms.size(); ++t) {
    const Subsystem& sub = p.subsystems[p.terms[t].subsystem];
    std::uint64_t* sign = s.signature.data() + sub.velocity;
    if (sub.dof <= kWhole) {
      std::fill_n(sign, sub.dof, 1);
      continue;
    }
    const double* j = p.jacobian.data() + p.terms[t].offset;
    // the block of a term is found by its offset's end: rows follow each other
    const std::size_t end = t + 1 < p.terms.size() ? p.terms[t + 1].offset : p.jacobian.size();
    const int rows = static_cast<int>((end - p.terms[t].offset) / sub.dof);
    for (int d = 0; d < sub.dof; ++d) {
      bool any = false;
      for (int r = 0; r < rows; ++r) any = any || j[r * sub.dof + d] != 0.0;
      if (any) sign[d] = (sign[d] ^ (t + 1)) * 0x9E3779B97F4A7C15ull + 1;
    }
  }
  s.nodes.clear();
  s.node_start.assign(1, 0);
  for (int i = 0; i < static_cast<int>(p.subsystems.size()); ++i) {
    const Subsystem& sub = p.subsystems[i];
    const std::uint64_t* sign = s.signature.data() + sub.velocity;
    for (int d = 0; d < sub.dof; ++d) {
      if (sign[d] == 0) continue;
      if (d > 0 && sign[d] == sign[d - 1])
        ++s.nodes.back().width;
      else
        s.nodes.push_back({i, d, 1});
    }
    s.node_start.push_back(static_cast<int>(s.nodes.size()));
  }
}

/// Nodes that a block acts on, appended to patch_nodes.
void list_nodes(const Problem& p, int block, SparseMemory& s) {
  for (int t = p.term_start[block]; t < p.term_start[block + 1]; ++t) {
    const Term& term = p.terms[t];
    const int dof = p.subsystems[term.subsystem].dof;
    const double* j = p.jacobian.data() + term.offset;
    for (int n = s.node_start[term.subsystem]; n < s.node_start[term.subsystem + 1]; ++n) {
      bool any = s.node_start[term.subsystem + 1] - s.node_start[term.subsystem] == 1;
      for (int r = 0; r < p.blocks[block].size && !any; ++r) any = j[r * dof + s.nodes[n].first] != 0.0;
      if (any) s.patch_nodes.push_back(n);
    }
  }
}

void find_patches(const Problem& p, SparseMemory& s) {
  s.patches.clear();
  s.patch_start.assign(1, 0);
  s.patch_nodes.clear();
  for (int b = 0; b < p.block_count(); ++b) {
    const int begin = s.patch_start.back();
    list_nodes(p, b, s);
    if (!s.patches.empty() && s.patches.back().row_count + p.blocks[b].size <= kMostRows) {
      const int before = s.patch_start[s.patch_start.size() - 2];
      if (std::equal(s.patch_nodes.begin() + before, s.patch_nodes.begin() + begin,
                     s.patch_nodes.begin() + begin, s.patch_nodes.end())) {
        s.patch_nodes.resize(begin);
        ++s.patches.back().block_count;
        s.patches.back().row_count += p.blocks[b].size;
        continue;
      }
    }
    s.patches.push_back({b, 1, p.blocks[b].row, p.blocks[b].size});
    s.patch_start.push_back(static_cast<int>(s.patch_nodes.size()));
  }
}

}  // namespace

bool find_sparse_structure(const Problem& p, double most, SparseMemory& s) {
  find_nodes(p, s);
  find_patches(p, s);
  s.widths.clear();
  s.place.clear();
  int total = 0;
  for (const SparseNode& n : s.nodes) {
    s.widths.push_back(n.width);
    s.place.push_back(total);
    total += n.width;
  }
  s.velocities = total;
  return s.factors.analyse(s.widths, s.patch_start, s.patch_nodes, most);
}

void write_sparse_jacobian(const Problem& p, SparseMemory& s) {
  int total = 0, widest = 0, rows = 0;
  for (std::size_t i = 0; i < s.patches.size(); ++i) {
    SparsePatch& patch = s.patches[i];
    int width = 0;
    for (const int n : s.factors.clique(static_cast<int>(i))) width += s.widths[n];
    patch.stride = padded(width);
    patch.jacobian = total;
    total += patch.stride * patch.row_count;
    widest = std::max(widest, patch.stride);
    rows = std::max(rows, patch.row_count);
  }
  s.jacobian.assign(total, 0.0);
  s.local.resize(2 * widest);
  s.product.resize(static_cast<std::size_t>(rows) * widest);
  for (std::size_t i = 0; i < s.patches.size(); ++i) {
    const SparsePatch& patch = s.patches[i];
    double* to = s.jacobian.data() + patch.jacobian;
    for (int b = patch.block; b < patch.block + patch.block_count; ++b) {
      const int size = p.blocks[b].size;
      int at = 0;
      for (const int n : s.factors.clique(static_cast<int>(i))) {
        const SparseNode& node = s.nodes[n];
        for (int t = p.term_start[b]; t < p.term_start[b + 1]; ++t) {
          if (p.terms[t].subsystem != node.subsystem) continue;
          const Subsystem& sub = p.subsystems[node.subsystem];
          const double* from = p.jacobian.data() + p.terms[t].offset + node.first;
          const double* root = s.root.data() + sub.velocity + node.first;
          for (int r = 0; r < size; ++r)
            for (int d = 0; d < node.width; ++d)
              to[r * patch.stride + at + d] += root[d] * from[r * sub.dof + d];
        }
        at += node.width;
      }
      to += size * patch.stride;
    }
  }
}

}  // namespace karakuri::solver
