// From supporting faces to contact points: clipping, and reduction to the points that matter.
#pragma once

#include "collision/narrowphase/support_face.h"
#include "karakuri/collision/contact.h"

namespace karakuri::collision_detail {

struct PatchPoint {
  Vec3 position;  // half way between the surfaces
  double separation;
  std::uint32_t feature_a, feature_b;
};

/// Candidates for one manifold, in one frame.
struct Patch {
  static constexpr int kMax = 64;
  Vec3 normal = Vec3::UnitZ();  // from A to B
  int count = 0;
  PatchPoint points[kMax];

  void add(const PatchPoint& p) {
    if (count < kMax) points[count++] = p;
  }
};

/// The most aligned of the two faces is the reference: the other is cut to it. Sets patch.normal to the
/// reference's own normal. False, and nothing done, when neither face is perpendicular to the normal.
/// @param n         From A to B, unit.
/// @param radius_a  A's surface is this far outside its polygon; likewise b.
bool clip_faces(const FacePolygon& a, const FacePolygon& b, const Vec3& n, double radius_a, double radius_b,
                double margin, Patch& patch);

/// Two segments: the ends of their overlap when they run (nearly) in parallel. False when they do not.
bool clip_segments(const FacePolygon& a, const FacePolygon& b, const Vec3& n, double radius_a,
                   double radius_b, double margin, Patch& patch);

/// Keeps at most Manifold::kMaxPoints: the deepest, and those that span the largest area with it.
/// @param scale  Smallest half width of the shapes [m]: below 1e-4 of it, depths count as equal, so that
///               rounding does not choose.
void reduce(Patch& patch, double scale);

/// Writes the patch, given in the frame with pose X_WF, as a manifold.
void emit(const Patch& patch, const Transform& X_WF, Manifold& out);

}  // namespace karakuri::collision_detail
