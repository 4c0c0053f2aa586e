// Explicit solref and solimp as springs and dampers.
//
// MuJoCo's constraint with position r (negative: violated), rate v and impedance d(r) between 0 and 1 has the
// force f >= 0 (its documentation, "Constraint model")
//   R f = -B v - K d r - a,   R = w (1 - d) / d                                                          (1)
// a: the acceleration that results; w: velocity per impulse, in the reference pose. With (t, z) = solref and
// the larger impedance D of solimp,
//   K = 1 / (D t z)^2,  B = 2 / (D t);   where solref = (-k, -b):  K = k / D^2,  B = b / D               (2)
// At rest that is a spring, f = -r K d^2 / (w (1 - d)), which is what we take, with the damper B / R (3).
// What we leave out is the term with a: it makes constraints heavy, so that MuJoCo's give way more slowly.
// Springs here have one stiffness; that of (3) grows with depth, and the secant is taken where it carries one
// g (of turns: 9.81 rad/s^2): at that depth, and for constant impedance at all depths, ours is MuJoCo's.
// Contacts, limits and equalities are all such constraints, each with its own w.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "io/mjcf/context.h"
#include "karakuri/dynamics/aba.h"
#include "karakuri/dynamics/kinematics.h"
#include "karakuri/dynamics/mass_matrix.h"
#include "karakuri/dynamics/relation_rows.h"
#include "karakuri/dynamics/response.h"
#include "karakuri/model/model.h"

