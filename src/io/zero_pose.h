// Robots whose files do not say which links may touch.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "io/builder.h"

namespace karakuri::io {

struct Robot {
  std::string name, where;
  std::vector<LinkId> links;
};

/// Makers of robots draw shapes that overlap at and around joints; such links would push each other for ever.
/// Of the links of one robot, those that overlap where all joints are at zero never touch, as a note for each
/// robot tells. Nothing is done where the user wants them to touch.  @pre the mechanism is whole
void leave_out_overlaps(SceneBuilder& build, std::span<const Robot> robots);

}  // namespace karakuri::io
