// Where bodies are and how they move. O(n); the equations stand in src/dynamics/body_pass.h.
#pragma once

#include <span>

#include "karakuri/dynamics/workspace.h"
#include "karakuri/model/state.h"

namespace karakuri {

/// ws.pose, ws.axis from state.q.
void update_poses(const Model& model, const State& state, Workspace& ws);
/// Of one tree.
void update_poses(const Model& model, const State& state, const Tree& tree, Workspace& ws);
/// ws.velocity from state.v.  @pre update_poses() with this q.
void update_velocities(const Model& model, const State& state, Workspace& ws);
/// Of one tree.
void update_velocities(const Model& model, const State& state, const Tree& tree, Workspace& ws);
/// Velocities of all bodies at other rates v (nv) of the joints; ws is only read.  @pre update_poses()
void body_velocities(const Model& model, const Workspace& ws, VecIn v, std::span<Workspace::Velocity> out);
/// ws.acceleration from generalized accelerations a (nv), without gravity.  @pre update_velocities().
void update_accelerations(const Model& model, VecIn a, Workspace& ws);
/// The same at a = 0: the accelerations (dJ/dt) v.
void update_bias_accelerations(const Model& model, Workspace& ws);

/// Pose of a link frame in the world.  @pre model.find(link), update_poses()
Transform link_pose(const Model& model, const Workspace& ws, LinkId link);
/// Velocity of the point p_L (in the link frame), in world axes.  @pre update_velocities()
Motion point_velocity(const Model& model, const Workspace& ws, LinkId link, const Vec3& p_L);
/// Second derivative of that point's position, and the angular acceleration.  @pre update_accelerations()
Motion point_acceleration(const Model& model, const Workspace& ws, LinkId link, const Vec3& p_L);

/// Adds to `f_ext` (per body, as rnea() and aba() take it) a wrench given at the point p_L of a link, in
/// world axes.  @pre update_poses(), f_ext.size() == model.body_count()
void add_external_wrench(const Model& model, const Workspace& ws, LinkId link, const Vec3& p_L,
                         const Force& wrench_W, std::span<Force> f_ext);

}  // namespace karakuri
