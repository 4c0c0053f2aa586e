// A mechanism as MuJoCo sees it, to agree with (tests) and to compare speed with (benchmarks).
//
// The MuJoCo body of a link lies in frame M of the joint that carries it, so that the joint is at its origin.
// MuJoCo's velocities differ from ours in orientation only: v_mj = T(q) v, with T block-diagonal,
//   spherical, rotation of free:  R_FM^T        (MuJoCo's angular velocity is in the moving axes)
//   translation of free on the world:  R_WF     (MuJoCo's linear velocity is in world axes)
//   all else:  1
// Since d/dt(R^T w) = R^T w' - R^T (w x w) = R^T w', accelerations map by the same T with no further term,
// so that M = T^T M_mj T and efforts are tau = T^T tau_mj.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <mujoco/mujoco.h>

#include "karakuri/model/state.h"

namespace karakuri::test {

/// One file of a model in MuJoCo's format. MuJoCo's reader refuses XML nested deeper than 100, so that long
/// chains are spread over several files that include each other; the first is the one to load.
struct MjcfFile {
  std::string name;
  std::string text;
};

/// Written with all 17 digits. What MuJoCo has no like of is refused: screw joints, loops, links without
/// mass, and armatures that differ between the axes of a quaternion (ours are along F's axes, MuJoCo's turn).
Result<std::vector<MjcfFile>> to_mjcf(const Mechanism& mechanism, const Vec3& gravity);

class MujocoPeer {
 public:
  /// `model` must be compiled from `mechanism`: coordinates are taken from there in its order.
  static Result<MujocoPeer> make(const Mechanism& mechanism, const Model& model);

  mjModel* model() { return model_.get(); }
  mjData* data() { return data_.get(); }

  /// Writes qpos and qvel.
  void set_state(const State& state);
  /// T(q) x, for velocities and accelerations.
  Eigen::VectorXd to_peer(const State& state, VecIn x) const;
  /// T(q)^T x, for efforts that MuJoCo computed.
  Eigen::VectorXd effort_from_peer(const State& state, VecIn x) const;
  /// T(q)^-T x, for efforts that MuJoCo is given.
  Eigen::VectorXd effort_to_peer(const State& state, VecIn x) const { return to_peer(state, x); }
  /// T(q), nv x nv.
  Eigen::MatrixXd transform(const State& state) const;

 private:
  struct JointMap {
    JointKind kind;
    int q, v;        // where ours start
    int qpos, dof;   // where MuJoCo's start
    bool free;       // one free joint of MuJoCo's, rather than three slides and a ball
    Transform X_WF;  // of such a free joint
  };
  struct FreeModel {
    void operator()(mjModel* m) const { mj_deleteModel(m); }
  };
  struct FreeData {
    void operator()(mjData* d) const { mj_deleteData(d); }
  };

  void map_joints(const Mechanism& mechanism, const Model& model);
  /// The orientation of M in F, for a joint with a quaternion.
  static Mat3 orientation(const JointMap& joint, const State& state);

  std::unique_ptr<mjModel, FreeModel> model_;
  std::unique_ptr<mjData, FreeData> data_;
  std::vector<JointMap> joints_;
};

}  // namespace karakuri::test
