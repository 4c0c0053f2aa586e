// The order: at each step the node with the fewest neighbours is eliminated (minimum degree). Neighbours are
// known by elements, sets of nodes that are all coupled: cliques, and what each eliminated node has left,
//   new element = union of the node's elements, less the node itself,                                    (1)
// which replaces all of them (George and Liu, SIAM Review 31, 1989).
//
// A front F, columns of a supernode first, is factored with Y = L D, Z = D U,
//   Y_k = column k of F,  Z_k = its row k,  F ← F - Y_k Z_kᵀ / Y_kk,                                    (2)
// and what is then left of the others goes to the parent. F is kept as two lower triangles, its own and that
// of its transpose, which are one where it is symmetric.
#include "solver/sparse_factors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "core/simd.h"

namespace karakuri::solver {

using namespace simd;  // NOLINT: private to the module

namespace {

constexpr int kColumns = 8;         // that are eliminated at once
constexpr double kMostZeros = 0.2;  // of the numbers of a supernode, for the sake of larger ones
constexpr double kTinyPivot = 1e-300;

void add(const double* from, double* to, int n) {
  int i = 0;
  for (; i + 4 <= n; i += 4) store4(to + i, load4(to + i) + load4(from + i));
  for (; i < n; ++i) to[i] += from[i];
}

}  // namespace

bool SparseFactors::is_known(std::span<const int> widths, std::span<const int> clique_start,
                             std::span<const int> clique_nodes) const {
  return std::ranges::equal(widths, widths_) && std::ranges::equal(clique_start, given_start_) &&
         std::ranges::equal(clique_nodes, given_nodes_);
}

bool SparseFactors::analyse(std::span<const int> widths, std::span<const int> clique_start,
                            std::span<const int> clique_nodes, double most) {
  if (is_known(widths, clique_start, clique_nodes)) return factor_cost_ <= most;
  widths_.assign(widths.begin(), widths.end());
  given_start_.assign(clique_start.begin(), clique_start.end());
  given_nodes_.assign(clique_nodes.begin(), clique_nodes.end());
  first_.resize(widths_.size() + 1);
  first_[0] = 0;
  for (std::size_t i = 0; i < widths_.size(); ++i) first_[i + 1] = first_[i] + widths_[i];
  if (!eliminate_by_degree(most)) {
    widths_.clear();  // not known
    return false;
  }
  form_supernodes();
  order_supernodes();
  place_cliques();
  place_in_parents();
  measure();
  return factor_cost_ <= most;
}

// ---- order

/// Which elements each node is in.
void SparseFactors::index_elements() {
  const std::size_t nodes = widths_.size();
  element_start_ = given_start_;
  element_nodes_ = given_nodes_;
  gone_.assign(given_start_.size() - 1 + nodes, 0);
  in_start_.assign(nodes + 1, 0);
  for (const int n : given_nodes_) ++in_start_[n + 1];
  for (std::size_t n = 0; n < nodes; ++n) in_start_[n + 1] += in_start_[n];
  in_count_.assign(nodes, 0);
  in_elements_.resize(given_nodes_.size());
  for (int e = 0; e + 1 < static_cast<int>(given_start_.size()); ++e)
    for (int k = given_start_[e]; k < given_start_[e + 1]; ++k) {
      const int n = given_nodes_[k];
      in_elements_[in_start_[n] + in_count_[n]++] = e;
    }
}

/// Unknowns that a node is coupled with.
int SparseFactors::degree_of(int node) {
  ++stamp_;
  mark_[node] = stamp_;
  int degree = 0;
  for (int k = 0; k < in_count_[node]; ++k) {
    const int e = in_elements_[in_start_[node] + k];
    for (int i = element_start_[e]; i < element_start_[e + 1]; ++i) {
      const int n = element_nodes_[i];
      if (mark_[n] == stamp_) continue;
      mark_[n] = stamp_;
      degree += widths_[n];
    }
  }
  return degree;
}

/// (1)
void SparseFactors::absorb(int node) {
  ++stamp_;
  mark_[node] = stamp_;
  const int made = static_cast<int>(element_start_.size()) - 1;
  const int begin = element_start_.back();
  for (int k = 0; k < in_count_[node]; ++k) {
    const int e = in_elements_[in_start_[node] + k];
    gone_[e] = 1;
    for (int i = element_start_[e]; i < element_start_[e + 1]; ++i) {
      const int n = element_nodes_[i];
      if (mark_[n] == stamp_) continue;
      mark_[n] = stamp_;
      element_nodes_.push_back(n);
    }
  }
  element_start_.push_back(static_cast<int>(element_nodes_.size()));
  for (int i = begin; i < element_start_.back(); ++i) {
    const int n = element_nodes_[i];
    int* list = in_elements_.data() + in_start_[n];
    in_count_[n] =
        static_cast<int>(std::remove_if(list, list + in_count_[n], [&](int e) { return gone_[e]; }) - list);
    list[in_count_[n]++] = made;
  }
}

/// @return Whether that takes at most so many multiplications.
bool SparseFactors::eliminate_by_degree(double most) {
  const int nodes = static_cast<int>(widths_.size());
  index_elements();
  mark_.assign(nodes, 0);
  stamp_ = 0;
  below_.resize(nodes);
  place_.assign(nodes, -1);
  order_.clear();
  queue_.clear();
  const std::greater<> later;
  for (int n = 0; n < nodes; ++n) queue_.emplace_back(below_[n] = degree_of(n), n);
  std::make_heap(queue_.begin(), queue_.end(), later);
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), later);
    const auto [degree, node] = queue_.back();
    queue_.pop_back();
    if (place_[node] >= 0 || below_[node] != degree) continue;
    place_[node] = static_cast<int>(order_.size());
    order_.push_back(node);
    most -= 0.5 * widths_[node] * degree * degree;
    if (most < 0) return false;
    const int begin = element_start_.back();
    absorb(node);
    for (int i = begin; i < element_start_.back(); ++i) {
      const int n = element_nodes_[i], now = degree_of(n);
      if (now == below_[n]) continue;
      queue_.emplace_back(below_[n] = now, n);
      std::push_heap(queue_.begin(), queue_.end(), later);
    }
  }
  return true;
}

