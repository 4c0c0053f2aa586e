// Inverse dynamics, O(n). Featherstone, RBDA (2008), §5.3, in the classical form of Luh, Walker & Paul
// (1980).
#pragma once

#include <span>

#include "karakuri/dynamics/workspace.h"
#include "karakuri/model/state.h"

namespace karakuri {

/// Computes tau = M(q) a + c(q, v) - J^T f_ext, where c contains gravity.
/// @param model  Read-only; may be shared between threads.
/// @param state  Reads q (nq) and v (nv).
/// @param a      Generalized acceleration (nv) [rad/s^2 or m/s^2].
/// @param f_ext  Wrench per body, at the body's origin and in world axes [N m, N]; empty: none.
/// @param ws     Scratch made for `model`, overwritten. Never allocates. Leaves in ws.wrench what each joint
///               carries, and poses, velocities and accelerations (the latter with gravity subtracted).
/// @param tau    Output (nv) [N m or N].
/// @pre Sizes match `model`, and ws.version() == model.version().
void rnea(const Model& model, const State& state, VecIn a, std::span<const Force> f_ext, Workspace& ws,
          VecOut tau);

/// The same with a = 0: what the joints must give to move on without acceleration.
void bias_effort(const Model& model, const State& state, std::span<const Force> f_ext, Workspace& ws,
                 VecOut tau);

}  // namespace karakuri
