// Rates of the joints of a tree.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "karakuri/model/model.h"

namespace karakuri {

/// What turns a joint by more than this in a step is followed by no integrator, and by no loop [rad].
inline constexpr double kFarTurn = 1;
/// No correction of positions turns a joint by more than this in one step [rad].
inline constexpr double kMostTurn = 0.5;

inline int first_dof(const Model& model, const Tree& tree) { return model.bodies[tree.first].first_v; }
inline int end_dof(const Model& model, const Tree& tree) {
  const Body& last = model.bodies[tree.last - 1];
  return last.first_v + last.dofs;
}

/// How far a change, by dof, turns the joint of a tree that it turns most [rad].
inline double largest_turn(const Model& model, const Tree& tree, const std::vector<double>& change) {
  double most = 0;
  for (int i = first_dof(model, tree); i < end_dof(model, tree); ++i)
    if (model.dofs[i].kind != DofKind::kTranslation) most = std::max(most, std::abs(change[i]));
  return most;
}

inline void scale_rates(const Model& model, const Tree& tree, double share, std::vector<double>& v) {
  for (int i = first_dof(model, tree); i < end_dof(model, tree); ++i) v[i] *= share;
}

}  // namespace karakuri