/// A node and one of its children are eliminated at once, where that stores few zeros.
void SparseFactors::form_supernodes() {
  const int nodes = static_cast<int>(widths_.size());
  const int cliques = static_cast<int>(given_start_.size()) - 1;
  parent_.assign(nodes, -1);
  merged_.assign(nodes, -1);
  is_top_.assign(nodes, 1);
  width_ = widths_;
  zeros_.assign(nodes, 0);
  child_.assign(nodes, -1);  // the one with the most below it
  for (int k = 0; k < nodes; ++k) {
    const int n = order_[k];
    for (int i = element_start_[cliques + k]; i < element_start_[cliques + k + 1]; ++i) {
      const int m = element_nodes_[i];
      if (parent_[n] < 0 || place_[m] < place_[parent_[n]]) parent_[n] = m;
    }
    if (const int c = child_[n]; c >= 0) {
      const int zeros = zeros_[c] + width_[c] * (widths_[n] + below_[n] - below_[c]);
      const int width = width_[c] + widths_[n];
      const double size = width * (0.5 * (width + 1) + below_[n]);
      if (zeros <= kMostZeros * size) {
        merged_[n] = c;
        is_top_[c] = 0;
        width_[n] = width;
        zeros_[n] = zeros;
      }
    }
    if (const int p = parent_[n]; p >= 0 && (child_[p] < 0 || below_[n] > below_[child_[p]])) child_[p] = n;
  }
}

/// The supernode that ends with `top`, from `place` on.
void SparseFactors::list_supernode(int top, int& place) {
  Supernode s;
  s.first = place;
  s.width = width_[top];
  s.below = below_[top];
  for (int n = top; n >= 0; n = merged_[n]) {
    sequence_[place + s.count++] = n;
    supernode_of_[n] = static_cast<int>(supernodes_.size());
  }
  std::reverse(sequence_.begin() + place, sequence_.begin() + place + s.count);
  place += s.count;
  supernodes_.push_back(s);
}

