// Continuous detection: when do moving shapes meet?
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "karakuri/collision/narrowphase.h"

namespace karakuri {

/// A rigid motion over one step: the centre moves straight, the body turns steadily about it.
struct Sweep {
  Transform start;             // pose at t = 0
  Vec3 center = Vec3::Zero();  // point of the body that moves straight (its centre of mass), in the body [m]
  Vec3 displacement = Vec3::Zero();  // of the centre over the step, in the world [m]
  Vec3 rotation = Vec3::Zero();      // rotation vector over the step, in the world [rad]

  /// Pose at t in [0, 1].
  Transform at(double t) const;
  /// From one pose to another, the short way round.
  static Sweep between(const Transform& from, const Transform& to, const Vec3& center = Vec3::Zero());
  static Sweep still(const Transform& pose) { return {pose, Vec3::Zero(), Vec3::Zero(), Vec3::Zero()}; }
};

enum class ImpactState {
  kNone,        // apart over the whole step
  kTouching,    // at t the shapes are `target` apart and were never nearer before
  kInitially,   // nearer than `target` at t = 0 already
  kUnresolved,  // apart up to t; the iterations ran out (grazing). The shapes are known not to meet before t.
};
struct Impact {
  ImpactState state = ImpactState::kNone;
  double t = 1;           // of the step; everything before is free of contact
  ClosestPoints nearest;  // at t
  double target = 0;      // the distance at which the motion was to stop [m]
  int iterations = 0;
};

/// Lengths below zero stand for values that follow from the sizes of the two shapes, or of the two parts
/// where one is a compound.
struct ImpactOptions {
  double target = -1;     // distance at which the motion stops [m]; below zero: impact_target()
  double tolerance = -1;  // by which it may stop sooner [m]; below zero: a quarter of the target
  double margin = -1;     // impact_manifolds: how much further than the nearest point others may be apart to
                          // be points of contact as well [m]; below zero: four times the target
  int max_iterations = 128;
};

/// A thousandth of the radius of a sphere that fits into the thinner shape, roughly: far less than what
/// either could be passed by. Planes, heightfields and open surfaces have nothing that could be passed and
/// leave the choice to the other. Of compounds the thinnest part counts.
double impact_target(const Shape& a, const Shape& b);

/// Conservative advancement: no contact is passed over, whatever the speeds, in translation and in rotation.
/// Any two shapes that have a distance. The radius of a shape that turns must be finite.
Impact time_of_impact(const Shape& a, const Sweep& sweep_a, const Shape& b, const Sweep& sweep_b,
                      const ImpactOptions& options, CollisionWorkspace& ws);

/// The impact together with the contact there: appends to `out` the manifolds of the pair in its poses at the
/// time of impact t, in the world. A face that lands flat has all its points. Where the iterations ran out
/// (kUnresolved) the manifolds are those of the last t, which is known to be free, so that the motion can be
/// stopped there as well. Shapes nearer than the target at t = 0 have none (kInitially): they are in contact
/// already. Parts of a compound are in contact one by one, and do not hide what the others will hit.
/// Never allocates once `ws` and `out` have grown to what the scene needs.
Impact impact_manifolds(const Shape& a, const Sweep& sweep_a, const Shape& b, const Sweep& sweep_b,
                        const ImpactOptions& options, CollisionWorkspace& ws, std::vector<Manifold>& out);

/// Where a point that moves in a straight line crosses a triangle whose corners do, from its front to its
/// back.
struct Crossing {
  double t = 0;  // of the step
  Vec3 point = Vec3::Zero(), normal = Vec3::UnitZ();
};
std::optional<Crossing> vertex_face_crossing(const Vec3& p0, const Vec3& p1, const std::array<Vec3, 3>& face0,
                                             const std::array<Vec3, 3>& face1);

/// Where two edges whose ends move in straight lines pass through each other. `normal` is across both,
/// pointing to the side of the first on which the second was.
std::optional<Crossing> edge_edge_crossing(const std::array<Vec3, 2>& first0,
                                           const std::array<Vec3, 2>& first1,
                                           const std::array<Vec3, 2>& second0,
                                           const std::array<Vec3, 2>& second1);

/// A solid and the same solid shrunk by the penetration that is allowed.
struct TwoLayerMesh {
  const Mesh* mesh = nullptr;
  double depth = 0;               // [m]
  std::vector<Vec3> inner;        // vertices of the shrunk solid
  std::vector<int> vertex_owner;  // a face of each vertex
};
/// Every face moves inward by `depth`. @pre mesh.use == MeshUse::kSolid; must outlive the result
TwoLayerMesh make_two_layer(const Mesh& mesh, double depth);

enum class CrossingKind { kVertexFace, kFaceVertex, kEdgeEdge };  // feature of A, feature of B
struct LayerContact {
  CrossingKind kind;
  int a, b;  // vertex, face or edge of A and B
  Crossing at;
};
/// Trajectory L0: the shrunk solids over the step. What crosses would penetrate more than is allowed.
void find_excess(const TwoLayerMesh& a, const Transform& from_a, const Transform& to_a, const TwoLayerMesh& b,
                 const Transform& from_b, const Transform& to_b, CollisionWorkspace& ws,
                 std::vector<LayerContact>& out);
/// Trajectory L1: from the shrunk to the full solids at the end of the step. What crosses is in contact.
void find_touch(const TwoLayerMesh& a, const Transform& at_a, const TwoLayerMesh& b, const Transform& at_b,
                CollisionWorkspace& ws, std::vector<LayerContact>& out);

}  // namespace karakuri
