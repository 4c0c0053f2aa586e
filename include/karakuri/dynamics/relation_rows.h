// How couplings and tendons hold joints together: one row of joint velocities, on as many bodies as it takes.
#pragma once

#include "karakuri/dynamics/response.h"
#include "karakuri/model/state.h"

namespace karakuri {

/// The impulse that is a unit effort on one dof and no other, as wrenches on the joint's two bodies; its
/// velocity is the dof's.  @pre ws has poses
ImpulseRow dof_row(const Model& model, const Workspace& ws, int dof);

/// x of Relation at q [rad or m].
double relation_position(const Relation& relation, VecIn q);
/// dx/dt for joint rates v (nv); or for any other numbers by dof.
double relation_rate(const Relation& relation, VecIn q, VecIn v);
/// d2x/dt2 at zero joint accelerations: (dJ/dt) v.
double relation_bias(const Relation& relation, VecIn q, VecIn v);

/// The row whose velocity is dx/dt, times `sign`.
/// @param parts  What the row needs beyond two bodies is appended here and pointed to, so that it must have
///               room already: relation_parts() for each row.
/// @pre ws has poses
ImpulseRow relation_row(const Model& model, const Relation& relation, VecIn q, const Workspace& ws,
                        double sign, std::vector<ImpulseRow>& parts);
inline std::size_t relation_parts(const Relation& relation) {
  return relation.terms.size() + (relation.has_leader ? 1 : 0) - 1;
}

}  // namespace karakuri