/// Children before parents, those of one parent side by side with what is below them.
void SparseFactors::order_supernodes() {
  const int nodes = static_cast<int>(widths_.size());
  const int cliques = static_cast<int>(given_start_.size()) - 1;
  sequence_.resize(nodes);
  supernode_of_.resize(nodes);
  supernodes_.clear();
  // supernodes by their top; parents by that of theirs
  top_.resize(nodes);
  for (int k = nodes - 1; k >= 0; --k) {
    const int n = order_[k];
    if (is_top_[n]) top_[n] = n;
    if (merged_[n] >= 0) top_[merged_[n]] = top_[n];
  }
  child_.assign(nodes, -1);
  next_.assign(nodes, -1);
  pending_.clear();
  for (int k = nodes - 1; k >= 0; --k) {
    const int n = order_[k];
    if (!is_top_[n]) continue;
    if (parent_[n] < 0) {
      pending_.push_back(n);
      continue;
    }
    const int p = top_[parent_[n]];
    next_[n] = child_[p];
    child_[p] = n;
  }
  int place = 0;
  while (!pending_.empty()) {
    const int n = pending_.back();
    if (const int c = child_[n]; c >= 0) {
      child_[n] = next_[c];
      pending_.push_back(c);
      continue;
    }
    pending_.pop_back();
    list_supernode(n, place);
  }
  rows_.clear();
  int pivot = 0;
  for (Supernode& s : supernodes_) {
    const int top = sequence_[s.first + s.count - 1], k = place_[top];
    s.pivot = pivot;
    pivot += s.width;
    s.rows = static_cast<int>(rows_.size());
    rows_.insert(rows_.end(), element_nodes_.begin() + element_start_[cliques + k],
                 element_nodes_.begin() + element_start_[cliques + k + 1]);
    s.row_count = static_cast<int>(rows_.size()) - s.rows;
    if (parent_[top] < 0) continue;
    s.parent = supernode_of_[parent_[top]];
    ++supernodes_[s.parent].children;
  }
  order_ = sequence_;
  for (int k = 0; k < nodes; ++k) place_[order_[k]] = k;
  for (const Supernode& s : supernodes_)
    std::sort(rows_.begin() + s.rows, rows_.begin() + s.rows + s.row_count,
              [&](int a, int b) { return place_[a] < place_[b]; });
}

/// Appends a run, to the last one from `first` on where it goes on.
void SparseFactors::add_run(int from, int to, int count, std::vector<Run>& runs, int first) const {
  if (static_cast<int>(runs.size()) > first) {
    Run& last = runs.back();
    if (last.from + last.count == from && last.to + last.count == to) {
      last.count += count;
      return;
    }
  }
  runs.push_back({from, to, count});
}

/// Nodes of cliques in order, and which supernode takes each up: the first.
void SparseFactors::place_cliques() {
  start_ = given_start_;
  nodes_ = given_nodes_;
  const int cliques = static_cast<int>(start_.size()) - 1;
  for (int c = 0; c < cliques; ++c)
    std::sort(nodes_.begin() + start_[c], nodes_.begin() + start_[c + 1],
              [&](int a, int b) { return place_[a] < place_[b]; });
  const auto taker = [&](int c) -> Supernode* {
    return start_[c] < start_[c + 1] ? &supernodes_[supernode_of_[nodes_[start_[c]]]] : nullptr;
  };
  for (int c = 0; c < cliques; ++c)
    if (Supernode* s = taker(c)) ++s->clique_count;
  int total = 0;
  for (Supernode& s : supernodes_) {
    s.cliques = total;
    total += s.clique_count;
    s.clique_count = 0;
  }
  by_supernode_.resize(total);
  for (int c = 0; c < cliques; ++c)
    if (Supernode* s = taker(c)) by_supernode_[s->cliques + s->clique_count++] = c;
}

