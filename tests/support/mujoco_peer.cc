#include "support/mujoco_peer.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "karakuri/spatial/rotation.h"

namespace karakuri::test {

namespace {

constexpr int kDeepest = 80;  // bodies nested in one file

std::string numbers(const Vec3& v) { return fmt::format("{:.17g} {:.17g} {:.17g}", v.x(), v.y(), v.z()); }

std::string numbers(const Quat& q) {
  return fmt::format("{:.17g} {:.17g} {:.17g} {:.17g}", q.w(), q.x(), q.y(), q.z());
}

/// The name of one of the joints that MuJoCo needs for ours. By slot, so that no name must be escaped.
std::string joint_name(JointId id, int part) { return fmt::format("j{}.{}", id.index, part); }

/// MuJoCo's free joint hangs on the world only and has one armature for all six dofs.
bool is_one_free_joint(const Mechanism& m, const Joint& joint) {
  return joint.kind == JointKind::kFree && joint.parent == m.world() &&
         std::all_of(joint.dofs.begin(), joint.dofs.end(), [](const auto& d) { return d.armature == 0; });
}

std::optional<std::string> find_obstacle(const Mechanism& m, const Link& link) {
  const Joint& joint = m.joint(link.joint);
  if (link.is_virtual()) return "closes a loop, which the exporter does not write";
  if (joint.kind == JointKind::kScrew) return "is a screw, which MuJoCo does not have";
  if (!(link.inertia.mass > 0)) return "carries a link without mass";
  if (has_quaternion(joint.kind)) {
    const int w = v_size(joint.kind) - 3;
    for (int k = 1; k < 3; ++k) {
      if (joint.dofs[w + k].armature != joint.dofs[w].armature) {
        return "has armatures that differ between the axes of its quaternion, which in MuJoCo turn with the "
               "child";
      }
    }
  }
  return std::nullopt;
}

class Writer {
 public:
  explicit Writer(const Mechanism& mechanism) : m_(mechanism) {}

  std::vector<MjcfFile> run(const Vec3& gravity) {
    files_.push_back({"model.xml", fmt::format(R"(<mujoco>
<compiler angle="radian" coordinate="local" inertiafromgeom="false" balanceinertia="false"/>
<option gravity="{}"><flag constraint="disable" contact="disable" passive="disable" actuation="disable"/></option>
<worldbody>
)",
                                               numbers(gravity))});
    add_children(m_.world(), 0, 0);
    files_[0].text += "</worldbody>\n</mujoco>\n";
    return std::move(files_);
  }

 private:
  void add_children(LinkId parent, std::size_t file, int depth) {
    for (LinkId id = m_.link(parent).child; id; id = m_.link(id).sibling) {
      if (depth < kDeepest) {
        add_body(id, file, depth);
        continue;
      }
      const std::string name = fmt::format("part{}.xml", files_.size());
      files_[file].text += fmt::format("<include file=\"{}\"/>\n", name);
      files_.push_back({name, "<mujocoinclude>\n"});
      const std::size_t part = files_.size() - 1;
      add_body(id, part, 0);
      files_[part].text += "</mujocoinclude>\n";
    }
  }

  void add_body(LinkId id, std::size_t file, int depth) {
    const Link& link = m_.link(id);
    const Joint& joint = m_.joint(link.joint);
    const bool on_world = joint.parent == m_.world();
    const Transform X_LM = on_world ? Transform::identity() : m_.joint(m_.link(joint.parent).joint).X_CM;
    const Transform X = X_LM.inverse() * joint.X_PF;  // of this body in that of the parent, where M = F
    files_[file].text += fmt::format("<body pos=\"{}\" quat=\"{}\">\n", numbers(X.p), numbers(Quat(X.R)));
    files_[file].text += inertial(link.inertia.in_frame(joint.X_CM.inverse()));
    files_[file].text += joints(link.joint, joint);
    add_children(id, file, depth + 1);
    files_[file].text += "</body>\n";
  }

