// Everything that changes while a model runs. A plain copy is a snapshot.
#pragma once

#include <vector>

#include "karakuri/model/model.h"

namespace karakuri {

struct State {
  double time = 0;                // [s]
  std::vector<double> q;          // nq, see joint.h
  std::vector<double> v;          // nv
  std::vector<bool> loop_closed;  // by index of Model::loops

  State() = default;
  /// Neutral and at rest, all loops closed.
  explicit State(const Model& model);

  auto q_view() { return Eigen::Map<Eigen::VectorXd>(q.data(), static_cast<Eigen::Index>(q.size())); }
  auto v_view() { return Eigen::Map<Eigen::VectorXd>(v.data(), static_cast<Eigen::Index>(v.size())); }
  auto q_view() const {
    return Eigen::Map<const Eigen::VectorXd>(q.data(), static_cast<Eigen::Index>(q.size()));
  }
  auto v_view() const {
    return Eigen::Map<const Eigen::VectorXd>(v.data(), static_cast<Eigen::Index>(v.size()));
  }
};

}  // namespace karakuri
