// What walking has to know of a robot, and what it is asked for: names and numbers, no code.
// docs/walking.md.
#pragma once

#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "karakuri/model/ids.h"
#include "karakuri/spatial/transform.h"

namespace karakuri {

enum class Side : std::uint8_t { kLeft, kRight };
inline Side other(Side side) { return side == Side::kLeft ? Side::kRight : Side::kLeft; }
/// +1 for the left, whose y is positive.
inline double sign_of(Side side) { return side == Side::kLeft ? 1.0 : -1.0; }

/// One step: how far the middle between the feet goes with it, in its own axes.
struct StepCommand {
  double forward = 0;  // [m]
  double side = 0;     // to the left [m]
  double turn = 0;     // to the left [rad]
};
/// So many alike.
struct PlannedSteps {
  int count = 1;
  StepCommand step;
};
/// A place for a sole.
struct Footstep {
  Side side = Side::kLeft;
  Transform X_WS;
};

/// Where the parts are and how it stands.
struct Biped {
  LinkId root;                 // the pelvis, which hangs on the world by a free joint
  std::array<LinkId, 2> feet;  // left, right
  Vec3 sole =
      Vec3::Zero();  // of the left foot's link: the point of the sole below the ankle [m]; y is mirrored
  // The rectangle of the sole that carries, in the sole's frame: x and y of its lowest and highest corner,
  // of the left foot [m].
  std::array<double, 4> sole_box{-0.1, -0.06, 0.1, 0.06};
  std::vector<JointId> passive;                     // have no motor: springs, bushes
  std::vector<std::pair<JointId, double>> posture;  // where the others are wanted [rad or m]; else 0
};

/// How it walks.
struct Gait {
  double height = 0.8;          // of the centre of mass above the soles [m]
  double step_time = 0.8;       // from one landing to the next [s]
  double double_support = 0.1;  // of it [s]
  double start_time = 1.0;      // double support before the first step, and after the last [s]
  double swing_height = 0.05;   // of the foot that swings [m]
  double spacing = 0.1;         // from the middle to each sole [m]
  double zmp_forward = 0;       // where the ZMP is wanted in the sole's frame [m]
  double zmp_inward = 0;        // towards the other foot [m]
  double max_forward = 0.25, max_side = 0.06, max_turn = 0.35;  // of a step [m, m, rad]
  // preview control, see PreviewSettings
  double period = 0.005, horizon = 1.6, zmp_weight = 1, jerk_weight = 1e-6;
  double correction = 0.8;  // horizon of the second pass [s]; 0: there is none
  double feedforward = 1;  // share of the planned motion's efforts that drives are given beside their targets
  double trunk_cost = 1;   // of moving joints against the legs'
};

/// Feedback from the attitude, the centre of mass and the forces on the feet.
struct Stabilizing {
  bool enabled = false;
  double capture_gain = 1.5;       // by how much more the ZMP moves than the capture point is off
  double capture_integral = 0;     // the same of the integral [1/s]
  double compliance = 0;           // of what is below the ankle: turn per moment [rad/(N m)]; fed forward
  double attitude = 1;             // share of the measured attitude error that feet are turned back by
  double root_attitude = 0;        // share of it that the root is turned back by
  double step_gain = 0;            // share of the capture point's error by which the next landing is moved
  double max_shift = 0.15;         // of a landing [m]
  double ankle_admittance = 0.01;  // turn rate of a foot per error of its moment [rad/(N m s)]
  double ankle_leak = 0.3;         // time in which it comes back [s]
  double force_admittance = 1e-4;  // speed of the feet's difference in height per error of force [m/(N s)]
  double force_leak = 0.3;         // [s]
  double max_turn = 0.15;          // of a foot [rad]
  double max_lift = 0.03;          // of a foot [m]
  double margin = 0.01;            // the ZMP is kept so far from the sole's edges [m]
  double filter = 0.01;            // time constant of measured forces [s]
};

/// All of it, with a plan to start with.
struct Walker {
  std::string name;
  Biped biped;
  Gait gait;
  Stabilizing stabilizing;
  std::vector<PlannedSteps> plan;
  std::vector<Footstep> footsteps;  // in place of a plan; relative to the first middle between the feet
  Side first = Side::kLeft;         // the foot that steps first
  double floor = 0;                 // its height where the walk begins [m]
  bool place = true;                // at the start joints and root are put where walking begins
};

}  // namespace karakuri