/// Where in a supernode's front the unknowns of its cliques and of what its children leave are.
void SparseFactors::place_in_parents() {
  const int cliques = static_cast<int>(start_.size()) - 1;
  const int count = static_cast<int>(supernodes_.size());
  child_.assign(count, -1);
  next_.assign(count, -1);
  for (int i = count - 1; i >= 0; --i) {
    const int p = supernodes_[i].parent;
    if (p < 0) continue;
    next_[i] = child_[p];
    child_[p] = i;
  }
  coordinate_.assign(widths_.size(), -1);
  clique_run_start_.assign(2 * cliques, 0);
  runs_.clear();
  clique_runs_.clear();
  for (int i = 0; i < count; ++i) {
    const Supernode& s = supernodes_[i];
    int at = 0;
    for (int k = s.first; k < s.first + s.count; at += widths_[order_[k++]]) coordinate_[order_[k]] = at;
    at = s.padded();
    for (int k = s.rows; k < s.rows + s.row_count; at += widths_[rows_[k++]]) coordinate_[rows_[k]] = at;
    for (int k = s.cliques; k < s.cliques + s.clique_count; ++k) {
      const int c = by_supernode_[k];
      const int first = clique_run_start_[2 * c] = static_cast<int>(clique_runs_.size());
      int from = 0;
      for (const int n : clique(c)) {
        add_run(from, coordinate_[n], widths_[n], clique_runs_, first);
        from += widths_[n];
      }
      clique_run_start_[2 * c + 1] = static_cast<int>(clique_runs_.size());
    }
    for (int c = child_[i]; c >= 0; c = next_[c]) {
      Supernode& child = supernodes_[c];
      child.runs = static_cast<int>(runs_.size());
      int from = 0;
      for (int k = child.rows; k < child.rows + child.row_count; ++k) {
        add_run(from, coordinate_[rows_[k]], widths_[rows_[k]], runs_, child.runs);
        from += widths_[rows_[k]];
      }
      child.run_count = static_cast<int>(runs_.size()) - child.runs;
    }
  }
}

/// Costs, and how much memory the numbers take.
void SparseFactors::measure() {
  factor_cost_ = 0;
  factor_size_ = most_stacked_ = 0;
  most_stride_ = most_clique_ = 0;
  std::size_t stacked = 0;
  pending_.clear();
  for (std::size_t i = 0; i < supernodes_.size(); ++i) {
    Supernode& s = supernodes_[i];
    s.factor = factor_size_;
    factor_size_ += static_cast<std::size_t>(s.width) * s.stride();
    most_stride_ = std::max(most_stride_, s.stride());
    const double below = s.padded_below(), width = s.width;
    factor_cost_ += width * (width * width / 3 + width * below + below * below / 2) + below * below;
    most_stacked_ = std::max(most_stacked_, stacked + s.left_over());
    for (int k = 0; k < s.children; ++k) {
      stacked -= supernodes_[pending_.back()].left_over();
      pending_.pop_back();
    }
    stacked += s.left_over();
    if (s.parent >= 0) pending_.push_back(static_cast<int>(i));
  }
  for (std::size_t c = 0; c + 1 < start_.size(); ++c) {
    int width = 0;
    for (const int n : clique(static_cast<int>(c))) width += widths_[n];
    most_clique_ = std::max(most_clique_, (width + 3) / 4 * 4);
  }
}

// ---- numbers

/// A dense matrix, columns of the supernode apart from the others; lower triangles.
struct SparseFactors::Front {
  double *own, *rest;
  int width, padded, stride, rest_stride;

  /// Of a coordinate; coordinates are its rows, too.
  double* column(int at) const {
    return at < padded ? own + static_cast<std::size_t>(at) * stride
                       : rest + static_cast<std::ptrdiff_t>(at - padded) * rest_stride - padded;
  }

  void add_dense(const double* from, int from_stride, std::span<const Run> runs) const {
    for (std::size_t b = 0; b < runs.size(); ++b) {
      const Run& column_run = runs[b];
      for (int c = 0; c < column_run.count; ++c) {
        const double* source = from + static_cast<std::size_t>(column_run.from + c) * from_stride;
        double* target = column(column_run.to + c);
        add(source + column_run.from + c, target + column_run.to + c, column_run.count - c);
        for (const Run& r : runs.subspan(b + 1)) add(source + r.from, target + r.to, r.count);
      }
    }
  }

  double* own_column(int k) const { return own + static_cast<std::size_t>(k) * stride; }

  /// Column j less a multiple of the own column k. (2)
  void reduce(int k, int j, double inverse, const Front& transposed) const {
    const int from = j / 4 * 4;
    axpy(-transposed.own_column(k)[j] * inverse, own_column(k) + from, own_column(j) + from, stride - from);
  }

