// A setup as a Scene of ours. Bodies with several hinges hang on links in between that weigh 0.1 g.
#pragma once

#include <vector>

#include "karakuri/world/world.h"
#include "scenes/setup.h"

namespace karakuri::bench {

struct BuiltScene {
  Scene scene;
  std::vector<LinkId> links;         // of the setup's bodies
  std::vector<JointId> joints;       // with servos
  std::vector<const Servo*> servos;  // of these joints
};
/// The setup must outlive it.
BuiltScene build_scene(const Setup& setup);

/// Velocities that a scene cannot say. To be called once.
void set_velocities(const Setup& setup, const BuiltScene& built, World& world);
/// Servos as they are at the world's time.
void set_drives(const BuiltScene& built, World& world);

}  // namespace karakuri::bench
