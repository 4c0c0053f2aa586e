// The mechanism as a whole: mass, centre of mass, momentum, energy.
#pragma once

#include <span>

#include "karakuri/dynamics/workspace.h"
#include "karakuri/model/state.h"

namespace karakuri {

/// Mass of all moving bodies [kg].
double total_mass(const Model& model);
/// Centre of mass of all moving bodies.  @pre update_poses()
Vec3 center_of_mass(const Model& model, const Workspace& ws);
/// Linear momentum [kg m/s] and angular momentum about `point` [kg m^2/s], as (moment, force).
/// @pre update_velocities()
Force momentum(const Model& model, const Workspace& ws, const Vec3& point);
/// One tree as a whole: its momentum, and its inertia as if its joints were locked.
struct TreeMotion {
  double mass = 0;              // [kg]
  Vec3 center = Vec3::Zero();   // of mass, in the world [m]
  Force momentum;               // linear, and angular about the centre of mass, world axes
  Mat3 inertia = Mat3::Zero();  // about the centre of mass, world axes [kg m^2]
};
/// @pre update_velocities()
TreeMotion tree_motion(const Model& model, const Workspace& ws, const Tree& tree);
/// At other velocities of its bodies.  @pre update_poses(), body_velocities()
TreeMotion tree_motion(const Model& model, const Workspace& ws,
                       std::span<const Workspace::Velocity> velocities, const Tree& tree);
/// Several trees as one rigid body.
TreeMotion sum_of(std::span<const TreeMotion> trees);
/// The 6 x nv matrix that takes v to (angular momentum about the centre of mass; linear momentum).
/// Orin & Goswami (2008).  @pre update_poses(). Overwrites ws.composite.
void centroidal_momentum_matrix(const Model& model, Workspace& ws, MatOut A);
/// [J], armature included.  @pre update_velocities()
double kinetic_energy(const Model& model, const State& state, const Workspace& ws);
/// [J], of gravity (zero at the world's origin) and of the joints' springs.  @pre update_poses()
double potential_energy(const Model& model, const State& state, const Workspace& ws);

/// What springs on the three dofs of a rotation give: the negative gradient of sum k_i phi_i^2 / 2 of its
/// rotation vector phi. Where the k_i differ, that is not -k_i phi_i, which would make energy on closed ways.
Vec3 rotation_spring_effort(const Vec3& stiffness, const Vec3& phi);
/// Adds to tau what the joints' springs and dampers give: -stiffness (q - rest) - damping v, and of rotations
/// rotation_spring_effort().
void add_passive_efforts(const Model& model, const State& state, VecOut tau);

}  // namespace karakuri
