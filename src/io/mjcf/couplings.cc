// <equality>: connect and weld close loops, joints follow joints.
#include <fmt/format.h>

#include "io/mjcf/context.h"
#include "karakuri/spatial/rotation.h"

namespace karakuri::io {

namespace {

/// The two frames that a connect or weld holds together, each on a body.
struct Ends {
  int a = 0, b = 0;  // bodies
  Transform X_AF, X_BM;
  bool ok = false;
};

Ends ends_by_sites(MjcfContext& c, const XmlElement& e) {
  const int s1 = c.named(c.frame_by_name, e, "site1", "site"),
            s2 = c.named(c.frame_by_name, e, "site2", "site");
  if (s1 < 0 || s2 < 0) return {};
  const Frame &f1 = c.build.out.frames[static_cast<std::size_t>(s1)],
              &f2 = c.build.out.frames[static_cast<std::size_t>(s2)];
  Ends ends{.X_AF = f1.X_LF, .X_BM = f2.X_LF, .ok = true};
  for (std::size_t i = 0; i < c.bodies.size(); ++i) {
    if (c.bodies[i].link == f1.link) ends.a = static_cast<int>(i);
    if (c.bodies[i].link == f2.link) ends.b = static_cast<int>(i);
  }
  return ends;
}

/// `anchor` is in the first body for connect, in the second for weld.
Ends ends_by_bodies(MjcfContext& c, const XmlElement& e) {
  Ends ends{.a = c.named(c.body_by_name, e, "body1", "body")};
  if (e.has("body2")) ends.b = c.named(c.body_by_name, e, "body2", "body");
  if (ends.a < 0 || ends.b < 0) return {};
  const Transform &X_WA = c.bodies[static_cast<std::size_t>(ends.a)].X_WB,
                  &X_WB = c.bodies[static_cast<std::size_t>(ends.b)].X_WB;
  const Vec3 anchor = c.xml.vec3(e, "anchor", Vec3::Zero());
  if (e.name == "connect") {
    c.xml.require(e, "anchor");
    ends.X_AF = Transform::translation(anchor);
    ends.X_BM = X_WB.inverse() * X_WA * ends.X_AF;
  } else {
    ends.X_BM = Transform::translation(anchor);
    Transform X_AB = X_WA.inverse() * X_WB;
    const std::vector<double> n = c.xml.numbers(e, "relpose", 7, 7);
    const bool given = !n.empty() && (n[3] != 0 || n[4] != 0 || n[5] != 0 || n[6] != 0);
    if (given)
      X_AB = {normalized_or_identity(Quat(n[3], n[4], n[5], n[6])).toRotationMatrix(),
              Vec3(n[0], n[1], n[2])};
    ends.X_AF = X_AB * ends.X_BM;
  }
  ends.ok = true;
  return ends;
}

/// A frame on the file's world, in ours.
Transform on_link(const MjcfContext& c, int body, const Transform& X) {
  return body == 0 ? c.build.options.pose * X : X;
}

/// Springs of a connect or weld whose softness is not the default. MuJoCo measures turns of a weld as the
/// vector part of a quaternion, half the angle, so that its springs of turns are a quarter as stiff; and up
/// to version 2.2 it takes the mobility of translations for them too, which is what we follow.
void soften_loop(MjcfContext& c, const XmlElement& e, const MjcfBody& a, const MjcfBody& b, Joint& joint) {
  const MjcfSoftness softness = read_softness(c, e, "equalities");
  if (softness.is_rigid()) return;
  const SpringAndDamper spring = spring_of(c, softness, body_mobility(c, a) + body_mobility(c, b));
  joint.closing_stiffness = spring.stiffness, joint.closing_damping = spring.damping;
  if (joint.kind != JointKind::kFixed) return;
  joint.closing_turn_stiffness = spring.stiffness / 4, joint.closing_turn_damping = spring.damping / 4;
}

void read_loop(MjcfContext& c, const XmlElement& e) {
  const bool by_sites = e.has("site1") || e.has("site2");
  const Ends ends = by_sites ? ends_by_sites(c, e) : ends_by_bodies(c, e);
  if (!ends.ok) return;
  const bool connect = e.name == "connect";
  const MjcfBody &a = c.bodies[static_cast<std::size_t>(ends.a)],
                 &b = c.bodies[static_cast<std::size_t>(ends.b)];
  Joint joint{.name = e.has("name") ? e.get("name") : fmt::format("{}_{}_{}", e.name, a.name, b.name)};
  joint.kind = connect ? JointKind::kSpherical : JointKind::kFixed;
  joint.parent = a.link, joint.child = b.link;
  joint.X_PF = by_sites ? ends.X_AF : on_link(c, ends.a, ends.X_AF);
  joint.X_CM = by_sites ? ends.X_BM : on_link(c, ends.b, ends.X_BM);
  soften_loop(c, e, a, b, joint);
  const JointId id = c.build.add_loop(joint, c.where(e));
  if (id && !c.xml.flag(e, "active", true)) c.build.out.open_loops.push_back(id);
}

void read_joint_equality(MjcfContext& c, const XmlElement& e) {
  const int first = c.named(c.joint_by_name, e, "joint1", "joint");
  const int second = e.has("joint2") ? c.named(c.joint_by_name, e, "joint2", "joint") : -1;
  if (first < 0 || (e.has("joint2") && second < 0)) return;
  const MjcfJoint& follower = c.joints[static_cast<std::size_t>(first)];
  Coupling coupling{.name = e.get("name"), .follower = follower.id, .follower_start = follower.reference};
  if (second >= 0) {
    coupling.leader = c.joints[static_cast<std::size_t>(second)].id;
    coupling.leader_start = c.joints[static_cast<std::size_t>(second)].reference;
  }
  const std::vector<double> n = c.xml.numbers(e, "polycoef", 1, 5);
  for (std::size_t k = 0; k < n.size(); ++k) coupling.coefficients[k] = n[k];
  coupling.active = c.xml.flag(e, "active", true);
  if (const MjcfSoftness softness = read_softness(c, e, "equalities"); !softness.is_rigid()) {
    double mobility = joint_mobility(c, follower);
    if (second >= 0) mobility += joint_mobility(c, c.joints[static_cast<std::size_t>(second)]);
    const SpringAndDamper spring = spring_of(c, softness, mobility);
    coupling.stiffness = spring.stiffness, coupling.damping = spring.damping;
  }
  c.build.out.scene.mechanism.add_coupling(std::move(coupling));
}

/// c0 + c1 L2 - L1 = 0 of fixed tendons, measured from the reference pose: a tendon of both that has one
/// length.
void read_tendon_equality(MjcfContext& c, const XmlElement& e) {
  const bool spatial =
      c.spatial_tendons.contains(e.get("tendon1")) || c.spatial_tendons.contains(e.get("tendon2"));
  std::vector<double> n = c.xml.numbers(e, "polycoef", 1, 5);
  if (n.empty()) n = {0, 1};
  n.resize(5, 0.0);
  if (spatial || n[2] != 0 || n[3] != 0 || n[4] != 0) {
    return c.xml.report.unsupported("equality/tendon", c.where(e),
                                    "equalities of tendons are held where the tendons are fixed and their "
                                    "relation is linear: this one has no effect");
  }
  if (!c.xml.flag(e, "active", true)) return;
  const auto& tendons = c.build.out.scene.mechanism.tendons();
  FixedTendon both{.name = c.build.options.prefix + e.get("name")};
  double length = n[0];  // at which the equality holds
  const auto add = [&](const char* attribute, double weight) {
    const int index = c.named(c.tendon_by_name, e, attribute, "fixed tendon");
    if (index < 0) return false;
    for (Transmission t : tendons[static_cast<std::size_t>(index)].joints) {
      t.gear *= weight;
      for (const MjcfJoint& joint : c.joints)
        if (joint.id == t.joint) length += t.gear * joint.reference;
      both.joints.push_back(t);
    }
    return true;
  };
  if (!add("tendon1", 1) || (e.has("tendon2") && !add("tendon2", -n[1]))) return;
  both.range = {length, length};
  if (const MjcfSoftness softness = read_softness(c, e, "equalities"); !softness.is_rigid()) {
    const SpringAndDamper spring = spring_of(c, softness, tendon_mobility(c, both.joints));
    both.limit_stiffness = spring.stiffness, both.limit_damping = spring.damping;
  }
  c.build.out.scene.mechanism.add_tendon(std::move(both));
}

}  // namespace

void read_tendon_equalities(MjcfContext& c, const XmlElement& section) {
  if (!c.flags.equality) return;
  for (const XmlElement& child : section.children)
    if (child.name == "tendon") read_tendon_equality(c, c.defaults.resolved(c.xml, child, "equality", ""));
}

void read_equality(MjcfContext& c, const XmlElement& section) {
  if (!c.flags.equality) return;
  for (const XmlElement& child : section.children) {
    const XmlElement e = c.defaults.resolved(c.xml, child, "equality", "");
    if (e.name == "joint") read_joint_equality(c, e);
    if (e.name == "connect" || e.name == "weld") read_loop(c, e);
  }
}

}  // namespace karakuri::io