  /// kCount columns from j on, less multiples of the own columns [begin, end). (2)
  template <int kCount>
  void update_columns(int j, int begin, int end, const double* inverse, const Front& transposed) const {
    double share[kColumns][kCount];
    double* to[kCount];
    const int columns = end - begin;
    const double* y = own_column(begin);
    for (int c = 0; c < kCount; ++c) to[c] = column(j + c);
    for (int k = 0; k < columns; ++k)
      for (int c = 0; c < kCount; ++c)
        share[k][c] = -transposed.own_column(begin + k)[j + c] * inverse[begin + k];
    int i = j / 4 * 4;
    for (; i + 8 <= stride; i += 8) {
      V4 a[kCount], b[kCount];
      for (int c = 0; c < kCount; ++c) a[c] = load4(to[c] + i), b[c] = load4(to[c] + i + 4);
      for (int k = 0; k < columns; ++k) {
        const double* at = y + static_cast<std::size_t>(k) * stride + i;
        const V4 first = load4(at), second = load4(at + 4);
        for (int c = 0; c < kCount; ++c) {
          a[c] += broadcast(share[k][c]) * first;
          b[c] += broadcast(share[k][c]) * second;
        }
      }
      for (int c = 0; c < kCount; ++c) store4(to[c] + i, a[c]), store4(to[c] + i + 4, b[c]);
    }
    if (i == stride) return;
    for (int c = 0; c < kCount; ++c) {
      V4 a = load4(to[c] + i);
      for (int k = 0; k < columns; ++k)
        a += broadcast(share[k][c]) * load4(y + static_cast<std::size_t>(k) * stride + i);
      store4(to[c] + i, a);
    }
  }

  /// All columns that the own ones [begin, end) have not reached.
  void update(int begin, int end, const double* inverse, const Front& transposed) const {
    int j = end;
    for (; j + 4 <= width; j += 4) update_columns<4>(j, begin, end, inverse, transposed);
    for (; j < width; ++j) update_columns<1>(j, begin, end, inverse, transposed);
    for (j = padded; j < stride; j += 4) update_columns<4>(j, begin, end, inverse, transposed);
  }

  /// @param transposed  The front itself where it is symmetric. inverse ← of the pivots.
  void factor(const Front& transposed, double* inverse) const {
    const bool symmetric = own == transposed.own;
    for (int begin = 0; begin < width; begin += kColumns) {
      const int end = std::min(width, begin + kColumns);
      for (int k = begin; k < end; ++k) {
        const double pivot = own_column(k)[k];
        inverse[k] = 1.0 / (std::abs(pivot) >= kTinyPivot ? pivot : kTinyPivot);
        for (int j = k + 1; j < end; ++j) {
          reduce(k, j, inverse[k], transposed);
          if (!symmetric) transposed.reduce(k, j, inverse[k], *this);
        }
      }
      update(begin, end, inverse, transposed);
      if (!symmetric) transposed.update(begin, end, inverse, *this);
    }
  }
};

SparseFactors::Front SparseFactors::open_front(const Supernode& s, std::span<const double> diagonal,
                                               double* left_over, std::vector<double>& factors) const {
  Front f{factors.data() + s.factor, left_over, s.width, s.padded(), s.stride(), s.padded_below()};
  std::fill_n(f.own, static_cast<std::size_t>(s.width) * f.stride, 0.0);
  std::fill_n(f.rest, s.left_over(), 0.0);
  int at = 0;
  for (int k = s.first; k < s.first + s.count; ++k)
    for (int u = first_[order_[k]]; u < first_[order_[k] + 1]; ++u, ++at)
      f.own[static_cast<std::size_t>(at) * (f.stride + 1)] = diagonal[u];
  return f;
}

/// Memory for one triangle, or both.
void SparseFactors::make_room() {
  const auto grow = [](std::vector<double>& v, std::size_t size) { v.resize(std::max(v.size(), size)); };
  const std::size_t clique = static_cast<std::size_t>(most_clique_) * most_clique_;
  inverse_.resize(first_.back());
  grow(lower_, factor_size_), grow(stack_, most_stacked_), grow(clique_, clique);
  if (symmetric_) return;
  grow(upper_, factor_size_), grow(upper_stack_, most_stacked_), grow(upper_clique_, clique);
}

