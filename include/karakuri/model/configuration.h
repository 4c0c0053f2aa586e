// The configuration manifold: q is not a vector where it holds quaternions.
#pragma once

#include "karakuri/core/random.h"
#include "karakuri/model/model.h"

namespace karakuri {

/// q at which every joint's frames F and M coincide.
void neutral(const Model& model, VecOut q);
/// Angles in [-pi, pi] and distances in [-1, 1] m, cut to the limits; orientations uniform over all
/// rotations, their angles scaled down where a limit is below pi.
void random_configuration(const Model& model, Random& random, VecOut q);
/// Where a dof is: its coordinate, or for the dofs of a quaternion the component of the rotation vector.
double dof_position(const Model& model, VecIn q, int dof);
/// q <- q (+) v, the motion with constant joint velocity v for one unit of time. Quaternions stay normalized.
/// `v` may be scaled by a step: pass `step` [s].
void integrate(const Model& model, VecOut q, VecIn v, double step);
/// The same for the bodies [first, last) only.
void integrate(const Model& model, int first, int last, VecOut q, VecIn v, double step);
/// The v for which integrate(q0, v, 1) gives q1, the short way round.
void difference(const Model& model, VecIn q0, VecIn q1, VecOut v);

}  // namespace karakuri
