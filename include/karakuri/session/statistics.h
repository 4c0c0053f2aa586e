// How a run went, in a few numbers.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "karakuri/session/session.h"

namespace karakuri {

// A run in which more energy was made than this share of the largest energy in it has failed, and so has one
// in which a link fell behind its own velocity by more than this share of its size. Good runs stay below a
// thousandth of either.
inline constexpr double kMostEnergyMade = 0.01;
inline constexpr double kMostMotionLost = 0.5;

/// Add after every step; the first call of begin() gives the energy at the start.
struct RunStatistics {
  long long steps = 0;
  double contacts_sum = 0;
  int contacts_max = 0;
  double work_max = 0;            // StepReport::budget, of one step
  long long steps_exhausted = 0;  // that ran out of it
  long long steps_cut = 0;        // in which not all contacts of meshes and terrain were looked for
  double residual_max = 0;        // [m/s]
  double penetration_max = 0;     // [m]
  double energy_first = 0, energy_last = 0;  // [J]
  std::vector<std::string> quarantined;      // links whose state became non-finite
  double energy_made = 0;                    // sum of StepReport::energy_made [J]
  double energy_taken = 0;                   // sum of StepReport::energy_taken [J]
  // What they are measured by: the largest kinetic energy seen, the largest exchange of a step, and what it
  // takes to lift every body by its own size [J]. Kinetic energy is looked at in every 16th step.
  double energy_scale = 0;

  void begin(const Session& session);
  void add(const Session& session) { add(session, session.world().report()); }
  void add(const Session& session, const StepReport& report);
  void end(const Session& session);
  double contacts_mean() const { return steps > 0 ? contacts_sum / static_cast<double>(steps) : 0; }

  /// Links that made energy, the one that made most first; at most five.
  std::vector<std::string> energy_made_by() const;
  /// Of the link that lost most, the sum of StepReport::motion_lost [m].
  double motion_lost() const;
  /// Links that lost motion, likewise.
  std::vector<std::string> motion_lost_by() const;
  /// Why the run is no result, with names; empty: nothing is wrong.
  std::vector<Diagnostic> failures() const;

 private:
  struct Share {
    std::string name;
    double amount = 0;
    double size = 0;  // of the link [m]
  };
  using Shares = std::unordered_map<LinkId, Share>;
  static void share(const Session& session, LinkId link, double amount, Shares& shares);
  static std::vector<Share> sorted(const Shares& shares);
  void look_at_energy(const World& world);

  double lift_ = 0, kinetic_max_ = 0, exchanged_max_ = 0;  // [J]
  Shares made_, lost_;
};

}  // namespace karakuri
