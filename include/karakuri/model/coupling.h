// Joints whose positions depend on each other: gears, mimic joints, tendons.
#pragma once

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "karakuri/model/ids.h"
#include "karakuri/model/interval.h"

namespace karakuri {

/// One dof that an actuator or a tendon works on: length += gear * q, effort on the dof = gear * force.
struct Transmission {
  JointId joint;
  int dof = 0;
  double gear = 1;
};

/// follower = polynomial of the leader, or a constant where there is no leader: a gear. Both are joints with
/// one dof. Held as exactly as loops are, or by a spring and a damper on what the follower is off by.
struct Coupling {
  std::string name;
  JointId follower, leader;
  std::array<double, 5> coefficients{0, 1, 0, 0, 0};           // constant first
  double follower_start = 0, leader_start = 0;                 // both are measured from here
  double stiffness = std::numeric_limits<double>::infinity();  // of the spring; infinite: held exactly
  double damping = 0;
  bool active = true;  // false: kept, but does nothing
};

/// The weighted sum of joint positions, with its own spring and limits (MuJoCo's fixed tendon). Its joints'
/// dofs are turns about an axis or slides along one; orientations have no position to add.
struct FixedTendon {
  std::string name;
  std::vector<Transmission> joints;
  Interval range;
  double stiffness = 0, damping = 0, rest = 0;
  double limit_stiffness = std::numeric_limits<double>::infinity();  // of its limits; infinite: rigid
  double limit_damping = 0;
};

}  // namespace karakuri
