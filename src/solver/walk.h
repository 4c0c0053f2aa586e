// Sweeps along long trees. Where each row would carry a response as long as its tree, a cursor walks along it
// instead: the velocity of the body it stands on is the true one, impulses change it by `whole`, and a step
// to a neighbour costs two products of 6x6 matrices (problem.h, (7)):
//
//   to the parent:  d = up (Z - what the parent knows of it),   Z_parent += d,   v_parent += whole_parent d
//   (1) to a child:     v = upᵀ v_parent + own Z (2)
//
// Z: impulses on the body's subtree as they are felt at the body when its joints give way. Contacts are
// visited in the order of the rows, which for a chain is that of its links.
#pragma once

#include "solver/memory.h"

namespace karakuri::solver {

/// Impulses on links, in the places of their velocities, are replaced by the velocities they give: O(links).
void walk_whole_trees(const Problem& problem, double* velocity);

/// out += J_a M^-1 J_bᵀ (size x size, column by column) of two terms on different links of the same tree.
void add_linked_product(const Problem& problem, const Term& a, const Term& b, int size, double* out);

/// Before a sweep: Z and velocities of all links from λ; cursors at the roots.
void begin_walk(const Problem& problem, const double* lambda, Workspace::Memory& m);
/// Makes the velocities of all links that block i acts on true.
void reach(const Problem& problem, int i, Workspace::Memory& m);
/// Adds a change of block i's impulses. @pre reach(i) was the last call.
void push_along(const Problem& problem, int i, const double* change, Workspace::Memory& m);

}  // namespace karakuri::solver
