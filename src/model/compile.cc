// Mechanism -> Model.
//
// The tree is walked depth-first from the world. Links behind fixed joints are lumped into the body they are
// fixed to. A body's frame B is the joint's frame M turned so that z is the joint's (last) axis:
//   R_FB(q) = A1 Rz(q1) A1^T   one axis, A1 z = axis                               (1)
//   R_FB(q) = A1 Rz(q1) A1^T A2 Rz(q2) A2^T   universal, A2 z = second axis        (2)
// so with F' = F A1 and B = M A2 (A2 = A1 for one axis) only Rz remains, with A1^T A2 between them.
#include <Eigen/Eigenvalues>
#include <atomic>
#include <span>
#include <utility>

#include "core/compose.h"
#include "karakuri/model/model.h"
#include "karakuri/spatial/rotation.h"
#include "model/compile_parts.h"
#include "model/massless.h"

namespace karakuri {

namespace {

/// Poses from files with six digits are not quite rotations (find_flaws lets them pass), and what is not
/// rigid does not keep its energy. Exact ones, with zeros and ones, are left as they are.
Transform rigid(const Transform& X) {
  if ((X.R.transpose() * X.R - Mat3::Identity()).cwiseAbs().maxCoeff() < 1e-14) return X;
  return {normalized_or_identity(Quat(X.R)).toRotationMatrix(), X.p};
}

class Compiler {
 public:
  Compiler(const Mechanism& mechanism, const Vec3& gravity) : m_(mechanism) { model_.gravity = gravity; }

  Result<Model> run() {
    if (!model_.gravity.allFinite()) {
      errors_.push_back(
          {Severity::kError, "gravity", "it is not finite", "give three finite numbers [m/s^2]"});
    }
    for (Diagnostic& flaw : find_flaws(m_)) errors_.push_back(std::move(flaw));
    if (!errors_.empty()) return std::move(errors_);

    Result<Model> made = run_segments(children(m_.world()));
    if (!made.ok()) return made;
    index_entries(*made);
    add_loops(*made);
    made->relations = compile_relations(m_, *made);
    made->version_ = next_model_version();
    return made;
  }

  /// Of some children of the world alone; without tables, loops and relations.
  Result<Model> run_segments(std::span<const LinkId> roots) {
    add_world();
    for (const LinkId root : roots) {
      model_.segments.push_back(reach());
      const int body = model_.body_count(), v = model_.nv;
      walk_from(root);
      finish_bodies(body);
      find_trees(body);
      number_dofs(v);
    }
    model_.segments.push_back(reach());
    check_massless();
    if (!errors_.empty()) return std::move(errors_);
    return std::move(model_);
  }

 private:
  /// How long the arrays are now.
  Segment reach() const {
    return {{model_.body_count(), std::ssize(model_.trees), model_.nq, model_.nv, std::ssize(model_.links),
             std::ssize(model_.joints), std::ssize(model_.between), std::ssize(model_.free_bodies),
             std::ssize(model_.paths), std::ssize(model_.angle_q), model_.mass_matrix_size}};
  }

  // A link waiting to be placed: on which body, and where its parent's frame is on it.
  struct Waiting {
    LinkId link;
    int parent_body;
    Transform X_BP;
    int dof;  // last dof on the path so far
  };

  std::vector<LinkId> children(LinkId id) const {
    std::vector<LinkId> list;
    for (LinkId c = m_.link(id).child; c; c = m_.link(c).sibling) list.push_back(c);
    return list;
  }

  void index_entries(Model& model) const {
    std::uint32_t links = 0, joints = 0;
    for (LinkId id : m_.link_ids()) links = std::max(links, id.index + 1);
    for (JointId id : m_.joint_ids()) joints = std::max(joints, id.index + 1);
    model.link_at.assign(links, -1);
    model.joint_at.assign(joints, -1);
    for (int i = 0; i < std::ssize(model.links); ++i) model.link_at[model.links[i].id.index] = i;
    for (int i = 0; i < std::ssize(model.joints); ++i) model.joint_at[model.joints[i].id.index] = i;
  }

