// Random solids that are no simple shapes: hulls, meshes, terrain.
#pragma once

#include "karakuri/collision/shape.h"
#include "karakuri/core/random.h"

namespace karakuri::test {

Vec3 random_unit(Random& random);
Mat3 random_turn(Random& random);
/// Of 8 to 24 points within `radius`.
Shape random_hull(Random& random, double radius);
/// A closed surface with hills and valleys, or a ring, within `radius`.
Shape random_mesh(Random& random, double radius);
/// A heightfield about the origin with hills between -height / 2 and height / 2.
Shape random_terrain(Random& random, double width, double height);

}  // namespace karakuri::test
