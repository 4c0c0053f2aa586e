#include "karakuri/dynamics/workspace.h"

namespace karakuri {

Workspace::Workspace(const Model& model)
    : pose(model.bodies.size()),
      velocity(model.bodies.size()),
      acceleration(model.bodies.size()),
      wrench(model.bodies.size()),
      composite(model.bodies.size()),
      articulated(model.bodies.size()),
      axis(static_cast<std::size_t>(model.nv)),
      cosine(static_cast<std::size_t>(model.nv)),
      sine(static_cast<std::size_t>(model.nv)),
      pivot(static_cast<std::size_t>(model.nv)),
      motion(static_cast<std::size_t>(model.nv)),
      change(static_cast<std::size_t>(model.nv)),
      diagonal(model.armature),
      version_(model.version()) {
  pose[0].R =
      Mat3(Mat3::Identity());  // the world stands still at the origin; nothing else ever writes to [0]
  for (const Body& body : model.bodies) {
    if (body.parent != 0 || body.kind != JointKind::kFree) continue;
    for (int k = 0; k < 6; ++k) axis[body.first_v + k] = body.R_PF.column[k % 3];
  }
}

}  // namespace karakuri
