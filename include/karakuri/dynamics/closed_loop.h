// Mechanisms with closed loops: mobility, generalized coordinates, inverse and forward dynamics.
// Nakamura, Yamane & Nagashima, "Dynamics computation of structure-varying kinematic chains" (S3);
// docs/loops.md.
//
// For analysis and control of mechanisms of up to some hundred dofs: matrices are dense, and calls allocate.
// World holds its loops by the same rows in another way, linear in the number of loops.
#pragma once

#include <span>
#include <vector>

#include "karakuri/dynamics/workspace.h"
#include "karakuri/model/state.h"

namespace karakuri {

/// The closed loops of a mechanism at one state. v = W v_G moves the mechanism without opening a loop, for
/// any rates v_G of the generalized coordinates: some of the tree's dofs, chosen so that the rest follows
/// from them as surely as possible, and kept from update to update while they do well.
struct ClosedLoop {
  int nv = 0;    // dofs of the trees
  int rows = 0;  // of all closed loops: sum of loop_row_count()
  int rank = 0;  // independent ones among them
  double regularity =
      1;  // of the chosen coordinates: 0 where the rest no longer follows from them, 1 at best
  bool rechosen = false;         // the last update chose other coordinates than before
  std::vector<int> loop_of;      // by row: index of Model::loops
  std::vector<int> chosen_rows;  // rank: the independent rows
  std::vector<int> dependent;    // rank: dofs that follow (theta_S), ascending
  std::vector<int> generalized;  // mobility(): dofs that lead (theta_G), ascending

  // by columns
  std::vector<double> jacobian;  // rows x nv: J_C
  std::vector<double> map;  // nv x mobility(): W; rows of `dependent` are H, those of `generalized` unit rows
  std::vector<double> bias;      // rows: (dJ/dt) v
  std::vector<double> map_bias;  // nv: (dW/dt) v_G, with v the state's; rows of `dependent` are (dH/dt) v_G
  std::vector<double> error;     // rows: how far the loops are from closed [m or rad]

  int mobility() const { return nv - rank; }
  int redundant() const { return rows - rank; }
  double largest_error() const;
  Eigen::Map<const Eigen::MatrixXd> J() const { return {jacobian.data(), rows, nv}; }
  Eigen::Map<const Eigen::MatrixXd> W() const { return {map.data(), nv, mobility()}; }
};

/// Computes all of the above for the loops that are closed in `state`. Leaves poses, velocities and bias
/// accelerations in ws.
void update_closed_loop(const Model& model, const State& state, Workspace& ws, ClosedLoop& loop);

/// A motor's effort on one dof, and what it can give.
struct Actuated {
  int dof = 0;
  double least = -DofProperties::kNone, most = DofProperties::kNone;  // [N m or N]
};

struct ClosedLoopEfforts {
  std::vector<double> effort;  // by actuator
  double missing = 0;          // norm of the generalized effort that the actuators cannot give; 0: none
};

/// Efforts with which the mechanism accelerates by a_G: of all that do, those of the least norm within their
/// bounds. tau_G = W^T rnea(W a_G + dW/dt v_G) = S^T tau_A.
/// @param loop  Updated for `state`.
ClosedLoopEfforts closed_loop_inverse_dynamics(const Model& model, const State& state, const ClosedLoop& loop,
                                               VecIn a_G, std::span<const Actuated> actuated,
                                               std::span<const Force> f_ext, Workspace& ws);

/// Accelerations a (nv) under efforts tau (nv) by unit vectors: W^T M W from inverse dynamics of each unit
/// a_G.
void closed_loop_forward_dynamics(const Model& model, const State& state, const ClosedLoop& loop, VecIn tau,
                                  std::span<const Force> f_ext, Workspace& ws, VecOut a);

/// The same by constraint forces: M a = tau - c + J^T lambda, J a + (dJ/dt) v = 0. Where rows depend on each
/// other lambda is the one of least norm in the metric of the inverse mass matrix, and `a` is unique.
void constrained_forward_dynamics(const Model& model, const State& state, const ClosedLoop& loop, VecIn tau,
                                  std::span<const Force> f_ext, Workspace& ws, VecOut a);

/// Closes the loops: the nearest q in the metric of the mass matrix, by Newton's method.
/// @return The largest error that is left [m or rad]: at the size of rounding where the loops can be closed.
double close_loops(const Model& model, State& state, Workspace& ws, int most_iterations = 50);

/// v <- the nearest velocities, in the same metric, that open no loop: those after a plastic impact.
void project_velocities(const Model& model, State& state, Workspace& ws);

}  // namespace karakuri
