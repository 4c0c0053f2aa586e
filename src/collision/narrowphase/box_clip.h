// Two boxes face to face: the same as clip_faces and reduce, for rectangles only.
#pragma once

#include "collision/narrowphase/box_box.h"

namespace karakuri::collision_detail {

/// The contact points of the face that s names with the box across, reduced; none when they lie further than
/// margin.
/// @pre s.kind is a face.
void clip_boxes(const ConvexPair& pair, const BoxSeparation& s, double margin, Patch& patch);

}  // namespace karakuri::collision_detail
