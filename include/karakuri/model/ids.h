// The names of things in a mechanism.
#pragma once

#include "karakuri/core/id.h"

namespace karakuri {

using LinkId = Id<struct LinkTag>;
using JointId = Id<struct JointTag>;
using MaterialId = Id<struct MaterialTag>;
using ShapeId = Id<struct ShapeTag>;  // a shape is kept elsewhere; a mechanism only refers to it

}  // namespace karakuri
