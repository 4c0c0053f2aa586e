// Forward dynamics, O(n): the articulated-body algorithm. Featherstone, RBDA (2008), §7.3.
#pragma once

#include <span>

#include "karakuri/dynamics/workspace.h"
#include "karakuri/model/state.h"

namespace karakuri {

/// Computes a = M(q)^-1 (tau + J^T f_ext - c(q, v)), where c contains gravity.
/// @param f_ext  Wrench per body, at the body's origin and in world axes [N m, N]; empty: none.
/// @param ws     Leaves poses, velocities, accelerations (with gravity subtracted), and the articulated
/// factor
///               that solve_articulated() and the responses use.
/// @pre Sizes match `model`, ws.version() == model.version(). Never allocates.
void aba(const Model& model, const State& state, VecIn tau, std::span<const Force> f_ext, Workspace& ws,
         VecOut a);
/// The same where ws has the poses and velocities of the state already; the bits are the same.
void aba_at_known_pose(const Model& model, VecIn tau, std::span<const Force> f_ext, Workspace& ws, VecOut a);

/// The part of aba() that depends on q alone: articulated inertias and pivots, from poses that are in ws.
void articulated_factor(const Model& model, Workspace& ws);

/// x <- M^-1 x in O(n). Overwrites ws.acceleration and ws.wrench.
/// @pre articulated_factor() or aba() was called with this workspace and q.
void solve_articulated(const Model& model, Workspace& ws, VecOut x);

}  // namespace karakuri
