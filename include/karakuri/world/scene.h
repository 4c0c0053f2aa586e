// What a World is made from: a mechanism, the shapes of its links, and what is said of pairs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "karakuri/collision/shape.h"
#include "karakuri/model/mechanism.h"

namespace karakuri {

/// What two materials do to each other, instead of combine().
struct SurfacePair {
  MaterialId a, b;
  Surface surface;
};

/// A joint that does not start neutral and at rest; empty vectors leave it so.
struct InitialJoint {
  JointId joint;
  std::vector<double> q, v;
};

struct Scene {
  Mechanism mechanism;
  SlotMap<ShapeTag, Shape> shapes;
  std::vector<SurfacePair> pairs;
  std::vector<std::pair<LinkId, LinkId>> no_contact;  // beside links joined by a joint, which never touch
  std::vector<InitialJoint> initial;

  /// Fixes a shape to a link.  @pre mechanism.contains(link)
  ShapeId add_shape(LinkId link, Shape shape, const Transform& X_LS = {}, MaterialId material = {});
  /// A free link that is one solid shape of the given mass, its frame the shape's, at X_WL.
  LinkId add_body(std::string name, Shape shape, double mass, const Transform& X_WL,
                  MaterialId material = {});
  /// Half-space z <= height of the world.
  ShapeId add_ground(MaterialId material = {}, double height = 0);
};

}  // namespace karakuri
