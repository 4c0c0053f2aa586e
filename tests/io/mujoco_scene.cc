#include "io/mujoco_scene.h"

#ifdef KARAKURI_HAVE_MUJOCO

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "io/corpus.h"
#include "karakuri/spatial/rotation.h"
#include "karakuri/world/world.h"

namespace karakuri::test {

std::unique_ptr<MujocoScene> MujocoScene::load(const std::string& path, std::string& reason) {
  char error[1000] = "";
  auto scene = std::make_unique<MujocoScene>();
  scene->model_.reset(mj_loadXML(path.c_str(), nullptr, error, sizeof error));
  reason = error;
  if (!scene->model_) return nullptr;
  scene->data_.reset(mj_makeData(scene->model_.get()));
  return scene;
}

void MujocoScene::set_state(const Mechanism& mechanism, const Model& model, const State& state) {
  const int nv = model.nv;
  T_ = Eigen::MatrixXd::Identity(nv, nv);
  rate_ = Eigen::VectorXd::Zero(nv);
  int jnt = 0;
  for (const JointEntry& entry : model.joints) {
    if (entry.first_v < 0) continue;
    const Joint& joint = mechanism.joint(entry.id);
    const double *q = &state.q[static_cast<std::size_t>(entry.first_q)],
                 *v = &state.v[static_cast<std::size_t>(entry.first_v)];
    double* qpos = data_->qpos + model_->jnt_qposadr[jnt];
    const int at = entry.first_v;
    if (joint.kind == JointKind::kFree) {
      const Mat3 R_F = joint.X_PF.R;
      const Transform X_FM{normalized_or_identity(Quat(q[3], q[4], q[5], q[6])).toRotationMatrix(),
                           Vec3(q[0], q[1], q[2])};
      const Transform X_WB = joint.X_PF * X_FM * joint.X_CM.inverse();
      const Quat turn(X_WB.R);
      const double numbers[7] = {X_WB.p.x(), X_WB.p.y(), X_WB.p.z(), turn.w(), turn.x(), turn.y(), turn.z()};
      std::copy(numbers, numbers + 7, qpos);
      const Vec3 r = X_WB.R * joint.X_CM.p, w = R_F * Vec3(v[3], v[4], v[5]);
      T_.block<3, 3>(at, at) = R_F;
      T_.block<3, 3>(at, at + 3) = skew(r) * R_F;
      T_.block<3, 3>(at + 3, at + 3) = X_WB.R.transpose() * R_F;
      rate_.segment<3>(at) = -w.cross(w.cross(r));
    } else {
      std::copy(q, q + q_size(joint.kind), qpos);
      if (joint.kind == JointKind::kSpherical) {
        T_.block<3, 3>(at, at) =
            normalized_or_identity(Quat(q[0], q[1], q[2], q[3])).toRotationMatrix().transpose();
      }
    }
    ++jnt;
  }
  const Eigen::VectorXd qvel = T_ * state.v_view();
  std::copy(qvel.begin(), qvel.end(), data_->qvel);
}

Eigen::MatrixXd MujocoScene::mass_matrix() const {
  Eigen::MatrixXd M(model_->nv, model_->nv);
  mj_fullM(model_.get(), M.data(), data_->qM);
  return T_.transpose() * M * T_;
}

Eigen::VectorXd MujocoScene::bias() const {
  Eigen::MatrixXd M(model_->nv, model_->nv);
  mj_fullM(model_.get(), M.data(), data_->qM);
  return T_.transpose() * (Eigen::Map<const Eigen::VectorXd>(data_->qfrc_bias, model_->nv) + M * rate_);
}

Eigen::VectorXd MujocoScene::passive() const {
  return T_.transpose() * Eigen::Map<const Eigen::VectorXd>(data_->qfrc_passive, model_->nv);
}

Rest rest_of_body_b(const std::string& text, double seconds) {
  namespace fs = std::filesystem;
  const fs::path file = fs::path(testing::TempDir()) / ("resting" + std::to_string(getpid()) + ".xml");
  std::ofstream(file) << text;
  std::string reason;
  const auto peer = MujocoScene::load(file.string(), reason);
  const Result<LoadedScene> loaded = load_scene(file, uncached());
  fs::remove(file);
  if (!peer) throw std::runtime_error(reason);
  if (!loaded.ok()) throw std::runtime_error(to_string(loaded.errors()));
  WorldSettings settings = loaded->settings;
  settings.sleep.enabled = false;  // it is to come to rest as far as it goes
  Result<World> world = World::make(loaded->scene, settings, loaded->gravity);
  if (!world.ok()) throw std::runtime_error(to_string(world.errors()));
  const int steps = static_cast<int>(seconds / peer->model()->opt.timestep);
  for (int i = 0; i < steps; ++i) mj_step(peer->model(), peer->data());
  world->step(steps);
  const int b = mj_name2id(peer->model(), mjOBJ_BODY, "b");
  Rest out;
  out.theirs.p = Eigen::Map<const Vec3>(peer->data()->xpos + 3 * b);
  out.theirs.R = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(peer->data()->xmat + 9 * b);
  out.ours = world->pose(loaded->scene.mechanism.find_link("b"));
  return out;
}

}  // namespace karakuri::test

#endif
