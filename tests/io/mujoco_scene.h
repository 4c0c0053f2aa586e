// The same MJCF read by MuJoCo and by us.
#pragma once

#ifdef KARAKURI_HAVE_MUJOCO

#include <mujoco/mujoco.h>

#include <memory>
#include <string>

#include "karakuri/io/load.h"
#include "karakuri/model/state.h"

namespace karakuri::test {

/// Our coordinates against MuJoCo's. Hinges and slides are the same numbers. Of a free joint, MuJoCo has the
/// pose of the body's origin O in the world, we that of M (at c from O, in the body) in F:
///   v_O = R_F v - w x r,  w_B = R_B^T w,  with w = R_F w_F, r = R_B c                               (1)
/// so accelerations carry the term  dT/dt v = (-w x (w x r), 0)                                      (2)
/// and  M = T^T M_mj T,  bias = T^T (bias_mj + M_mj dT/dt v).                                        (3)
/// A ball's angular velocity is in the moving axes in MuJoCo.
class MujocoScene {
 public:
  /// Null where MuJoCo refuses the file; `reason` says why.
  static std::unique_ptr<MujocoScene> load(const std::string& path, std::string& reason);

  mjModel* model() { return model_.get(); }
  mjData* data() { return data_.get(); }

  void set_state(const Mechanism& mechanism, const Model& model, const State& state);
  /// From (3), after set_state() and mj_forward().
  Eigen::MatrixXd mass_matrix() const;
  Eigen::VectorXd bias() const;
  /// Forces of springs and dampers.
  Eigen::VectorXd passive() const;

 private:
  struct FreeModel {
    void operator()(mjModel* m) const { mj_deleteModel(m); }
  };
  struct FreeData {
    void operator()(mjData* d) const { mj_deleteData(d); }
  };
  std::unique_ptr<mjModel, FreeModel> model_;
  std::unique_ptr<mjData, FreeData> data_;
  Eigen::MatrixXd T_;
  Eigen::VectorXd rate_;  // dT/dt v
};

/// Where body 'b' of an MJCF text is after some seconds, in MuJoCo and here.
struct Rest {
  Transform theirs, ours;
};
Rest rest_of_body_b(const std::string& text, double seconds);

}  // namespace karakuri::test

#endif