void SparseFactors::factor(std::span<const double> diagonal, const CliqueMatrices& cliques, bool symmetric) {
  symmetric_ = symmetric;
  make_room();
  open_.clear();
  std::size_t top = 0;
  for (std::size_t i = 0; i < supernodes_.size(); ++i) {
    const Supernode& s = supernodes_[i];
    const Front lower = open_front(s, diagonal, stack_.data() + top, lower_);
    const Front upper = symmetric ? lower : open_front(s, diagonal, upper_stack_.data() + top, upper_);
    for (int k = s.cliques; k < s.cliques + s.clique_count; ++k) {
      const int c = by_supernode_[k];
      const std::span<const Run> runs(clique_runs_.data() + clique_run_start_[2 * c],
                                      clique_runs_.data() + clique_run_start_[2 * c + 1]);
      const int stride = (runs.back().from + runs.back().count + 3) / 4 * 4;
      cliques.write(c, stride, clique_.data(), symmetric ? nullptr : upper_clique_.data());
      lower.add_dense(clique_.data(), stride, runs);
      if (!symmetric) upper.add_dense(upper_clique_.data(), stride, runs);
    }
    std::size_t base = top;
    for (int k = 0; k < s.children; ++k) {
      const Supernode& child = supernodes_[open_.back()];
      open_.pop_back();
      base -= child.left_over();
      const std::span<const Run> runs = std::span(runs_).subspan(child.runs, child.run_count);
      lower.add_dense(stack_.data() + base, child.padded_below(), runs);
      if (!symmetric) upper.add_dense(upper_stack_.data() + base, child.padded_below(), runs);
    }
    lower.factor(upper, inverse_.data() + s.pivot);
    const auto move_down = [&](std::vector<double>& stack) {
      std::memmove(stack.data() + base, stack.data() + top, s.left_over() * sizeof(double));
    };
    if (base < top) move_down(stack_);
    if (base < top && !symmetric) move_down(upper_stack_);
    top = base + s.left_over();
    if (s.parent >= 0) open_.push_back(static_cast<int>(i));
  }
}

/// Calls f with the unknowns of a supernode, and where its front keeps them; `below`: also those below.
template <class F>
void SparseFactors::for_each_unknown(const Supernode& s, bool below, F&& f) const {
  int at = 0;
  for (int k = s.first; k < s.first + s.count; ++k)
    for (int u = first_[order_[k]]; u < first_[order_[k] + 1]; ++u) f(u, at++);
  at = s.padded();
  for (int k = s.rows; k < s.rows + s.row_count && below; ++k)
    for (int u = first_[rows_[k]]; u < first_[rows_[k] + 1]; ++u) f(u, at++);
}

void SparseFactors::solve(std::span<double> x) {
  local_.resize(std::max<std::size_t>(local_.size(), most_stride_));
  double* y = local_.data();
  for (const Supernode& s : supernodes_) {  // D⁻¹ L⁻¹ x
    const int stride = s.stride();
    std::fill_n(y, stride, 0.0);
    for_each_unknown(s, false, [&](int u, int at) { y[at] = x[u]; });
    for (int k = 0; k < s.width; ++k) {
      const double* column = lower_.data() + s.factor + static_cast<std::size_t>(k) * stride;
      y[k] *= inverse_[s.pivot + k];
      axpy(-y[k], column + k + 1, y + k + 1, stride - k - 1);
    }
    for_each_unknown(s, true, [&](int u, int at) { x[u] = at < s.width ? y[at] : x[u] + y[at]; });
  }
  const std::vector<double>& rows = symmetric_ ? lower_ : upper_;
  for (std::size_t i = supernodes_.size(); i-- > 0;) {  // U⁻¹ x
    const Supernode& s = supernodes_[i];
    const int stride = s.stride();
    std::fill_n(y, stride, 0.0);
    for_each_unknown(s, true, [&](int u, int at) { y[at] = x[u]; });
    for (int k = s.width - 1; k >= 0; --k) {
      const double* row = rows.data() + s.factor + static_cast<std::size_t>(k) * stride;
      y[k] -= inverse_[s.pivot + k] * dot(row + k + 1, y + k + 1, stride - k - 1);
    }
    for_each_unknown(s, false, [&](int u, int at) { x[u] = y[at]; });
  }
}

}  // namespace karakuri::solver
