// L D U factors of a matrix that is a sum of small dense ones, all of whose leading parts are regular; U = Lᵀ
// where it is symmetric.
//
// Unknowns come in nodes, such as the six of a free body. Each clique is a dense matrix over a few nodes,
// such as what a patch of contacts does to its two bodies. Nodes are eliminated in an order of little fill,
// those with the same neighbours at once; what a group of nodes (a supernode) leaves over for the others is a
// dense matrix that its parent in the elimination tree takes up (Duff and Reid, ACM Trans. Math. Softw. 9,
// 1983). Everything but the numbers is kept while the pattern stays.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace karakuri::solver {

/// Dense matrices of all cliques.
class CliqueMatrices {
 public:
  virtual ~CliqueMatrices() = default;
  /// lower ← that of a clique: columns `stride` apart, over its nodes as SparseFactors::clique() orders them,
  /// each following the other; of the upper triangle anything. upper ← the same of its transpose, unless that
  /// is null.
  virtual void write(int clique, int stride, double* lower, double* upper) const = 0;
};

class SparseFactors {
 public:
  /// Finds an order. Node i has widths[i] unknowns, which are numbered node after node; clique c is over the
  /// nodes clique_nodes[clique_start[c]] to clique_nodes[clique_start[c + 1]], excluded, each at most once.
  /// Where all of that is as it was in the last call, nothing is done.
  /// @return Whether factor() takes at most `most` multiplications, about; otherwise there is no order.
  bool analyse(std::span<const int> widths, std::span<const int> clique_start,
               std::span<const int> clique_nodes, double most);
  /// Nodes of a clique, in the order of elimination.
  std::span<const int> clique(int c) const {
    return {nodes_.data() + start_[c], static_cast<std::size_t>(start_[c + 1] - start_[c])};
  }
  /// Multiplications of factor(), without those of cliques, and of solve().
  double factor_cost() const { return factor_cost_; }
  double solve_cost() const { return 2.0 * static_cast<double>(factor_size_); }

  /// Factors of diagonal + Σ cliques. @param symmetric  Whether all of them are: that is half as dear.
  void factor(std::span<const double> diagonal, const CliqueMatrices& cliques, bool symmetric);
  /// x ← (L D U)⁻¹ x.
  void solve(std::span<double> x);

 private:
  struct Supernode {
    int first = 0, count = 0;           // of order_: its nodes
    int rows = 0, row_count = 0;        // of rows_: nodes that it is coupled with, eliminated later
    int width = 0, below = 0;           // unknowns of both
    int parent = -1;                    // a supernode
    int runs = 0, run_count = 0;        // of runs_: where its parent keeps the unknowns below
    int cliques = 0, clique_count = 0;  // of by_supernode_
    int children = 0;
    int pivot = 0;           // of inverse_
    std::size_t factor = 0;  // of factors_: its columns
    // A front is a dense matrix over its own unknowns and those below, each padded to whole vectors.
    int padded() const { return (width + 3) / 4 * 4; }
    int padded_below() const { return (below + 3) / 4 * 4; }
    int stride() const { return padded() + padded_below(); }
    std::size_t left_over() const {
      return static_cast<std::size_t>(padded_below()) * static_cast<std::size_t>(padded_below());
    }
  };
  /// Unknowns that follow each other here and there.
  struct Run {
    int from, to, count;
  };
  struct Front;

  bool is_known(std::span<const int> widths, std::span<const int> clique_start,
                std::span<const int> clique_nodes) const;
  bool eliminate_by_degree(double most);
  void index_elements();
  void absorb(int node);
  int degree_of(int node);
  void form_supernodes();
  void order_supernodes();
  void list_supernode(int top, int& place);
  void place_cliques();
  void place_in_parents();
  void measure();
  void add_run(int from, int to, int count, std::vector<Run>& runs, int first) const;
  template <class F>
  void for_each_unknown(const Supernode& s, bool below, F&& f) const;
  void make_room();
  Front open_front(const Supernode& s, std::span<const double> diagonal, double* left_over,
                   std::vector<double>& factors) const;

  // ---- the pattern as it was given
  std::vector<int> widths_, given_start_, given_nodes_;
  std::vector<int> first_;          // by node: its first unknown; one more for the end
  std::vector<int> start_, nodes_;  // cliques, sorted
  // ---- the order
  std::vector<int> order_, place_;     // nodes, and back
  std::vector<Supernode> supernodes_;  // children before parents
  std::vector<int> rows_, by_supernode_, clique_run_start_;
  std::vector<Run> runs_, clique_runs_;
  double factor_cost_ = 0;
  std::size_t factor_size_ = 0, most_stacked_ = 0;
  int most_stride_ = 0, most_clique_ = 0;
  // ---- scratch of analyse()
  std::vector<int> element_start_, element_nodes_;          // cliques, then what is left of each node
  std::vector<int> in_start_, in_count_, in_elements_;      // by node
  std::vector<int> mark_, parent_, below_, width_, zeros_;  // by node
  std::vector<int> merged_, is_top_, top_, child_, next_, sequence_, supernode_of_, coordinate_, pending_;
  std::vector<unsigned char> gone_;  // by element
  std::vector<std::pair<int, int>> queue_;
  int stamp_ = 0;
  // ---- numbers
  bool symmetric_ = true;  // Y of (2) is Z
  std::vector<double> lower_, upper_, inverse_, stack_, upper_stack_, clique_, upper_clique_, local_;
  std::vector<int> open_;  // supernodes whose parents are to come
};

}  // namespace karakuri::solver
