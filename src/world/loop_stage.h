// Loops that are closed and joints that are coupled, held where the solver of the step does not: positions at
// the end of a step, velocities there, accelerations inside one.
//
// With the rows J of all closed loops and couplings and A = J M^-1 J^T,
//   q <- q (+) -M^-1 J^T A^+ e(q)        Newton's method on the errors e: the nearest closed position (1) v
//   <- v - M^-1 J^T A^+ J v            the nearest velocities that open no loop                          (2)
//   a <- a - M^-1 J^T A^+ (J a + dJ/dt v) (3)
// in the metric of M. Near positions where rows fall together, small errors ask for large motions; both (1)
// and the chord of add_loop_rows() are then cut so that they do no more than the motion itself:
//   |dq|^2 <= h^2 (2 K + m s^2),   |dv|^2 <= 2 K / 100                                                   (4)
// with K the kinetic energy and m the mass of the trees that act on each other, and s the speed that errors
// may be undone with. A couples two loops only where they share a tree, so that its envelope is narrow for
// chains of loops in the order of their making, and the cost is linear in their number.
#pragma once

#include <vector>

#include "karakuri/dynamics/response.h"
#include "solver/envelope_ldl.h"

namespace karakuri::world_detail {

struct LoopStage {
  /// One body's part in one member: y of response.h and D^-1 y along the body's path, row by row.
  struct Side {
    std::int32_t body;
    std::int32_t length;  // of the path
    std::int64_t y;       // where rows of `length` numbers start in `vectors`
  };
  /// A loop or a coupling.
  struct Member {
    std::int32_t tree;  // the lowest that it acts on
    bool is_loop;
    std::int32_t index;                   // of Model::loops, or of Model::relations
    std::int32_t count;                   // of rows
    std::uint8_t which;                   // of a loop's rows: bit k for row k; the others move nothing
    std::int32_t first_row;               // in `rows`
    std::int32_t first_side, side_count;  // in `sides`
  };

  std::vector<Member> members;
  std::vector<ImpulseRow> rows;                   // without bodies that do not answer
  std::vector<ImpulseRow> seen;                   // with them
  std::vector<ImpulseRow> row_parts, seen_parts;  // what their ImpulseRow::more points to
  std::vector<double> unit;                       // by row: as Rows::unit, rows are metres
  std::vector<double> error;                      // by row, at the poses of the last look [m]
  std::vector<double> vectors;                    // y, then D^-1 y, of all sides
  std::vector<int> first;                         // envelope
  std::vector<int> first_of_tree;
  solver::EnvelopeLdl matrix;
  bool is_factored = false;             // at poses of this step that are near enough for iterations
  std::vector<std::int32_t> first_row;  // by loop, then by coupling: in World::Impl::rows; -1: not alone
  std::vector<std::int32_t> world_row;  // by row
  std::vector<double> right, x;
  std::vector<double> sum;                // of x over repeats
  double fastest = 0;                     // velocity of a dof before they act, as a row's
  std::vector<std::uint8_t> contradicts;  // by root of a set of trees: its loops each other
  std::vector<double> change;             // nv
  std::vector<Side> sides;
  std::vector<std::int32_t> side_start, side_of;
  // by root of a set of trees, of those that loops hold: see (4)
  std::vector<double> kinetic, mass, asked;
  std::vector<std::uint8_t> counted;  // by tree: has been looked at

  int size() const { return static_cast<int>(rows.size()); }
};

}  // namespace karakuri::world_detail