  /// In principal axes: MuJoCo's own way from `fullinertia` to these stops at an absolute error of 1e-12.
  static std::string inertial(const Inertia& inertia) {
    const Eigen::SelfAdjointEigenSolver<Mat3> eigen(inertia.about_com);
    Mat3 axes = eigen.eigenvectors();
    if (axes.determinant() < 0) axes.col(0) = -axes.col(0);
    return fmt::format("<inertial pos=\"{}\" mass=\"{:.17g}\" diaginertia=\"{}\" quat=\"{}\"/>\n",
                       numbers(inertia.com), inertia.mass, numbers(Vec3(eigen.eigenvalues())),
                       numbers(Quat(axes)));
  }

  /// One line per MuJoCo joint, in the order of our dofs.
  std::string joints(JointId id, const Joint& joint) const {
    std::string lines;
    int part = 0;
    const auto add = [&](const char* type, int dof, const Vec3& axis) {
      lines += fmt::format("<joint name=\"{}\" type=\"{}\" axis=\"{}\" armature=\"{:.17g}\"/>\n",
                           joint_name(id, part++), type, numbers(axis), joint.dofs[dof].armature);
    };
    const Vec3 axis = joint.axis.normalized();
    const Mat3 A = needs_axis(joint.kind) ? frame_with_z(axis) : Mat3::Identity();
    switch (joint.kind) {
      case JointKind::kFixed: break;
      case JointKind::kRevolute: add("hinge", 0, axis); break;
      case JointKind::kPrismatic: add("slide", 0, axis); break;
      case JointKind::kCylindrical: add("slide", 0, axis), add("hinge", 1, axis); break;
      case JointKind::kUniversal:
        add("hinge", 0, axis), add("hinge", 1, joint.second_axis.normalized());
        break;
      case JointKind::kPlanar:
        add("slide", 0, A.col(0)), add("slide", 1, A.col(1)), add("hinge", 2, axis);
        break;
      case JointKind::kSpherical: add("ball", 0, axis); break;
      case JointKind::kFree:
        if (is_one_free_joint(m_, joint)) return fmt::format("<freejoint name=\"{}\"/>\n", joint_name(id, 0));
        for (int k = 0; k < 3; ++k) add("slide", k, Vec3::Unit(k));
        add("ball", 3, axis);
        break;
      case JointKind::kPointOnLine:  // carry no link
      case JointKind::kDistance:
      case JointKind::kScrew: break;  // refused before
    }
    return lines;
  }

  const Mechanism& m_;
  std::vector<MjcfFile> files_;
};

Diagnostic failed(std::string what) { return {Severity::kError, "MuJoCo", std::move(what), ""}; }

/// nullptr, with the reason, where MuJoCo refuses.
mjModel* load(const std::vector<MjcfFile>& files, std::string& reason) {
  const auto vfs = std::make_unique<mjVFS>();  // 2 MB
  mj_defaultVFS(vfs.get());
  for (const MjcfFile& file : files) {
    const int size = static_cast<int>(file.text.size());
    if (mj_makeEmptyFileVFS(vfs.get(), file.name.c_str(), size) != 0) {
      reason = "its virtual file system is full";
      mj_deleteVFS(vfs.get());
      return nullptr;
    }
    std::memcpy(vfs->filedata[vfs->nfile - 1], file.text.data(), file.text.size());
  }
  char error[1000] = "";
  mjModel* model = mj_loadXML(files[0].name.c_str(), vfs.get(), error, sizeof error);
  if (!model) reason = error;
  mj_deleteVFS(vfs.get());
  return model;
}

}  // namespace

Result<std::vector<MjcfFile>> to_mjcf(const Mechanism& mechanism, const Vec3& gravity) {
  for (LinkId id : mechanism.link_ids()) {
    if (id == mechanism.world()) continue;
    if (const auto obstacle = find_obstacle(mechanism, mechanism.link(id))) {
      const std::string& joint = mechanism.joint(mechanism.link(id).joint).name;
      return failed(fmt::format("joint '{}' {}", joint, *obstacle));
    }
  }
  return Writer(mechanism).run(gravity);
}

