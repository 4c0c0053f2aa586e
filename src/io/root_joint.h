// How the root of a model stands in the world.
#pragma once

#include "karakuri/model/mechanism.h"

namespace karakuri::io {

/// Fixed, or free with frame M in the centre of mass, as Mechanism::add_free_link() has it.
inline Joint root_joint(const Mechanism& mechanism, std::string name, LinkId link, const Transform& X_WL,
                        bool free) {
  Joint joint{.name = std::move(name), .parent = mechanism.world(), .child = link};
  joint.kind = free ? JointKind::kFree : JointKind::kFixed;
  if (free) joint.X_CM = Transform::translation(mechanism.link(link).inertia.com);
  joint.X_PF = X_WL * joint.X_CM;
  return joint;
}

}  // namespace karakuri::io
