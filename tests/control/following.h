// What tests of feed-forward share: motors that follow sines, and the bundled humanoid.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numbers>

#include "karakuri/control/feedforward.h"
#include "karakuri/io/load.h"
#include "support/test_models.h"
#include "world/scenes.h"

namespace karakuri::test {

inline constexpr double kStep = 1e-3;                  // [s]
inline constexpr double kTurn = 2 * std::numbers::pi;  // 1 Hz [rad/s]
inline constexpr double kSwing = 0.4;                  // [rad]

inline Scene scene_of(Mechanism mechanism) {
  Scene scene;
  scene.mechanism = std::move(mechanism);
  return scene;
}

/// All joints of the trees that have dofs, but for free ones.
inline std::vector<JointId> motors(const World& world) {
  std::vector<JointId> out;
  for (const JointEntry& joint : world.model().joints)
    if (joint.first_v >= 0 && joint.kind != JointKind::kFree) out.push_back(joint.id);
  return out;
}

inline Feedforward make(const World& world, std::vector<JointId> joints,
                        const FeedforwardOptions& options = {}) {
  Result<Feedforward> made = Feedforward::make(world, std::move(joints), options);
  if (!made.ok()) {
    ADD_FAILURE() << to_string(made.errors());
    std::abort();
  }
  return std::move(*made);
}

/// Sines of 1 Hz about where the joints are, in different phases.
struct Sines {
  std::vector<double> centre;

  explicit Sines(const World& world, const std::vector<JointId>& joints) {
    for (std::size_t i = 0; i < joints.size(); ++i) centre.push_back(world.q(joints[i])[0] - at_of(i, 0));
  }
  static double at_of(std::size_t i, double t) { return kSwing * std::sin(kTurn * t + 0.7 * i); }
  double at(std::size_t i, double t) const { return centre[i] + at_of(i, t); }
  double rate(std::size_t i, double t) const { return kTurn * kSwing * std::cos(kTurn * t + 0.7 * i); }
  /// Over the step that starts at t: what takes a joint from one point of the sine to the next.
  double mean_rate(std::size_t i, double t, double h) const { return (at(i, t + h) - at(i, t)) / h; }
};

inline double largest_error(const World& world, const std::vector<JointId>& joints, const Sines& sines,
                            double t) {
  double most = 0;
  for (std::size_t i = 0; i < joints.size(); ++i)
    most = std::max(most, std::abs(world.q(joints[i])[0] - sines.at(i, t)));
  return most;
}

inline void start_on(World& world, const std::vector<JointId>& joints, const Sines& sines, double h) {
  for (std::size_t i = 0; i < joints.size(); ++i) {
    const double v = sines.mean_rate(i, -h, h);
    ASSERT_TRUE(world.set_v(joints[i], {&v, 1}));
  }
}

enum class By { kVelocity, kAcceleration };

struct Track {
  double largest = 0;          // error [rad]
  double last = 0;             // in the last 0.2 s
  std::vector<double> errors;  // by step
};

/// Follows the sines for some seconds, with drives of low gain (or none), under a push between 1 and 1.1 s.
inline Track follow(World world, const std::vector<JointId>& joints, By by, double stiffness, double push,
                    double seconds, const FeedforwardOptions& options = {}) {
  const Sines sines(world, joints);
  start_on(world, joints, sines, kStep);
  Feedforward forward = make(world, joints, options);
  std::vector<double> target(joints.size());
  const LinkId hand = world.model().links.back().id;
  Track track;
  const int steps = static_cast<int>(std::round(seconds / kStep));
  for (int k = 0; k < steps; ++k) {
    const double t = k * kStep;
    for (std::size_t i = 0; i < joints.size(); ++i) {
      target[i] = sines.mean_rate(i, t, kStep);
      if (by == By::kAcceleration) target[i] = (target[i] - sines.mean_rate(i, t - kStep, kStep)) / kStep;
    }
    const auto flaws =
        by == By::kVelocity ? forward.find(world, target) : forward.find_for_acceleration(world, target);
    EXPECT_TRUE(flaws.empty()) << to_string(flaws);
    forward.apply(world);
    for (std::size_t i = 0; i < joints.size() && stiffness > 0; ++i)
      world.set_drive(joints[i], {.stiffness = stiffness,
                                  .damping = 0.2 * stiffness,
                                  .q_target = sines.at(i, t + kStep),
                                  .v_target = sines.mean_rate(i, t, kStep)});
    if (push > 0 && t >= 1 && t < 1.1) world.add_force(hand, {0, push, 0});
    world.step();
    track.errors.push_back(largest_error(world, joints, sines, t + kStep));
    track.largest = std::max(track.largest, track.errors.back());
    if (t > seconds - 0.2) track.last = std::max(track.last, track.errors.back());
  }
  return track;
}

struct Standing {
  World world;
  std::vector<JointId> joints;
  LinkId pelvis;
};

/// The bundled humanoid without its controllers; its rubber bushes have no motors.
inline Standing humanoid() {
  Result<LoadedScene> loaded = load_scene(KARAKURI_SOURCE_DIR "/scenes/humanoid.scene.yaml");
  if (!loaded.ok()) {
    ADD_FAILURE() << to_string(loaded.errors());
    std::abort();
  }
  Standing out{make_world(loaded->scene, loaded->settings, loaded->gravity), {}, {}};
  for (const JointEntry& joint : out.world.model().joints)
    if (joint.first_v >= 0 && joint.kind != JointKind::kFree && joint.name.find("bush") == std::string::npos)
      out.joints.push_back(joint.id);
  for (const LinkEntry& link : out.world.model().links)
    if (link.name == "pelvis") out.pelvis = link.id;
  return out;
}

}  // namespace karakuri::test