  void add_world() {
    model_.bodies.push_back({.R_PF = Mat3(Mat3::Identity()), .tree = -1, .kind = JointKind::kFixed});
    inertia_.emplace_back();
    has_children_.push_back(false);
    add_link_entry(m_.world(), 0, Transform::identity());
  }

  void add_link_entry(LinkId id, int body, const Transform& X_BL) {
    model_.links.push_back({id, m_.link(id).name, body, X_BL});
  }

  /// Depth-first with an explicit stack: a chain of 10^5 links must not overflow ours.
  void walk_from(LinkId root) {
    std::vector<Waiting> stack{{root, 0, Transform::identity(), -1}};
    while (!stack.empty()) {
      const Waiting at = stack.back();
      stack.pop_back();
      const auto [body, X_BL, dof] = place(at);
      if (m_.link(at.link).is_virtual()) continue;
      const std::vector<LinkId> below = children(at.link);
      for (auto child = below.rbegin(); child != below.rend(); ++child) {
        stack.push_back({*child, body, X_BL, dof});
      }
    }
  }

  /// Each body that hangs on the world starts one: two arms on one fixed base do not feel each other.
  void find_trees(int first) {
    for (int i = first; i < model_.body_count(); ++i) {
      if (model_.bodies[i].parent == 0) model_.trees.push_back({i, i});
      model_.trees.back().last = i + 1;
      model_.bodies[i].tree = static_cast<std::int32_t>(model_.trees.size()) - 1;
    }
  }

  std::tuple<int, Transform, int> place(const Waiting& at) {
    const Link& link = m_.link(at.link);
    const Joint& joint = m_.joint(link.joint);
    if (link.is_virtual()) {
      add_joint_entry(link.joint, joint, 0);
      return {at.parent_body, at.X_BP, at.dof};  // its loop is added when all links are placed
    }
    const bool fixed = joint.kind == JointKind::kFixed;
    Placed placed =
        fixed ? Placed{at.parent_body, at.X_BP * rigid(joint.X_PF) * rigid(joint.X_CM).inverse(), at.dof}
              : add_body(at, joint);
    add_joint_entry(link.joint, joint, fixed ? 0 : placed.body);
    add_link_entry(at.link, placed.body, placed.X_BL);
    Inertia& sum = inertia_[placed.body];
    if (link.inertia.mass > 0) {
      const Inertia own = link.inertia.in_frame(placed.X_BL);
      sum = sum.mass > 0 ? sum + own : own;
    }
    return {placed.body, placed.X_BL, placed.dof};
  }

  struct Placed {
    int body;
    Transform X_BL;
    int dof;
  };

  Placed add_body(const Waiting& at, const Joint& joint) {
    const Mat3 A1 = needs_axis(joint.kind) ? frame_with_z(joint.axis) : Mat3::Identity();
    const bool universal = joint.kind == JointKind::kUniversal;
    const Mat3 A2 = universal ? frame_with_z(joint.second_axis) : A1;
    const Transform X_PF = at.X_BP * rigid(joint.X_PF) * Transform::rotation(A1);
    const int index = model_.body_count();
    Body body{};
    body.R_PF = X_PF.R;
    body.p_PF = X_PF.p;
    body.pitch = joint.pitch;
    body.parent = at.parent_body;
    body.first_q = model_.nq;
    body.first_v = model_.nv;
    body.dofs = static_cast<std::int16_t>(v_size(joint.kind));
    body.kind = joint.kind;
    if (universal) {
      body.extra = static_cast<int>(model_.between.size());
      model_.between.push_back(Mat3(A1.transpose() * A2));
    }
    has_children_[at.parent_body] = true;
    model_.bodies.push_back(body);
    inertia_.emplace_back();
    has_children_.push_back(false);
    const int last_dof = add_dofs(joint, index, at.dof);
    // The link frame L = child frame: X_CM A2 = X_LB
    return {index, (rigid(joint.X_CM) * Transform::rotation(A2)).inverse(), last_dof};
  }

