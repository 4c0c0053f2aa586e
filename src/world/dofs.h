// Dofs and coordinates of a tree.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "dynamics/tree_rates.h"
#include "karakuri/model/configuration.h"
#include "karakuri/model/model.h"

namespace karakuri::world_detail {

using karakuri::end_dof;
using karakuri::first_dof;
using karakuri::kFarTurn;
using karakuri::kMostTurn;
using karakuri::largest_turn;
using karakuri::scale_rates;

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

}  // namespace karakuri::world_detail
