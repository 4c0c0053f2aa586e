// What the narrow phase tells: contact points with names that last.
#pragma once

#include <array>
#include <cstdint>

#include "karakuri/spatial/types.h"

namespace karakuri {

/// A feature of one shape: what kind and which. Packed into 32 bits: kind in the upper two.
namespace feature {
inline constexpr std::uint32_t kFace = 0u << 30, kEdge = 1u << 30, kVertex = 2u << 30, kRound = 3u << 30;
inline constexpr std::uint32_t kIndexMask = (1u << 30) - 1;
}  // namespace feature

struct ContactPoint {
  Vec3 position = Vec3::Zero();  // half way between the two surfaces, in the world [m]
  double separation = 0;         // along the normal; negative when the shapes overlap [m]
  // Which feature of A touches which feature of B. The same two features keep the same name from step to
  // step; the name says nothing of the order of the points.
  std::uint32_t feature_a = 0, feature_b = 0;

  std::uint64_t id() const { return (std::uint64_t{feature_a} << 32) | feature_b; }
};

/// Points of one patch, with one normal. Two shapes that are not both convex may have several.
struct Manifold {
  static constexpr int kMaxPoints = 4;

  Vec3 normal = Vec3::UnitZ();  // unit, in the world, from A towards B
  int count = 0;
  std::uint32_t part_a = 0, part_b = 0;  // which part, where a shape is a compound
  std::array<ContactPoint, kMaxPoints> points;

  Vec3 point_on_a(int i) const { return points[i].position - 0.5 * points[i].separation * normal; }
  Vec3 point_on_b(int i) const { return points[i].position + 0.5 * points[i].separation * normal; }
};

/// Where two shapes are nearest, or how deep they overlap.
struct ClosestPoints {
  double separation = 0;        // distance, or minus the depth [m]
  Vec3 normal = Vec3::UnitZ();  // unit, from A towards B: moving B by -separation along it makes them touch
  Vec3 on_a = Vec3::Zero(), on_b = Vec3::Zero();  // in the world [m]
};

/// Remembers, for one pair, a direction that kept the shapes apart. Only spares work: results are the same
/// to the last bit without it, so it need not be saved in snapshots.
struct PairHint {
  Vec3 axis = Vec3::Zero();  // in A's frame, unit; zero: nothing known
};

}  // namespace karakuri
