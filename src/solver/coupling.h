// W as blocks, whatever way the problem stores it, and an order of the blocks that keeps couplings close.
#pragma once

#include <span>
#include <vector>

#include "karakuri/solver/problem.h"

namespace karakuri::solver {

/// Which blocks act on each subsystem, by which of their terms.
struct Users {
  struct User {
    int block, term;
  };
  std::vector<int> start;  // subsystems + 1
  std::vector<User> list;
  std::vector<int> next;  // scratch
};
void list_users(const Problem& problem, Users& users);

/// Block rows of W; columns ascending. Values column by column, as in Problem.
struct Coupling {
  std::vector<int> start;
  std::vector<Entry> entries;
  std::vector<double> storage;     // values where the problem has none of its own
  const double* values = nullptr;  // entries' offsets point here
  std::vector<int> order;          // block by place
  std::vector<int> place;          // place by block
  // scratch
  Users users;
  std::vector<int> mark, queue;
};

/// Fills start, entries, values. False where W would have more than `max_values` numbers.
bool build_coupling(const Problem& problem, std::size_t max_values, Coupling& coupling);

/// Reverse Cuthill-McKee (George and Liu 1981, §4.3): breadth first from a node far away, neighbours by
/// degree, turned round. Ties by number, so that the order depends on the problem alone.
void order_blocks(Coupling& coupling);

}  // namespace karakuri::solver
