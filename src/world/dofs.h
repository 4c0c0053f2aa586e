// Dofs and coordinates of a tree.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "karakuri/model/configuration.h"
#include "karakuri/model/model.h"

namespace karakuri::world_detail {

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

inline void copy_coordinates(const Model& model, const Tree& tree, const std::vector<double>& from,
                             std::vector<double>& to) {
  const Body &root = model.bodies[tree.first], &last = model.bodies[tree.last - 1];
  std::copy(from.begin() + root.first_q, from.begin() + last.first_q + q_size(last.kind),
            to.begin() + root.first_q);
}

inline void copy_rates(const Model& model, const Tree& tree, const std::vector<double>& from,
                       std::vector<double>& to) {
  std::copy(from.begin() + first_dof(model, tree), from.begin() + end_dof(model, tree),
            to.begin() + first_dof(model, tree));
}

inline void scale_rates(const Model& model, const Tree& tree, double share, std::vector<double>& v) {
  for (int i = first_dof(model, tree); i < end_dof(model, tree); ++i) v[i] *= share;
}

}  // namespace karakuri::world_detail
