// <tendon>. A fixed tendon is a weighted sum of joint positions; a spatial one between two sites is a spring
// and a rope: a distance that gives way, and one that is bounded.
#include <algorithm>

#include <fmt/format.h>

#include "io/mjcf/context.h"

namespace karakuri::io {

namespace {

/// What both kinds say.
struct TendonProperties {
  Interval range;
  double stiffness = 0, damping = 0;
  std::vector<double> spring_length;  // one or two numbers; empty: that in the pose of rest
  MjcfSoftness softness;              // of the range
};

TendonProperties read_properties(MjcfContext& c, const XmlElement& e) {
  TendonProperties out;
  if (c.flags.limit && is_limited(c, e, "limited", "range")) {
    const std::vector<double> range = c.xml.numbers(e, "range", 2, 2);
    if (!range.empty()) out.range = {range[0], range[1]};
    out.softness = read_softness(c, e, "limits", "limit");
  }
  out.stiffness = c.flags.spring ? c.xml.number(e, "stiffness", 0) : 0;
  out.damping = c.flags.damper ? c.xml.number(e, "damping", 0) : 0;
  for (const double x : {out.stiffness, out.damping})
    if (x < 0) c.xml.error(e, "a spring or damper is below zero", "give its magnitude");
  out.spring_length = c.xml.numbers(e, "springlength", 1, 2);
  if (!out.spring_length.empty() && out.spring_length[0] < 0) out.spring_length.clear();
  return out;
}

void read_fixed(MjcfContext& c, const XmlElement& e, const XmlElement& element) {
  const TendonProperties said = read_properties(c, e);
  FixedTendon tendon{.name = c.build.options.prefix + e.get("name"), .range = said.range};
  for (const XmlElement& j : element.children) {
    const int joint = c.named(c.joint_by_name, j, "joint", "joint");
    if (joint < 0) continue;
    tendon.joints.push_back({c.joints[static_cast<std::size_t>(joint)].id, 0, c.xml.number(j, "coef", 1)});
  }
  tendon.stiffness = said.stiffness, tendon.damping = said.damping;
  for (const Transmission& j : tendon.joints)
    tendon.rest += j.gear * c.build.out.scene.mechanism.joint(j.joint).dofs[0].rest;
  if (!said.spring_length.empty()) tendon.rest = said.spring_length[0];
  if (said.spring_length.size() == 2 && said.spring_length[1] != said.spring_length[0])
    c.xml.report.unsupported("fixed.springlength", c.where(e),
                             "a tendon whose spring is at ease over a range is at ease at its start alone");
  if (!said.softness.is_rigid()) {
    const SpringAndDamper spring = spring_of(c, said.softness, tendon_mobility(c, tendon.joints));
    tendon.limit_stiffness = spring.stiffness, tendon.limit_damping = spring.damping;
  }
  if (e.has("name"))
    c.tendon_by_name[e.get("name")] = static_cast<int>(c.build.out.scene.mechanism.tendons().size());
  c.build.out.scene.mechanism.add_tendon(std::move(tendon));
}

// ---- spatial

/// A joint of kind distance between two sites.
Joint between(const XmlElement& e, const Frame& a, const Frame& b, const char* suffix) {
  Joint joint{.name = e.has("name") ? e.get("name") : fmt::format("spatial{}", e.line)};
  joint.name += suffix;
  joint.kind = JointKind::kDistance;
  joint.parent = a.link, joint.child = b.link;
  joint.X_PF = a.X_LF, joint.X_CM = b.X_LF;
  return joint;
}

void add_spring(MjcfContext& c, const XmlElement& e, const TendonProperties& said, const Frame& a,
                const Frame& b) {
  if (!(said.stiffness > 0) && !(said.damping > 0)) return;
  Joint joint = between(e, a, b, "");
  joint.closing_stiffness = said.stiffness, joint.closing_damping = said.damping;
  const std::vector<double>& rest = said.spring_length;
  if (rest.size() == 2 && rest[1] > rest[0]) {  // at ease over a range: pulls or pushes beyond it
    joint.range = {rest[0] > 0 ? rest[0] : -DofProperties::kNone, rest[1]};
    if (said.damping > 0)
      c.xml.report.unsupported("spatial.springlength", c.where(e),
                               "the damper of a tendon whose spring is at ease over a range acts where the "
                               "spring does, and nowhere else");
  } else {
    joint.distance = rest.empty() ? distance_at_rest(c, a, b) : rest[0];
  }
  if (!joint.range.bounded() && !(joint.distance > 0)) {
    joint.kind = JointKind::kSpherical;  // pulls two points into one
    if (said.damping > 0)
      c.xml.report.unsupported("spatial.damping", c.where(e),
                               "the damper of a tendon of rest length zero works in all directions");
  }
  c.build.add_loop(joint, c.where(e));
}

void add_rope(MjcfContext& c, const XmlElement& e, const TendonProperties& said, const Frame& a,
              const Frame& b) {
  if (!said.range.bounded()) return;
  const bool spring = said.stiffness > 0 || said.damping > 0;
  Joint joint = between(e, a, b, spring ? "_range" : "");
  joint.range = {said.range.low > 0 ? said.range.low : -DofProperties::kNone, said.range.high};
  if (!said.softness.is_rigid()) {
    const SpringAndDamper soft = spring_of(c, said.softness, distance_mobility(c, a, b));
    joint.closing_stiffness = soft.stiffness, joint.closing_damping = soft.damping;
  }
  c.build.add_loop(joint, c.where(e));
}

void read_spatial(MjcfContext& c, const XmlElement& e, const XmlElement& element) {
  if (e.has("name")) c.spatial_tendons.insert(e.get("name"));
  std::vector<int> sites;
  bool straight = true;
  for (const XmlElement& child : element.children) {
    straight = straight && child.name == "site";
    if (child.name == "site") sites.push_back(c.named(c.frame_by_name, child, "site", "site"));
  }
  if (std::ranges::any_of(sites, [](int s) { return s < 0; })) return;
  if (!straight || sites.size() != 2) {
    return c.xml.report.unsupported(
        "spatial", c.where(e),
        "spatial tendons are read where they run straight between two sites: others have no effect",
        "make several of it, each between two sites");
  }
  const TendonProperties said = read_properties(c, e);
  const Frame a = c.build.out.frames[static_cast<std::size_t>(sites[0])],
              b = c.build.out.frames[static_cast<std::size_t>(sites[1])];
  if (a.link == b.link) return;  // its length is constant
  add_spring(c, e, said, a, b);
  add_rope(c, e, said, a, b);
}

}  // namespace

void read_tendons(MjcfContext& c, const XmlElement& section) {
  for (const XmlElement& child : section.children) {
    const XmlElement e = c.defaults.resolved(c.xml, child, "tendon", "");
    if (child.name == "fixed") read_fixed(c, e, child);
    if (child.name == "spatial") read_spatial(c, e, child);
  }
}

}  // namespace karakuri::io
