// DART's functions for the tasks, one skeleton per tree. Its coordinates of a free joint are a rotation
// vector and a position; its velocities (angular before linear) are in the moving axes:
//   w_dart = R^T w,  v_dart = R^T v,  v_dart' = R^T (v' - w x v)
#include "kernels/engine.h"

#ifdef KARAKURI_HAVE_DART

#include <dart/dynamics/FreeJoint.hpp>
#include <dart/dynamics/PrismaticJoint.hpp>
#include <dart/dynamics/RevoluteJoint.hpp>
#include <dart/dynamics/Skeleton.hpp>
#include <dart/dynamics/WeldJoint.hpp>
#include <memory>

#include <fmt/format.h>

#include "karakuri/spatial/rotation.h"
#include "support/timing.h"

namespace karakuri::bench {

namespace {

namespace dd = dart::dynamics;

Eigen::Isometry3d isometry(const Transform& X) {
  Eigen::Isometry3d T = Eigen::Isometry3d::Identity();
  T.linear() = X.R;
  T.translation() = X.p;
  return T;
}

template <class JointType>
dd::BodyNode* add(dd::Skeleton& skeleton, dd::BodyNode* parent, const Joint& joint, const std::string& link) {
  typename JointType::Properties properties;
  properties.mName = joint.name;
  properties.mT_ParentBodyToJoint = isometry(joint.X_PF);
  properties.mT_ChildBodyToJoint = isometry(joint.X_CM);
  if constexpr (requires { properties.mAxis; }) properties.mAxis = joint.axis.normalized();
  return skeleton
      .createJointAndBodyNodePair<JointType>(parent, properties, dd::BodyNode::AspectProperties(link))
      .second;
}

class Dart {
 public:
  explicit Dart(const Subject& subject) : s_(subject) {}

  /// Says what hinders, if anything does.
  std::string build() {
    std::vector<dd::BodyNode*> bodies(s_.model.link_at.size(), nullptr);  // by slot of LinkId
    for (const LinkEntry& entry : s_.model.links) {
      if (entry.id == s_.mechanism.world()) continue;
      const Link& link = s_.mechanism.link(entry.id);
      const Joint& joint = s_.mechanism.joint(link.joint);
      if (joint.parent == s_.mechanism.world()) {
        skeletons_.push_back(dd::Skeleton::create(link.name));
        skeletons_.back()->setGravity(s_.model.gravity);
      }
      dd::BodyNode* body = add_body(*skeletons_.back(), bodies[joint.parent.index], joint, link.name);
      if (!body) return fmt::format("joint '{}' is of a kind that is not exported", joint.name);
      body->setInertia(dd::Inertia(link.inertia.mass, link.inertia.com, link.inertia.about_com));
      bodies[entry.id.index] = body;
    }
    for (const Subject::Input& input : s_.inputs) inputs_.push_back(convert(input));
    return "";
  }

  Engine::Call task(Task task) {
    switch (task) {
      case Task::kJacobians: return [this](int i) { set(i, false), jacobians(); };
      case Task::kRnea:
        return [this](int i) {
          set(i, true), set_parts(i, &Parts::a, &dd::Skeleton::setAccelerations);
          for (const auto& skeleton : skeletons_) skeleton->computeInverseDynamics();
        };
      case Task::kCrba:
        return [this](int i) {
          set(i, false);
          for (const auto& skeleton : skeletons_) keep(skeleton->getMassMatrix().data());
        };
      case Task::kCrbaFactor: return {};  // it never factors the mass matrix
      case Task::kForward:
        return [this](int i) {
          set(i, true), set_parts(i, &Parts::tau, &dd::Skeleton::setForces);
          for (const auto& skeleton : skeletons_) skeleton->computeForwardDynamics();
        };
    }
    return {};
  }

  Eigen::VectorXd acceleration(int i) {
    task(Task::kForward)(i);
    Eigen::VectorXd a(s_.model.nv);
    int at = 0;
    for (const auto& skeleton : skeletons_) {
      const auto n = static_cast<int>(skeleton->getNumDofs());
      a.segment(at, n) = skeleton->getAccelerations();
      at += n;
    }
    const State& state = s_.input(i).state;
    for (const Body& body : s_.model.bodies) {
      if (body.kind != JointKind::kFree) continue;
      const Mat3 R = orientation(state, body);
      const Vec3 w_dot = R * a.segment<3>(body.first_v), v_dot = R * a.segment<3>(body.first_v + 3);
      const auto v = state.v_view().segment<6>(body.first_v);
      a.segment<6>(body.first_v) << v_dot + Vec3(v.tail<3>()).cross(Vec3(v.head<3>())), w_dot;
    }
    return a;
  }

