// Loops that are closed and joints that are coupled, as one system of linear equations over their rows.
//
// With the rows J of all closed loops and couplings and A = J M^-1 J^T,
//   q <- q (+) -M^-1 J^T A^+ e(q)   Newton's method on the errors e: the nearest closed position        (1)
//   v <- v - M^-1 J^T A^+ J v       the nearest velocities that open no loop                             (2)
//   a <- a - M^-1 J^T A^+ (J a + dJ/dt v)                                                                (3)
// in the metric of M. Near positions where rows fall together, small errors ask for large motions; (1) is
// then cut so that it does no more than the motion itself:
//   |dq|^2 <= h^2 (2 K + m s^2)                                                                          (4)
// with K the kinetic energy and m the mass of the trees that act on each other, and s the speed that errors
// may be undone with. A couples two loops only where they share a tree, so that its envelope is narrow for
// chains of loops in the order of their making, and the cost is linear in their number.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "karakuri/dynamics/response.h"
#include "karakuri/model/state.h"
#include "solver/envelope_ldl.h"

namespace karakuri {

/// Beyond this, of a body's size, a loop is open: the factor of the pose before is not used again.
inline constexpr double kWideOpen = 1e-6;

struct HeldLoops {
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

  // ---- what is known of the trees, by whoever holds the loops
  std::vector<std::uint8_t> answers;  // by tree: it moves when it is pushed
  std::vector<std::int32_t> root;     // by tree: one that stands for all that act on each other
  std::vector<std::int32_t> tree_of;  // by body; -1: the world
  double length = 1;                  // of angles, Rows::length [m]

  std::vector<Member> members;
  std::vector<ImpulseRow> rows;                   // without bodies that do not answer
  std::vector<ImpulseRow> seen;                   // with them
  std::vector<ImpulseRow> row_parts, seen_parts;  // what their ImpulseRow::more points to
  std::vector<double> unit;                       // by row: as Rows::unit, rows are metres
  std::vector<double> error;                      // by row, at the poses of the last look [m]
  std::vector<double> right, x;                   // by row
  std::vector<double> sum;                        // by row: of x over repeats
  std::vector<double> change;                     // nv
  std::vector<double> kinetic, mass, asked;       // by root: see (4)
  solver::EnvelopeLdl matrix;
  bool is_factored = false;  // at poses that are near enough for iterations

  struct Scratch {
    std::vector<std::uint8_t> counted;  // by tree: has been looked at
    std::vector<double> vectors;        // y, then D^-1 y, of all sides
    std::vector<double> dense;
    std::vector<int> first, first_of_tree;  // envelope
    std::vector<Side> sides;
    std::vector<std::int32_t> side_start, side_of;
    ResponseBuffers* response = nullptr;  // made for the model
  } scratch;

  int size() const { return static_cast<int>(rows.size()); }
  bool moves(int body) const { return tree_of[body] >= 0 && answers[tree_of[body]] != 0; }
};

/// Calls f(body) for each body of a loop, and for each that the joints of a coupling carry.
template <class F>
void for_each_body(const Model& model, bool is_loop, int index, F&& f) {
  if (is_loop) {
    f(model.loops[index].body_f);
    f(model.loops[index].body_m);
  } else {
    model.relations[index].for_each_dof([&](const Relation::Term& t) { f(model.dofs[t.dof].body); });
  }
}
template <class F>
void for_each_body(const Model& model, const HeldLoops::Member& m, F&& f) {
  for_each_body(model, m.is_loop, m.index, f);
}

/// Calls f(k, row) for each row of a member: the k-th of its loop.
template <class F>
void for_each_row(const HeldLoops::Member& m, F&& f) {
  int row = m.first_row;
  for (int k = 0; k < 6; ++k)
    if (m.which >> k & 1) f(k, row++);
}

/// The first of its trees that moves when it is pushed, and that one's root.
int tree_of(const Model& model, const HeldLoops& s, const HeldLoops::Member& m);
int root_of(const Model& model, const HeldLoops& s, const HeldLoops::Member& m);

/// Lists what is held, and of that what acts on trees whose state is finite.
/// @param loop_closed  By loop.
/// @param root  Of one set of trees; -1: all.
/// @pre ws has the poses of `at`
void list_held(const Model& model, const State& at, const Workspace& ws, const State& closed, int root,
               HeldLoops& s);

/// Rows and errors at the poses of ws, which are those of `at`. @return The largest error.
double look(const Model& model, const State& at, const Workspace& ws, HeldLoops& s);

/// A of the rows, factored.  @pre ws has the articulated factor of these poses
void factor(const Model& model, Workspace& ws, HeldLoops& s);

/// x <- x - M^-1 J^T A^+ right; what one round leaves of it is for the caller to look at.
void take_back(const Model& model, Workspace& ws, HeldLoops& s, VecOut x, int rounds);

/// K and m of (4).  @pre ws has velocities
void measure(const Model& model, const Workspace& ws, HeldLoops& s);

/// |M^-1 J^T x|^2 by root, where x solves for `right`, which is overwritten.
void ask(const Model& model, HeldLoops& s, int rounds);

/// (1), as far as (4) allows.
/// @param within  That far they are closed [m].
/// @param wide    Beyond this the factor of the pose before is not used again [m].
/// @param speed   s of (4).
/// @pre ws has the poses of `at`, and what is held is listed
void close_held(const Model& model, State& at, double h, double within, double wide, double speed,
                Workspace& ws, HeldLoops& s);

/// (2), down to rounding; s.sum <- impulses.
/// @param fastest  Velocity of a dof before, as a row's.
/// @param rounds   Of the proximal point method in each repeat.
/// @pre as close_held(), and rows have been looked at
void project_held(const Model& model, State& at, double fastest, int rounds, Workspace& ws, HeldLoops& s);

}  // namespace karakuri
