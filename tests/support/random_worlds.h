// Random worlds, as many as there are seeds: what a scene nobody tuned looks like.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "karakuri/world/world.h"

namespace karakuri::test {

enum class WorldKind : std::uint8_t {
  kTrees,      // 1 to 6 trees of 1 to 6 links of simple shapes that overlap; nothing but gravity acts
  kLoops,      // and joints that close loops, also between trees; some are attached when the world is made
  kDrives,     // and drives, joint springs, dampers, dry friction
  kMeshes,     // and hulls, cones, ellipsoids and meshes, some on a heightfield
  kBouncing,   // and restitution from 0 to 1
  kKinematic,  // and trees that move as their velocities say
  kModels,     // all contact models with all integrators
  kMixed,      // all of that at once
  kLongSteps,  // steps of 20 ms to 1 s
  kBin,        // many shapes dropped into a bin
};
inline constexpr int kWorldKinds = 10;
std::string_view name_of(WorldKind kind);
std::optional<WorldKind> world_kind_from_name(std::string_view name);

struct RandomWorldOptions {
  WorldKind kind = WorldKind::kTrees;
  // In place of what the kind would choose.
  std::optional<ContactModel> contact;
  std::optional<Integrator> integrator;
  int shapes_in_bin = 60;  // at most
};

struct DriveAt {
  JointId joint;
  int dof = 0;
  Drive drive;
};

struct RandomWorld {
  std::uint64_t seed = 0;
  WorldKind kind = WorldKind::kTrees;
  Scene scene;
  WorldSettings settings;
  Vec3 gravity = kEarthGravity;
  double size = 1;  // of its shapes, about [m]
  // What a scene cannot say, given to the world by start().
  std::vector<DriveAt> drives;
  std::vector<LinkId> kinematic;
  std::vector<Joint> attached;

  /// Seed, kind, step, models: what finds it again.
  std::string title() const;
};

/// The same world for the same seed and options, on every machine.
RandomWorld make_random_world(std::uint64_t seed, const RandomWorldOptions& options = {});
/// It running, or what is wrong with it.
Result<World> start(const RandomWorld& world);

}  // namespace karakuri::test
