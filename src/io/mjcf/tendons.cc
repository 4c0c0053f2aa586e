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

/// Straight pieces between sites. A pulley parts what goes before from what follows, and the pull by its
/// divisor.
struct Path {
  std::vector<CableSegment> segments;
  bool wrapped = false, good = true;
};

Path read_path(MjcfContext& c, const XmlElement& element) {
  Path path;
  int last = -1;
  double share = 1;
  for (const XmlElement& child : element.children) {
    path.wrapped = path.wrapped || child.name == "geom";
    if (child.name == "pulley") {
      const double divisor = c.xml.number(child, "divisor", 0);
      if (!(divisor > 0)) c.xml.error(child, "the divisor of a pulley is not above zero", "give 1 or more");
      share = divisor > 0 ? 1 / divisor : 1, last = -1;
    }
    if (child.name != "site") continue;
    const int site = c.named(c.frame_by_name, child, "site", "site");
    path.good = path.good && site >= 0;
    if (site >= 0 && last >= 0) {
      const Frame &a = c.build.out.frames[static_cast<std::size_t>(last)],
                  &b = c.build.out.frames[static_cast<std::size_t>(site)];
      path.segments.push_back({a.link, b.link, a.X_LF.p, b.X_LF.p, share});
    }
    last = site;
  }
  return path;
}

double length_at_rest(MjcfContext& c, const std::vector<CableSegment>& path) {
  double length = 0;
  for (const CableSegment& s : path) {
    length += s.share * distance_at_rest(c, Frame{.link = s.from, .X_LF = Transform::translation(s.p_from)},
                                         Frame{.link = s.to, .X_LF = Transform::translation(s.p_to)});
  }
  return length;
}

void add_cable(MjcfContext& c, const XmlElement& e, const TendonProperties& said,
               const std::vector<CableSegment>& path) {
  if (said.range.bounded())
    c.xml.report.unsupported("spatial.range", c.where(e),
                             "limits of tendons through more than two sites have no effect",
                             "make several of it, each between two sites, or give it a spring");
  if (!(said.stiffness > 0) && !(said.damping > 0)) return;
  Cable cable{.name = c.build.options.prefix + e.get("name"), .path = path};
  cable.stiffness = said.stiffness, cable.damping = said.damping;
  const std::vector<double>& rest = said.spring_length;
  const double low = rest.empty() ? length_at_rest(c, path) : rest[0];
  cable.rest = {low, std::max(low, rest.size() == 2 ? rest[1] : low)};
  c.build.out.cables.push_back(std::move(cable));
}

void read_spatial(MjcfContext& c, const XmlElement& e, const XmlElement& element) {
  const Path path = read_path(c, element);
  if (e.has("name")) c.spatial_tendons[e.get("name")] = path.wrapped ? Path{}.segments : path.segments;
  if (!path.good) return;
  if (path.wrapped) {
    return c.xml.report.unsupported("spatial", c.where(e),
                                    "tendons that are wrapped around geoms have no effect",
                                    "lead them through sites instead");
  }
  const TendonProperties said = read_properties(c, e);
  if (path.segments.size() != 1 || path.segments[0].share != 1) return add_cable(c, e, said, path.segments);
  const CableSegment& s = path.segments[0];
  if (s.from == s.to) return;  // its length is constant
  const Frame a{.link = s.from, .X_LF = Transform::translation(s.p_from)},
      b{.link = s.to, .X_LF = Transform::translation(s.p_to)};
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