  int add_dofs(const Joint& joint, int body, int parent) {
    const int n = v_size(joint.kind);
    const int angles_from = has_quaternion(joint.kind) ? n : 0;  // angles of quaternions are no coordinates
    for (int k = 0; k < n; ++k) {
      const DofKind kind = dof_kind(joint.kind, k);
      if (kind != DofKind::kTranslation && k >= angles_from) {
        model_.angle_q.push_back(model_.nq + k);
        model_.angle_v.push_back(model_.nv + k);
      }
      Dof dof{.body = body, .parent = parent, .depth = 0, .path = 0, .kind = kind, .row = 0};
      dof.depth = parent < 0 ? 0 : model_.dofs[parent].depth + 1;
      parent = static_cast<int>(model_.dofs.size());
      model_.dofs.push_back(dof);
      model_.dof_properties.push_back(joint.dofs[k]);
      model_.armature.push_back(joint.dofs[k].armature);
    }
    model_.nq += q_size(joint.kind);
    model_.nv += n;
    return parent;
  }

  void add_joint_entry(JointId id, const Joint& joint, int body) {
    const bool moves = body > 0;
    model_.joints.push_back({id, joint.name, joint.kind, body, moves ? model_.bodies[body].first_q : -1,
                             moves ? model_.bodies[body].first_v : -1});
  }

  void finish_bodies(int first) {
    for (int i = first; i < model_.body_count(); ++i) {
      Body& body = model_.bodies[i];
      const Inertia& in = inertia_[i];
      if (!check_movable(i)) continue;
      const Mat3 I = in.about_origin();
      body.mass = in.mass;
      body.mass_com = Vec3(in.mass * in.com);
      const double values[6] = {I(0, 0), I(1, 1), I(2, 2), I(0, 1), I(0, 2), I(1, 2)};
      std::copy(std::begin(values), std::end(values), body.inertia);
      // Armature, springs and dampers on a free joint add to the mass matrix (Workspace::diagonal), which is
      // then not that of a rigid body: such a body takes the general way.
      bool bare = true;
      for (int k = 0; k < body.dofs; ++k) {
        const DofProperties& p = model_.dof_properties[body.first_v + k];
        bare = bare && p.armature == 0 && p.damping == 0 && p.stiffness == 0;
      }
      body.alone = body.kind == JointKind::kFree && body.parent == 0 && !has_children_[i] && bare;
      if (body.alone) add_free_body(body, in);
    }
  }

  void add_free_body(Body& body, const Inertia& in) {
    const Eigen::SelfAdjointEigenSolver<Mat3> eigen(in.about_com);
    Mat3 axes = eigen.eigenvectors();
    if (axes.determinant() < 0) axes.col(2) = -axes.col(2);
    FreeBody free;
    free.axes = axes;
    free.com = in.com;
    free.moments = eigen.eigenvalues();
    free.inverse_moments = Vec3(eigen.eigenvalues().cwiseInverse());
    body.extra = static_cast<int>(model_.free_bodies.size());
    model_.free_bodies.push_back(free);
  }

  bool refuse_body(int i, const char* what, const char* remedy) {
    constexpr std::size_t kMostErrors = 100;  // more help nobody, and each takes a search
    if (errors_.size() >= kMostErrors) return false;
    const LinkEntry& link = first_link_of(i);
    const std::string& joint = m_.joint(m_.link(link.id).joint).name;
    errors_.push_back({Severity::kError, compose("link '{}'", link.name), compose(what, joint), remedy});
    return false;
  }

  /// A body at the end of its branch needs mass, and inertia against each of its dofs: otherwise the mass
  /// matrix is singular. One that carries others may be massless (several joints between two links are a
  /// chain of such); whether the others resist its joint is asked when all are known.
  bool check_movable(int i) {
    const Body& body = model_.bodies[i];
    const Inertia& in = inertia_[i];
    if (has_children_[i]) return true;
    if (!(in.mass > 0)) {
      return refuse_body(i, "it moves by joint '{}' but has no mass, nor has anything fixed to it",
                         "give it a mass above zero, or make the joint fixed");
    }
    if (resists_all_motions(body, in)) return true;
    return refuse_body(i, "it has no inertia against a rotation that joint '{}' allows",
                       "give it a rotational inertia, or the joint an armature");
  }