Result<MujocoPeer> MujocoPeer::make(const Mechanism& mechanism, const Model& model) {
  const auto files = to_mjcf(mechanism, model.gravity);
  if (!files) return files.errors();
  MujocoPeer peer;
  std::string reason;
  peer.model_.reset(load(*files, reason));
  if (!peer.model_) return failed(reason);
  peer.data_.reset(mj_makeData(peer.model_.get()));
  if (!peer.data_) return failed("not enough memory");
  if (peer.model_->nq != model.nq || peer.model_->nv != model.nv) return failed("its sizes differ from ours");
  peer.map_joints(mechanism, model);
  return peer;
}

void MujocoPeer::map_joints(const Mechanism& mechanism, const Model& model) {
  for (const JointEntry& entry : model.joints) {
    if (entry.kind == JointKind::kFixed) continue;
    const Joint& joint = mechanism.joint(entry.id);
    const int first = mj_name2id(model_.get(), mjOBJ_JOINT, joint_name(entry.id, 0).c_str());
    joints_.push_back({joint.kind, entry.first_q, entry.first_v, model_->jnt_qposadr[first],
                       model_->jnt_dofadr[first], is_one_free_joint(mechanism, joint), joint.X_PF});
  }
}

Mat3 MujocoPeer::orientation(const JointMap& joint, const State& state) {
  const double* q = &state.q[joint.q + q_size(joint.kind) - 4];
  return Quat(q[0], q[1], q[2], q[3]).toRotationMatrix();
}

void MujocoPeer::set_state(const State& state) {
  for (const JointMap& joint : joints_) {
    const auto q = state.q_view().segment(joint.q, q_size(joint.kind));
    Eigen::Map<Eigen::VectorXd> qpos(data_->qpos + joint.qpos, q.size());
    qpos = q;
    if (!joint.free) continue;
    const Quat turn = Quat(joint.X_WF.R) * Quat(q[3], q[4], q[5], q[6]);
    qpos << joint.X_WF * Vec3(q.head<3>()), turn.w(), turn.x(), turn.y(), turn.z();
  }
  const Eigen::VectorXd qvel = to_peer(state, state.v_view());
  std::copy(qvel.begin(), qvel.end(), data_->qvel);
}

Eigen::VectorXd MujocoPeer::to_peer(const State& state, VecIn x) const {
  Eigen::VectorXd y(x.size());
  for (const JointMap& joint : joints_) {
    const int n = v_size(joint.kind);
    y.segment(joint.dof, n) = x.segment(joint.v, n);
    if (joint.free) y.segment<3>(joint.dof) = joint.X_WF.R * x.segment<3>(joint.v);
    if (has_quaternion(joint.kind)) {
      y.segment<3>(joint.dof + n - 3) = orientation(joint, state).transpose() * x.segment<3>(joint.v + n - 3);
    }
  }
  return y;
}

Eigen::VectorXd MujocoPeer::effort_from_peer(const State& state, VecIn x) const {
  Eigen::VectorXd y(x.size());
  for (const JointMap& joint : joints_) {
    const int n = v_size(joint.kind);
    y.segment(joint.v, n) = x.segment(joint.dof, n);
    if (joint.free) y.segment<3>(joint.v) = joint.X_WF.R.transpose() * x.segment<3>(joint.dof);
    if (has_quaternion(joint.kind)) {
      y.segment<3>(joint.v + n - 3) = orientation(joint, state) * x.segment<3>(joint.dof + n - 3);
    }
  }
  return y;
}

Eigen::MatrixXd MujocoPeer::transform(const State& state) const {
  const auto nv = static_cast<Eigen::Index>(state.v.size());
  Eigen::MatrixXd T(nv, nv);
  for (Eigen::Index k = 0; k < nv; ++k) T.col(k) = to_peer(state, Eigen::VectorXd::Unit(nv, k));
  return T;
}

}  // namespace karakuri::test
