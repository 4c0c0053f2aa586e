// Rows of joints: limits, dry friction, drives, loops, springs.
#pragma once

#include "karakuri/constraint/rows.h"
#include "karakuri/constraint/softness.h"
#include "karakuri/dynamics/relation_rows.h"
#include "karakuri/model/state.h"

namespace karakuri {

/// Whether a limit `gap` away, from which the dof parts at u, needs no row in this step: limits are looked at
/// from two thousandths of a body's size or of a radian on, or from what the step can close.
/// @param size  Of a body, in the unit of the gap: Rows::length per metres of that unit, and so 1 of angles.
inline bool is_far_from_limit(double gap, double u, double h, double size) {
  return gap > 2e-3 * size && gap + 2 * h * u > 0;
}

/// Metres per unit of a dof. @param length  Rows::length
inline double dof_unit(const Model& model, int dof, double length) {
  return model.dofs[dof].kind == DofKind::kTranslation ? 1 : length;
}
/// The same of one of a loop's rows.
inline double loop_row_unit(const ImpulseRow& row, double length) { return row.force.isZero() ? length : 1; }
/// The same of a relation's x: those of the dof that moves least when x does, rounded to a power of two. What
/// the leader of a coupling does to x may be anything, and nothing at times.
double relation_unit(const Model& model, const Relation& relation, double length);

/// Rows of the dofs of one body that are at a limit, or would be past it within the step.
/// @param v_free  Velocities (nv) that the step would end with if nothing held it.
void add_limit_rows(const Model& model, const State& state, const Workspace& ws, int body, VecIn v_free,
                    const StabilizationSettings& stabilization, double h, Rows& rows);

/// Dry friction of one dof: holds it still as long as that takes no more than the joint's dry_friction.
void add_friction_row(const Model& model, const Workspace& ws, int dof, double h, Rows& rows);

/// A spring and a damper towards q_target and v_target, their effort cut at +-limit. An infinite damping
/// makes the row rigid: v_target is held.
/// @param displacement  q - q_target
void add_drive_row(const Model& model, const Workspace& ws, int dof, double displacement, double stiffness,
                   double damping, double v_target, double limit, double h, Rows& rows);

/// A loop that is closed: a row for each freedom that its joint takes away, but those that nothing moves
/// (dynamics/loop_rows.h). Under
/// Stabilization::kPosition the step moves along the chord of the bent path that the loop leaves,
///   J v' = -h (dJ/dt) v / 2,
/// so that it ends on the path, with the speed it began with, up to h^3.
/// @param chord  The share of that to take, 0 to 1.
/// @pre ws has velocities and bias accelerations
void add_loop_rows(const Model& model, const Workspace& ws, int loop,
                   const StabilizationSettings& stabilization, double h, double chord, Rows& rows);

/// A loop that is not held: springs and dampers in place of what its joint holds, or the limits of a distance
/// where it is near them.  @pre ws has velocities
void add_soft_loop_rows(const Model& model, const Workspace& ws, int loop,
                        const StabilizationSettings& stabilization, double h, Rows& rows);

/// A coupling: held as a loop is.  @pre rows.parts has room, see Rows
void add_coupling_row(const Model& model, const State& state, const Workspace& ws, int relation,
                      const StabilizationSettings& stabilization, double h, double chord, Rows& rows);

/// A tendon: rows of its limits where it is near them, and of its spring and damper.
/// @param v_free  As in add_limit_rows().
void add_tendon_rows(const Model& model, const State& state, const Workspace& ws, int relation, VecIn v_free,
                     const StabilizationSettings& stabilization, double h, Rows& rows);

/// A spring and a damper between a point of a body and a point of the world.
void add_spring_rows(const Workspace& ws, int spring, int body, const Vec3& point_W, const Vec3& target_W,
                     double stiffness, double damping, double h, Rows& rows);

}  // namespace karakuri