  void check_massless() {
    bool any = false;
    for (int i = 1; i < model_.body_count(); ++i) any |= has_children_[i] && !(model_.bodies[i].mass > 0);
    if (!any || !errors_.empty()) return;
    for (const int i : find_unresisted_massless(model_)) {
      refuse_body(i, "it has no mass, and what hangs on it does not resist joint '{}'",
                  "give it a mass above zero, or the joint an armature");
    }
  }

  /// Whether the body's own mass matrix at q = 0 is regular. Its rows are scaled to a diagonal of ones first,
  /// so that kg and kg m^2 can be compared.
  bool resists_all_motions(const Body& body, const Inertia& in) const {
    Eigen::Matrix<double, 6, 6> I;  // angular before linear, at B
    const Mat3 h = in.mass * skew(in.com);
    I << in.about_origin(), h, h.transpose(), in.mass * Mat3::Identity();
    const Eigen::Matrix<double, 6, Eigen::Dynamic> S = motions_at_zero(body);
    Eigen::MatrixXd M = S.transpose() * I * S;
    M.diagonal() += Eigen::Map<const Eigen::VectorXd>(&model_.armature[body.first_v], body.dofs);
    const double least = 1e-12 * std::max(in.about_origin().trace(), 1e-300);  // far below a wire's
    if (!(M.diagonal().minCoeff() > least)) return false;
    const Eigen::VectorXd scale = M.diagonal().cwiseSqrt().cwiseInverse();
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(scale.asDiagonal() * M * scale.asDiagonal(),
                                                               Eigen::EigenvaluesOnly);
    return eigen.eigenvalues()[0] > 1e-12;
  }

  /// The dofs as motions (angular, linear) of B, in B.
  Eigen::Matrix<double, 6, Eigen::Dynamic> motions_at_zero(const Body& body) const {
    Eigen::Matrix<double, 6, Eigen::Dynamic> S(6, body.dofs);
    S.setZero();
    int turns = 0, slides = 0;
    for (int k = 0; k < body.dofs; ++k) {
      const bool planar_or_free = body.dofs >= 3;  // the axes in turn
      switch (model_.dofs[body.first_v + k].kind) {
        case DofKind::kTranslation: S(planar_or_free ? 3 + slides++ : 5, k) = 1; break;
        case DofKind::kRotation: S(has_quaternion(body.kind) ? turns++ : 2, k) = 1; break;
        case DofKind::kScrew: S(2, k) = 1, S(5, k) = body.pitch; break;
      }
    }
    if (body.kind == JointKind::kUniversal) {
      S.col(0).head<3>() = Mat3(model_.between[body.extra]).row(2).transpose();  // the first axis
    }
    return S;
  }

  const LinkEntry& first_link_of(int body) const {
    for (const LinkEntry& link : model_.links) {
      if (link.body == body) return link;
    }
    return model_.links[0];
  }

  void number_dofs(int first) {
    for (int v = first; v < model_.nv; ++v) {
      Dof& dof = model_.dofs[v];
      dof.row = model_.mass_matrix_size;
      model_.max_depth = std::max(model_.max_depth, dof.depth + 1);
      model_.mass_matrix_size += dof.depth + 1;
      dof.path = static_cast<int>(model_.paths.size());
      // The path of the parent, and itself. In a chain without branches paths are 0..v, so all share the
      // longest.
      if (const bool continues = dof.parent == v - 1 && v > 0; continues && is_tail_of_paths(v - 1)) {
        dof.path = model_.dofs[v - 1].path;
      } else if (dof.parent >= 0) {
        const int from = model_.dofs[dof.parent].path;
        for (int k = 0; k < dof.depth; ++k) model_.paths.push_back(model_.paths[from + k]);
      }
      model_.paths.push_back(v);
    }
  }

  bool is_tail_of_paths(int v) const {
    const Dof& dof = model_.dofs[v];
    return dof.path + dof.depth + 1 == static_cast<int>(model_.paths.size());
  }

