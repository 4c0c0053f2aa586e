// Judges, from outside, whether a world makes energy out of nothing or parts positions from velocities.
//
// A step of length h leads from (q, v) to (q+, v+). With M = M(q), f the forces of gravity, of the joints'
// springs and of Coriolis at (q, v), and P = M (v+ - v) - h f the impulse of all that remains (contacts,
// limits, loops, friction, dampers, drives), the energy E of motion, height and springs changes by
//   E+ - E = P . v+ - |v+ - v|^2_M / 2 + R                                                                (1)
//   R = h f . v+ + v+ . (M(q+) - M) v+ / 2 + U(q+) - U(q)                                                 (2)
// (the identity |v+|^2 - |v|^2 = 2 v+ . (v+ - v) - |v+ - v|^2 in the metric of M). R is what the integrator
// owes to its order: h times the rate of (2) is zero along a smooth motion. What passive things do is the
// rest, and never positive. So the energy made in a step is
//   made = E+ - E - W - |R| - order,   order = 2 h^2 (c . M^-1 c at (q, v) and at (q+, v+))               (3)
// with W the work of drives and kinematic bodies and c the forces of Coriolis. By them velocities turn within
// the step, by h M^-1 c, and an integrator of order one is wrong by the energy of that. It may be 1e-6 of
// what the step exchanges,
//   X = |change of motion| + |change of height and springs| + |v+ - v|^2_M / 2,                           (4)
// and what the solver's settings leave undone: `acceptable` [m/s] along each contact's impulse.
//
// Over a run E may not exceed what it was at the start, and W, and what overlaps at the start had stored (the
// weight of both trees over their depth), by more than a hundredth of the energy that was there to be
// exchanged, and the sum of R; and never, whatever R is, by more than that energy itself.
//
// Positions follow velocities: each coordinate moves by a value between h v and h v+, but for what its
// tree turns in a step, (h w)^2, and a correction by no more than the depths at the start of the step.
#pragma once

#include <string>
#include <vector>

#include "karakuri/dynamics/mass_matrix.h"
#include "karakuri/dynamics/workspace.h"
#include "support/random_worlds.h"

namespace karakuri::test {

struct Verdict {
  // Empty: it holds. Else what came first: "refused", "not finite", "quarantine", "made energy in a step",
  // "made energy over the run", "exploded", "position and velocity part".
  std::string fault;
  int step = 0;              // in which it was found
  std::string detail;        // how much, where
  double worst_made = 0;     // in a step, relative to what the step exchanges
  double worst_rise = 0;     // over the run, relative to the energy that was there
  double worst_parting = 0;  // relative to its bound
  int steps = 0;             // made
  double seconds = 0;        // of computing

  bool holds() const { return fault.empty(); }
};

/// One line: seed, kind, what, how much.
std::string to_line(const RandomWorld& world, const Verdict& verdict);

/// Watches one world, step by step. The world must keep its structure.
class PassivityJudge {
 public:
  explicit PassivityJudge(const World& world, std::vector<LinkId> kinematic = {});
  /// Between two steps: after each step. False once something is at fault.
  bool look(const World& world);
  const Verdict& verdict() const { return verdict_; }
  /// As the judge computes it, of the trees that respond [J].
  double energy() const { return now_.kinetic + now_.potential; }

 private:
  struct Moment {
    State state;
    MassMatrix mass;
    Eigen::VectorXd coriolis, smooth;  // forces
    double kinetic = 0, potential = 0;
    double magnitude = 0;  // of what is added up in them
    double turning = 0;    // c . M^-1 c
  };
  void take(const World& world, Moment& out);
  void add_energies(const World& world, Moment& out) const;
  double drive_work(const World& world) const;
  double kinematic_work(const World& world) const;
  void judge_soundness(const World& world);
  void judge_energy(const World& world);
  void judge_run();
  void judge_positions(const World& world);
  double parting_bound(const World& world, int dof, double depth) const;
  void fail(const char* fault, std::string detail);
  double of_responding(const Eigen::VectorXd& a, const Eigen::VectorXd& b) const;

  Model still_;                     // the model without gravity
  std::vector<std::uint8_t> held_;  // by tree: kinematic
  Workspace ws_, start_;            // start_: poses and velocities at the start of the step
  Moment before_, now_;
  Verdict verdict_;
  double h_ = 0;
  double start_energy_ = 0, lowest_ = 0;      // lowest potential so far
  double stored_ = 0, work_ = 0, drift_ = 0;  // since the start: by overlaps, W, R
  double floor_ = 0;                          // energy that is nothing in this world
  std::vector<double> tree_size_;             // by tree [m]
};

struct JudgeOptions {
  double seconds = 4;  // of the world's time
  int max_steps = 1000;
  double patience = 30;  // of computing; a world that takes longer is judged as far as it came [s]
};
Verdict judge(const RandomWorld& world, const JudgeOptions& options = {});

}  // namespace karakuri::test
