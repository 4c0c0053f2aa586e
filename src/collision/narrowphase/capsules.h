// Capsules and spheres, seen in the world: what robots are mostly made of.
#pragma once

#include <vector>

#include "karakuri/collision/contact.h"
#include "karakuri/collision/shape.h"

namespace karakuri::collision_detail {

/// A capsule, or a sphere, which is one without length.
inline bool is_capsule(const Shape& s) { return s.kind() <= ShapeKind::kCapsule; }

/// Contacts of two capsules that touch in one point. @return False: their axes cross or are nearly parallel,
/// and nothing was done about them.
bool collide_capsules(const Shape& a, const Transform& X_WA, const Shape& b, const Transform& X_WB,
                      double margin, std::vector<Manifold>& out);

void collide_capsule_plane(const Shape& a, const Transform& X_WA, const Transform& X_WP, double margin,
                           std::vector<Manifold>& out);

}  // namespace karakuri::collision_detail
