// Inverse kinematics of whole bodies: joint positions at which frames and the centre of mass are where they
// are wanted, in an order of priority, within the joints' limits, and otherwise as near to a posture as
// possible. For any mechanism; the equations stand in src/dynamics/inverse_kinematics.cc.
#pragma once

#include <utility>
#include <vector>

#include "karakuri/dynamics/workspace.h"
#include "karakuri/model/mechanism.h"
#include "karakuri/model/state.h"

namespace karakuri {

/// A frame F fixed to a link shall be at X_WF.
struct FrameGoal {
  LinkId link;
  Transform X_LF;            // in the link's frame
  Transform X_WF;            // where it is wanted
  Vec3 turn = Vec3::Ones();  // weights of the rotation vector about F's wanted axes; 0: left alone
  Vec3 move = Vec3::Ones();  // weights of the displacement along F's wanted axes; 0: left alone
  int priority = 0;          // 0 comes first; what has a higher number never disturbs what has a lower
  Motion velocity;           // of F's origin, world axes, for rates() [rad/s, m/s]
};

/// The centre of mass of all moving bodies shall be at `position`.
struct CenterGoal {
  Vec3 position = Vec3::Zero();  // world [m]
  Vec3 weight = Vec3::Ones();    // along world axes; 0: left alone
  int priority = 0;
  Vec3 velocity = Vec3::Zero();  // for rates() [m/s]
};

struct IkProblem {
  std::vector<FrameGoal> frames;
  std::vector<CenterGoal> centers;  // none, or one
  /// Positions that are wanted where the goals leave them free (nq); empty: as they are. Orientations of free
  /// and spherical joints, and places of free ones, have none.
  std::vector<double> posture;
  /// What it costs to move each dof (nv); empty: 1 each. Infinite: it does not move.
  std::vector<double> cost;
};

struct IkOptions {
  int max_iterations = 50;
  double tolerance =
      1e-10;              // of the weighted errors of goals that can be met [rad and m], and of the last step
  double damping = 1;     // times the square of the error, against its Jacobian's squares; see (5)
  double max_step = 0.5;  // of any dof in an iteration [rad or m]
  bool limits = true;     // keep within the joints' limits
};

struct IkReport {
  bool converged = false;  // the last step was below the tolerance: goals that can be met are; see error
  int iterations = 0;
  double error = 0;      // largest weighted error of any goal [rad or m]
  double last_step = 0;  // largest change of a dof in the last iteration [rad or m]
  int at_limits = 0;     // dofs that limits held back in the last iteration
};

/// All that is wrong with a problem for this model; empty: it can be solved.
std::vector<Diagnostic> find_flaws(const Model& model, const IkProblem& problem);

/// Scratch for problems of one model. No call allocates once a problem with as many goals was solved.
class InverseKinematics {
 public:
  explicit InverseKinematics(const Model& model);

  /// Moves q (nq) from where it is to a solution near it.  @pre find_flaws(model, problem) is empty
  IkReport solve(const Model& model, const IkProblem& problem, const IkOptions& options, VecOut q);

  /// The joint velocities v (nv) at which the frames and the centre of mass have their wanted velocities, in
  /// the same order of priority, and dofs otherwise move as little as their costs say. At a solution q this
  /// is its derivative by time.  @pre as solve()
  void rates(const Model& model, const IkProblem& problem, VecIn q, VecOut v);

  /// Poses at the last q.
  const Workspace& workspace() const { return ws_; }

 private:
  void place(const Model& model, VecIn q);
  void collect(const Model& model, const IkProblem& problem, bool as_rates);
  void add_frame(const Model& model, const FrameGoal& goal, bool as_rates);
  void add_center(const Model& model, const CenterGoal& goal, bool as_rates);
  double* add_row(double error);
  void find_subtrees(const Model& model);
  double largest_error() const;
  void adapt_damping();
  void prepare(const Model& model, const IkProblem& problem, bool with_posture);
  int solve_within_limits(const Model& model, bool limits, double damping);
  void solve_levels(double damping);
  void reflect_level(int first, int last);
  void solve_level(int first, int last, int start, double damping);
  void turn_back();
  double* column(int place) {
    return reflected_.data() + static_cast<std::ptrdiff_t>(order_[static_cast<std::size_t>(place)]) * dofs_;
  }

  struct Subtree {
    Packed3 moment;  // mass times place of its centre [kg m]
    double mass = 0;
  };
  State state_;
  Workspace ws_;
  std::vector<Subtree> subtree_;  // by body
  int dofs_ = 0, rows_ = 0, rank_ = 0;
  std::vector<double> jacobian_;               // rows_ x dofs_, row by row
  std::vector<double> error_;                  // rows_
  std::vector<int> level_end_;                 // of rows
  std::vector<double> factor_, square_;        // by level: of the damping; errors squared
  std::vector<double> reflected_, reflector_;  // rows_ x dofs_: the scaled rows, turned; reflections
  std::vector<int> order_;                     // rows_: of the rows as they were taken
  std::vector<double> right_, beta_;           // rows_
  std::vector<double> normal_, rhs_;           // of one level
  std::vector<double> scale_, free_scale_;     // dofs_: square root of 1 / cost; 0: held
  std::vector<double> pull_, pull_scaled_;     // dofs_: towards the posture
  std::vector<double> turned_, step_, held_;   // dofs_
};

/// The part of a mechanism that hangs together with `link`: one tree, without what closes loops. Names stay.
struct ExtractedTree {
  Mechanism mechanism;
  std::vector<std::pair<JointId, JointId>> joints;  // in the whole, in the part
  std::vector<std::pair<LinkId, LinkId>> links;
  int loops = 0;  // that were left out
};
ExtractedTree extract_tree(const Mechanism& whole, LinkId link);

}  // namespace karakuri
