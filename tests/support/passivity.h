// Judges, from outside, whether a world makes energy out of nothing or parts positions from velocities.
//
// With E the energy of motion, height and springs, f the smooth forces at (q, v) (gravity, joint springs,
// Coriolis), and a = M^-1 f, a first-order integrator turns and lags by a part of a step, and E swings about
// the true energy by what it does in that time,
//   o = sum over trees of h |v . grad U| + h^2 f . a                                                      (1)
// at most half of the energy that is there. That is all the order of the integrator explains, and it
// does not add up. So between any two moments j < k of a run
//   E_k - E_j <= W + lift + o_j + max o + 1e-6 X                                                          (2)
// must hold, summed over the steps between them, and with the largest o of them: what flies off keeps what it
// had, where W is the work of drives, of kinematic bodies and of
// springs in place of contacts. Corrections may lift bodies that overlap by what the overlaps had stored,
//   lift = sum over trees of U(q+) - U(q'), not more than that of f_n depth over contacts and limits      (3)
// with q' where the velocities would have led, and X is what the steps exchange,
//   X = |change of motion| + |change of height and springs| + |v+ - v|^2_M / 2,                           (4)
// and what the solver's settings leave undone: `acceptable` [m/s] along each contact's impulse.
//
// Positions follow velocities: each coordinate moves by a value between h v and h v+ (and the h v after the
// impacts at the start of a step of RK4, which the rest of it may take back), but for what its
// tree turns in a step, (h w)^2, what forces do within it, h^2 a, of which those of loops show in the step
// before, h |v - v'|, and a correction by no more than the depths at the start of the step, of overlaps, of
// joints beyond their limits, and of loops that are open. What loops hold
// moves along the chord of its way, with velocities that differ from those along it by |dv|^2_M <= 2 T / 100
// (docs/loops.md), of a dof by no more than |dv|_M sqrt(M^-1_ii).
#pragma once

#include <string>
#include <vector>

#include "karakuri/dynamics/mass_matrix.h"
#include "karakuri/dynamics/workspace.h"
#include "support/random_worlds.h"

namespace karakuri::test {

struct Verdict {
  // Empty: it holds. Else what came first: "refused", "not finite", "quarantine", "made energy", "position
  // and velocity part".
  std::string fault;
  int step = 0;              // in which it was found
  std::string detail;        // how much, where
  double worst_made = 0;     // beyond (2), relative to the energy that was there
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
  /// Looks after each step from now on, and after each part of one that is made in parts.
  void watch(World& world);
  /// Between two steps: after each step, where it is not watched. Of one that was made in parts little can be
  /// said, as contacts and loads are told of the last of them. False once something is at fault.
  bool look(const World& world);
  const Verdict& verdict() const { return verdict_; }
  /// As the judge computes it, of the trees that respond [J].
  double energy() const { return now_.kinetic + now_.potential; }

 private:
  struct Moment {
    State state;
    MassMatrix mass;
    Eigen::VectorXd smooth, answer;   // f and a of (1)
    Eigen::VectorXd potential_force;  // of gravity and springs alone
    double kinetic = 0, potential = 0, springs = 0;
    double magnitude = 0;  // of what is added up in them
    double order = 0;      // (1)
    std::vector<double> order_of_tree, potential_of_tree;
  };
  void take(const World& world, Moment& out);
  void add_energies(const World& world, Moment& out);
  double order_of(const World& world, const Moment& at, int tree, const Eigen::VectorXd& momentum) const;
  double drive_work(const World& world) const;
  double kinematic_work(const World& world) const;
  double stored_now(const World& world) const;
  void raise_lift(const World& world, const Eigen::VectorXd& velocity, std::vector<double>& lift);
  double lift_now(const World& world);
  void judge_soundness(const World& world);
  void judge_energy(const World& world);
  double spring_work(const World& world);
  Eigen::VectorXd struck(const World& world);
  bool something_works(const World& world) const;
  void judge_positions(const World& world);
  double turn_of(int tree) const;
  double parting_bound(const World& world, int dof, double depth) const;
  double chord_of(int dof) const;
  void fail(const char* fault, std::string detail);
  double of_responding(const Eigen::VectorXd& a, const Eigen::VectorXd& b) const;

  Model model_;
  std::vector<std::uint8_t> held_;  // by tree: kinematic
  Workspace ws_, scratch_, start_;  // start_: poses and velocities at the start of the step
  Workspace answered_;              // poses at its start, velocities at its end
  Moment before_, now_, straight_;  // straight_: at q' of (2)
  std::vector<double> earlier_v_;   // a step before before_
  Verdict verdict_;
  bool watches_ = false;
  double h_ = 0;                   // length of the step that is looked at [s]
  double level_ = 0;               // the least E_j + o_j so far, and what has been added since then
  double highest_order_ = 0;       // since then
  double top_ = 0, lowest_ = 0;    // the highest energy and the lowest potential so far
  std::vector<double> tree_size_;  // by tree [m]
};

struct JudgeOptions {
  double seconds = 4;  // of the world's time
  int max_steps = 1000;
  double patience = 30;  // of computing; a world that takes longer is judged as far as it came [s]
};
Verdict judge(const RandomWorld& world, const JudgeOptions& options = {});

}  // namespace karakuri::test