namespace karakuri::io {

namespace {

constexpr double kLeastImpedance = 1e-4, kMostImpedance = 1 - 1e-4;  // MuJoCo's own bounds

double clamped(double d) { return std::clamp(d, kLeastImpedance, kMostImpedance); }

/// d(r): from the first to the second number over `width`, along two powers that meet at `middle`.
double impedance_at(const std::array<double, 5>& solimp, double depth) {
  const double low = clamped(solimp[0]), high = clamped(solimp[1]), middle = clamped(solimp[3]);
  const double power = std::max(1.0, solimp[4]);
  if (!(solimp[2] > 1e-15)) return 0.5 * (low + high);
  const double x = depth / solimp[2];
  if (x >= 1) return high;
  const double y = x <= middle ? middle * std::pow(x / middle, power)
                               : 1 - (1 - middle) * std::pow((1 - x) / (1 - middle), power);
  return low + y * (high - low);
}

/// (2)
struct Reference {
  double stiffness, damping;
};

Reference reference_of(const MjcfContext& c, const MjcfSoftness& softness) {
  const double most = clamped(softness.impedance[1]);
  auto [first, second] = softness.reference;
  if (first <= 0) return {-first / (most * most), -second / most};
  if (c.flags.safe_reference) first = std::max(first, 2 * c.build.out.settings.dt);
  return {1 / std::pow(most * first * std::max(second, 1e-15), 2), 2 / (most * first)};
}

/// Depth at which (3) holds a load, as acceleration [m/s^2]. The force grows with depth.
double depth_under(const MjcfSoftness& softness, double K, double load) {
  const auto too_deep = [&](double depth) {
    const double d = impedance_at(softness.impedance, depth);
    return K * d * d * depth >= load * (1 - d);
  };
  double low = 0, high = 1e-9;
  while (!too_deep(high) && high < 1e9) low = high, high *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (too_deep(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

/// What is asked about mobility: the model in its reference pose.
class ReferencePose {
 public:
  /// @param at_rest  With joints where their springs are at ease instead.
  ReferencePose(const MjcfContext& c, bool at_rest) : model_(compile(c.build.mechanism())) {
    if (!model_.ok()) return;  // told when the scene is finished
    State state(*model_);
    for (const MjcfJoint& j : c.joints) {
      const JointEntry* entry = model_->find(j.id);
      if (!entry || entry->first_q < 0 || v_size(j.kind) != 1) continue;
      state.q[static_cast<std::size_t>(entry->first_q)] =
          at_rest ? c.build.mechanism().joint(j.id).dofs[0].rest : j.reference;
    }
    ws_.emplace(*model_);
    buffers_.emplace(*model_);
    update_poses(*model_, state, *ws_);
    articulated_factor(*model_, *ws_);
  }

  bool ok() const { return model_.ok(); }

  double of_body(const Mechanism& mechanism, LinkId id) {
    const LinkEntry* link = model_->find(id);
    if (!link || link->body == 0) return 0;
    const Vec3 com = link_pose(*model_, *ws_, id) * mechanism.link(id).inertia.com;
    std::array<ImpulseRow, 3> rows;
    for (int k = 0; k < 3; ++k) rows[static_cast<std::size_t>(k)] = {link->body, 0, com, Vec3::Unit(k)};
    return mobility(rows).trace() / 3;
  }

  double of_joint(JointId id) {
    const JointEntry* joint = model_->find(id);
    if (!joint || joint->first_v < 0) return 0;
    std::vector<ImpulseRow> rows;
    for (int k = 0; k < v_size(joint->kind); ++k) rows.push_back(dof_row(*model_, *ws_, joint->first_v + k));
    return mobility(rows).trace() / static_cast<double>(rows.size());
  }

  double of_sum(const std::vector<Transmission>& joints) {
    std::vector<ImpulseRow> rows;
    Eigen::VectorXd gear(static_cast<Eigen::Index>(joints.size()));
    for (std::size_t k = 0; k < joints.size(); ++k) {
      const JointEntry* joint = model_->find(joints[k].joint);
      if (!joint || joint->first_v < 0) return 0;
      rows.push_back(dof_row(*model_, *ws_, joint->first_v + joints[k].dof));
      gear[static_cast<Eigen::Index>(k)] = joints[k].gear;
    }
    return gear.dot(mobility(rows) * gear);
  }

  double reflected(const std::vector<Transmission>& joints) {
    Workspace ws = *ws_;  // what the articulated factor is made of stays there
    MassMatrix M(*model_);
    crba(*model_, ws, M);
    Eigen::MatrixXd dense(model_->nv, model_->nv);
    to_dense(*model_, M, dense);
    double sum = 0;
    for (const Transmission& t : joints) {
      const JointEntry* joint = model_->find(t.joint);
      if (!joint || joint->first_v < 0 || !(std::abs(t.gear) > 1e-15)) continue;
      const Eigen::Index i = joint->first_v + t.dof;
      sum += dense(i, i) / (t.gear * t.gear);
    }
    return sum;
  }

  Vec3 place(const Frame& f) const { return (link_pose(*model_, *ws_, f.link) * f.X_LF).p; }

  double of_distance(const Frame& a, const Frame& b) {
    const LinkEntry *on_a = model_->find(a.link), *on_b = model_->find(b.link);
    if (!on_a || !on_b) return 0;
    const Vec3 from = place(a), to = place(b);
    const std::array rows = {ImpulseRow{on_b->body, on_a->body, to, (to - from).stableNormalized()}};
    return mobility(rows).trace();
  }

 private:
  /// J M^-1 J^T
  Eigen::MatrixXd mobility(std::span<const ImpulseRow> rows) {
    const auto n = static_cast<Eigen::Index>(rows.size());
    Eigen::MatrixXd A(n, n);
    response(*model_, rows, *ws_, *buffers_, A);
    return A;
  }

  Result<Model> model_;
  std::optional<Workspace> ws_;
  std::optional<ResponseBuffers> buffers_;
};

namespace {

/// None where the model does not compile.
ReferencePose* reference_pose(MjcfContext& c) {
  if (!c.reference_pose) c.reference_pose = std::make_shared<ReferencePose>(c, false);
  return c.reference_pose->ok() ? c.reference_pose.get() : nullptr;
}

template <std::size_t N>
void take(const MjcfContext& c, const XmlElement& e, const std::string& attribute,
          std::array<double, N>& to) {
  const std::vector<double> n = c.xml.numbers(e, attribute, 1, N);
  std::copy(n.begin(), n.end(), to.begin());
}

}  // namespace

MjcfSoftness read_softness(const MjcfContext& c, const XmlElement& e, const char* what,
                           const std::string& ending) {
  MjcfSoftness softness;
  take(c, e, "solref" + ending, softness.reference);
  take(c, e, "solimp" + ending, softness.impedance);
  if ((softness.reference[0] > 0) != (softness.reference[1] > 0)) {  // MuJoCo does the same
    c.xml.report.unsupported("mixed solref", c.where(e),
                             "solref has numbers of both signs: its default is taken",
                             "give a time and a damping ratio, or minus stiffness and minus damping");
    softness.reference = MjcfSoftness{}.reference;
  }
  if (c.build.options.rigid) return {};
  if (!softness.is_rigid()) {
    c.xml.report.remark(fmt::format("soft {}", what), c.where(e),
                        fmt::format("solref{0} and solimp{0} of {1} that are not at their defaults become "
                                    "springs and dampers, with MuJoCo's depth at rest; MuJoCo's give way "
                                    "more slowly",
                                    ending, what));
  }
  return softness;
}

MjcfSoftness mixed(const MjcfSoftness& a, const MjcfSoftness& b, double share) {
  MjcfSoftness out;
  const auto mean = [share](double x, double y) { return share * x + (1 - share) * y; };
  const bool by_time = a.reference[0] > 0 && b.reference[0] > 0;  // else the stiffer of both
  for (std::size_t k = 0; k < out.reference.size(); ++k)
    out.reference[k] =
        by_time ? mean(a.reference[k], b.reference[k]) : std::min(a.reference[k], b.reference[k]);
  for (std::size_t k = 0; k < out.impedance.size(); ++k)
    out.impedance[k] = mean(a.impedance[k], b.impedance[k]);
  return out;
}

SpringAndDamper spring_of(const MjcfContext& c, const MjcfSoftness& softness, double mobility) {
  if (softness.is_rigid() || !(mobility > 0) || !std::isfinite(mobility)) return {};
  const Reference reference = reference_of(c, softness);
  const double gravity = c.build.out.gravity.norm(), load = gravity > 0 ? gravity : 9.81;
  const double depth = depth_under(softness, reference.stiffness, load);
  const double d = impedance_at(softness.impedance, depth);
  const SpringAndDamper spring{load / (depth * mobility),
                               reference.damping * d / ((1 - d) * mobility)};  // (3)
  const bool usable = spring.stiffness > 0 && std::isfinite(spring.stiffness) && spring.damping >= 0 &&
                      std::isfinite(spring.damping);
  return usable ? spring : SpringAndDamper{};
}

double body_mobility(MjcfContext& c, const MjcfBody& body) {
  if (c.bodies[static_cast<std::size_t>(body.weld)].mocap) return 0;
  ReferencePose* pose = reference_pose(c);
  return pose ? pose->of_body(c.build.mechanism(), body.link) : 0;
}

double joint_mobility(MjcfContext& c, const MjcfJoint& joint) {
  ReferencePose* pose = reference_pose(c);
  return pose ? pose->of_joint(joint.id) : 0;
}

double reflected_inertia(MjcfContext& c, const std::vector<Transmission>& joints) {
  ReferencePose* pose = reference_pose(c);
  return pose ? pose->reflected(joints) : 0;
}

double tendon_mobility(MjcfContext& c, const std::vector<Transmission>& joints) {
  ReferencePose* pose = reference_pose(c);
  return pose ? pose->of_sum(joints) : 0;
}

double distance_mobility(MjcfContext& c, const Frame& a, const Frame& b) {
  ReferencePose* pose = reference_pose(c);
  return pose ? pose->of_distance(a, b) : 0;
}

double distance_at_rest(MjcfContext& c, const Frame& a, const Frame& b) {
  if (!c.rest_pose) c.rest_pose = std::make_shared<ReferencePose>(c, true);
  return c.rest_pose->ok() ? (c.rest_pose->place(b) - c.rest_pose->place(a)).norm() : 0;
}

void set_spring_dampers(MjcfContext& c) {
  for (const MjcfJoint& joint : c.joints) {
    if (!(joint.time > 0 && joint.ratio > 0)) continue;
    const double mobility = joint_mobility(c, joint);
    if (!(mobility > 0)) continue;
    for (DofProperties& dof : c.build.mechanism().joint(joint.id).dofs) {
      if (c.flags.spring) dof.stiffness = 1 / (mobility * std::pow(joint.time * joint.ratio, 2));
      if (c.flags.damper) dof.damping = 2 / (mobility * joint.time);
    }
  }
}

void soften_limits(MjcfContext& c) {
  for (const MjcfJoint& joint : c.joints) {
    if (joint.softness.is_rigid() || !joint.range.bounded()) continue;
    const SpringAndDamper spring = spring_of(c, joint.softness, joint_mobility(c, joint));
    for (DofProperties& dof : c.build.mechanism().joint(joint.id).dofs)
      dof.limit_stiffness = spring.stiffness, dof.limit_damping = spring.damping;
  }
}

}  // namespace karakuri::io
