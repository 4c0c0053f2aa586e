#include "karakuri/dynamics/workspace.h"

namespace karakuri {

void Workspace::fit(const Model& model) {
  const std::size_t bodies = model.bodies.size(), nv = static_cast<std::size_t>(model.nv);
  const auto size = [](std::size_t n, auto&... all) { (all.resize(n), ...); };
  size(bodies, pose, velocity, bias, acceleration, wrench, composite, articulated);
  size(nv, axis, cosine, sine, pivot, motion, change);
  is_pushed.assign(model.trees.size(), 0);
  pushed.reserve(model.trees.size());
  diagonal = model.armature;
  version_ = model.version();
  pose[0].R =
      Mat3(Mat3::Identity());  // the world stands still at the origin; nothing else ever writes to [0]
  for (std::size_t i = 0; i < bodies; ++i) {
    const Body& body = model.bodies[i];
    if (body.parent != 0) continue;
    bias[i] = {};  // what hangs on the world leaves it alone
    if (body.kind != JointKind::kFree) continue;
    for (int k = 0; k < 6; ++k) axis[body.first_v + k] = body.R_PF.column[k % 3];
  }
}

}  // namespace karakuri