 private:
  struct Parts {  // one for each skeleton
    std::vector<Eigen::VectorXd> q, v, a, tau;
  };
  using Setter = void (dd::Skeleton::*)(const Eigen::VectorXd&);

  static dd::BodyNode* add_body(dd::Skeleton& skeleton, dd::BodyNode* parent, const Joint& joint,
                                const std::string& link) {
    switch (joint.kind) {
      case JointKind::kFixed: return add<dd::WeldJoint>(skeleton, parent, joint, link);
      case JointKind::kRevolute: return add<dd::RevoluteJoint>(skeleton, parent, joint, link);
      case JointKind::kPrismatic: return add<dd::PrismaticJoint>(skeleton, parent, joint, link);
      case JointKind::kFree: return add<dd::FreeJoint>(skeleton, parent, joint, link);
      default: return nullptr;
    }
  }

  static Mat3 orientation(const State& state, const Body& body) {
    const double* q = &state.q[body.first_q + 3];
    return Quat(q[0], q[1], q[2], q[3]).toRotationMatrix();
  }

  Parts convert(const Subject::Input& input) const {
    const Model& m = s_.model;
    Eigen::VectorXd q(m.nv), v = input.state.v_view(), a = input.a, tau = input.tau;
    for (const Body& body : m.bodies) {
      if (body.kind != JointKind::kFree) {
        for (int k = 0; k < body.dofs; ++k) q[body.first_v + k] = input.state.q[body.first_q + k];
        continue;
      }
      const Mat3 R = orientation(input.state, body);
      const auto into = [&](Eigen::VectorXd& x, const Vec3& linear, const Vec3& angular) {
        x.segment<6>(body.first_v) << R.transpose() * angular, R.transpose() * linear;
      };
      const Vec3 v_lin = v.segment<3>(body.first_v), w = v.segment<3>(body.first_v + 3);
      into(a, a.segment<3>(body.first_v) - w.cross(v_lin), a.segment<3>(body.first_v + 3));
      into(v, v_lin, w);
      into(tau, tau.segment<3>(body.first_v), tau.segment<3>(body.first_v + 3));
      q.segment<6>(body.first_v) << rotation_log(R), input.state.q_view().segment<3>(body.first_q);
    }
    Parts parts;
    int at = 0;
    for (const auto& skeleton : skeletons_) {
      const auto n = static_cast<int>(skeleton->getNumDofs());
      parts.q.emplace_back(q.segment(at, n));
      parts.v.emplace_back(v.segment(at, n));
      parts.a.emplace_back(a.segment(at, n));
      parts.tau.emplace_back(tau.segment(at, n));
      at += n;
    }
    return parts;
  }

  void set_parts(int i, std::vector<Eigen::VectorXd> Parts::* part, Setter setter) {
    const Parts& parts = inputs_[static_cast<std::size_t>(i) % inputs_.size()];
    for (std::size_t k = 0; k < skeletons_.size(); ++k) ((*skeletons_[k]).*setter)((parts.*part)[k]);
  }

  void set(int i, bool velocities) {
    set_parts(i, &Parts::q, static_cast<Setter>(&dd::Skeleton::setPositions));
    if (velocities) set_parts(i, &Parts::v, static_cast<Setter>(&dd::Skeleton::setVelocities));
  }

  /// DART computes what it is asked for: here each body's pose and Jacobian.
  void jacobians() {
    for (const auto& skeleton : skeletons_) {
      for (std::size_t k = 0; k < skeleton->getNumBodyNodes(); ++k) {
        keep(skeleton->getBodyNode(k)->getWorldTransform().data());
        keep(skeleton->getBodyNode(k)->getWorldJacobian().data());
      }
    }
  }

  const Subject& s_;
  std::vector<dd::SkeletonPtr> skeletons_;
  std::vector<Parts> inputs_;
};

}  // namespace

Result<Engine> make_dart(const Subject& subject) {
  const auto dart = std::make_shared<Dart>(subject);
  if (const std::string obstacle = dart->build(); !obstacle.empty()) {
    return Diagnostic{Severity::kNote, "DART", obstacle, ""};
  }
  return Engine{"DART", [dart](Task task) { return dart->task(task); },
                [dart](int i) { return dart->acceleration(i); }};
}

}  // namespace karakuri::bench

#else

namespace karakuri::bench {
Result<Engine> make_dart(const Subject&) {
  return Diagnostic{Severity::kNote, "DART", "it is not installed", "install libdart-dev"};
}
}  // namespace karakuri::bench

#endif
