// The classical fourth-order Runge-Kutta method on the configuration manifold, to follow motions whose exact
// course is known. Munthe-Kaas (1999): each step works in coordinates theta around the q it starts from,
//   q = q0 (+) theta,  theta' = dexp^-1_theta(v) = v - theta x v / 2 + theta x (theta x v) / 12 + ...
// where the cross products concern the three rotations of a quaternion; the terms left out are of fifth
// order.
#pragma once

#include <functional>

#include "karakuri/dynamics/workspace.h"
#include "karakuri/model/state.h"

namespace karakuri::test {

class Rk4 {
 public:
  /// What the joints give in a state; writes all of tau.
  using Effort = std::function<void(const State& state, VecOut tau)>;

  explicit Rk4(const Model& model, Effort effort = {});

  /// Moves `state` on by `step` [s].
  void step(State& state, double step);
  /// `steps` such steps.
  void run(State& state, double step, int steps);

 private:
  struct Rate {
    Eigen::VectorXd theta, v;
  };

  Rate rate(const State& state, const Eigen::VectorXd& theta);
  /// The state at theta and v around `from`.
  State at(const State& from, const Rate& offset) const;

  const Model& model_;
  Effort effort_;
  Workspace ws_;
  Eigen::VectorXd tau_;
};

}  // namespace karakuri::test