  void add_loops(Model& model) const {
    for (LinkId id : m_.link_ids()) {
      const Link& link = m_.link(id);
      if (!link.is_virtual()) continue;
      const Joint& joint = m_.joint(link.joint);
      const LinkEntry* on_f = model.find(joint.parent);
      const LinkEntry* on_m = model.find(link.real);
      if (!on_f || !on_m) continue;  // hangs on nothing: reported by find_flaws
      model.loops.push_back(make_loop(link.joint, joint, *on_f, *on_m));
    }
  }

  const Mechanism& m_;
  Model model_;
  std::vector<Inertia> inertia_;    // by body, lumped, in B
  std::vector<bool> has_children_;  // by body
  std::vector<Diagnostic> errors_;
};

}  // namespace

Result<Model> compile(const Mechanism& mechanism, const Vec3& gravity) {
  return Compiler(mechanism, gravity).run();
}

Result<Model> compile_segments(const Mechanism& mechanism, std::span<const LinkId> roots) {
  return Compiler(mechanism, Vec3::Zero()).run_segments(roots);
}

std::uint64_t next_model_version() {
  static std::atomic<std::uint64_t> next{1};
  return next++;
}

std::vector<Relation> compile_relations(const Mechanism& m, const Model& model) {
  const auto term = [&](JointId id, int dof, double scale) -> Relation::Term {
    const JointEntry& joint = *model.find(id);  // find_flaws() has seen to it
    return {joint.first_v + dof, joint.first_q + dof, scale};
  };
  std::vector<Relation> out;
  for (const Coupling& c : m.couplings()) {
    if (!c.active) continue;
    Relation relation{.name = c.name, .held = std::isinf(c.stiffness), .polynomial = c.coefficients};
    if (!relation.held) relation.stiffness = c.stiffness, relation.damping = c.damping;
    relation.terms.push_back(term(c.follower, 0, 1));
    relation.polynomial[0] += c.follower_start;
    relation.leader_start = c.leader_start;
    relation.has_leader = static_cast<bool>(c.leader);
    if (relation.has_leader) relation.leader = term(c.leader, 0, 1);
    out.push_back(std::move(relation));
  }
  for (const FixedTendon& t : m.tendons()) {
    if (!t.range.bounded() && !(t.stiffness > 0) && !(t.damping > 0)) continue;
    Relation relation{
        .name = t.name, .range = t.range, .stiffness = t.stiffness, .damping = t.damping, .rest = t.rest};
    relation.limit_stiffness = t.limit_stiffness, relation.limit_damping = t.limit_damping;
    for (const Transmission& j : t.joints) relation.terms.push_back(term(j.joint, j.dof, j.gear));
    if (!relation.terms.empty()) out.push_back(std::move(relation));
  }
  return out;
}

Loop make_loop(JointId id, const Joint& joint, const LinkEntry& on_f, const LinkEntry& on_m) {
  Loop loop{id,
            on_f.body,
            on_m.body,
            on_f.X_BL * rigid(joint.X_PF),
            on_m.X_BL * rigid(joint.X_CM),
            joint.kind,
            joint.axis.normalized(),
            joint.second_axis.normalized(),
            joint.pitch,
            joint.distance,
            joint.range};
  loop.stiffness = joint.closing_stiffness, loop.damping = joint.closing_damping;
  loop.turn_stiffness = joint.closing_turn_stiffness, loop.turn_damping = joint.closing_turn_damping;
  return loop;
}

const LinkEntry* Model::find(LinkId id) const {
  if (!id || id.index >= link_at.size() || link_at[id.index] < 0) return nullptr;
  const LinkEntry& entry = links[link_at[id.index]];
  return entry.id == id ? &entry : nullptr;
}

const JointEntry* Model::find(JointId id) const {
  if (!id || id.index >= joint_at.size() || joint_at[id.index] < 0) return nullptr;
  const JointEntry& entry = joints[joint_at[id.index]];
  return entry.id == id ? &entry : nullptr;
}

}  // namespace karakuri
