// Contacts of any two convex shapes.
#pragma once

#include "collision/narrowphase/epa.h"
#include "collision/narrowphase/patch.h"

namespace karakuri::collision_detail {

/// Signed distance by closed form, or GJK and EPA.
ConvexDistance distance_of(const ConvexPair& pair, EpaBuffer& buffer,
                           double limit = std::numeric_limits<double>::infinity());

/// The contact patch, reduced, in A's frame; empty when the shapes are further apart than margin. Boxes by
/// separating axes, all others by general_patch.
void convex_patch(const ConvexPair& pair, double margin, EpaBuffer& buffer, Patch& patch, PairHint* hint);
void general_patch(const ConvexPair& pair, double margin, EpaBuffer& buffer, Patch& patch, PairHint* hint);
/// The patch that belongs to a known distance. @pre d.separation <= margin
void patch_at(const ConvexPair& pair, const ConvexDistance& d, double margin, Patch& patch);

}  // namespace karakuri::collision_detail
