// How the joint of a closed loop holds its two bodies: one row for each freedom that it takes away.
#pragma once

#include <array>

#include "karakuri/dynamics/response.h"

namespace karakuri {

/// Rows of one loop; the first `count` of each array are used.
struct LoopRows {
  std::array<ImpulseRow, 6> row;  // `body` carries frame M, `other` frame F; the point is the origin of M
  std::array<double, 6> error{};  // how far the loop is from closed along each row [m or rad]
  int count = 0;
};

/// How many freedoms a joint of this kind takes away.
int loop_row_count(JointKind kind);

/// @pre ws has poses
LoopRows loop_rows(const Loop& loop, const Workspace& ws);

/// Which rows any joint between the two bodies moves: bit k for row k. Joints of parallel axes hold each
/// other in their plane, and a loop's rows across it move nothing and hold nothing.
/// @pre ws has poses
unsigned moving_rows(const Model& model, const Loop& loop, const LoopRows& rows, const Workspace& ws);

/// (dJ/dt) v of each row: what the rows accelerate by at zero joint accelerations.
/// @pre ws has velocities and bias accelerations (update_bias_accelerations())
std::array<double, 6> loop_bias(const Loop& loop, const LoopRows& rows, const Workspace& ws);

}  // namespace karakuri
