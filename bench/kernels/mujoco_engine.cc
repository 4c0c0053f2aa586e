// MuJoCo's functions for the tasks. Its constraints, contacts, actuators and sensors are switched off, so
// that mj_forward is forward dynamics and nothing else.
#include "kernels/engine.h"

#ifdef KARAKURI_HAVE_MUJOCO

#include <algorithm>
#include <memory>
#include <utility>

#include "support/mujoco_peer.h"

namespace karakuri::bench {

namespace {

class Mujoco {
 public:
  Mujoco(const Subject& subject, test::MujocoPeer peer)
      : s_(subject), peer_(std::move(peer)), m_(peer_.model()), d_(peer_.data()), out_(s_.model.nv) {
    m_->opt.disableflags |= mjDSBL_SENSOR;
    for (const Subject::Input& input : s_.inputs) {
      peer_.set_state(input.state);
      inputs_.push_back({{d_->qpos, d_->qpos + m_->nq},
                         {d_->qvel, d_->qvel + m_->nv},
                         peer_.to_peer(input.state, input.a),
                         peer_.effort_to_peer(input.state, input.tau)});
    }
  }

  Engine::Call task(Task task) {
    switch (task) {
      case Task::kJacobians: return [this](int i) { set_position(i), kinematics(); };
      case Task::kRnea:
        return [this](int i) {
          set_position(i), set_velocity(i);
          std::copy(at(i).a.begin(), at(i).a.end(), d_->qacc);
          kinematics();
          mj_comVel(m_, d_);
          mj_rne(m_, d_, 1, out_.data());
        };
      case Task::kCrba:
        return [this](int i) {
          set_position(i), kinematics();
          mj_crb(m_, d_);
        };
      case Task::kCrbaFactor:
        return [this](int i) {
          set_position(i), kinematics();
          mj_crb(m_, d_);
          mj_factorM(m_, d_);
        };
      case Task::kForward:
        return [this](int i) {
          set_position(i), set_velocity(i);
          std::copy(at(i).tau.begin(), at(i).tau.end(), d_->qfrc_applied);
          mj_forward(m_, d_);
        };
    }
    return {};
  }

  Eigen::VectorXd acceleration(int i) {
    task(Task::kForward)(i);
    const Eigen::Map<const Eigen::VectorXd> a(d_->qacc, m_->nv);
    return peer_.effort_from_peer(s_.input(i).state, a);  // T is orthogonal: T^T a = T^-1 a
  }

 private:
  struct Input {
    std::vector<double> q, v;
    Eigen::VectorXd a, tau;
  };

  const Input& at(int i) const { return inputs_[static_cast<std::size_t>(i) % inputs_.size()]; }
  void set_position(int i) { std::copy(at(i).q.begin(), at(i).q.end(), d_->qpos); }
  void set_velocity(int i) { std::copy(at(i).v.begin(), at(i).v.end(), d_->qvel); }
  void kinematics() {
    mj_kinematics(m_, d_);
    mj_comPos(m_, d_);  // inertias and joint axes about the centre of mass
  }

  const Subject& s_;
  test::MujocoPeer peer_;
  mjModel* m_;
  mjData* d_;
  std::vector<Input> inputs_;
  Eigen::VectorXd out_;
};

}  // namespace

Result<Engine> make_mujoco(const Subject& subject) {
  auto peer = test::MujocoPeer::make(subject.mechanism, subject.model);
  if (!peer) return peer.errors();
  const auto mujoco = std::make_shared<Mujoco>(subject, std::move(peer).value());
  return Engine{"MuJoCo", [mujoco](Task task) { return mujoco->task(task); },
                [mujoco](int i) { return mujoco->acceleration(i); }};
}

}  // namespace karakuri::bench

#else

namespace karakuri::bench {
Result<Engine> make_mujoco(const Subject&) {
  return Diagnostic{Severity::kNote, "MuJoCo", "it is not installed", "install libmujoco-dev"};
}
}  // namespace karakuri::bench

#endif
