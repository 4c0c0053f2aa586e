#include "io/mujoco_compare.h"

#ifdef KARAKURI_HAVE_MUJOCO

#include <algorithm>

#include "karakuri/dynamics/centroidal.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/mass_matrix.h"
#include "karakuri/dynamics/rnea.h"
#include "karakuri/model/configuration.h"

namespace karakuri::test {

namespace {

constexpr int kStates = 10;

double apart(const Transform& X, const mjtNum* p, const mjtNum* R) {
  const Vec3 theirs = Eigen::Map<const Vec3>(p);
  const Mat3 axes = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(R);
  return std::max((X.p - theirs).norm(), (X.R - axes).norm());
}

double bodies_apart(const Mechanism& m, const Model& model, const Workspace& ws, MujocoScene& peer) {
  double worst = 0;
  for (int b = 1; b < peer.model()->nbody; ++b) {
    const char* name = mj_id2name(peer.model(), mjOBJ_BODY, b);
    const LinkId id = name && *name ? m.find_link(name) : LinkId{};
    if (!id) continue;
    worst = std::max(worst,
                     apart(link_pose(model, ws, id), peer.data()->xpos + 3 * b, peer.data()->xmat + 9 * b));
  }
  return worst;
}

/// Of geoms with a name, but for meshes, whose frames MuJoCo moves to their principal axes.
double geoms_apart(const LoadedScene& loaded, const Model& model, const Workspace& ws, MujocoScene& peer) {
  double worst = 0;
  for (const Visual& v : loaded.visuals) {
    const int g = v.name.empty() ? -1 : mj_name2id(peer.model(), mjOBJ_GEOM, v.name.c_str());
    if (g < 0 || peer.model()->geom_dataid[g] >= 0 || !model.find(v.link)) continue;
    worst = std::max(worst, apart(link_pose(model, ws, v.link) * v.X_LV, peer.data()->geom_xpos + 3 * g,
                                  peer.data()->geom_xmat + 9 * g));
  }
  return worst;
}

}  // namespace

double relative_error(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  return (a - b).norm() / b.norm();
}

State random_state(const Model& model, Random& random) {
  State state(model);
  VecOut q = state.q_view();
  random_configuration(model, random, q);
  for (double& v : state.v) v = random.uniform(-2, 2);
  return state;
}

Errors compare(const LoadedScene& loaded, const Model& model, MujocoScene& peer) {
  Errors worst;
  Random random(3);
  Workspace ws(model);
  MassMatrix sparse(model);
  Eigen::MatrixXd M(model.nv, model.nv);
  Eigen::VectorXd bias(model.nv);
  const Mechanism& m = loaded.scene.mechanism;
  for (int i = 0; i < kStates; ++i) {
    const State state = random_state(model, random);
    peer.set_state(m, model, state);
    mj_forward(peer.model(), peer.data());
    crba(model, state, ws, sparse);
    to_dense(model, sparse, M);
    bias_effort(model, state, {}, ws, bias);
    worst.mass = std::max(worst.mass, relative_error(M, peer.mass_matrix()));
    worst.bias = std::max(worst.bias, relative_error(bias, peer.bias()));
    worst.pose = std::max(worst.pose, bodies_apart(m, model, ws, peer));
    worst.geom = std::max(worst.geom, geoms_apart(loaded, model, ws, peer));
    if (peer.model()->ntendon > 0) continue;  // theirs has the tendons' springs in it
    Eigen::VectorXd passive = Eigen::VectorXd::Zero(model.nv);
    add_passive_efforts(model, state, passive);
    const Eigen::VectorXd theirs = peer.passive();
    worst.passive = std::max(worst.passive, (passive - theirs).norm() / (1 + theirs.norm()));
  }
  return worst;
}

}  // namespace karakuri::test

#endif
