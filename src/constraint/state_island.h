// An island of rows as a problem for the solvers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "karakuri/constraint/rows.h"
#include "karakuri/dynamics/response.h"
#include "karakuri/dynamics/workspace.h"
#include "solver/island.h"
#include "solver/mobility_root.h"

namespace karakuri {

/// Rows, and the trees that they act on.  @pre ws has the articulated factor
struct RowsOnTrees {
  const Model& model;
  const Workspace& ws;
  const Rows& rows;
  std::span<const std::int32_t> tree_of;               // by body; -1: what does not move
  std::span<const Workspace::Velocity> free_velocity;  // of bodies, of free motion
};

/// Of Rows::blocks: those of an island, or some of them, in ascending order.
using BlockList = std::span<const std::int32_t>;

/// Scratch of state_carried.cc: bodies that rows act on.
struct Carried {
  std::vector<std::int32_t> bodies;
  std::vector<ImpulseRow> wrenches;  // six of each body
  std::vector<double> mobility;      // what these do to each other
  solver::MobilityRoot factor;
};

/// What is stated, and scratch.
struct Statement {
  explicit Statement(std::size_t trees) : tree_subsystem(trees, -1) {
    constexpr int kUsual = 3 * 64;  // rows of an island: how many are near changes from step to step
    gathered.reserve(kUsual);
  }

  solver::Problem* problem = nullptr;    // where it is stated
  ResponseBuffers* response = nullptr;   // made for the model
  bool can_answer = false;               // whether `response` knows what impulses do to velocities
  std::span<const ImpulseRow> impulses;  // of the rows that are stated, in the order of their blocks
  // ---- scratch
  std::vector<std::int32_t> tree_subsystem;  // kept at -1 between islands
  std::vector<ImpulseRow> gathered;          // where they do not lie side by side
  bool may_walk = false;                     // along long trees
  std::vector<ImpulseRow> written_out;       // without their sides on walked trees
  std::vector<LinkResponse> link_responses;
  Carried carried;
  std::vector<std::int32_t> side_start, side_of, touched_trees, term_trees;
};

/// Operator and laws of these blocks, q still zero. Dense where it is small, else in the response vectors y
/// of dynamics/response.h: subsystems are trees, J = y and response = D^-1 y, since A = y^T D^-1 y.
void state_island(const RowsOnTrees& w, BlockList blocks, Statement& st);

/// The same in response vectors whatever the size, and no tree walked along.
void state_island_written_out(const RowsOnTrees& w, BlockList blocks, Statement& st);

/// The same of rows that act on few bodies, in these bodies' ways to move; see state_carried.cc. @return
/// Whether they do.  @pre st.impulses
bool state_carried(const RowsOnTrees& w, BlockList blocks, Statement& st);

/// Only the laws, no operator.
void state_laws(const Rows& rows, BlockList blocks, solver::Problem& problem);

/// Velocities of rows if only one of their sides moved, as free motion has it.
class OneSidedRows : public solver::OneSided {
 public:
  /// @pre these blocks are stated
  OneSidedRows(const RowsOnTrees& w, BlockList blocks, const Statement& st)
      : w_(w), blocks_(blocks), st_(st) {}
  void find(std::span<const unsigned char> first_is_higher, std::vector<double>& q) const override;

 private:
  RowsOnTrees w_;
  BlockList blocks_;
  const Statement& st_;
};

}  // namespace karakuri
