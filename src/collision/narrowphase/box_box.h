// Boxes by separating axes.
#pragma once

#include "collision/narrowphase/epa.h"
#include "collision/narrowphase/patch.h"

namespace karakuri::collision_detail {

enum class BoxAxis : std::uint8_t { kFaceA, kFaceB, kEdges };
struct BoxSeparation {
  BoxAxis kind = BoxAxis::kFaceA;
  int i = 0, j = 0;       // face axis, or the edges' axes
  double separation = 0;  // along the axis
  Vec3 normal;            // from A to B, in A's frame
};

/// The axis to use for contacts: faces are preferred to edges, and A's to B's, when about as good. False as
/// soon as some axis separates by more than `limit`; its direction is then in `out.normal`.
bool separate_boxes(const Vec3& half_a, const Vec3& half_b, const Transform& X_AB, double limit,
                    BoxSeparation& out);

/// The contact patch in A's frame; empty when further apart than margin.
void box_box_patch(const ConvexPair& pair, double margin, EpaBuffer& buffer, Patch& patch, PairHint* hint);

}  // namespace karakuri::collision_detail
