// Feedback that keeps a walk on its plan: from the centre of mass, the attitude, and the forces on the feet,
// to how the feet are turned and lifted against the plan. Equations: the source file; docs/walking.md.
#pragma once

#include <array>
#include <vector>

#include "karakuri/control/walking_pattern.h"

namespace karakuri {

/// What is measured of a robot.
struct BipedMeasure {
  Vec3 center = Vec3::Zero(), center_velocity = Vec3::Zero();  // of mass, world
  Mat3 root = Mat3::Identity();                                // orientation of the root, world
  Vec3 root_rate = Vec3::Zero();                               // its angular velocity, world
  Soles soles;                                                 // places, world
  std::array<Force, 2> on_soles;                               // about the soles' origins, world axes
};

/// The zero-moment point of both feet together, on the plane through their loaded mean. False: nothing
/// carries.
bool find_zmp(const BipedMeasure& measure, Vec3& zmp);

/// What the walker does otherwise than planned.
struct StabilizerOutput {
  Soles soles;                   // where the feet are wanted
  Mat3 root = Mat3::Identity();  // and the root
  Vec3 center = Vec3::Zero();    // and the centre of mass
};

class Stabilizer {
 public:
  Stabilizer() = default;
  Stabilizer(const Stabilizing& settings, const Biped& biped, const Gait& gait, double mass, double gravity)
      : settings_(settings), box_(biped.sole_box), gait_(gait), mass_(mass), gravity_(gravity) {}

  Stabilizing& settings() { return settings_; }
  const Stabilizing& settings() const { return settings_; }
  void reset();
  /// For a step of dt that begins now.
  StabilizerOutput update(const WalkingReference& now, const WalkingReference& next,
                          const BipedMeasure& measure, double dt);

  /// Where the ZMP was wanted in the last update.
  const Vec3& wanted_zmp() const { return wanted_zmp_; }
  /// Capture point, measured less planned, in the last update.
  const Vec3& capture_error() const { return capture_error_; }

  /// All that changes, by visitors of src/control/numbers.h.
  template <class Ar>
  void visit_state(Ar& ar);

 private:
  void move_landing(const WalkingReference& now, const Vec3& missing, double dt);
  Vec3 choose_zmp(const WalkingReference& now, const BipedMeasure& measure, double dt);
  void share_out(const WalkingReference& now, const Vec3& zmp, std::array<Vec3, 2>& moment,
                 std::array<double, 2>& force) const;

  Stabilizing settings_;
  std::array<double, 4> box_{};
  Gait gait_;
  double mass_ = 1, gravity_ = 9.81;
  std::array<double, 2> integral_{};                       // of the capture point's error [m s]
  std::array<std::array<double, 2>, 2> turn_{};            // of each foot about its x and y [rad]
  std::array<std::array<double, 3>, 2> filtered_{};        // moment about x and y, force along z of each sole
  std::array<Vec3, 2> shift_{Vec3::Zero(), Vec3::Zero()};  // of each sole against the plan [m]
  double difference_ = 0;                                  // of the feet's heights [m]
  Vec3 wanted_zmp_ = Vec3::Zero(), capture_error_ = Vec3::Zero();
};

}  // namespace karakuri
