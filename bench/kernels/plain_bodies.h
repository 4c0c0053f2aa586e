// The least that forward dynamics of loose bodies can cost: Newton's and Euler's equations in a plain loop.
#pragma once

#include <vector>

namespace karakuri::bench {

struct PlainBody {
  double q[7];       // position, quaternion
  double v[6];       // velocity of the centre of mass, angular velocity, in the world
  double effort[6];  // force, moment
  double mass;
  double moments[3];  // principal, along the body's axes
};

/// a: six numbers a body.
void plain_forward_dynamics(const std::vector<PlainBody>& bodies, double gravity_z, std::vector<double>& a);

}  // namespace karakuri::bench
