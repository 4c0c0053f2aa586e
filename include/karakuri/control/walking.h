// Walking for any biped that is loaded: a pattern that is planned as it goes, feedback where it is asked for,
// and whole-body inverse kinematics, which give the joints' drives their targets. docs/walking.md.
#pragma once

#include <span>
#include <vector>

#include "karakuri/control/stabilizer.h"
#include "karakuri/world/world.h"

namespace karakuri {

/// Where the drive of a joint is to aim at the end of the coming step.
struct JointTarget {
  JointId joint;  // of the world
  double q = 0, v = 0;
  double effort = 0;  // that the planned motion needs; 0 without feed-forward [N m or N]
};

/// What was planned and what was measured at the last update.
struct WalkingReport {
  Vec3 center = Vec3::Zero(), center_planned = Vec3::Zero();  // of mass [m]
  Vec3 zmp = Vec3::Zero(), zmp_planned = Vec3::Zero(), zmp_wanted = Vec3::Zero();
  std::array<double, 2> force{};  // vertical, left and right [N]
  double margin = 0;              // of the measured ZMP inside the soles that carry; negative: outside [m]
  double tilt = 0;                // of the root, against upright [rad]
  int steps = 0, left = 0;        // done, and to do
  bool standing = true;           // nothing is left to do
  bool fallen = false;            // it was so low or so tilted once that no step can save it
  double reach_error = 0;         // of the inverse kinematics [m or rad]
};

class Walking {
 public:
  /// The robot is the tree of walker.biped.root. It stands about where its root is above the floor at the
  /// height `floor`. Errors: names and numbers that make no sense, places that the legs do not reach.
  static Result<Walking> make(const World& world, const Walker& walker, double floor = 0);

  const Walker& walker() const { return walker_; }
  /// Puts root and joints where the walk begins, at rest.
  void place(World& world) const;
  /// Finds the targets for the coming step of `dt`. Reads the world alone.
  void update(const World& world, double dt);
  /// Of all joints of one dof but those that are passive.
  std::span<const JointTarget> targets() const { return targets_; }
  const WalkingReport& report() const { return report_; }

  /// From the first step that is not decided yet: so many steps alike; 0: to a stop. Cut to the gait's
  /// limits.
  void walk(const StepCommand& step, int count) { pattern_.walk(step, count); }
  void stop() { pattern_.walk({}, 0); }
  /// How far ahead steps are decided [s].
  double lead() const { return pattern_.lead(); }
  bool stabilized() const { return stabilizer_.settings().enabled; }
  void set_stabilized(bool on);
  Stabilizing& stabilizing() { return stabilizer_.settings(); }
  WalkingPattern& pattern() { return pattern_; }
  const WalkingPattern& pattern() const { return pattern_; }
  /// The corners of what carries, on the floor, as they are now.
  std::vector<Vec3> support(const World& world) const;

  /// All that changes, as numbers: for snapshots.
  std::vector<double> save() const;
  /// False, with nothing done, where it is of another walker.
  bool restore(std::span<const double> numbers);

 private:
  Walking(const Walker& walker, WalkingPattern pattern, ExtractedTree part);
  BipedMeasure measure(const World& world);
  void find_efforts(const WalkingReference& now, const Soles& soles, double dt);
  void write_report(const WalkingReference& now, const BipedMeasure& measure, const IkReport& ik);
  void find_support(const Soles& soles, const std::array<bool, 2>& carries, std::vector<Vec3>& corners) const;
  template <class Ar>
  void visit_state(Ar& ar);

  Walker walker_;  // names of the world
  WalkingPattern pattern_;
  Stabilizer stabilizer_;
  std::vector<std::pair<JointId, JointId>> joints_;  // in the world, in the part
  State measured_;                                   // of the part
  Workspace ws_;
  std::vector<double> q_, q_before_, rates_, rates_before_, accelerations_, efforts_;
  State planned_;  // of the part
  Workspace planned_ws_;
  std::vector<Force> on_bodies_;
  bool started_ = false;
  double height_ = 0;  // of the root above the soles, where it begins [m]
  int root_q_ = 0;     // where the root's coordinates are
  std::vector<Vec3> corners_;
  std::vector<JointTarget> targets_;
  WalkingReport report_;
};

}  // namespace karakuri
